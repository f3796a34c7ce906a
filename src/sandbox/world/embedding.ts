// Bound once: in a separate VM context, as in a test runner, each look-up of a global costs more than a draw.
const { imul, round, sqrt } = Math;

/** Number of components of each vector of the service. */
const DIMENSIONS = 1536;
export const EMBEDDINGS_MODEL = 'sandbox-seeded-1536';

/**
 * A vector of length 1 with eight decimals, like the output of an embedding model. Vectors of one topic point in a similar direction
 * (their cosine is about 0.8), those of different topics are at right angles.
 */
export function embeddingOf(topic: string, text: string): number[] {
  const [common, own] = [drawsOf(topic), drawsOf(text)];
  const sum = new Float64Array(DIMENSIONS);
  let squares = 0;
  for (let i = 0; i < DIMENSIONS; i++) {
    const component = 2 * common() + own();
    sum[i] = component;
    squares += component * component;
  }
  const scale = 1e8 / sqrt(squares);
  const vector: number[] = [];
  for (const component of sum) vector.push(round(component * scale) / 1e8);
  return vector;
}

/** Like `embeddingOf`, but calculates the vector when it is first wanted: that of most observations never is. */
export function lazyEmbeddingOf(topic: string, text: string): () => number[] {
  let vector: number[] | undefined;
  return () => (vector ??= embeddingOf(topic, text));
}

/** Pseudo-random numbers from -0.5 to 0.5, always the same for a text: Mulberry32, seeded with the text's FNV-1a hash. */
function drawsOf(text: string): () => number {
  let state = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) state = imul(state ^ text.charCodeAt(i), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296 - 0.5;
  };
}
