import { getHeapStatistics } from 'node:v8';
import { type Dispatcher, Pool } from 'undici';
import { carry } from '../../auth/credentials.js';
import { NotConfigured, UpstreamInvalidResponse } from '../../errors.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { Span } from '../../observability/tracing.js';
import type { CallAuth } from '../request-auth.js';
import { bodyBoundsOf } from './body-bounds.js';
import { Bulkhead } from './bulkhead.js';
import { ByteBudget } from './byte-budget.js';
import type { Cancellation } from './cancellation.js';
import { type Ending, exchange } from './exchange.js';
import { type Address, pathAndQuery, type UpstreamRequest } from './request.js';

/** Where the service is (docs/upstream-api.md: The upstream interface), without a slash at the end, and how hard it may be asked. */
export interface UpstreamOptions {
  readonly base: string | undefined;
  readonly api: string | undefined;
  readonly dev: string | undefined;
  /** For one call, everything included. */
  readonly timeoutMs: number;
  /** For each origin. */
  readonly connections: number;
}

/** One origin of the service: its connections, and the bound on who may use them. */
export interface Origin {
  readonly bulkhead: Bulkhead;
  /** Asks it over one of its connections; see `exchange`. */
  exchange(
    request: UpstreamRequest,
    auth: CallAuth,
    span: Span | undefined,
    cancellation: Cancellation,
    ending: Ending,
  ): void;
}

const waitingPerConnection = 32;
/** Of all bodies that are arriving, for all origins, in bytes. A small heap allows fewer: what arrives is parsed there. */
const mostArriving = Math.min(getHeapStatistics().heap_size_limit / 8, 256 * 1024 * 1024);

/** The variable that sets an address. */
export const variables: Record<Address, string> = {
  base: 'UPSTREAM_BASE_URL',
  api: 'UPSTREAM_API_URL',
  dev: 'UPSTREAM_DEV_URL',
};

/** Says in the log, once a minute for each cause, that the service fails at one of its addresses. @param words without any secret. */
export function warnOfService({ warn }: Pick<Telemetry, 'warn'>, address: Address, words: string): void {
  const message = `${variables[address]}: ${words}; what needs it fails`;
  warn(message, message);
}

/** Where nothing of a body could be understood, says so in the log, and counts it as drift of the whole family. Any other error is left alone. */
export function noteInvalid(
  telemetry: Pick<Telemetry, 'warn' | 'drift'>,
  { address, family }: UpstreamRequest,
  error: unknown,
): void {
  // A status that the service does not document is told of where it comes in.
  if (!(error instanceof UpstreamInvalidResponse) || error.upstream?.status != null) return;
  telemetry.drift(family);
  warnOfService(telemetry, address, error.message);
}

/**
 * The origins of the service's addresses; addresses of one origin share its connections.
 * @param wire takes the place of the connection pools: the seam where a test fakes the service.
 */
export function createOrigins(options: UpstreamOptions, wire?: Dispatcher) {
  const pools = new Map<string, { dispatcher: Dispatcher; bulkhead: Bulkhead }>();
  const byAddress = new Map<Address, Origin>();
  const arriving = new ByteBudget(mostArriving);

  function open(origin: string) {
    const found = pools.get(origin);
    if (found !== undefined) return found;
    const { connections } = options;
    const opened = {
      // The deadline of the call bounds the waiting; undici's own timers would be a second opinion.
      dispatcher: wire ?? new Pool(origin, { connections, headersTimeout: 0, bodyTimeout: 0 }),
      bulkhead: new Bulkhead(connections, connections * waitingPerConnection),
    };
    pools.set(origin, opened);
    return opened;
  }

  return {
    /** @throws NotConfigured where the operator has not set the address. */
    to(address: Address): Origin {
      const found = byAddress.get(address);
      if (found !== undefined) return found;
      const configured = options[address];
      if (configured === undefined) throw new NotConfigured(variables[address]);
      const { origin, pathname } = new URL(configured);
      const prefix = pathname.replace(/\/$/, '');
      const { dispatcher, bulkhead } = open(origin);
      const its: Origin = {
        bulkhead,
        exchange(request, auth, span, cancellation, ending) {
          const reception = { largestBody: bodyBoundsOf(request.family).bytes, arriving };
          exchange(dispatcher, wireForm(request, auth, span, { origin, prefix }), reception, cancellation, ending);
        },
      };
      byAddress.set(address, its);
      return its;
    },

    /** Lets running calls end, then closes the connections. */
    async close(): Promise<void> {
      await Promise.all([...pools.values()].map(({ dispatcher }) => dispatcher.close()));
    },
  };
}

function wireForm(
  request: UpstreamRequest,
  { credential, metadata }: CallAuth,
  span: Span | undefined,
  { origin, prefix }: { readonly origin: string; readonly prefix: string },
): Dispatcher.DispatchOptions {
  const { method, body } = request;
  const carried = credential && carry(credential);
  const common = ['accept', 'application/json', 'x-request-id', metadata.operation.id];
  // Names and values in turn.
  const headers = carried?.header === undefined ? common : [...common, carried.header[0], carried.header[1]];
  if (span !== undefined) headers.push(...Object.entries(span.headers).flat());
  if (body !== undefined) headers.push('content-type', 'application/json');
  const path = prefix + pathAndQuery(request);
  return {
    origin,
    method,
    path: carried?.query === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}${carried.query}`,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  };
}
