// What every response and refusal needs to be safe on the web: headers, checks of origin and of malformed requests.
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyCorsOptions } from '@fastify/cors';
import type { FastifyReply } from 'fastify';
import { reportHeaders } from '../observability/response-metadata.js';

/** Headers of every response: browsers must not sniff, frame or store it, and send no referrer, because a URL may contain a session id. Pages replace some. */
export const safeHeaders: OutgoingHttpHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

/** The content security policy of a page: only what the gateway itself serves. For `connect-src`, 'self' includes WebSockets. */
export const pagePolicy = (formAction: string, ...sources: readonly string[]): string =>
  [
    "default-src 'none'; script-src 'self'",
    ...sources,
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    `form-action ${formAction}`,
  ].join('; ');

/** `strict-transport-security` of each response over TLS: for a year, browsers use nothing else. */
export const strictTransport = 'max-age=31536000; includeSubDomains';

/** The body of a response that refuses a whole request, in the form that clients of its path read: JSON-RPC at `/mcp`, GraphQL everywhere else. */
export function refusalBody(path: string, message: string, extensions: Readonly<Record<string, unknown>>): object {
  if (path !== '/mcp') return { errors: [{ message, extensions }] };
  return { jsonrpc: '2.0', id: null, error: { code: rpcCode(message, extensions), message, data: extensions } };
}

/** The codes of JSON-RPC for a message that cannot be parsed, for one that is no valid request, and for everything else. */
function rpcCode(message: string, { code }: Readonly<Record<string, unknown>>): number {
  if (message === invalidJson) return -32_700;
  return code === 'BAD_REQUEST' || code === 'BAD_USER_INPUT' ? -32_600 : -32_000;
}

export const invalidJson = 'Invalid JSON in the body';

/** Refuses a request that HTTP, or a rule of the gateway for it, does not allow. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly statusCode: number;
  readonly headers: OutgoingHttpHeaders;

  constructor(statusCode: number, message: string, headers: OutgoingHttpHeaders = {}) {
    super(message);
    this.statusCode = statusCode;
    this.headers = headers;
  }
}

/** A name or an IPv4 address, or an IPv6 address in brackets, and the port where the client sent one. */
const validHost = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/** Of a head, and of trailers. A line takes up to fifty times its bytes. Proxies pass on a hundred. */
export const maxHeaderLines = 2_000;
export const hasTooManyLines = ({ rawHeaders }: IncomingMessage): boolean => rawHeaders.length > 2 * maxHeaderLines;

/** In the query of an address, which is read several times. GraphQL over HTTP has six. */
const maxParameters = 100;

/** Headers that are parsed, in characters. Real ones have some hundred, and some parsers take a time that grows with the square of the length. */
const maxParsedHeader = 1_000;
const parsedHeaders = ['accept', 'accept-encoding', 'content-type', 'if-none-match', 'mcp-name', 'origin', 'range'];

/**
 * Why a request costs too much to understand, or may mean something else to a proxy than to the gateway; undefined: neither. Node refuses two lengths, and
 * a length with chunks. It joins other headers of one name, so that two hosts are no valid host, and two credentials no valid credential.
 */
export function faultOf(request: IncomingMessage): Refused | undefined {
  const { headers, httpVersion, url = '' } = request;
  const { host, 'transfer-encoding': transfer, 'content-encoding': encoding } = headers;
  if (hasTooManyLines(request)) return new Refused(431, `The head has more than ${maxHeaderLines} lines`);
  if (url.split('&', maxParameters + 1).length > maxParameters)
    return new Refused(400, `The address has more than ${maxParameters} parameters`);
  if (host === undefined ? httpVersion !== '1.0' : !validHost.test(host))
    return new Refused(400, 'The header Host must name one host');
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked')
    return new Refused(400, 'The header Transfer-Encoding must be chunked');
  for (const name of parsedHeaders) {
    if ((headers[name]?.length ?? 0) > maxParsedHeader)
      return new Refused(431, `The header ${name} has more than ${maxParsedHeader} characters`);
  }
  if (encoding !== undefined && hasBody(headers) && !/^(?:identity)?$/i.test(encoding))
    return new Refused(415, `The body must not be encoded, but Content-Encoding is ${encoding.slice(0, 100)}`, {
      'accept-encoding': 'identity',
    });
  return undefined;
}

/** Whether a request has a body. */
export const hasBody = (headers: IncomingHttpHeaders) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

export const nothingHere = 'There is nothing at this address';

/** Status and message for errors of Node's parser. Every other error of the parser is a 400. */
const parserErrors: Readonly<Record<string, readonly [status: number, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long to arrive'],
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions are too large'],
};

