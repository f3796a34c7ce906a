/** What work is going through. */
export interface Stage {
  /** The work is to end here. */
  cancelled(): void;
}

/**
 * Ends work early: its time is over, or nobody waits for it any more. An AbortSignal without an EventTarget's cost, since every call to
 * the service has one of its own. The work goes through one stage at a time, and only the stage that it is in listens.
 */
export class Cancellation {
  #reason: Error | undefined;
  #stage: Stage | undefined;

  /** Why it was cancelled; undefined while it was not. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** Only the first reason counts. */
  cancel(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#stage?.cancelled();
  }

  /** Whom to tell when it is cancelled, in place of the stage before; undefined: nobody. */
  enter(stage: Stage | undefined): void {
    this.#stage = stage;
  }

  throwIfCancelled(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }
}
