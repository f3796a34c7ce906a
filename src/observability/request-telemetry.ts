import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Credential } from '../auth/credentials.js';
import { Attached } from '../lib/attached.js';
import { addEarlyHeader } from '../lib/early-headers.js';
import type { ProxyHeaders } from '../lib/network.js';
import { loggedPathOf, pathOf } from '../lib/path.js';
import type { Stage } from '../lib/pipeline.js';
import { type ClientApp, clientAppOf } from './client-app.js';
import {
  newOperationInfo,
  type OperationInfo,
  overloadedOutcome,
  type Span,
  type Tracing,
  type Transport,
} from './operation-info.js';
import type { OperationNames } from './operation-names.js';
import { operationAttributes, requestAttributes } from './request-attributes.js';
import type { Telemetry } from './telemetry.js';
import { createUntrustedReport } from './untrusted-report.js';

/** Gives each request and operation an id, and logs, counts and traces how it ended. */
export interface RequestTelemetry {
  /** Sees each request first, and its response to the end. */
  readonly stage: Stage;
  of(request: IncomingMessage): OperationInfo;
  /** A request that opens a connection. It has a response only where it is refused. */
  startConnection(request: IncomingMessage): ConnectionTelemetry;
  /** An operation on a connection. Its id begins with the id of the connection. */
  startOperation(id: string, app: ClientApp | undefined): OperationInfo;
  /** @param milliseconds how long it took; undefined for a subscription, which lasts as long as its subscriber listens. */
  endOperation(operation: OperationInfo, client: Client | undefined, milliseconds: number | undefined): void;
}

/** Follows a connection from its request on. It holds nothing of that request. */
export interface ConnectionTelemetry {
  readonly id: string;
  /** The program that the headers of the request name. */
  readonly app: ClientApp | undefined;
  /** The request was answered with this status instead; undefined: the client hung up before it was answered. */
  refused(status: number | undefined): void;
  /** The connection was closed. @param operations how many were started on it. @param credential undefined where it had none yet. */
  closed(code: number, operations: number, credential: Credential | undefined): void;
}

/** The client of a request, for the log. */
export interface Client {
  readonly address: string;
  /** Undefined where it has none, or where it is not known. */
  readonly credential: Credential | undefined;
}

/** What a client may call its request: nothing that could break a line of a log or a header. */
const validRequestId = /^[\w.:+/=@-]{1,128}$/;

/** Where the telemetry of requests goes, and the names of operations in metrics. */
interface RequestTelemetryDeps {
  readonly log: Logger;
  readonly telemetry: Pick<Telemetry, 'request' | 'clientRequest' | 'untrustedDocument'>;
  readonly tracing: Tracing | undefined;
  readonly names: OperationNames;
  /** The client of a request, as far as it is known by now. */
  clientOf(request: IncomingMessage): Client;
  /** The name of a credential's team; undefined where it has none. */
  teamOf(credential: Credential): string | undefined;
  /** Paths whose requests are not logged, because probes send them all the time. */
  readonly probePaths: ReadonlySet<string>;
  readonly proxyHeaders: ProxyHeaders;
}

