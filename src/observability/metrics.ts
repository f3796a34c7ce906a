import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { Exemplars } from './open-metrics.js';
import { exportOutcomes, malformedKinds, shedReasons, type Telemetry } from './telemetry.js';

/** The version of the gateway, for its metrics and traces. */
export const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

/** The registry behind `/metrics`, and the functions that count events in it. */
export type Metrics = ReturnType<typeof createMetrics>;

/** The value of a gauge, or one for each value of its label; undefined where it is not known now. */
type GaugeValues = number | Readonly<Record<string, number | undefined>>;

/** In seconds. */
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 1, 2.5, 10];
const callBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Creates the metrics of one gateway, with the metrics of its Node process. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  // Gauges named like counters, which promtool refuses. There is another gauge with the type of each.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`);
  keepMaxDelay(registry);
  for (const metric of registry.getMetricsAsArray()) {
    // The delays of the event loop. An average of several workers would hide one that is blocked.
    if (metric.aggregator === 'average') metric.aggregator = 'max';
  }
  new Gauge({
    name: 'gateway_build_info',
    help: 'Always 1; the labels have the versions of the gateway and of Node',
    labelNames: ['version', 'node'],
    // Replaced one by one, workers may have different versions: each has a series, whose value is 1.
    aggregator: 'first',
    registers,
  }).set({ version, node: process.version }, 1);
  const exemplars = new Exemplars();
  const counter = <T extends string>(name: string, help: string, ...labelNames: T[]) =>
    new Counter({ name, help, labelNames, registers });
  /** Makes a counter, and returns the function that counts. @param known values of its label, counted from 0: a rate does not see the step from no count to the first. */
  const counting = (name: string, help: string, label?: string, known: readonly string[] = []) => {
    const counted = counter(name, help, ...(label === undefined ? [] : [label]));
    for (const value of known) counted.labels(value).inc(0);
    return (...values: string[]) => counted.labels(...values).inc();
  };
  const gauge = <T extends string>(name: string, help: string, ...labelNames: T[]) =>
    new Gauge({ name, help, labelNames, registers });
  const histogram = <T extends string>(name: string, help: string, buckets: number[], ...labelNames: T[]) =>
    new Histogram({ name, help, buckets, labelNames, registers });
  const requests = counter(
    'gateway_requests_total',
    'Operations, by transport, name and outcome: ok, the code of the first error, OVERLOADED for a refusal with 503, or ABANDONED',
    'transport',
    'operation',
    'outcome',
  );
  const requestTimes = histogram(
    'gateway_request_seconds',
    'Duration of queries and mutations, by name',
    requestBuckets,
    'operation',
  );
  const clientRequests = counter(
    'gateway_client_requests_total',
    'Operations, by the name and version of the client: other where they are not known, none where it has no name',
    'client',
  );
  const deprecatedUses = counter(
    'gateway_deprecated_uses_total',
    'Operations that use something deprecated, by its schema coordinate and the name and version of the client, as in gateway_client_requests_total',
    'coordinate',
    'client',
  );
  const calls = histogram(
    'gateway_upstream_call_seconds',
    'Duration of calls to the service, by endpoint family, outcome and status',
    callBuckets,
    'family',
    'outcome',
    'status',
  );
  const lookups = counter(
    'gateway_lookups_total',
    'Reads, by endpoint family and source: memory, redis, flight (a read that was already running) or network',
    'family',
    'source',
  );
  // The second name is that of earlier releases. It goes with the next one.
  const cachedResponses = ['gateway_response_cache_hits_total', 'gateway_kept_answers_total'].map(name =>
    counting(
      name,
      'Requests that were answered from the response cache, by tier: memory, redis, or flight (the response to an equal request that was already running)',
      'tier',
      ['memory', 'redis', 'flight'],
    ),
  );
  const redisFaults = counting(
    'gateway_redis_faults_total',
    'Redis commands that failed, or were not sent because Redis is unavailable',
    'command',
  );
  const pollers = gauge('gateway_live_pollers', 'Pollers in this process that read from the service for subscriptions');
  const pollerChanges = counting(
    'gateway_live_lease_changes_total',
    'How often this process began to poll for a topic, lost that to another process, or gave it up',
    'change',
    ['taken', 'lost', 'released'],
  );
  const listeners = gauge('gateway_live_listeners', 'Running subscriptions, by transport', 'transport');
  for (const transport of ['websocket', 'sse', 'multipart']) listeners.set({ transport }, 0);
  const telemetry: Omit<Telemetry, 'warn' | 'works' | 'redisWorks'> = {
    request: (transport, operation, outcome, milliseconds, span) => {
      requests.inc({ transport, operation, outcome });
      if (milliseconds === undefined) return;
      const seconds = milliseconds / 1_000;
      requestTimes.observe({ operation }, seconds);
      if (span !== undefined) exemplars.note('gateway_request_seconds', requestBuckets, { operation }, seconds, span);
    },
    untrustedDocument: counting(
      'gateway_untrusted_documents_total',
      'Operations that PERSISTED_DOCUMENTS_MODE=only would have refused, counted in mode log',
    ),
    clientRequest: client => clientRequests.inc({ client }),
    deprecatedUse: (coordinate, client) => deprecatedUses.inc({ coordinate, client }),
    forgetClient(client) {
      clientRequests.remove({ client });
      void removeSeries(deprecatedUses, 'client', client);
    },
    forgetOperation(operation) {
      void removeSeries(requests, 'operation', operation);
      requestTimes.remove({ operation });
      exemplars.remove('operation', operation);
    },
    upstreamCalls({ family, outcome, status, span }, milliseconds) {
      const labels = { family, outcome, status: status ?? 'none' };
      const histogram = calls.labels(labels);
      for (const each of milliseconds) {
        histogram.observe(each / 1_000);
        if (span !== undefined)
          exemplars.note('gateway_upstream_call_seconds', callBuckets, labels, each / 1_000, span);
      }
    },
    lookups: (family, source, count) => lookups.inc({ family, source }, count),
    responseCacheHit(tier) {
      for (const count of cachedResponses) count(tier);
    },
    drift: counting(
      'gateway_upstream_drift_total',
      'Fields, records and whole responses (by family) that differ from the specification of the service',
      'field',
    ),
    redisFault: command => redisFaults(command),
    rateLimitUnenforced: counting(
      'gateway_rate_limit_unenforced_total',
      'Requests that only this process counted for a rate limit, because Redis is unavailable',
    ),
    malformed: counting(
      'gateway_redis_malformed_total',
      'Messages and values in Redis, and teams in DATA_DIR, that were ignored because their signature or format is invalid',
      'what',
      malformedKinds,
    ),
    shed: counting(
      'gateway_shed_total',
      'What was refused with 503, because the gateway has too much to do: requests, operations and fields, by reason',
      'reason',
      shedReasons,
    ),
    poller(change) {
      pollers.inc(change === 'taken' ? 1 : -1);
      pollerChanges(change);
    },
    listeners: (transport, change) => listeners.inc({ transport }, change),
    exported: counting(
      'gateway_exports_total',
      'Finished exports, by outcome; UNKNOWN: it could not be recorded',
      'outcome',
      exportOutcomes,
    ),
  };
  /** All metrics in the format of Prometheus, with the exemplars of histograms as comments. */
  const read = async () => (await registry.metrics()) + exemplars;
  return { registry, telemetry, read };
}

