import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProxyHeaders } from '../lib/network.js';
import type { Attributes, OperationInfo } from './operation-info.js';

const hostAndPort = /^(\[[\da-f:.]+\]|[\w.-]{1,253})(?::(\d{1,5}))?$/i;
/** It has no `@`, and so no e-mail address. */
const validUserAgent = /^[^@]{1,256}$/;

/** What the span of a request says, by the semantic conventions for HTTP servers. The query is left out: it may hold a credential. */
export function requestAttributes(
  request: IncomingMessage,
  response: ServerResponse,
  { route, clientAddress, proxyHeaders }: { route: string; clientAddress: string; proxyHeaders: ProxyHeaders },
): Attributes {
  const { method, httpVersion, headers } = request;
  const [, address, port] = hostAndPort.exec(proxyHeaders.hostOf(request)) ?? [];
  const scheme = proxyHeaders.schemeOf(request);
  const userAgent = headers['user-agent'] ?? '';
  return {
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': response.headersSent ? response.statusCode : undefined,
    'url.path': route,
    'url.scheme': scheme,
    'server.address': address,
    'server.port': address === undefined ? undefined : Number(port ?? (scheme === 'https' ? 443 : 80)),
    'client.address': clientAddress,
    'network.protocol.version': httpVersion,
    'user_agent.original': validUserAgent.test(userAgent) ? userAgent : undefined,
  };
}

/** What the span of an operation says, by the semantic conventions for GraphQL. The document is left out: it may hold anything. */
export function operationAttributes({ id, name, type, app }: OperationInfo): Attributes {
  return {
    'graphql.operation.type': type,
    'graphql.operation.name': name === 'unnamed' ? undefined : name,
    'gateway.request_id': id,
    'gateway.client.name': app?.name,
    'gateway.client.version': app?.version,
  };
}
