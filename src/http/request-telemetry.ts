// Counts, traces and logs requests, operations and connections when they end.
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Credential } from '../auth/credentials.js';
import { loggedMember } from '../auth/teams.js';
import { overloadedOutcome } from '../errors.js';
import { loggedPathOf, normalizedUrl, type ProxyHeaders, pathOf } from '../lib/network.js';
import { minuteMs } from '../lib/time.js';
import {
  type ClientApp,
  clientAppOf,
  newOperationInfo,
  type OperationInfo,
  type OperationNames,
  operationAttributes,
  requestAttributes,
  type Span,
  type Tracing,
  type Transport,
} from '../observability/operation-info.js';
import type { Telemetry } from '../observability/telemetry.js';
import { clientConnectionOf, followRequest } from './connections.js';
import { monitoringPaths } from './monitoring/readiness.js';
import { type Client, type Handler, RequestState } from './request-state.js';
import { strictTransport } from './web-safety.js';

/** Gives each request and operation an id, and logs, counts and traces how it ended. */
export type RequestTelemetry = ReturnType<typeof createRequestTelemetry>;

/** Follows a connection from its request on. It holds nothing of that request. */
export type ConnectionTelemetry = ReturnType<RequestTelemetry['startConnection']>;

/** What a client may call its request: nothing that could break a line of a log or a header. */
const validRequestId = /^[\w.:+/=@-]{1,128}$/;

/** Where the telemetry of requests goes, and the names of operations in metrics. */
interface RequestTelemetryDeps {
  readonly log: Logger;
  readonly telemetry: Telemetry;
  readonly tracing: Tracing | undefined;
  readonly names: OperationNames;
  teamOf(credential: Credential): string | undefined;
  readonly proxyHeaders: ProxyHeaders;
  /** `SLOW_OPERATION_MS`; 0: none is logged as slow. */
  readonly slowOperationMs: number;
}

/** Reports operations that have ended: counts and logs them, and ends their spans. */
function createReports({ log, telemetry, names, teamOf, slowOperationMs }: RequestTelemetryDeps) {
  const reportUntrusted = createUntrustedReport(log, telemetry);
  const mayLogSlow = createLineBound();
  const mayLogRefused = createLineBound();

  const logged = ({ address, credential }: Omit<Client, 'scope'>) => ({
    address,
    team: credential === undefined || credential instanceof Error ? undefined : teamOf(credential),
    member: loggedMember(credential),
  });

  /** Logs a query or mutation that took long. The document is named by its SHA-256, because its text may be confidential. */
  function reportSlow(operation: OperationInfo, milliseconds: number, client: Client | undefined): void {
    const { type, document: text, calls } = operation;
    const isSlow = slowOperationMs > 0 && milliseconds >= slowOperationMs;
    if (!isSlow || type === undefined || type === 'subscription') return;
    // All are slow while the service hangs. The warning that this has ended says how many more there were.
    if (!mayLogSlow(Symbol())) {
      telemetry.warn('Lines of slow operations', `more than ${maxLines} in a minute; the others have no line`);
      telemetry.works('Lines of slow operations', undefined, 1_000);
      return;
    }
    const document = text === undefined ? undefined : createHash('sha256').update(text).digest('hex');
    const { count: upstreamCalls, slowest: slowestCall } = calls;
    const line = { ...(client && logged(client)), ...loggedOf(operation) };
    log.warn({ ...line, type, document, milliseconds, upstreamCalls, slowestCall }, 'Slow operation');
  }

  /** Names who sends more than its share, once a minute: afterwards, nothing else does. */
  function reportRefused({ outcome = '' }: OperationInfo, client: Client | undefined): void {
    if (client === undefined || !/^(RATE_LIMITED|OVER_SHARE)$/.test(outcome)) return;
    const line = logged(client);
    if (mayLogRefused(Object.values(line).join())) log.warn({ ...line, outcome }, 'A client is refused');
  }

  function count(operation: OperationInfo, transport: Transport, milliseconds: number | undefined): void {
    // What is refused at once must not hide that others wait.
    const duration = operation.type === undefined ? undefined : milliseconds;
    telemetry.request(transport, names.labelOf(operation), operation.outcome ?? 'ok', duration, operation.span);
    const client = names.clientLabelOf(operation);
    telemetry.clientRequest(client);
    for (const coordinate of operation.deprecated ?? []) telemetry.deprecatedUse(coordinate, client);
    if (operation.untrusted !== undefined) reportUntrusted(operation);
    endOperationSpan(operation);
  }

  /** Logs an operation that took long, or was refused. */
  function report(operation: OperationInfo, milliseconds: number, client: Client | undefined): void {
    reportSlow(operation, milliseconds, client);
    reportRefused(operation, client);
  }

  return { logged, report, count };
}

