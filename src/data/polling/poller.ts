/** What a poll brought: a new state, the same as before, or an error. */
export type PollResult = 'changed' | 'same' | 'failed';

/** While nothing changes, a quarter slower each time, up to half as often (docs/upstream-api.md: Discovery workflow: 30 to 60 seconds). */
const slowerEachTime = 0.25;
const slowestUnchanged = 2;
/** After failures in a row, half as often each time. */
const slowestFailing = 4;
/** Spreads pollers that started together. */
const jitter = 0.1;

/**
 * The time from the start of one poll to the start of the next, in milliseconds. Never less than the interval.
 * @param inARow how many polls in a row had this result, from 1.
 */
export function pauseAfter(result: PollResult, inARow: number, intervalMs: number, random = Math.random): number {
  const slowness = {
    changed: 1,
    same: Math.min(1 + slowerEachTime * (inARow - 1), slowestUnchanged),
    failed: Math.min(2 ** inARow, slowestFailing),
  }[result];
  return intervalMs * slowness * (1 + random() * jitter);
}

/**
 * Polls until it is stopped, one poll at a time.
 * @param poll must not reject; its signal aborts when the poller is stopped.
 * @param firstInMs the delay before the first poll.
 * @returns a function that stops it.
 */
export function startPoller(
  poll: (signal: AbortSignal) => Promise<PollResult>,
  intervalMs: number,
  firstInMs: number,
): () => void {
  const stopping = new AbortController();
  let last: PollResult | undefined;
  let inARow = 0;

  const round = async () => {
    const startedAt = performance.now();
    const result = await poll(stopping.signal);
    if (stopping.signal.aborted) return;
    inARow = result === last ? inARow + 1 : 1;
    last = result;
    const pause = pauseAfter(result, inARow, intervalMs) - (performance.now() - startedAt);
    timer = setTimeout(round, Math.max(pause, 0));
  };
  let timer = setTimeout(round, firstInMs);
  return () => {
    clearTimeout(timer);
    stopping.abort();
  };
}
