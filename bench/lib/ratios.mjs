// The targets: ratios of CPU per request within one run, and a few counts.

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The best of the other servers, in a ratio. */
const best = 'best';

/** The most that `ours / other` may be, by workload. */
const targets = {
  hot: { bare: 1.9, 'apollo-cache': 0.2, 'mercurius-cache': 0.12, 'yoga-cache': 0.15, 'hive-cache': 0.12 },
  'apollo-client': { bare: 1.9 },
  trusted: { bare: 1.9 },
  warm: { 'apollo-memory': 0.5 },
  cold: { 'hand-cut': 1.4, yoga: 0.33, mercurius: 0.38, hive: 0.13 },
  light: { hand: 2.2, mercurius: 1.5, yoga: 1, hive: 0.2 },
  embeddings: { 'graphql-js': 0.1 },
  'mixed-light': { [best]: 0.35 },
  mixed: { [best]: 0.07 },
  redis: { ours: 3 },
};

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
  return others.map(({ name, title, cpus }) => ({
    what: `${workload}: ${what} / ${title}`.replaceAll('**', ''),
    value: median(cpus.map((cpu, round) => ours.cpus[round] / cpu)),
    atMost: wanted[name],
  }));
}

/** Whether a figure meets its target, as far as it has one. */
export const meets = ({ value, atMost }) => atMost === undefined || value <= atMost;