/** Each request has an id: the client's own where it is valid, else a random one. The response carries it. */
export function createRequestTelemetry(deps: RequestTelemetryDeps) {
  const { log, tracing, proxyHeaders } = deps;
  const { logged, report, count } = createReports(deps);

  function begin(request: IncomingMessage, response: ServerResponse, span?: Span): RequestState {
    const { headers } = request;
    const given = headers['x-request-id'];
    const id = typeof given === 'string' && validRequestId.test(given) ? given : undefined;
    const operation = newOperationInfo(id, span?.begin('server'), clientAppOf(headers));
    const state = new RequestState(request, response, proxyHeaders.addressOf(request), operation, span);
    const connection = clientConnectionOf(request.socket);
    if (connection !== undefined) connection.address = state.address;
    state.setHeader('x-request-id', operation.id);
    if (proxyHeaders.schemeOf(request) === 'https') state.setHeader('strict-transport-security', strictTransport);
    state.whenClosed(() => end(state));
    return state;
  }

  function end(state: RequestState): void {
    const { operation, path, request, response, startedAt, span } = state;
    const { method = '', url = '' } = request;
    const { statusCode: status } = response;
    const endedAt = performance.now();
    const milliseconds = endedAt - startedAt;
    const executedMs = (operation.executedAt ?? endedAt) - startedAt;
    const transport = operation.transport ?? transports.get(path);
    // A subscription is answered once it has begun.
    const isAnswered = operation.type === 'subscription' ? response.headersSent : response.writableFinished;
    const isAbandoned = transport !== undefined && !isAnswered;
    operation.outcome = isAbandoned ? 'ABANDONED' : outcomeOf(operation, status);
    if (transport !== undefined && (operation.name !== undefined || operation.outcome !== 'ok')) {
      count(operation, transport, transport === 'http' ? executedMs : undefined);
    }
    if (span !== undefined) {
      const place = { route: path, clientAddress: state.address, proxyHeaders };
      const attributes = requestAttributes(request, response, place);
      span.end(`${method} ${path}`, attributes, status >= 500 ? String(status) : undefined);
    }
    if (transport !== undefined) report(operation, executedMs, state);
    // Probes come all the time.
    if (!log.isLevelEnabled('info') || monitoringPaths.has(path)) return;
    const place = { method, path: loggedPathOf(url), ...logged(state), status };
    log.info({ ...place, milliseconds, ...loggedOf(operation) }, 'Answered');
  }

  return {
    /** The first stage. It begins the state of each request, and sees its response to the end. */
    stage: (next: Handler) => (request: IncomingMessage, response: ServerResponse) => {
      const isTraced = tracing !== undefined && transports.has(pathOf(normalizedUrl(request.url ?? '')));
      const state = begin(
        request,
        response,
        isTraced ? tracing.beginRequest(request.headers, proxyHeaders.isFromProxy(request)) : undefined,
      );
      return followRequest(state) ? next(state) : undefined;
    },

    /** A request that opens a connection. @param response closes only where it is refused, or its client hangs up before. */
    startConnection(request: IncomingMessage, response: ServerResponse) {
      const { operation, address, startedAt } = begin(request, response);
      operation.transport = 'websocket';
      const { id, app } = operation;
      const { method, url = '' } = request;
      // Of the request, the connection holds only this.
      const line = { requestId: id, method, path: loggedPathOf(url), address, status: 101 };
      return {
        id,
        app,
        /** The connection was closed. @param operations how many were started on it. @param credential undefined where it had none yet. */
        closed(code: number, operations: number, credential: Credential | undefined): void {
          const milliseconds = performance.now() - startedAt;
          log.info({ ...line, ...logged({ address, credential }), milliseconds, code, operations }, 'Closed');
        },
      };
    },

    /** An operation on a connection. Its id begins with the id of the connection. */
    startOperation: (id: string, app: ClientApp | undefined) => newOperationInfo(id, tracing?.begin('server'), app),

    /** @param milliseconds how long it took; undefined for a subscription, which lasts as long as its subscriber listens. */
    endOperation(operation: OperationInfo, client: Client | undefined, milliseconds: number | undefined): void {
      operation.outcome ??= 'ok';
      count(operation, 'websocket', milliseconds);
      report(operation, milliseconds ?? 0, client);
      if (!log.isLevelEnabled('info')) return;
      const from = client && logged(client);
      log.info({ transport: 'websocket', ...from, milliseconds, ...loggedOf(operation) }, 'Answered');
    },
  };
}

/** How many documents, slow operations and refused clients are logged in a minute. */
const maxLines = 100;

/** Whether there is a line for something: once a minute for the same, and for so many. */
function createLineBound() {
  const logged = new LRUCache<string | symbol, true>({ max: maxLines, ttl: minuteMs, perf: performance });
  return (what: string | symbol): boolean => {
    logged.purgeStale();
    if (logged.has(what) || logged.size === maxLines) return false;
    logged.set(what, true);
    return true;
  };
}

/** Counts what `PERSISTED_DOCUMENTS_MODE=only` would refuse, and logs each document once a minute, by its SHA-256 too. */
export function createUntrustedReport(log: Pick<Logger, 'warn'>, telemetry: Pick<Telemetry, 'untrustedDocument'>) {
  const mayLog = createLineBound();
  return ({ untrusted, name, app }: Pick<OperationInfo, 'untrusted' | 'name' | 'app'>): void => {
    if (untrusted === undefined) return;
    telemetry.untrustedDocument();
    if (!mayLog(untrusted)) return;
    const line = { document: untrusted, operation: name, client: app?.name };
    log.warn(line, 'PERSISTED_DOCUMENTS_MODE=only would refuse this document');
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

/** What a line of the log says about an operation: how it ended, the program of the client, and where its trace is. */
const loggedOf = ({ id, name, outcome, app, span }: OperationInfo) => ({
  requestId: id,
  operation: name,
  outcome,
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
