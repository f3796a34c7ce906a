// What logs, metrics and traces say about an operation, and by which names.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GraphQLFormattedError, OperationTypeNode } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { AcceptedScopes } from '../auth/accepted-scopes.js';
import type { Scope } from '../auth/credentials.js';
import type { Reloadable } from '../config/values.js';
import { outcomeOfError } from '../errors.js';
import { ownText } from '../lib/memory-budget.js';
import type { ProxyHeaders } from '../lib/network.js';
import { dayMs } from '../lib/time.js';

export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** What a span says about the server that the gateway calls. */
export const serverAttributes = ({ hostname, port, protocol }: URL): Attributes => ({
  'server.address': hostname,
  'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
});

/** A span is of the server where it answers a client, and of the client where the gateway calls another system. */
type SpanKind = 'server' | 'client';

/** A running span of a trace. A span that never ends is never exported. */
export interface Span {
  /** What a line of the log says about the span, by OpenTelemetry's names for logs. */
  readonly logged: { readonly trace_id: string; readonly span_id: string };
  readonly isSampled: boolean;
  /** Headers that continue the trace in the service (W3C Trace Context). */
  headers(): Readonly<Record<string, string>>;
  begin(kind: SpanKind): Span;
  /**
   * @param name of few values: many spans share it.
   * @param error the code of the error; undefined where there is none.
   * @param isFault whether the span failed. A mistake of the client is an error, but not a fault of the server.
   */
  end(name: string, attributes: Attributes, error?: string, isFault?: boolean): void;
}

export interface Tracing {
  /** Begins a trace of its own. */
  begin(kind: SpanKind): Span;
  /** Begins the span of a request. @param headers may continue a client's trace. @param decides whether they also decide that it is exported, or not. */
  beginRequest(headers: Readonly<Record<string, string | string[] | undefined>>, decides: boolean): Span;
  close(): Promise<void>;
}

export type Transport = 'http' | 'websocket' | 'sse' | 'multipart' | 'mcp';

/** What logs, metrics and traces say about one operation: a request, an operation on a connection, or a poll. */
export interface OperationInfo {
  /** The same in the logs, to the client and to the service: `x-request-id`. */
  readonly id: string;
  /** The operation's span in its trace; undefined where nothing is traced. */
  readonly span: Span | undefined;
  readonly app: ClientApp | undefined;
  /** The operation's name in logs and spans; undefined while it is not known, and where there is none. */
  name: string | undefined;
  type: `${OperationTypeNode}` | undefined;
  /** `ok`, or the code of the first error; undefined while it is not known. */
  outcome: string | undefined;
  /** The text of the document; undefined while it is not known, and where a cached response answers. */
  document?: string | undefined;
  /** The upstream calls that it has waited for so far: how many, and the slowest. */
  readonly calls: {
    count: number;
    slowest: { family: string; status: number | null; milliseconds: number } | undefined;
  };
  /** The SHA-256 of a document that `PERSISTED_DOCUMENTS_MODE=only` would refuse. Set in mode `log` only. */
  untrusted?: string | undefined;
  /** The upper bound of its upstream calls, which `QUERY_CALL_LIMIT` limits. */
  estimatedCalls?: number;
  /** The coordinates of everything deprecated that it uses. */
  deprecated?: readonly string[] | undefined;
  /** What the client names its document by, where it sends no text. */
  documentId?: string | undefined;
  /** When it was executed, in milliseconds of `performance.now()`, where its response goes on for longer, or waits for an endpoint of a team. */
  executedAt?: number;
  /** Set where the response is a stream that another transport than that of its path carries. */
  transport?: Transport;
  /** The credential's scope; undefined while it is not known, and where there is none. */
  scope: Scope | undefined;
}

const maxNameLength = 100;

/** The name of an operation in logs and spans: the client's own, up to 100 characters of it, or `unnamed`. */
export function operationName(name: string | undefined): string {
  return name?.slice(0, maxNameLength) ?? 'unnamed';
}

/** @param id the client's own request id. By default a random one. */
export function newOperationInfo(id: string = randomUUID(), span?: Span, app?: ClientApp): OperationInfo {
  const calls = { count: 0, slowest: undefined };
  return { id, span, app, calls, name: undefined, type: undefined, outcome: undefined, scope: undefined };
}

/** The outcome that errors stand for: `ok` without any, else that of the first. */
export function outcomeOfErrors(errors: readonly GraphQLFormattedError[] | undefined): string {
  return errors?.[0] === undefined ? 'ok' : outcomeOfError(errors[0].extensions ?? {});
}

export interface ClientApp {
  readonly name: string;
  readonly version: string | undefined;
}

