import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { Attached } from '../lib/attached.js';
import { addEarlyHeader } from '../lib/early-headers.js';
import { loggedPathOf, pathOf } from '../lib/path.js';
import { newOperationInfo, type OperationInfo } from './operation-info.js';
import type { OperationNames } from './operation-names.js';
import type { Telemetry, Transport } from './telemetry.js';
import type { Tracing } from './tracing.js';

/** Tells requests and operations apart, and tells those who watch how each of them went. */
export interface RequestTelemetry {
  /** Sees each request before anybody else, and its response to the end. */
  listener(next: RequestListener): RequestListener;
  of(request: IncomingMessage): OperationInfo;
  /** The upstream has answered under this credential. */
  readonly accept: OperationNames['accept'];
  /** A request for a connection, which has a response only where it is refused. */
  stay(request: IncomingMessage): ConnectionTelemetry;
  /** An operation that came by a connection, under an id that begins with that of its connection. */
  begin(id: string): OperationInfo;
  /** @param milliseconds how long it took; undefined for a subscription, which takes as long as somebody listens. */
  end(trail: OperationInfo, milliseconds: number | undefined): void;
}

/** A connection from its request on. It holds nothing of that request. */
export interface ConnectionTelemetry {
  readonly id: string;
  /** There is no connection, but an answer with this status; undefined: its client went before it could be told. */
  refused(status: number | undefined): void;
  /** The connection was closed. @param operations how many were begun on it. */
  closed(code: number, operations: number): void;
}

/** What a client may call its request: nothing that could break a line of a log or a header. */
const sane = /^[\w.:+/=@-]{1,128}$/;

/** What visits are told to, and how operations are called in metrics. */
export interface RequestTelemetryDeps {
  readonly log: Logger;
  readonly telemetry: Pick<Telemetry, 'request'>;
  readonly tracing: Tracing | undefined;
  readonly names: OperationNames;
}

/** Each request has an id, the client's own where it is sane; the client is told it. */
export function createRequestTelemetry({ log, telemetry, tracing, names }: RequestTelemetryDeps): RequestTelemetry {
  const trails = new Attached<OperationInfo>();

  const of = (request: IncomingMessage) =>
    trails.get(request) ??
    begin(request, doors.has(pathOf(request.url ?? '')) ? tracing?.operation(request.headers) : undefined);

  function begin(request: IncomingMessage, span: OperationInfo['span']): OperationInfo {
    const given = request.headers['x-request-id'];
    const trail = newOperationInfo(typeof given === 'string' && sane.test(given) ? given : undefined, span);
    trails.set(request, trail);
    return trail;
  }

  function left(request: IncomingMessage, response: ServerResponse, startedAt: number): void {
    const { method, url = '' } = request;
    const { statusCode: status } = response;
    const trail = of(request);
    const path = pathOf(url);
    const milliseconds = performance.now() - startedAt;
    const door = doors.get(path);
    const isAnswered = door === 'sse' ? response.headersSent : response.writableFinished;
    if (door !== undefined && !isAnswered) trail.outcome = 'ABANDONED';
    trail.outcome ??= outcomeOfStatus(status);
    const { id: requestId, operation, outcome } = trail;
    if (door !== undefined && (operation !== undefined || outcome !== 'ok')) {
      telemetry.request(door, names.labelOf(trail), outcome, door === 'http' ? milliseconds : undefined);
      endSpan(trail, status);
    }
    if (log.isLevelEnabled('info')) {
      log.info({ requestId, method, path: loggedPathOf(url), status, milliseconds, operation, outcome }, 'Answered');
    }
  }

  return {
    of,
    accept: names.accept,
    listener: next => (request, response) => {
      const startedAt = performance.now();
      addEarlyHeader(request, 'x-request-id', of(request).id);
      response.once('close', () => left(request, response, startedAt));
      next(request, response);
    },
    stay(request) {
      const startedAt = performance.now();
      const trail = begin(request, undefined);
      const { method } = request;
      const path = pathOf(request.url ?? '');
      const tell = (status: number | undefined, more: object, message: string) => {
        const milliseconds = performance.now() - startedAt;
        log.info(
          { requestId: trail.id, method, path: loggedPathOf(request.url ?? ''), status, milliseconds, ...more },
          message,
        );
      };
      return {
        id: trail.id,
        refused(status) {
          const outcome = status === undefined ? 'ABANDONED' : (trail.outcome ?? outcomeOfStatus(status));
          if (doors.has(path)) telemetry.request('websocket', 'none', outcome, undefined);
          tell(status, { outcome }, 'Answered');
        },
        closed: (code, operations) => tell(101, { code, operations }, 'Closed'),
      };
    },
    begin: id => newOperationInfo(id, tracing?.operation({})),
    end(trail, milliseconds) {
      trail.outcome ??= 'ok';
      const { id: requestId, operation = 'none', outcome } = trail;
      endSpan(trail, undefined);
      telemetry.request('websocket', names.labelOf(trail), outcome, milliseconds);
      log.info({ requestId, door: 'websocket', milliseconds, operation, outcome }, 'Answered');
    },
  };
}

const doors: ReadonlyMap<string, Transport> = new Map([
  ['/graphql', 'http'],
  ['/graphql/stream', 'sse'],
]);

function endSpan({ id, span, operation, outcome }: OperationInfo, status: number | undefined): void {
  const attributes = {
    'graphql.operation.name': operation,
    'http.response.status_code': status,
    'gateway.request_id': id,
  };
  span?.end(operation ?? 'GraphQL', attributes, outcome === 'ok' ? undefined : outcome);
}

/** For what no execution has told the outcome of. */
function outcomeOfStatus(status: number): string {
  if (status < 400) return 'ok';
  return status < 500 ? 'BAD_REQUEST' : 'INTERNAL_SERVER_ERROR';
}
