// Bound once: in a separate VM context, as in a test runner, each look-up of a global costs more than the draw.
const { floor, imul } = Math;

/** A stream of pseudo-random draws. The same seed gives the same stream on every machine. */
export interface Random {
  /** A number in [0, 1). */
  float(): number;
  /** An integer from `min` to `max`, inclusive. */
  int(min: number, max: number): number;
  /** True with the given probability. */
  chance(probability: number): boolean;
  /** One item. Throws a RangeError for an empty list. */
  pick<T>(items: readonly T[]): T;
  /** `count` different items in random order, or all of them if there are fewer. */
  sample<T>(items: readonly T[], count: number): T[];
  /** Lower-case hexadecimal digits. 24 of them look like an ObjectId. */
  hex(length: number): string;
  /** A separate stream for one purpose, so that an additional draw in one place does not affect another. */
  fork(purpose: string): Random;
}

/** FNV-1a, 32 bits. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Mulberry32: a 32-bit state, one multiplication chain per draw. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const float = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const int = (min: number, max: number) => min + floor(float() * (max - min + 1));
  return {
    float,
    int,
    chance: probability => float() < probability,
    pick<T>(items: readonly T[]): T {
      if (items.length === 0) throw new RangeError('There is nothing to pick from');
      return items[int(0, items.length - 1)] as T;
    },
    sample(items, count) {
      const rest = [...items];
      return Array.from({ length: Math.min(count, rest.length) }, () => rest.splice(int(0, rest.length - 1), 1)).flat();
    },
    hex: length => Array.from({ length }, () => int(0, 15).toString(16)).join(''),
    fork: purpose => createRandom(hash32(`${seed} ${purpose}`)),
  };
}
