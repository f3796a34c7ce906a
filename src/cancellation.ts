/**
 * Ends work early: its time is over, or nobody waits for it any more. An AbortSignal without an EventTarget's cost, since every call to
 * the service has one of its own. The work goes through one stage at a time, and only the stage that it is in listens.
 */
export class Cancellation {
  #reason: Error | undefined;
  #stop: (() => void) | undefined;

  /** Why it was cancelled; undefined while it was not. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** Only the first reason counts. */
  cancel(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#stop?.();
  }

  /** What to do when it is cancelled, in place of what the stage before would have done; undefined: nothing. */
  onCancel(stop: (() => void) | undefined): void {
    this.#stop = stop;
  }

  throwIfCancelled(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }
}
