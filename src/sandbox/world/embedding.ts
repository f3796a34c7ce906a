import { createRandom, hash32 } from '../random.js';

// Bound once, for the same reason as in random.ts.
const { abs, log, round, sqrt } = Math;

/** Number of components of each vector of the service. */
export const DIMENSIONS = 1536;
export const EMBEDDINGS_MODEL = 'sandbox-hashed-projection-1536';

/** Number of components that one term affects: enough to distinguish terms, few enough to start quickly. */
const REACH = 64;

export type Embed = (text: string) => number[];

const terms = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];

/**
 * Learns term weights from a corpus and returns a function that turns a text into a vector of length 1. Each term is
 * hashed to a fixed set of components and signs; rare terms have more weight. Two texts about the same occurrence share
 * names and figures, so their vectors point in a similar direction.
 */
export function createEmbed(corpus: readonly string[], seed: number): Embed {
  const frequency = new Map<string, number>();
  for (const text of corpus) {
    for (const term of new Set(terms(text))) frequency.set(term, (frequency.get(term) ?? 0) + 1);
  }
  const projections = new Map<string, Int16Array>();
  const projectionOf = (term: string) => {
    const known = projections.get(term);
    if (known) return known;
    const random = createRandom(hash32(term) ^ seed);
    const projection = Int16Array.from(
      { length: REACH },
      () => random.int(1, DIMENSIONS) * (random.float() < 0.5 ? -1 : 1),
    );
    projections.set(term, projection);
    return projection;
  };

  return text => {
    const sum = new Float64Array(DIMENSIONS);
    const counts = new Map<string, number>();
    for (const term of terms(text)) counts.set(term, (counts.get(term) ?? 0) + 1);
    for (const [term, count] of counts) {
      const rarity = log((corpus.length + 1) / (frequency.get(term) ?? 1));
      const weight = (1 + log(count)) * rarity ** 3;
      for (const reached of projectionOf(term)) {
        const component = abs(reached) - 1;
        sum[component] = (sum[component] ?? 0) + (reached < 0 ? -weight : weight);
      }
    }
    const noise = createRandom(hash32(text) ^ seed);
    for (let i = 0; i < DIMENSIONS; i++) sum[i] = (sum[i] ?? 0) + noise.float() - 0.5;
    return normalised(sum);
  };
}

/** The mean direction of vectors, with length 1. */
export function meanVector(vectors: readonly (readonly number[])[]): number[] {
  const sum = new Float64Array(DIMENSIONS);
  for (const vector of vectors) for (let i = 0; i < DIMENSIONS; i++) sum[i] = (sum[i] ?? 0) + (vector[i] ?? 0);
  return normalised(sum);
}

/** Length 1 and eight decimals, like the output of an embedding model. */
function normalised(sum: Float64Array): number[] {
  let squares = 0;
  for (const component of sum) squares += component * component;
  const scale = 1e8 / (sqrt(squares) || 1);
  const vector: number[] = [];
  for (const component of sum) vector.push(round(component * scale) / 1e8);
  return vector;
}
