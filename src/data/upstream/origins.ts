// The connections to the service's addresses.
import type { Socket } from 'node:net';
import { type buildConnector, type Dispatcher, Pool } from 'undici';
import { toUpstreamAuth } from '../../auth/credentials.js';
import type { Config } from '../../config/config.js';
import { readableEncodings } from '../../lib/body.js';
import { hostTime } from '../../lib/clock.js';
import { createConnector } from '../../lib/connector.js';
import { pathOf } from '../../lib/network.js';
import { Bulkhead } from '../../lib/run.js';
import { httpTime } from '../../lib/time.js';
import { userAgent } from '../../observability/metrics.js';
import { type Attributes, type Span, serverAttributes } from '../../observability/operation-info.js';
import type { Exchange } from './exchange.js';
import type { Address, CallAuth, Reply, UpstreamRequest } from './request.js';

/** The addresses of the service (docs/upstream-api.md: The upstream interface), and the limits of its use. */
export type UpstreamOptions = Config['upstream'];

/** The environment variable that sets an address. */
export const addressVariables: Record<Address, string> = {
  base: 'UPSTREAM_BASE_URL',
  api: 'UPSTREAM_API_URL',
  dev: 'UPSTREAM_DEV_URL',
};

/** One address of the service. Addresses of the same origin share its connections. */
export interface Destination {
  readonly origin: Origin;
  /** What stands before the path of each request. */
  readonly prefix: string;
}

/** Those of the service's addresses that the operator has set. @param wire takes the place of the connection pools: the seam where a test fakes the service. */
export function createDestinations(options: UpstreamOptions, wire?: Dispatcher): ReadonlyMap<Address, Destination> {
  const origins = new Map<string, Origin>();
  const destinations = new Map<Address, Destination>();
  for (const address of ['base', 'api', 'dev'] as const) {
    if (options[address] === undefined) continue;
    const url = new URL(options[address]);
    const origin = origins.get(url.origin) ?? createOrigin(url, options, wire);
    origins.set(url.origin, origin);
    destinations.set(address, { origin, prefix: url.pathname.replace(/\/$/, '') });
  }
  return destinations;
}

/** Of each request, names and values in turn. */
const fixedHeaders = ['user-agent', userAgent, 'accept', 'application/json', 'accept-encoding', readableEncodings];

const waitingPerConnection = 32;
const clockEveryMs = 10_000;
/** How long calls wait for a new connection while old ones work, and the pause before the next attempt, in milliseconds. */
const renewing = { patienceMs: 250, pauseMs: 1_000 };

/**
 * The connections to one origin. All are replaced together when they have reached their age, so that a name that moves is followed; running calls end
 * on the old ones. They are replaced once a new one stands: until then, the old ones are used. undici's `clientTtl` lets a call wait forever when all
 * connections are too old, and never replaces those that are always busy.
 */