/** Each request has an id: the client's own where it is valid, else a random one. The response carries it. */
export function createRequestTelemetry({
  log,
  telemetry,
  tracing,
  names,
  clientOf,
  teamOf,
  probePaths,
  proxyHeaders,
}: RequestTelemetryDeps): RequestTelemetry {
  const operations = new Attached<OperationInfo>();
  const reportUntrusted = createUntrustedReport(log, telemetry);
  /** Of requests that are traced. */
  const requestSpans = new WeakMap<IncomingMessage, Span>();

  function of(request: IncomingMessage): OperationInfo {
    const known = operations.get(request);
    if (known !== undefined) return known;
    if (tracing === undefined || !transports.has(pathOf(request.url ?? ''))) return start(request, undefined);
    const span = tracing.beginRequest(request.headers);
    requestSpans.set(request, span);
    return start(request, span.begin('server'));
  }

  function start(request: IncomingMessage, span: OperationInfo['span']): OperationInfo {
    const given = request.headers['x-request-id'];
    const operation = newOperationInfo(
      typeof given === 'string' && validRequestId.test(given) ? given : undefined,
      span,
      clientAppOf(request.headers),
    );
    operations.set(request, operation);
    return operation;
  }

  function endRequestSpan(request: IncomingMessage, response: ServerResponse): void {
    const span = requestSpans.get(request);
    if (span === undefined) return;
    const { method = '', url = '' } = request;
    const { address } = clientOf(request);
    const route = pathOf(url);
    const attributes = requestAttributes(request, response, { route, clientAddress: address, proxyHeaders });
    const { statusCode: status } = response;
    span.end(`${method} ${route}`, attributes, status >= 500 ? String(status) : undefined);
  }

  const logged = ({ address, credential }: Client) => ({ address, team: credential && teamOf(credential) });

  function onClose(request: IncomingMessage, response: ServerResponse, startedAt: number): void {
    const { method, url = '' } = request;
    const { statusCode: status } = response;
    const operation = of(request);
    const milliseconds = performance.now() - startedAt;
    const transport = operation.transport ?? transports.get(pathOf(url));
    // A subscription is answered once it has begun.
    const isAnswered = operation.type === 'subscription' ? response.headersSent : response.writableFinished;
    if (transport !== undefined && !isAnswered) operation.outcome = 'ABANDONED';
    else operation.outcome = outcomeOf(operation, status);
    const { id: requestId, name, outcome } = operation;
    if (transport !== undefined && (name !== undefined || outcome !== 'ok')) {
      telemetry.request(transport, names.labelOf(operation), outcome, transport === 'http' ? milliseconds : undefined);
      telemetry.clientRequest(names.clientLabelOf(operation));
      reportUntrusted(operation);
      endOperationSpan(operation);
    }
    endRequestSpan(request, response);
    if (log.isLevelEnabled('info') && !probePaths.has(pathOf(url))) {
      const path = loggedPathOf(url);
      const client = logged(clientOf(request));
      const more = { status, milliseconds, operation: name, outcome, ...loggedOf(operation) };
      log.info({ requestId, method, path, ...client, ...more }, 'Answered');
    }
  }

  return {
    of,
    stage: next => (request, response) => {
      const startedAt = performance.now();
      addEarlyHeader(request, 'x-request-id', of(request).id);
      response.once('close', () => onClose(request, response, startedAt));
      return next(request, response);
    },
    startConnection(request) {
      const startedAt = performance.now();
      const operation = start(request, undefined);
      const { method, url = '' } = request;
      const path = loggedPathOf(url);
      const { address } = clientOf(request);
      const isTransport = transports.has(pathOf(url));
      const logEnd = (status: number | undefined, more: object, message: string) => {
        const milliseconds = performance.now() - startedAt;
        log.info({ requestId: operation.id, method, path, address, status, milliseconds, ...more }, message);
      };
      return {
        id: operation.id,
        app: operation.app,
        refused(status) {
          const outcome = status === undefined ? 'ABANDONED' : outcomeOf(operation, status);
          if (isTransport) telemetry.request('websocket', 'none', outcome, undefined);
          logEnd(status, { outcome }, 'Answered');
        },
        closed: (code, operations, credential) =>
          logEnd(101, { ...logged({ address, credential }), code, operations }, 'Closed'),
      };
    },
    startOperation: (id, app) => newOperationInfo(id, tracing?.begin('server'), app),
    endOperation(operation, client, milliseconds) {
      operation.outcome ??= 'ok';
      const { id: requestId, name = 'none', outcome } = operation;
      endOperationSpan(operation);
      reportUntrusted(operation);
      telemetry.request('websocket', names.labelOf(operation), outcome, milliseconds);
      telemetry.clientRequest(names.clientLabelOf(operation));
      if (!log.isLevelEnabled('info')) return;
      const from = client && logged(client);
      const more = { milliseconds, operation: name, outcome, ...loggedOf(operation) };
      log.info({ requestId, transport: 'websocket', ...from, ...more }, 'Answered');
    },
  };
}

const transports: ReadonlyMap<string, Transport> = new Map([
  ['/graphql', 'http'],
  ['/graphql/stream', 'sse'],
  ['/mcp', 'mcp'],
]);

/** Outcomes that are faults of the gateway or of the service. All others are mistakes of the client, refusals, or a client that has gone. */
const faults = /^(INTERNAL_|UPSTREAM_|OVERLOADED)/;

function endOperationSpan(operation: OperationInfo): void {
  const { span, type, outcome = 'ok' } = operation;
  if (span === undefined) return;
  const error = outcome === 'ok' ? undefined : outcome;
  span.end(type ?? 'GraphQL Operation', operationAttributes(operation), error, faults.test(outcome));
}

/** What a line of the log says about an operation besides its end: the program of the client, and where its trace is. */
const loggedOf = ({ app, span }: OperationInfo) => ({
  client: app?.name,
  clientVersion: app?.version,
  ...span?.logged,
});

/** The status tells the outcome where no execution has set it, and a gateway with too much to do from a client with too many requests. */
function outcomeOf({ outcome }: OperationInfo, status: number): string {
  if (outcome === 'RATE_LIMITED' && status === 503) return overloadedOutcome;
  if (outcome !== undefined) return outcome;
  if (status < 400) return 'ok';
  return status < 500 ? 'BAD_REQUEST' : 'INTERNAL_SERVER_ERROR';
}
