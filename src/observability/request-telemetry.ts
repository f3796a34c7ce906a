import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Credential } from '../auth/credentials.js';
import { Attached } from '../lib/attached.js';
import { addEarlyHeader } from '../lib/early-headers.js';
import { loggedPathOf, pathOf } from '../lib/path.js';
import type { Stage } from '../lib/pipeline.js';
import { newOperationInfo, type OperationInfo, operationName, type Tracing, type Transport } from './operation-info.js';
import type { OperationNames } from './operation-names.js';
import type { Telemetry } from './telemetry.js';
import { createUntrustedReport } from './untrusted-report.js';

/** Gives each request and operation an id, and logs, counts and traces how it ended. */
export interface RequestTelemetry {
  /** Sees each request first, and its response to the end. */
  readonly stage: Stage;
  of(request: IncomingMessage): OperationInfo;
  /** The upstream has answered under this credential. */
  readonly accept: OperationNames['accept'];
  /** A request that opens a connection. It has a response only where it is refused. */
  startConnection(request: IncomingMessage): ConnectionTelemetry;
  /** An operation on a connection. Its id begins with the id of the connection. */
  startOperation(id: string): OperationInfo;
  /** @param milliseconds how long it took; undefined for a subscription, which lasts as long as its subscriber listens. */
  endOperation(operation: OperationInfo, client: Client | undefined, milliseconds: number | undefined): void;
}

/** Follows a connection from its request on. It holds nothing of that request. */
export interface ConnectionTelemetry {
  readonly id: string;
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
  readonly telemetry: Pick<Telemetry, 'request' | 'untrustedDocument'>;
  readonly tracing: Tracing | undefined;
  readonly names: OperationNames;
  /** The client of a request, as far as it is known by now. */
  clientOf(request: IncomingMessage): Client;
  /** The name of a credential's team; undefined where it has none. */
  teamOf(credential: Credential): string | undefined;
  /** Paths whose requests are not logged, because probes send them all the time. */
  readonly probePaths: ReadonlySet<string>;
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
}: RequestTelemetryDeps): RequestTelemetry {
  const operations = new Attached<OperationInfo>();
  const reportUntrusted = createUntrustedReport(log, telemetry);

  const of = (request: IncomingMessage) =>
    operations.get(request) ??
    start(request, transports.has(pathOf(request.url ?? '')) ? tracing?.operation(request.headers) : undefined);

  function start(request: IncomingMessage, span: OperationInfo['span']): OperationInfo {
    const given = request.headers['x-request-id'];
    const operation = newOperationInfo(
      typeof given === 'string' && validRequestId.test(given) ? given : undefined,
      span,
    );
    const { 'graphql-client-name': name, 'apollographql-client-name': apolloName } = request.headers;
    const client = name ?? apolloName;
    if (typeof client === 'string') operation.client = operationName(client);
    operations.set(request, operation);
    return operation;
  }

  const logged = ({ address, credential }: Client) => ({ address, team: credential && teamOf(credential) });

  function onClose(request: IncomingMessage, response: ServerResponse, startedAt: number): void {
    const { method, url = '' } = request;
    const { statusCode: status } = response;
    const operation = of(request);
    const milliseconds = performance.now() - startedAt;
    const transport = operation.transport ?? transports.get(pathOf(url));
    const isStream = transport === 'sse' || transport === 'multipart';
    const isAnswered = isStream ? response.headersSent : response.writableFinished;
    if (transport !== undefined && !isAnswered) operation.outcome = 'ABANDONED';
    operation.outcome ??= outcomeOfStatus(status);
    const { id: requestId, name, outcome } = operation;
    if (transport !== undefined && (name !== undefined || outcome !== 'ok')) {
      telemetry.request(transport, names.labelOf(operation), outcome, transport === 'http' ? milliseconds : undefined);
      reportUntrusted(operation);
      endSpan(operation, status);
    }
    if (log.isLevelEnabled('info') && !probePaths.has(pathOf(url))) {
      const path = loggedPathOf(url);
      const client = logged(clientOf(request));
      log.info({ requestId, method, path, ...client, status, milliseconds, operation: name, outcome }, 'Answered');
    }
  }

  return {
    of,
    accept: names.accept,
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
        refused(status) {
          const outcome = status === undefined ? 'ABANDONED' : (operation.outcome ?? outcomeOfStatus(status));
          if (isTransport) telemetry.request('websocket', 'none', outcome, undefined);
          logEnd(status, { outcome }, 'Answered');
        },
        closed: (code, operations, credential) =>
          logEnd(101, { ...logged({ address, credential }), code, operations }, 'Closed'),
      };
    },
    startOperation: id => newOperationInfo(id, tracing?.operation({})),
    endOperation(operation, client, milliseconds) {
      operation.outcome ??= 'ok';
      const { id: requestId, name = 'none', outcome } = operation;
      endSpan(operation, undefined);
      reportUntrusted(operation);
      telemetry.request('websocket', names.labelOf(operation), outcome, milliseconds);
      if (!log.isLevelEnabled('info')) return;
      const from = client && logged(client);
      log.info({ requestId, transport: 'websocket', ...from, milliseconds, operation: name, outcome }, 'Answered');
    },
  };
}

const transports: ReadonlyMap<string, Transport> = new Map([
  ['/graphql', 'http'],
  ['/graphql/stream', 'sse'],
]);

function endSpan({ id, span, name, outcome }: OperationInfo, status: number | undefined): void {
  const attributes = {
    'graphql.operation.name': name,
    'http.response.status_code': status,
    'gateway.request_id': id,
  };
  span?.end(name ?? 'GraphQL', attributes, outcome === 'ok' ? undefined : outcome);
}

/** For a response that no execution has set the outcome of. */
function outcomeOfStatus(status: number): string {
  if (status < 400) return 'ok';
  return status < 500 ? 'BAD_REQUEST' : 'INTERNAL_SERVER_ERROR';
}
