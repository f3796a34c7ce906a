import { jest } from '@jest/globals';
import { type Draw, drawFrom } from './seeded.js';

/** How long one invariant is tried, in milliseconds: four seconds in `npm test`, `FUZZ_MINUTES` in `npm run fuzz`. */
export const fuzzMs = Number(process.env.FUZZ_MINUTES ?? 0) * 60_000 || 4_000;
// The whole suite that tries one may take as much longer as other suites may.
jest.setTimeout(fuzzMs + 240_000);

/** `FUZZ_SEED` repeats a run that failed. */
const firstSeed = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000);

/** Runs `round` with one seed after another until the time is over, at least once. @throws Error that names the seed of the round that failed. */
export async function fuzz(round: (draw: Draw) => Promise<void> | void, milliseconds = fuzzMs): Promise<number> {
  const end = performance.now() + milliseconds;
  let rounds = 0;
  do {
    const seed = firstSeed + rounds;
    try {
      await round(drawFrom(String(seed)));
    } catch (cause) {
      throw new Error(`Failed with FUZZ_SEED=${seed}: ${(cause as Error).message}`, { cause });
    }
    rounds += 1;
  } while (performance.now() < end);
  return rounds;
}
