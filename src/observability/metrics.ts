// The metrics behind `/metrics`, and the functions that make them.
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, collectDefaultMetrics, Gauge, Histogram, type OpenMetricsContentType, Registry } from 'prom-client';
import help from './metrics.json' with { type: 'json' };

export const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

/** How the gateway names itself to the servers that it calls: firewalls refuse requests without a name. */
export const userAgent = `market-intelligence-gateway/${version}`;

/** What each metric means stands in `metrics.json`, besides those of the Node process. */
type MetricName = keyof typeof help;

export type Metrics = ReturnType<typeof createMetrics>;

/** The value of a gauge, or one for each value of its label; undefined where it is not known now. */
type GaugeValues = number | Readonly<Record<string, number | undefined>>;

/** The metrics of the Node process. Its gateways share them, because what they observe with never ends. */
const ofProcess = new Registry<OpenMetricsContentType>();
ofProcess.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
collectDefaultMetrics({ register: ofProcess });
// Gauges named like counters, which promtool refuses. There is another gauge with the type of each.
for (const what of ['handles', 'requests', 'resources']) ofProcess.removeSingleMetric(`nodejs_active_${what}_total`);
addMaxDelay('nodejs_eventloop_lag_max_seconds');

/**
 * Adds the longest delay of the event loop in the last one to two minutes, however often the metrics are read. That of prom-client starts again with each
 * read, so one reader would hide a delay from the others.
 */
function addMaxDelay(name: MetricName): void {
  const windowMs = 60_000;
  const delays = monitorEventLoopDelay();
  delays.enable();
  let maxBefore = 0;
  let startedAt = performance.now();
  ofProcess.removeSingleMetric(name);
  const collect = function (this: Gauge) {
    this.set(Math.max(maxBefore, delays.max) / 1e9);
    if (performance.now() - startedAt >= windowMs) {
      maxBefore = delays.max;
      delays.reset();
      startedAt = performance.now();
    }
  };
  new Gauge({ name, help: help[name], registers: [ofProcess], collect });
}

/** Creates the metrics of one gateway, with the metrics of its Node process. */
export function createMetrics() {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  const common = (name: MetricName) => ({ name, help: help[name], registers: [registry] });
  const metrics = {
    /** All metrics in the format OpenMetrics, without its end. */
    async read() {
      const texts = await Promise.all([ofProcess.metrics(), registry.metrics()]);
      return texts.map(text => text.replace(/# EOF\n$/, '')).join('');
    },
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
  return metrics;
}
