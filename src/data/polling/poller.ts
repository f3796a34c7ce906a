/** How an ask went: the source said something new, the same as before, or failed. */
export type Finding = 'changed' | 'same' | 'failed';

/** While nothing changes, a quarter slower each time, up to half as often (docs/upstream-api.md: Discovery workflow: 30 to 60 seconds). */
const slowerEachTime = 0.25;
const slowestUnchanged = 2;
/** After failures in a row, half as often each time. */
const slowestFailing = 4;
/** So that pollers which began together do not stay together. */
const jitter = 0.1;

/**
 * How long to wait from the beginning of one ask to the beginning of the next, in milliseconds. Never less than the interval.
 * @param inARow how often in a row it went like this, from 1.
 */
export function pauseAfter(finding: Finding, inARow: number, intervalMs: number, random = Math.random): number {
  const slowness = {
    changed: 1,
    same: Math.min(1 + slowerEachTime * (inARow - 1), slowestUnchanged),
    failed: Math.min(2 ** inARow, slowestFailing),
  }[finding];
  return intervalMs * slowness * (1 + random() * jitter);
}

/**
 * Asks on a beat until it is stopped; one ask at a time.
 * @param ask must not reject; its signal aborts when the poller is stopped.
 * @param firstInMs how long to wait before the first ask.
 * @returns what stops it.
 */
export function startPoller(
  ask: (signal: AbortSignal) => Promise<Finding>,
  intervalMs: number,
  firstInMs: number,
): () => void {
  const stopping = new AbortController();
  let finding: Finding | undefined;
  let inARow = 0;

  const round = async () => {
    const begunAt = performance.now();
    const found = await ask(stopping.signal);
    if (stopping.signal.aborted) return;
    inARow = found === finding ? inARow + 1 : 1;
    finding = found;
    const pause = pauseAfter(found, inARow, intervalMs) - (performance.now() - begunAt);
    timer = setTimeout(round, Math.max(pause, 0));
  };
  let timer = setTimeout(round, firstInMs);
  return () => {
    clearTimeout(timer);
    stopping.abort();
  };
}