/** Removes the counts with a value of a label. Otherwise every value would take memory until the process ends. */
async function removeSeries<T extends string>(counter: Counter<T>, label: T, value: string): Promise<void> {
  const { values } = await counter.get();
  for (const { labels } of values) if (labels[label] === value) counter.remove(labels);
}

/**
 * Returns a function that adds a gauge, which is read at each scrape.
 * @returns `label` is undefined for a single value. `aggregator` makes one value of those of several workers: by default the largest of those with a
 * label, because a credential, for example, may use several workers.
 */
export const createGauges =
  (registry: Registry) =>
  (
    name: string,
    help: string,
    read: () => GaugeValues | Promise<GaugeValues>,
    label?: string,
    aggregator: 'sum' | 'max' = label === undefined ? 'sum' : 'max',
  ): Gauge =>
    new Gauge<string>({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      aggregator,
      registers: [registry],
      async collect() {
        const values = await read();
        if (label === undefined) return this.set(values as number);
        for (const [value, count] of Object.entries(values)) {
          if (count === undefined) this.remove({ [label]: value });
          else this.set({ [label]: value }, count);
        }
      },
    });

/** The metrics of the first process of several workers. @param states how many workers are in each state; called at each scrape. */
export function createWorkerMetrics(states: () => Readonly<Record<string, number>>) {
  const registry = new Registry();
  const registers = [registry];
  const help =
    'Start time of the first process since unix epoch in seconds. Counters continue when a worker is replaced';
  const started = Math.round(Date.now() / 1_000 - process.uptime());
  new Gauge({ name: 'process_start_time_seconds', help, registers }).set(started);
  const workers =
    'Workers, by state: serving, silent (for two seconds), draining, starting, or closing; missing is how many are not serving yet';
  createGauges(registry)('gateway_workers', workers, states, 'state');
  const ended = 'Workers that ended without being told to close';
  return { registry, exits: new Counter({ name: 'gateway_worker_exits_total', help: ended, registers }) };
}

/** In milliseconds. */
const delayWindowMs = 60_000;

/**
 * Shows the longest delay of the event loop in the last one to two minutes, however often the metrics are read. That of prom-client starts again with each
 * read, so one reader would hide a delay from the others.
 */
function keepMaxDelay(registry: Registry): void {
  const name = 'nodejs_eventloop_lag_max_seconds';
  registry.removeSingleMetric(name);
  const delays = monitorEventLoopDelay();
  delays.enable();
  let maxBefore = 0;
  let startedAt = performance.now();
  new Gauge({
    name,
    help: 'The longest delay of the event loop in the last one to two minutes',
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.set(Math.max(maxBefore, delays.max) / 1e9);
      if (performance.now() - startedAt < delayWindowMs) return;
      maxBefore = delays.max;
      delays.reset();
      startedAt = performance.now();
    },
  });
}