/** Answers a request that Node could not parse, in the form of every refused request, and ends the connection. */
export function refuseUnreadable(error: { readonly code?: string }, socket: Socket): void {
  // Refused already.
  if (socket.writableEnded) return;
  const { _httpMessage: earlier } = socket as { _httpMessage?: ServerResponse | null };
  if (error.code !== 'ECONNRESET' && earlier?.req.complete) {
    // The client would take the refusal for the response to an earlier request, which may have written.
    dropInput(socket);
    earlier.once('close', () => refuseUnreadable(error, socket));
    return;
  }
  if (error.code === 'ECONNRESET' || earlier?.headersSent) {
    socket.destroy();
    return;
  }
  const [status, message] = parserErrors[error.code ?? ''] ?? [400, 'The request cannot be parsed'];
  const body = JSON.stringify(refusalBody('', message, { code: 'BAD_REQUEST' }));
  const headers = {
    ...safeHeaders,
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  lingerAndClose(socket);
}

/** Reads what the client sends in place of the parser, and drops it. */
function dropInput(socket: Socket, onData = () => {}): void {
  socket.removeAllListeners('data').on('data', onData);
  // The parser may have paused it, and has taken what the stream waits for: reading begins again.
  socket.push('');
  socket.resume();
}

/** How long, and how much, a client may go on sending after its last response, in milliseconds and bytes. Some clients send all before they read. */
const lingerMs = 5_000;
const lingerBytes = 64 * 1024 * 1024;

/**
 * Ends a connection after its last response. For a while, further bytes of the client are read and dropped: a socket that is destroyed with unread
 * bytes resets the connection, and the client may never see the response; a socket that is neither read nor destroyed is never closed.
 */
export function lingerAndClose(socket: Socket): void {
  const last = socket.bytesRead + lingerBytes;
  dropInput(socket, () => {
    if (socket.bytesRead > last) socket.destroy();
  });
  socket.end();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
}

/** Whether the body of a request is still arriving: then a response must be the last one of its connection. */
export const isArriving = ({ headers, complete }: IncomingMessage) => !complete && hasBody(headers);

/** Whether this is a browser that opens a page, rather than a client that wants JSON. */
export function opensPage({ method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  const accept = headers.accept ?? '';
  return /^(GET|HEAD)$/.test(method) && accept.includes('text/html') && !accept.includes('json');
}

/** Names one more request header on which a response depends. CORS has named `Origin` before. */
export const addVary = (reply: FastifyReply, name: string): FastifyReply =>
  reply.header('vary', [reply.getHeader('vary') ?? [], name].flat().join(', '));

/** Of the type `multipart/mixed`, the parameter for incremental delivery v0.2, which Apollo Client and graphql-js 17 know; and what refuses a type. */
const partsParameter = /^incrementalspec\s*=\s*"?v0\.2"?$/;
const refused = /^q\s*=\s*0(?:\.0*)?$/;
/** A type of a whole response, without parameters that Apollo would compare with its own types. */
const jsonType =
  /^\s*(?:\*\/\*|application\/(?:\*|json|graphql-response\+json))\s*(?:;\s*charset="?utf-8"?\s*)?(?:;\s*q=(?:1|0?\.\d?\d?[1-9])[\d.]{0,4}\s*)?$/i;

/** Whether a client takes a response in parts, by its header `accept`. */
export function acceptsParts(accept = ''): boolean {
  return accept.split(',').some(type => {
    const [name, ...parameters] = type.split(';').map(part => part.trim().toLowerCase());
    const has = (parameter: RegExp) => parameters.some(each => parameter.test(each));
    return name === 'multipart/mixed' && has(partsParameter) && !has(refused);
  });
}

/** The header `accept` for a response that is sent whole. One that takes no JSON is disregarded: Apollo would refuse it when the operation has run. */
export function withoutParts(accept = ''): string {
  const types = accept.split(',').filter(type => jsonType.test(type));
  return types.join() || 'application/json';
}

/** Response headers that a page of another origin may read. */
const readable = [
  ...['etag', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after', 'x-request-id'],
  ...['mcp-session-id', 'www-authenticate'],
];
/** Request headers that a page of another origin may send. */
const sendable = [
  'accept',
  'content-type',
  'authorization',
  'x-api-key',
  'apollo-require-preflight',
  'graphql-client-name',
  'graphql-client-version',
  'apollographql-client-name',
  'apollographql-client-version',
  'x-apollo-operation-name',
  ...reportHeaders,
  'x-request-id',
  'last-event-id',
  'if-none-match',
  'mcp-session-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  // With these, tools that watch a page trace its requests.
  ...['traceparent', 'tracestate', 'baggage', 'sentry-trace'],
];

/** How pages of these origins may read responses and send cookies. */
export const corsOptions = (origins: readonly string[]): FastifyCorsOptions => ({
  origin: [...origins],
  credentials: true,
  // An MCP client ends a session with DELETE: it must see that this is not needed.
  methods: ['GET', 'POST', 'DELETE'],
  allowedHeaders: sendable,
  exposedHeaders: readable,
  maxAge: 600,
  // The plugin would refuse other OPTIONS requests with a message of its own.
  strictPreflight: false,
});
