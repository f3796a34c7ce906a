// The targets: ratios of CPU per request within one run, and a few counts.

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The best of the other servers, in a ratio. */
const best = 'best';

/**
 * What `ours / other` should be at most, by workload. Where that is missed, a second number guards against getting worse: the median of the last
 * run whose results were committed, and 10 %.
 */
const targets = {
  hot: {
    bare: [1.7, 1.85],
    'apollo-cache': [0.28],
    'mercurius-cache': [0.12],
    'yoga-cache': [0.23],
    'hive-cache': [0.18],
  },
  'apollo-client': { bare: [1.9] },
  trusted: { bare: [1.9] },
  warm: { 'apollo-memory': [0.42, 0.55] },
  cold: { 'hand-cut': [1.05, 1.83], mercurius: [0.5, 0.77], yoga: [0.45, 0.68], hive: [0.17, 0.21] },
  light: { hand: [2.1, 3.26], mercurius: [1.7, 3.26], yoga: [0.95, 1.72], hive: [0.25, 0.35] },
  embeddings: { 'graphql-js': [0.05] },
  'mixed-light': { [best]: [0.65, 0.86] },
  mixed: { [best]: [0.33, 0.44] },
  // It is compared with `hot`, which became faster: 0.62 of the CPU before, and this 0.69.
  redis: { ours: [2.6, 3.21] },
};

/** The median of a figure and its quartiles, as a row. @param {string} what @param {number[]} values @param {number} [target] @param {number} [guard] see `targets` */
export function figure(what, values, target, guard = target) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = share => sorted[Math.round((sorted.length - 1) * share)];
  return { what, value: median(values), quartiles: [at(0.25), at(0.75)], target, atMost: guard };
}

/**
 * The ratios of one workload: the median of what each round gave, and the target if there is one.
 * @param {string} workload @param {{ name: string, title: string, cpus: number[] }[]} results @param {string} [numerator] the variant that the ratios are about
 */
export function ratiosOf(workload, results, numerator = 'ours') {
  const ours = results.find(({ name }) => name === numerator);
  if (ours === undefined) return [];
  const others = results.filter(result => result !== ours);
  const wanted = targets[workload] ?? {};
  if (best in wanted && others.length > 0) {
    const cpus = ours.cpus.map((_, round) => Math.min(...others.map(({ cpus }) => cpus[round])));
    others.unshift({ name: best, title: 'the best of the others in each round', cpus });
  }
  const what = numerator === 'ours' ? 'ours' : ours.title;
  return others.map(({ name, title, cpus }) =>
    figure(
      `${workload}: ${what} / ${title}`.replaceAll('**', ''),
      cpus.map((cpu, round) => ours.cpus[round] / cpu),
      ...(wanted[name] ?? []),
    ),
  );
}

/** Whether a figure meets its target, as far as it has one. */
export const meets = ({ value, atMost }) => atMost === undefined || value <= atMost;
