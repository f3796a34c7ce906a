import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { exportOutcomes, malformedKinds, shedReasons, type Telemetry } from './telemetry.js';
import { version } from './version.js';

/** The registry behind `/metrics`, and the functions that count events in it. */
export interface Metrics {
  readonly registry: Registry;
  readonly telemetry: Omit<Telemetry, 'warn' | 'works' | 'redisWorks'>;
  /**
   * Adds a gauge whose value is read at each scrape.
   * @param aggregator makes one value of those of several workers: their sum, or the least.
   */
  gauge(name: string, help: string, read: () => number, aggregator?: 'sum' | 'min'): void;
}

/** Creates the metrics of one gateway, with the metrics of its Node process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'gateway_build_info',
    help: 'Always 1; the labels have the versions of the gateway and of Node',
    labelNames: ['version', 'node'],
    // Replaced one by one, workers may have different versions: each has a series, whose value is 1.
    aggregator: 'first',
    registers,
  }).set({ version, node: process.version }, 1);
  const requests = new Counter({
    name: 'gateway_requests_total',
    help: 'Operations, by transport, name and outcome: ok, the code of the first error, OVERLOADED for a refusal with 503, or ABANDONED',
    labelNames: ['transport', 'operation', 'outcome'],
    registers,
  });
  const untrustedDocuments = new Counter({
    name: 'gateway_untrusted_documents_total',
    help: 'Operations that PERSISTED_DOCUMENTS_MODE=only would have refused, counted in mode log',
    registers,
  });
  const requestTimes = new Histogram({
    name: 'gateway_request_seconds',
    help: 'Duration of queries and mutations, by name',
    labelNames: ['operation'],
    buckets: [0.005, 0.025, 0.1, 0.25, 1, 2.5, 10],
    registers,
  });
  const clientRequests = new Counter({
    name: 'gateway_client_requests_total',
    help: 'Operations, by the name and version of the client: other where they are not known, none where it has no name',
    labelNames: ['client'],
    registers,
  });
  const calls = new Histogram({
    name: 'gateway_upstream_call_seconds',
    help: 'Duration of calls to the service, by endpoint family, outcome and status',
    labelNames: ['family', 'outcome', 'status'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const lookups = new Counter({
    name: 'gateway_lookups_total',
    help: 'Reads, by endpoint family and source: memory, redis, flight (a read that was already running) or network',
    labelNames: ['family', 'source'],
    registers,
  });
  const cachedResponses = new Counter({
    name: 'gateway_kept_answers_total',
    help: 'Requests that were answered from the response cache, by tier: memory, redis, or flight (the response to an equal request that was already running)',
    labelNames: ['tier'],
    registers,
  });
  const drift = new Counter({
    name: 'gateway_upstream_drift_total',
    help: 'Fields, records and whole responses (by family) that differ from the specification of the service',
    labelNames: ['field'],
    registers,
  });
  const redisFaults = new Counter({
    name: 'gateway_redis_faults_total',
    help: 'Redis commands that failed, or were not sent because Redis is unavailable',
    labelNames: ['command'],
    registers,
  });
  const rateLimitUnenforced = new Counter({
    name: 'gateway_rate_limit_unenforced_total',
    help: 'Requests that only this process counted for a rate limit, because Redis is unavailable',
    registers,
  });
  const malformed = new Counter({
    name: 'gateway_redis_malformed_total',
    help: 'Messages and values in Redis, and teams in DATA_DIR, that were ignored because their signature or format is invalid',
    labelNames: ['what'],
    registers,
  });
  const shed = new Counter({
    name: 'gateway_shed_total',
    help: 'What was refused with 503, because the gateway has too much to do: requests, operations and fields, by reason',
    labelNames: ['reason'],
    registers,
  });
  const pollers = new Gauge({
    name: 'gateway_live_pollers',
    help: 'Pollers in this process that read from the service for subscriptions',
    registers,
  });
  const pollerChanges = new Counter({
    name: 'gateway_live_lease_changes_total',
    help: 'How often this process began to poll for a topic, lost that to another process, or gave it up',
    labelNames: ['change'],
    registers,
  });
  const listeners = new Gauge({
    name: 'gateway_live_listeners',
    help: 'Running subscriptions, by transport',
    labelNames: ['transport'],
    registers,
  });
  const exports = new Counter({
    name: 'gateway_exports_total',
    help: 'Finished exports, by outcome; UNKNOWN: it could not be recorded',
    labelNames: ['outcome'],
    registers,
  });
  // A rate does not see the step from no count to the first one.
  for (const tier of ['memory', 'redis', 'flight'] as const) cachedResponses.inc({ tier }, 0);
  for (const what of malformedKinds) malformed.inc({ what }, 0);
  for (const reason of shedReasons) shed.inc({ reason }, 0);
  for (const change of ['taken', 'lost', 'released']) pollerChanges.inc({ change }, 0);
  for (const transport of ['websocket', 'sse', 'multipart']) listeners.set({ transport }, 0);
  for (const outcome of exportOutcomes) exports.inc({ outcome }, 0);
  return {
    registry,
    gauge(name, help, read, aggregator = 'sum') {
      new Gauge({
        name,
        help,
        aggregator,
        registers,
        collect() {
          this.set(read());
        },
      });
    },
    telemetry: {
      request: (transport, operation, outcome, milliseconds) => {
        requests.inc({ transport, operation, outcome });
        if (milliseconds !== undefined) requestTimes.observe({ operation }, milliseconds / 1_000);
      },
      untrustedDocument: () => untrustedDocuments.inc(),
      clientRequest: client => clientRequests.inc({ client }),
      forgetClient: client => clientRequests.remove({ client }),
      forgetOperation(operation) {
        void removeOperation(requests, operation);
        requestTimes.remove({ operation });
      },
      upstreamCall: ({ family, outcome, status, milliseconds }) =>
        calls.observe({ family, outcome, status: status ?? 'none' }, milliseconds / 1_000),
      lookup: (family, source) => lookups.inc({ family, source }),
      responseCacheHit: tier => cachedResponses.inc({ tier }),
      drift: field => drift.inc({ field }),
      redisFault: command => redisFaults.inc({ command }),
      rateLimitUnenforced: () => rateLimitUnenforced.inc(),
      malformed: what => malformed.inc({ what }),
      shed: reason => shed.inc({ reason }),
      poller(change) {
        pollers.inc(change === 'taken' ? 1 : -1);
        pollerChanges.inc({ change });
      },
      listeners: (transport, change) => listeners.inc({ transport }, change),
      exported: outcome => exports.inc({ outcome }),
    },
  };
}

/** Removes the counts of an operation name. Otherwise every name would take memory until the process ends. */
async function removeOperation(counter: Counter<'operation'>, operation: string): Promise<void> {
  const { values } = await counter.get();
  for (const { labels } of values) if (labels.operation === operation) counter.remove(labels);
}

