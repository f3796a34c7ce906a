import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { tallyCounter, tallyHistogram } from './tally.js';
import type { Telemetry } from './telemetry.js';

/** What `/metrics` shows, and what the ground floor counts into it. */
export interface Metrics {
  readonly registry: Registry;
  readonly telemetry: Omit<Telemetry, 'warn'>;
  /** Shows what `read` tells whenever somebody looks. */
  gauge(name: string, help: string, read: () => number): void;
}

/** The metrics of one gateway. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = tallyCounter({
    name: 'gateway_requests_total',
    help: 'Operations, by door, name and outcome: ok, the code of the first error, or ABANDONED',
    labelNames: ['door', 'operation', 'outcome'],
    registers,
  });
  const requestTimes = tallyHistogram({
    name: 'gateway_request_seconds',
    help: 'How long queries and mutations took, by name',
    labelNames: ['operation'],
    buckets: [0.005, 0.025, 0.1, 0.25, 1, 2.5, 10],
    registers,
  });
  const calls = tallyHistogram({
    name: 'gateway_upstream_call_seconds',
    help: 'Calls to the service, by endpoint family, outcome and status',
    labelNames: ['family', 'outcome', 'status'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const lookups = tallyCounter({
    name: 'gateway_lookups_total',
    help: 'Reads, by endpoint family and who answered them',
    labelNames: ['family', 'source'],
    registers,
  });
  const keptAnswers = tallyCounter({
    name: 'gateway_kept_answers_total',
    help: 'Requests that were not executed: answered with a whole answer from a tier, or with that to an equal request (flight)',
    labelNames: ['tier'],
    registers,
  });
  const drift = new Counter({
    name: 'gateway_upstream_drift_total',
    help: 'Fields, records and whole answers (by family) in which the service strayed from its specification',
    labelNames: ['field'],
    registers,
  });
  const redisFaults = new Counter({
    name: 'gateway_redis_faults_total',
    help: 'Redis commands that failed or were not tried',
    labelNames: ['command'],
    registers,
  });
  const malformed = new Counter({
    name: 'gateway_redis_malformed_total',
    help: 'Messages and values in Redis that no gateway of this fleet wrote, or that were changed, and that were ignored',
    labelNames: ['what'],
    registers,
  });
  const pollers = new Gauge({
    name: 'gateway_live_pollers',
    help: 'Pollers that ask the service for whoever listens',
    registers,
  });
  const leases = new Counter({
    name: 'gateway_live_lease_changes_total',
    help: 'Leases on polling that this process took, lost or gave back',
    labelNames: ['change'],
    registers,
  });
  const listeners = new Gauge({
    name: 'gateway_live_listeners',
    help: 'Running subscriptions, by door',
    labelNames: ['door'],
    registers,
  });
  const exports = new Counter({
    name: 'gateway_exports_total',
    help: 'Exports that came to their end, by outcome',
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
      request: (door, operation, outcome, milliseconds) => {
        requests(door, operation, outcome);
        if (milliseconds !== undefined) requestTimes(milliseconds / 1_000, operation);
      },
      forgetOperation(operation) {
        requests.forget('operation', operation);
        requestTimes.forget('operation', operation);
      },
      upstreamCall: ({ family, outcome, status, milliseconds }) =>
        calls(milliseconds / 1_000, family, outcome, String(status ?? 'none')),
      lookup: lookups,
      keptAnswer: keptAnswers,
      drift: field => drift.inc({ field }),
      redisFault: command => redisFaults.inc({ command }),
      malformed: what => malformed.inc({ what }),
      pollers: change => pollers.inc(change),
      leaseChange: change => leases.inc({ change }),
      listeners: (door, change) => listeners.inc({ door }, change),
      exported: outcome => exports.inc({ outcome }),
    },
  };
}

/** `/metrics` in the format of Prometheus. */
export function registerMetrics(app: FastifyInstance, { registry }: Metrics): void {
  app.get('/metrics', async (_, reply) => reply.type(registry.contentType).send(await registry.metrics()));
}

/**
 * Shows how much is still sealed under another secret than the first of `SESSION_SECRET`, by kind. A kind that cannot be counted now is not shown.
 * @param counts called at each scrape.
 */
export function gaugeOldSeals({ registry }: Metrics, counts: Record<string, () => number | Promise<number>>): void {
  new Gauge({
    name: 'gateway_sealed_under_old_secret',
    help: 'Sealed under another SESSION_SECRET than the first: sessions that came so in the last 15 minutes, and endpoint headers in the registry',
    labelNames: ['kind'],
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
