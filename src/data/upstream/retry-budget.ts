/** Lets at most one retry through for every ten calls, so that retries cannot multiply the load on a service that is failing. */
export class RetryBudget {
  #tokens = most;

  /** Counts a first attempt. */
  earn(): void {
    this.#tokens = Math.min(most, this.#tokens + perCall);
  }

  /** Whether a retry may go; one that may is paid for. */
  spend(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

const most = 10;
const perCall = 0.1;
