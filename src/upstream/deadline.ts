/**
 * Runs a task whose signal aborts after `milliseconds`, or when the outer signal does, with that one's reason. The task must heed its signal.
 * @param tooLate makes the reason of a deadline that passed.
 */
export async function withDeadline<T>(
  milliseconds: number,
  outer: AbortSignal,
  tooLate: () => Error,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted();
  const inner = new AbortController();
  const abandon = () => inner.abort(outer.reason);
  const timer = setTimeout(() => inner.abort(tooLate()), milliseconds);
  outer.addEventListener('abort', abandon, { once: true });
  try {
    return await task(inner.signal);
  } finally {
    clearTimeout(timer);
    outer.removeEventListener('abort', abandon);
  }
}
