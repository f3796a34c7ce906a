import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { Exemplars } from './open-metrics.js';

/** The version of the gateway, for its metrics and traces. */
export const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

/** The registry behind `/metrics`, and the functions that count events in it. */
export type Metrics = ReturnType<typeof createMetrics>;

/** The value of a gauge, or one for each value of its label; undefined where it is not known now. */
type GaugeValues = number | Readonly<Record<string, number | undefined>>;

/** Creates the metrics of one gateway, with the metrics of its Node process. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  // Gauges named like counters, which promtool refuses. There is another gauge with the type of each.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`);
  keepMaxDelay(registry);
  new Gauge({
    name: 'gateway_build_info',
    help: 'Always 1; the labels have the versions of the gateway and of Node',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version, node: process.version }, 1);
  const exemplars = new Exemplars();
  /** All metrics in the format of Prometheus, with the exemplars of histograms as comments. */
  const read = async () => (await registry.metrics()) + exemplars;
  return { registry, exemplars, read };
}

/** Returns a function that adds a gauge, which is read at each scrape. Its `label` is undefined for a single value. */
export const createGauges =
  (registry: Registry) =>
  (name: string, help: string, read: () => GaugeValues | Promise<GaugeValues>, label?: string): Gauge =>
    new Gauge<string>({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
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
