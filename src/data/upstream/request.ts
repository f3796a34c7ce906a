// What is sent to the service, for whom, and what comes back.
import type { Credential, Scope } from '../../auth/credentials.js';
import type { UnreadableBody } from '../../lib/body.js';
import { timeNow } from '../../lib/clock.js';
import type { JsonBounds } from '../../lib/json.js';
import { httpTime } from '../../lib/time.js';
import type { ResponseMetadata } from '../../observability/response-metadata.js';

/** The three addresses of the service (docs/upstream-api.md: The upstream interface): versioned, markets, development stage. */
export type Address = 'base' | 'api' | 'dev';

/**
 * The bounds of a reply's body. Within them, a step of reading usually takes no longer than 50 milliseconds. The slowest ones measured: 230 for 30 MB of
 * escaped quotes, 148 for 34 MB of companies in Japanese.
 */
export interface BodyBounds extends JsonBounds {
  /** As it comes over the wire. */
  readonly bytes: number;
  /** Bytes besides the vectors, where a body has some. */
  readonly otherBytes: number;
}

/** What came back over the wire, whatever its status. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** UTF-8 without a byte order mark. Incomplete if it is unreadable. */
  readonly body: Buffer;
  readonly unreadable?: UnreadableBody | undefined;
}

/** Whether the service forbids to store a reply. */
export const forbidsStoring = ({ headers }: Reply): boolean =>
  /\bno-store\b/i.test(`${headers['cache-control'] ?? ''}`);

/** When a reply came, in milliseconds since 1970, by the clock of the service where the reply says so: its other dates are of that clock. */
export function repliedAt({ headers: { date, age } }: Reply): number {
  const time = httpTime(`${date}`) + (Number(age) || 0) * 1_000;
  return Number.isNaN(time) ? timeNow() : time;
}

/** What a path names: the record that has its id in this member, or the market that a record belongs to. */
export interface NamedRecord {
  readonly id: string;
  readonly member: 'id' | '_id' | 'marketId';
}

/** The market that a call is about; undefined if its path names none. */
export const marketOf = ({ record }: Pick<UpstreamRequest, 'record'>): string | undefined =>
  record?.member === '_id' ? undefined : record?.id;

/** One REST call, as a value: what is sent, to where, and under which policy. Holds no credential. */
export interface UpstreamRequest {
  /** The endpoint family: its calls of one scope share a circuit breaker, and all of its calls a metric: `events`, `companies`. */
  readonly family: string;
  readonly address: Address;
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Below the address, encoded, with its query: `/v2/events-monitor/events?pageSize=10&page=1`. */
  readonly path: string;
  readonly body?: unknown;
  /** The GraphQL argument to name when the service rejects its values, such as `filter`. Omitted if the call has none, or each field its own. */
  readonly argument?: string | undefined;
  /** Members of that argument, as paths within it, which an error names where the service's text does. */
  readonly members?: readonly string[];
  /** Values of a list, which an error names where the service's text does, and the argument that they came from. */
  readonly listed?: { readonly argument: string; readonly values: readonly string[] };
  /** A reply that names another one is invalid. Undefined if the path names none. */
  readonly record?: NamedRecord | undefined;
  /** Those of the reply's body that are not enough for one record, or for a list of some hundreds. */
  readonly bounds?: Partial<BodyBounds> | undefined;
  /** Whether the request may be sent again. */
  readonly safe: boolean;
  /** The member that holds number arrays. If they are wanted, each becomes a string before the body is parsed; otherwise they are removed. */
  readonly vectors?: { readonly member: string; readonly wanted: boolean } | undefined;
}

/** One that says which record its path names, if it names one. */
export type RecordRequest = UpstreamRequest & Required<Pick<UpstreamRequest, 'record'>>;

/** The credential with which a request reads and writes, and when it must stop. Lives as long as one request, or one event of a subscription. */
export interface RequestAuth {
  readonly credential: Credential;
  readonly scope: Scope;
  /** Its signal aborts when the client has gone or the request's deadline has passed; the signal's reason is the error to answer with. */
  readonly cancellation: Pick<AbortController, 'signal'>;
  readonly metadata: ResponseMetadata;
}

/** What one upstream call needs of it. A sign-in has neither a credential nor a scope yet. */
export type CallAuth = Pick<RequestAuth, 'metadata'> & Partial<RequestAuth>;

/** Learns how each call of a batch ended, by the index of its request. Some may end before `sendBatch` returns. */
export interface Receiver<T> {
  resolve(index: number, value: T): void;
  reject(index: number, error: Error): void;
}
