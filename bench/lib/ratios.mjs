// What may at most be: ratios of CPU per request within one run, and a few counts.

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The bounds on `ours / other`, by workload. */
const bounds = {
  hot: { bare: 1.6, 'hive-cache': 0.1, 'apollo-cache': 0.17, 'mercurius-cache': 0.12, 'yoga-cache': 0.12 },
  warm: { 'apollo-memory': 0.45 },
  cold: { 'hand-cut': 1.3, yoga: 0.33, mercurius: 0.38, hive: 0.13 },
  light: { hand: 1.35, hive: 0.17 },
  embeddings: { 'graphql-js': 0.1 },
};

/**
 * The ratios of one workload: the median of what each round gave, and the bound where there is one.
 * @param {string} workload @param {{ name: string, title: string, cpus: number[] }[]} results
 */
export function ratiosOf(workload, results) {
  const ours = results.find(({ name }) => name === 'ours');
  if (ours === undefined) return [];
  return results
    .filter(result => result !== ours)
    .map(({ name, title, cpus }) => ({
      what: `${workload}: ours / ${title}`,
      value: median(cpus.map((cpu, round) => ours.cpus[round] / cpu)),
      atMost: bounds[workload]?.[name],
    }));
}

/** Whether a ratio keeps its bound, as far as it has one. */
export const kept = ({ value, atMost }) => atMost === undefined || value <= atMost;