/** Adds a gauge of the circuit breakers. @param openBreakers those of each endpoint family that was called; called at each scrape. */
export function gaugeBreakers({ registry }: Metrics, openBreakers: () => Iterable<OpenBreakers>): void {
  new Gauge({
    name: 'gateway_breaker_open',
    help: 'For how many credentials a circuit breaker is open, by endpoint family that was called',
    labelNames: ['family'],
    // The workers have breakers of their own.
    aggregator: 'max',
    registers: [registry],
    collect() {
      for (const { family, credentials } of openBreakers()) this.set({ family }, credentials);
    },
  });
}

/** The open circuit breakers of an endpoint family. */
export interface OpenBreakers {
  readonly family: string;
  /** For how many credentials it is open. */
  readonly credentials: number;
}

/**
 * Adds a gauge of what is sealed with a secret other than the first of `SESSION_SECRET`, by kind. A kind whose count fails is left out.
 * @param counts the functions that count each kind; called at each scrape.
 */
export function gaugeOldSeals({ registry }: Metrics, counts: Record<string, () => number | Promise<number>>): void {
  new Gauge({
    name: 'gateway_sealed_under_old_secret',
    help: 'Sessions used in the last 15 minutes, and headers and signing secrets of endpoints and the signatures of teams in the registry, that were made with a SESSION_SECRET other than the first',
    labelNames: ['kind'],
    // All workers count the same endpoints.
    aggregator: 'max',
    registers: [registry],
    async collect() {
      for (const [kind, count] of Object.entries(counts)) {
        try {
          this.set({ kind }, await count());
        } catch {
          this.remove({ kind });
        }
      }
    },
  });
}
