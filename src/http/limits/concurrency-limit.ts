// How many operations are executed at once: as many as the event loop can serve in time, with a share for each client.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Config } from '../../config/config.js';
import { addTo, maxBeyond, most, shareOf, standingQueueMs } from '../../lib/run.js';

/**
 * Bounds how many operations run at once in this process, so that each of them stays quick while more come in than one processor can answer. The
 * limit follows how long work waits for the processor, which the delay of the event loop shows. A slow service does not lower it.
 */
export type ConcurrencyLimit = ReturnType<typeof createConcurrencyLimit>;

const sampleMs = 100;
const resolutionMs = 10;
/** Where the limit begins, and where it returns to when there is little to do: a page may send many requests at once. */
const initial = 256;
/** So few operations are never an overload: another process may delay them. */
const minLimit = 8;
/** In one sample, the limit shrinks by at most this factor, and grows by this one. */
const [shrink, growth] = [0.5, 1.1];

/** Counts what runs for each client. Once a limit is reached, a client that has less than its share of it is still accepted. */
export class FairCount {
  readonly #runningOf = new Map<string, number>();
  running = 0;
  /** Those that began beyond the limit. */
  #beyond = 0;

  /** How many the client with the most runs. */
  get ofTopClient(): number {
    return most(this.#runningOf.values());
  }

  /** Whether one more of a client may run where as many run as the limit allows. */
  mayExceed(client: string, limit: number): boolean {
    const own = this.#runningOf.get(client) ?? 0;
    return own < shareOf(limit, this.#runningOf.size, own) && this.hasRoom(limit);
  }

  /** Whether a client that runs nothing is still accepted. What one client alone runs does not change that. */
  hasRoom(limit: number): boolean {
    return this.running < limit || this.#beyond < limit * maxBeyond;
  }

  /** Whether a client runs more than a quarter of all, or of many clients more than twice the mean: then what it is refused is its own doing. */
  isOverShare(client: string): boolean {
    const own = this.#runningOf.get(client) ?? 0;
    return own > (2 * this.running) / Math.max(this.#runningOf.size, 8);
  }

  /** @returns what ends it, to be called once; undefined where it is refused. */
  begin(client: string, limit: number): (() => void) | undefined {
    const isBeyond = this.running >= limit;
    if (isBeyond && !this.mayExceed(client, limit)) return undefined;
    if (isBeyond) this.#beyond += 1;
    this.#change(client, 1);
    return () => {
      if (isBeyond) this.#beyond -= 1;
      this.#change(client, -1);
    };
  }

  #change(client: string, by: number): void {
    this.running += by;
    addTo(this.#runningOf, client, by);
  }
}

/** Starts the limit. It is adjusted ten times a second, and aims at `eventLoopDelayMs`. @param probe a test can replace it. */
export function createConcurrencyLimit(
  { eventLoopDelayMs, requestsInFlight: max }: Config['loadShedding'],
  probe = eventLoopDelay(),
) {
  const operations = new FairCount();
  let limit = Math.min(initial, max);
  /** The most that ran at once since the last sample. */
  let peak = 0;

  function adjust(): void {
    const overload = probe.delayMs() / eventLoopDelayMs;
    if (overload > 1) {
      const used = Math.min(limit, peak);
      if (used > minLimit) limit = Math.max(minLimit, used * Math.max(shrink, 1 / overload));
    } else if (limit < initial || peak >= limit) {
      limit = Math.min(max, limit * growth);
    }
    peak = operations.running;
  }
  const timer = setInterval(adjust, sampleMs).unref();

  return {
    /**
     * Begins an operation of a client: a scope, or a network where the service has not accepted the credential yet.
     * @returns the function that ends the operation, to be called once; undefined where it is refused.
     */
    begin(client: string): (() => void) | undefined {
      const end = operations.begin(client, limit);
      if (end === undefined) return undefined;
      if (operations.running > peak) peak = operations.running;
      // It counts until the turn of the event loop is over. One turn answers everything that has arrived, and data in memory is answered at once: a
      // thousand such operations would run in one turn, one after the other, and never two at once.
      return () => void setImmediate(end);
    },
    isOverShare: (client: string) => operations.isOverShare(client),
    get limit(): number {
      return limit;
    },
    /** Operations that are running, or have ended in this turn of the event loop. */
    get running(): number {
      return operations.running;
    },
    close(): void {
      clearInterval(timer);
      probe.close();
    },
  };
}

/** The mean delay of its turns. Work that was put off to a later turn is late as well: without it, the turns stay short and the work piles up. */
function eventLoopDelay() {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  let [count, total] = [0, 0];
  return {
    delayMs(): number {
      // Not with `reset`: the first turn after it is not measured, and an overloaded event loop has no other before the next sample.
      const [countBefore, totalBefore] = [count, total];
      count = delay.count;
      total = count === 0 ? 0 : delay.mean * count;
      const turns = count - countBefore;
      const meanMs = turns === 0 ? 0 : (total - totalBefore) / turns / 1_000_000 - resolutionMs;
      return Math.max(meanMs, standingQueueMs());
    },
    close: (): void => void delay.disable(),
  };
}