function createConnections(url: URL, { connections, connectionMaxAgeMs }: UpstreamOptions, wire?: Dispatcher) {
  // Shared, because it remembers TLS sessions.
  const connect = createConnector();
  // The deadline of the call bounds all waiting, so undici needs no timeouts of its own.
  const bounds = { connections, headersTimeout: 0, bodyTimeout: 0 };
  const open = (by: buildConnector.connector) => wire ?? new Pool(url.origin, { ...bounds, connect: by });
  const maxAgeMs = wire === undefined ? connectionMaxAgeMs : Number.POSITIVE_INFINITY;
  let pool = open(connect);
  /** When the connections are replaced, in milliseconds of `performance.now()`. */
  let renewAt = performance.now() + maxAgeMs;
  /** Calls that wait for a new connection. */
  let held: (() => void)[] | undefined;
  let isClosed = false;
  const closing = new Set<Promise<void>>();

  function release(): void {
    const sends = held ?? [];
    held = undefined;
    for (const send of sends) send();
  }

  /** Opens a connection, and replaces all others once it stands. Calls wait for it, but not for long. */
  function renew(): void {
    renewAt = Number.POSITIVE_INFINITY;
    held = [];
    const late = setTimeout(release, renewing.patienceMs);
    const { host, hostname, protocol, port } = url;
    const target = { host, hostname: hostname.replace(/^\[|\]$/g, ''), protocol, port };
    connect(target, (...[error, socket]) => {
      clearTimeout(late);
      if (isClosed) return socket?.destroy();
      renewAt = performance.now() + (error === null ? maxAgeMs : renewing.pauseMs);
      if (error === null) replaceBy(socket);
      release();
    });
  }

  function replaceBy(socket: Socket): void {
    const closed = pool.close().finally(() => closing.delete(closed));
    closing.add(closed);
    let first = held && socket;
    // No call needs it now, and nobody would hear that the service closes it.
    if (first === undefined) socket.destroy();
    pool = open((target, callback) => {
      const opened = first;
      first = undefined;
      if (opened === undefined) connect(target, callback);
      else queueMicrotask(() => callback(null, opened));
    });
  }

  return {
    dispatch(...call: Parameters<Dispatcher['dispatch']>): void {
      if (performance.now() >= renewAt) renew();
      if (held === undefined) pool.dispatch(...call);
      else held.push(() => pool.dispatch(...call));
    },
    async close(): Promise<void> {
      isClosed = true;
      await Promise.all([pool.close(), ...closing]);
    },
  };
}

type Origin = ReturnType<typeof createOrigin>;

function createOrigin(url: URL, options: UpstreamOptions, wire?: Dispatcher) {
  // `URL` makes it anew each time.
  const { origin } = url;
  const { dispatch, close } = createConnections(url, options, wire);
  let clockReadAt = Number.NEGATIVE_INFINITY;
  return {
    bulkhead: new Bulkhead(options.connections, options.connections * waitingPerConnection),
    close,
    /**
     * How far this host is ahead of a reply's `Date`, which has whole seconds, in milliseconds; undefined without one, of a cache, or if it was read a
     * moment ago. @param tookMs how long ago the date may have been written
     */
    clockDifference({ date, age }: Reply['headers'], now: number, tookMs: number): number | undefined {
      const isWanted = age === undefined && now - clockReadAt >= clockEveryMs;
      const time = isWanted ? httpTime(`${date}`) : Number.NaN;
      if (Number.isNaN(time)) return undefined;
      clockReadAt = now;
      const ahead = hostTime() - time;
      return ahead >= 0 && ahead < 1_000 + tookMs ? 0 : ahead - 500;
    },
    /** Sends a request over one of the connections. `dispatch` rather than undici's `request`, because no stream is needed. */
    send(
      prefix: string,
      { method, path: ownPath, body }: UpstreamRequest,
      { credential, metadata: { operation } }: CallAuth,
      span: Span | undefined,
      exchange: Exchange,
    ): void {
      const path = prefix + ownPath;
      const sent = credential && toUpstreamAuth(credential, path);
      const headers = [...fixedHeaders, 'x-request-id', operation.id, ...(sent?.header ?? [])];
      if (span !== undefined) headers.push(...Object.entries(span.headers()).flat());
      if (body !== undefined) headers.push('content-type', 'application/json');
      const query = sent?.query === undefined ? '' : `${path.includes('?') ? '&' : '?'}${sent.query}`;
      const json = body === undefined ? null : JSON.stringify(body);
      dispatch({ origin, method, path: path + query, headers, body: json }, exchange);
    },
    /** What a span says about a request. Its URL has no query, which may hold a credential or what a client searches for. */
    attributesOf: (prefix: string, { method, path }: UpstreamRequest): Attributes => ({
      'http.request.method': method,
      'url.full': `${origin}${prefix}${pathOf(path)}`,
      ...serverAttributes(url),
      'network.protocol.version': '1.1',
    }),
  };
}
