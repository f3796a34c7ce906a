import {
  Counter,
  type CounterConfiguration,
  type HistogramConfiguration,
  type Metric,
  type Registry,
} from 'prom-client';

/** A value for each label, in the order of the labels' names. */
type ValuesOf<L extends readonly string[]> = { readonly [K in keyof L]: string };

/** Drops everything that was counted with this value of a label. */
interface Forgetful<L extends readonly string[]> {
  forget(label: L[number], value: string): void;
}

/**
 * A counter for what happens with every request or call. The values lead to a number at once, and prom-client is told of all of it when somebody
 * asks for metrics: it would check and join the labels each time, and cost a kept answer a sixteenth more.
 */
export function tallyCounter<const L extends readonly string[]>(
  configuration: CounterConfiguration<L[number]> & { readonly labelNames: L },
): ((...values: ValuesOf<L>) => void) & Forgetful<L> {
  const tallies = new Tallies(() => ({ count: 0 }));
  new Counter({
    ...configuration,
    collect() {
      this.reset();
      for (const [values, tally] of tallies.all()) this.labels(...values).inc(tally.count);
    },
  });
  const count = (...values: ValuesOf<L>) => {
    tallies.of(values).count += 1;
  };
  return Object.assign(count, { forget: forgetting(tallies, configuration.labelNames) });
}

/** The same for a histogram, of which prom-client cannot be told more than one value at a time: it is shown as prom-client would show it. */
export function tallyHistogram<const L extends readonly string[]>({
  name,
  help,
  labelNames,
  buckets,
  registers,
}: HistogramConfiguration<L[number]> & {
  readonly labelNames: L;
  readonly buckets: readonly number[];
  readonly registers: readonly Registry[];
}): ((value: number, ...values: ValuesOf<L>) => void) & Forgetful<L> {
  const bounds = [...buckets, Number.POSITIVE_INFINITY];
  const tallies = new Tallies(() => ({ counts: bounds.map(() => 0), sum: 0 }));

  function shown(values: readonly string[], { counts, sum }: { counts: readonly number[]; sum: number }) {
    const labels = Object.fromEntries(labelNames.map((label, index) => [label, values[index]]));
    let count = 0;
    const below = bounds.map((bound, index) => {
      count += counts[index] ?? 0;
      const le = Number.isFinite(bound) ? bound : '+Inf';
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
    });
    const total = { metricName: `${name}_count`, labels, value: count };
    return [...below, { metricName: `${name}_sum`, labels, value: sum }, total];
  }

  const metric = {
    name,
    get: async () => {
      const values = [...tallies.all()].flatMap(([of, tally]) => shown(of, tally));
      return { name, help, type: 'histogram', aggregator: 'sum', values };
    },
  };
  for (const registry of registers) registry.registerMetric(metric as unknown as Metric);

  const observe = (value: number, ...values: ValuesOf<L>) => {
    const tally = tallies.of(values);
    const index = bounds.findIndex(bound => value <= bound);
    tally.counts[index] = (tally.counts[index] ?? 0) + 1;
    tally.sum += value;
  };
  return Object.assign(observe, { forget: forgetting(tallies, labelNames) });
}

const forgetting =
  <L extends readonly string[]>(tallies: Tallies<unknown>, labelNames: L): Forgetful<L>['forget'] =>
  (label, value) =>
    tallies.forget(labelNames.indexOf(label), value);

/** A tree of tallies: the value of each label leads one step down. */
class Tallies<T> {
  readonly #below = new Map<string, Tallies<T>>();
  readonly #zero: () => T;
  #tally: T | undefined;

  constructor(zero: () => T) {
    this.#zero = zero;
  }

  of(values: readonly string[]): T {
    let node: Tallies<T> = this;
    for (const value of values) node = node.#next(value);
    node.#tally ??= this.#zero();
    return node.#tally;
  }

  *all(): Generator<[values: string[], tally: T]> {
    if (this.#tally !== undefined) yield [[], this.#tally];
    for (const [value, node] of this.#below) {
      for (const [values, tally] of node.all()) yield [[value, ...values], tally];
    }
  }

  /** Drops what has this value in this place. */
  forget(place: number, value: string): void {
    if (place === 0) this.#below.delete(value);
    else for (const node of this.#below.values()) node.forget(place - 1, value);
  }

  #next(value: string): Tallies<T> {
    const known = this.#below.get(value);
    if (known !== undefined) return known;
    const node = new Tallies(this.#zero);
    this.#below.set(value, node);
    return node;
  }
}
