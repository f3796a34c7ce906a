/** The three addresses of the service (docs/upstream-api.md: The upstream interface): versioned, markets, development stage. */
export type Address = 'base' | 'api' | 'dev';

/** One REST call, as a value: what is sent, to where, and under which policy. Holds no credential. */
export interface UpstreamRequest {
  /** The endpoint family that shares a circuit breaker and a metric: `events`, `companies`. */
  readonly family: string;
  readonly address: Address;
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Below the address, encoded: `/v2/events-monitor/observation/o-1`. */
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly body?: unknown;
  /** The GraphQL argument to name when the service rejects its values, such as `filter`. Omitted if the call has no arguments. */
  readonly argument?: string;
  /** Members of that argument, as paths within it, which an error names where the service's text does. */
  readonly members?: readonly string[];
  /** Whether asking twice is the same as asking once. Only a safe request is ever sent again. */
  readonly safe: boolean;
  /** The member that holds number arrays, and whether they are wanted: quoted into text if so, else cut out unread. */
  readonly vectors?: { readonly member: string; readonly wanted: boolean };
}

/** Path and query of a request: `/v2/events-monitor/events?page=1`. */
export function pathAndQuery({ path, query }: UpstreamRequest): string {
  return query === undefined || query.size === 0 ? path : `${path}?${query}`;
}

/** What tells one read from another: address, method, path, query and body. */
export function requestLine(request: UpstreamRequest): string {
  const line = `${request.address} ${request.method} ${pathAndQuery(request)}`;
  return request.body === undefined ? line : `${line} ${JSON.stringify(request.body)}`;
}
