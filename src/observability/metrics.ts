// The metrics behind `/metrics`, and the functions that make them.
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, collectDefaultMetrics, Gauge, Histogram, type OpenMetricsContentType, Registry } from 'prom-client';

export const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

/** What each metric means, besides those of the Node process. */
const help = {
  gateway_breaker_open: 'For how many credentials a circuit breaker is open, by endpoint family that was called',
  gateway_build_info: 'Always 1; the labels have the versions of the gateway and of Node',
  gateway_client_requests_total:
    'Operations, by the name and version of the client: other where they are not known, none where it has no name',
  gateway_clock_difference_seconds:
    "By how much the clock of this host is ahead of Redis' (redis) and of the service's (service)",
  gateway_connections: 'Open connections of clients, by kind',
  gateway_connections_limit:
    'Connections that may be open at once, three quarters of the file descriptors; the rest is for probes, the service and Redis',
  gateway_connections_of_top_client: 'Open connections of the client, by its network, that has the most',
  gateway_credentials:
    'Credentials that the service has accepted, with a call in the last 45 seconds, by the outcome of the latest: accepted, or refused (401 or 403)',
  gateway_data_dir_failing: 'Whether DATA_DIR could not be written when exports were last stored there',
  gateway_deprecated_uses_total:
    'Operations that use something deprecated, by its schema coordinate and the name and version of the client, as in gateway_client_requests_total',
  gateway_endpoint_failing_seconds:
    'For how long an endpoint of a team has taken nothing, if something was sent to it in the last 15 minutes, by its name as in the log',
  gateway_exports_total: 'Finished exports, by outcome; UNKNOWN: it could not be recorded',
  gateway_held_bytes:
    'Bytes of records that running operations have read, of responses that clients have not received yet, and of what clients have sent',
  gateway_live_lease_changes_total:
    'How often this process began to poll for a topic, lost that to another process, or gave it up',
  gateway_live_listeners: 'Running subscriptions, by transport',
  gateway_live_pollers: 'Pollers in this process that read from the service for subscriptions',
  gateway_log_lines_lost_total: 'Lines of the log that were lost, because nobody read them in time',
  gateway_lookups_total:
    'Reads, by endpoint family and source: memory, redis, flight (a read that was already running) or network',
  gateway_memory_ratio: 'Resident memory as a share of what the process takes with a full heap',
  gateway_operations_limit: 'Operations that may be executed at once; it follows the delay of the event loop',
  gateway_operations_running: 'Operations that are being executed; the response cache answers the others',
  gateway_rate_limit_unenforced_total:
    'Requests that only this process counted for a rate limit, because Redis is unavailable',
  gateway_redis_faults_total: 'Redis commands that failed, or were not sent because Redis is unavailable',
  gateway_redis_malformed_total:
    'Messages and values in Redis, and teams in DATA_DIR, that were ignored because their signature or format is invalid',
  gateway_reload_success: 'Whether a file, by its variable, was valid when it was last read',
  gateway_reload_timestamp_seconds: 'When a file, by its variable, was last read, or refused',
  gateway_request_seconds: 'Duration of queries and mutations, by name',
  gateway_requests_in_flight: 'Requests that are being answered, without streams',
  gateway_requests_total:
    'Operations, by transport, name and outcome: ok, the code of the first error, OVER_SHARE or OVERLOADED for a refusal with 503, whether or not the client itself sends too much, or ABANDONED',
  gateway_response_cache_hits_total:
    'Requests that were answered from the response cache, by tier: memory, redis, or flight (the response to an equal request that was already running)',
  gateway_sealed_under_old_secret:
    'Sessions used in the last 15 minutes, and headers and signing secrets of endpoints and the signatures of teams in the registry, that were made with a SESSION_SECRET other than the first',
  gateway_shed_total:
    'What was refused with 503, because the gateway, or one client at it, has too much to do: requests, operations and fields, by reason',
  gateway_untrusted_documents_total:
    'Operations that PERSISTED_DOCUMENTS_MODE=only would have refused, counted in mode log',
  gateway_upstream_call_seconds: 'Duration of calls to the service, by endpoint family, outcome and status',
  gateway_upstream_drift_total: 'Fields and records that differ from the specification of the service',
  gateway_upstream_unreadable_total: 'Responses of the service of which nothing could be used, such as HTML, by family',
  nodejs_eventloop_lag_max_seconds: 'The longest delay of the event loop in the last one to two minutes',
};
type MetricName = keyof typeof help;

export type Metrics = ReturnType<typeof createMetrics>;

/** The value of a gauge, or one for each value of its label; undefined where it is not known now. */
type GaugeValues = number | Readonly<Record<string, number | undefined>>;

/** Creates the metrics of one gateway, with the metrics of its Node process. */
export function createMetrics() {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  collectDefaultMetrics({ register: registry });
  // Gauges named like counters, which promtool refuses. There is another gauge with the type of each.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`);
  const common = (name: MetricName) => ({ name, help: help[name], registers: [registry] });
  const metrics = {
    /** All metrics in the format OpenMetrics, without its end. */
    read: async () => (await registry.metrics()).replace(/# EOF\n$/, ''),
    /** @param collect sets a counter that counts elsewhere, at each scrape. */
    counter: <T extends string>(name: MetricName, labelNames: T[] = [], collect?: (this: Counter<T>) => void) =>
      new Counter({ ...common(name), labelNames, ...(collect && { collect }) }),
    /** Makes a counter, and returns the function that counts. @param known values of its label, counted from 0: a rate does not see the step from no count to the first. */
    counting<T extends string>(name: MetricName, label: string, known: readonly T[] = []) {
      const counted = metrics.counter(name, [label]);
      for (const value of known) counted.labels(value).inc(0);
      return (value: T) => counted.labels(value).inc();
    },
    gauge: <T extends string>(name: MetricName, labelNames: T[] = []) => new Gauge({ ...common(name), labelNames }),
    /** With exemplars, whose labels are others. */
    histogram: (name: MetricName, buckets: number[], labelNames: string[]) =>
      new Histogram({ ...common(name), buckets, labelNames, enableExemplars: true }),
    /** Adds a gauge that is read at each scrape. @param label undefined: it has a single value. */
    readGauge: (name: MetricName, read: () => GaugeValues | Promise<GaugeValues>, label?: string) =>
      new Gauge<string>({
        ...common(name),
        labelNames: label === undefined ? [] : [label],
        async collect() {
          const values = await read();
          if (label === undefined) return this.set(values as number);
          this.reset();
          for (const [value, count] of Object.entries(values))
            if (count !== undefined) this.set({ [label]: value }, count);
        },
      }),
  };
  metrics.gauge('gateway_build_info', ['version', 'node']).set({ version, node: process.version }, 1);
  const maxDelay = 'nodejs_eventloop_lag_max_seconds';
  registry.removeSingleMetric(maxDelay);
  metrics.readGauge(maxDelay, createMaxDelay());
  return metrics;
}

const delayWindowMs = 60_000;

/**
 * Measures the longest delay of the event loop in the last one to two minutes, however often the metrics are read. That of prom-client starts again with
 * each read, so one reader would hide a delay from the others.
 */
function createMaxDelay(): () => number {
  const delays = monitorEventLoopDelay();
  delays.enable();
  let maxBefore = 0;
  let startedAt = performance.now();
  return () => {
    const max = Math.max(maxBefore, delays.max) / 1e9;
    if (performance.now() - startedAt >= delayWindowMs) {
      maxBefore = delays.max;
      delays.reset();
      startedAt = performance.now();
    }
    return max;
  };
}
