import { type Dispatcher, Pool } from 'undici';
import { toUpstreamAuth } from '../../auth/credentials.js';
import { NotConfigured } from '../../errors.js';
import { readableEncodings } from '../../lib/body-encoding.js';
import { Bulkhead } from '../../lib/bulkhead.js';
import { createConnector } from '../../lib/connector.js';
import { heapLimit } from '../../lib/heap.js';
import { pathOf } from '../../lib/path.js';
import { type Attributes, type Span, serverAttributes } from '../../observability/operation-info.js';
import { ByteBudget, type Exchange } from './exchange.js';
import type { Address, CallAuth, UpstreamRequest } from './request.js';

/** The addresses of the service (docs/upstream-api.md: The upstream interface), without a trailing slash, and the limits of its use. */
export interface UpstreamOptions {
  readonly base: string | undefined;
  readonly api: string | undefined;
  readonly dev: string | undefined;
  /** For one call, including waiting and retry. */
  readonly timeoutMs: number;
  /** For each origin. */
  readonly connections: number;
  /** After this time, new calls get new connections, so that a name that moves is followed. */
  readonly connectionMaxAgeMs: number;
}

/** One address of the service. Addresses of the same origin share connections and bulkhead. */
export interface Origin {
  readonly bulkhead: Bulkhead;
  /** Of the bodies that are being received, or wait to be read, from all origins. */
  readonly budget: ByteBudget;
  /** Sends a request over one of its connections. `dispatch` rather than undici's `request`, because no stream is needed. */
  dispatch(request: UpstreamRequest, auth: CallAuth, span: Span | undefined, exchange: Exchange): void;
  /** What a span says about a request. Its URL has no query, which may hold a credential or what a client searches for. */
  attributesOf(request: UpstreamRequest): Attributes;
}

const waitingPerConnection = 32;
/**
 * In bytes, for the bodies of all replies that are being received, or wait to be read, from all origins. A small heap allows fewer: the bodies are
 * parsed there.
 */
const bodyBudgetBytes = Math.min(heapLimit / 4, 512 * 1024 * 1024);

/** The environment variable that sets an address. */
export const addressVariables: Record<Address, string> = {
  base: 'UPSTREAM_BASE_URL',
  api: 'UPSTREAM_API_URL',
  dev: 'UPSTREAM_DEV_URL',
};

export type Origins = ReturnType<typeof createOrigins>;

/**
 * The origins of the service's addresses.
 * @param wire takes the place of the connection pools: the seam where a test fakes the service.
 */
export function createOrigins(options: UpstreamOptions, wire?: Dispatcher) {
  const pools = new Map<string, { dispatcher: Pick<Dispatcher, 'dispatch' | 'close'>; bulkhead: Bulkhead }>();
  const origins = new Map<Address, Origin>();
  const budget = new ByteBudget(bodyBudgetBytes);

  for (const address of ['base', 'api', 'dev'] as const) {
    if (options[address] === undefined) continue;
    const url = new URL(options[address]);
    const { origin, pathname } = url;
    const prefix = pathname.replace(/\/$/, '');
    const pool = pools.get(origin) ?? {
      dispatcher: wire ?? new RenewedPool(origin, options),
      bulkhead: new Bulkhead(options.connections, options.connections * waitingPerConnection),
    };
    pools.set(origin, pool);
    origins.set(address, {
      bulkhead: pool.bulkhead,
      budget,
      dispatch({ method, path: ownPath, body }, { credential, metadata }, span, exchange) {
        const path = prefix + ownPath;
        const sent = credential && toUpstreamAuth(credential, path);
        // Names and values in turn.
        const headers = ['accept', 'application/json', 'accept-encoding', readableEncodings];
        headers.push('x-request-id', metadata.operation.id);
        if (sent?.header !== undefined) headers.push(...sent.header);
        if (span !== undefined) headers.push(...Object.entries(span.headers()).flat());
        if (body !== undefined) headers.push('content-type', 'application/json');
        const request = {
          origin,
          method,
          path: sent?.query === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}${sent.query}`,
          headers,
          body: body === undefined ? null : JSON.stringify(body),
        };
        pool.dispatcher.dispatch(request, exchange);
      },
      attributesOf: ({ method, path }) => ({
        'http.request.method': method,
        'url.full': `${origin}${prefix}${pathOf(path)}`,
        ...serverAttributes(url),
        'network.protocol.version': '1.1',
      }),
    });
  }

  return {
    /** @throws NotConfigured if the operator has not set the address. */
    to(address: Address): Origin {
      const origin = origins.get(address);
      if (origin === undefined) throw new NotConfigured(addressVariables[address]);
      return origin;
    },

    /** Waits for the calls in progress, then closes the connections. */
    async close(): Promise<void> {
      await Promise.all([...pools.values()].map(({ dispatcher }) => dispatcher.close()));
    },
  };
}

/**
 * The connections to one origin. All are replaced together when they have reached their age, so that a name that moves is followed; running calls end
 * on the old ones. undici's `clientTtl` lets a call wait for ever when all connections are too old, and never replaces those that are always busy.
 */
class RenewedPool {
  readonly #open: () => Pool;
  readonly #maxAgeMs: number;
  #pool: Pool;
  #openedAt = performance.now();
  readonly #closing = new Set<Promise<void>>();

  constructor(origin: string, { connections, connectionMaxAgeMs }: UpstreamOptions) {
    // Shared, because it remembers TLS sessions.
    const connect = createConnector();
    // The deadline of the call bounds all waiting, so undici needs no timeouts of its own.
    this.#open = () => new Pool(origin, { connections, connect, headersTimeout: 0, bodyTimeout: 0 });
    this.#maxAgeMs = connectionMaxAgeMs;
    this.#pool = this.#open();
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const now = performance.now();
    if (now - this.#openedAt >= this.#maxAgeMs) {
      const closing = this.#pool.close().finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
      this.#pool = this.#open();
      this.#openedAt = now;
    }
    return this.#pool.dispatch(options, handler);
  }

  /** Waits for the calls in progress. */
  async close(): Promise<void> {
    await Promise.all([this.#pool.close(), ...this.#closing]);
  }
}
