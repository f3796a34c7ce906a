import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Telemetry } from './telemetry.js';

/** The registry behind `/metrics`, and the functions that count events in it. */
export interface Metrics {
  readonly registry: Registry;
  readonly telemetry: Omit<Telemetry, 'warn' | 'works' | 'redisWorks'>;
  /** Adds a gauge whose value is read at each scrape. */
  gauge(name: string, help: string, read: () => number): void;
}

/** Creates the metrics of one gateway, with the metrics of its Node process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'gateway_requests_total',
    help: 'Operations, by transport, name and outcome: ok, the code of the first error, or ABANDONED',
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
    help: 'Messages and values in Redis that were ignored because their signature or format is invalid',
    labelNames: ['what'],
    registers,
  });
  const pollers = new Gauge({
    name: 'gateway_live_pollers',
    help: 'Pollers in this process that read from the service for subscriptions',
    registers,
  });
  const leases = new Counter({
    name: 'gateway_live_lease_changes_total',
    help: 'Polling leases that this process acquired, lost or released',
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
    help: 'Finished exports, by outcome',
    labelNames: ['outcome'],
    registers,
  });
  return {
    registry,
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
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
      pollers: change => pollers.inc(change),
      leaseChange: change => leases.inc({ change }),
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

/**
 * Adds a gauge of what is sealed with a secret other than the first of `SESSION_SECRET`, by kind. A kind whose count fails is left out.
 * @param counts the functions that count each kind; called at each scrape.
 */
export function gaugeOldSeals({ registry }: Metrics, counts: Record<string, () => number | Promise<number>>): void {
  new Gauge({
    name: 'gateway_sealed_under_old_secret',
    help: 'Sessions used in the last 15 minutes, and headers and signing secrets of endpoints in the registry, that are sealed with a SESSION_SECRET other than the first',
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