/** A package's name or version. It has no `@` within, and so cannot be an e-mail address. */
const validText = /^@?[\w.:+/ -]{1,64}$/;

/**
 * The program that headers name, or the first message of a WebSocket: `graphql-client-name` and `graphql-client-version`, or Apollo's own
 * names. Undefined where they name none, or one with invalid characters.
 */
export function clientAppOf(headers: Readonly<Record<string, unknown>>): ClientApp | undefined {
  const read = (text: unknown) => (typeof text === 'string' && validText.test(text) ? text : undefined);
  const name = read(headers['graphql-client-name'] ?? headers['apollographql-client-name']);
  const version = headers['graphql-client-version'] ?? headers['apollographql-client-version'];
  return name === undefined ? undefined : { name, version: read(version) };
}

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
export function operationAttributes({ id, name, type, app, documentId }: OperationInfo): Attributes {
  return {
    'graphql.operation.type': type,
    'graphql.operation.name': name === 'unnamed' ? undefined : name,
    'graphql.document.id': documentId,
    'gateway.request_id': id,
    'gateway.client.name': app?.name,
    'gateway.client.version': app?.version,
  };
}

/** The names of operations and clients in metrics, where each name costs memory forever. Logs and spans use the names that clients send. */
export type OperationNames = ReturnType<typeof createOperationNames>;

const maxNames = 100;
/** How long a name keeps its place after its last use. What was counted under it is lost when it goes, so names that come all the time must not push it out. */
const keptForMs = dayMs;
/** Labels that stand for many operations: no single operation may use them. */
const reserved = new Set(['none', 'other']);

/**
 * With trusted documents, only their names are known. Without them, the known names are the first hundred that succeeded under a credential
 * that the service accepts, so that a client without one cannot add names. One that was not used for a day makes room for another.
 * @param documents the trusted documents by their hashes.
 * @param accepted the scopes of credentials that the service accepts.
 * @param forget is called with a name that is no longer known.
 * @param forgetClient is called with the label of a client that is no longer known.
 */
export function createOperationNames(
  documents: Reloadable<ReadonlyMap<string, string>>,
  accepted: Pick<AcceptedScopes, 'has'>,
  forget: (name: string) => void,
  forgetClient: (client: string) => void,
) {
  let fixed = namesOf(documents.current);
  documents.onReload(() => {
    const before = fixed;
    fixed = namesOf(documents.current);
    for (const name of before) if (!fixed.has(name)) forget(name);
  });
  const isAccepted = ({ scope }: OperationInfo) => scope !== undefined && accepted.has(scope);
  const recentNames = createRecentLabels(forget, isAccepted);
  const recentClients = createRecentLabels(forgetClient, isAccepted);
  return {
    /** The label for an ended operation: its name, or `other` where the name is not known. */
    labelOf(operation: OperationInfo): string {
      const { name } = operation;
      if (name === undefined) return 'none';
      if (name === 'unnamed') return name;
      if (fixed.size > 0) return fixed.has(name) ? name : 'other';
      return recentNames(name, operation);
    },
    /** The label for the client's program: its name and version, `other` where they are not known, `none` where it has no name. */
    clientLabelOf(operation: OperationInfo): string {
      const { app } = operation;
      if (app === undefined) return 'none';
      const label = app.version === undefined ? app.name : `${app.name}/${app.version}`;
      return recentClients(label, operation);
    },
  };
}

/** Returns a label itself if it is one of the known ones, else `other`. */
function createRecentLabels(forget: (label: string) => void, isAccepted: (operation: OperationInfo) => boolean) {
  const labels = new LRUCache<string, true>({
    ...{ max: maxNames, ttl: keptForMs, ttlResolution: 0, perf: Date },
    // One that was not used for a day stays until another needs its place.
    ...{ allowStale: true, noDeleteOnStaleGet: true },
    dispose: (_, label) => forget(label),
  });

  return (label: string, operation: OperationInfo): string => {
    const isSuccess = operation.outcome === 'ok';
    if (labels.get(label)) {
      if (isSuccess) labels.set(label, true);
      return label;
    }
    if (!isSuccess || !isAccepted(operation) || reserved.has(label)) return 'other';
    if (labels.size === maxNames) labels.purgeStale();
    if (labels.size === maxNames) return 'other';
    labels.set(ownText(label), true);
    return label;
  };
}

const namesOf = (documents: ReadonlyMap<string, string>): ReadonlySet<string> =>
  new Set([...documents.values()].flatMap(operationsNamedIn));

/** The names of operations in a text of the operator; perhaps also a word of a comment or a string, which does no harm. */
export const operationsNamedIn = (text: string): readonly string[] =>
  [...text.matchAll(/\b(?:query|mutation|subscription)\s+(\w+)/g)].map(([, name]) => operationName(name));
