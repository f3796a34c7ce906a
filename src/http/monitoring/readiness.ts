/** Whether a gateway should get new requests. `incomplete`: a worker that ended could not be replaced. `busy`: its event loop, or that of a worker, is not heard of. */
export interface Readiness {
  readonly status: 'ready' | 'starting' | 'incomplete' | 'busy' | 'overloaded' | 'closing';
  /** How long the event loop has not been heard of, or that of a worker. In milliseconds. */
  readonly silentMs: number;
}

/** How often a gateway says that it runs. */
export const beatMs = 250;
/** A gateway that is silent for so long should get no new requests. */
export const busyMs = 2_000;
/** A gateway that is silent for so long will not recover. A busy one must not be restarted. */
const stuckMs = 30_000;

/** What a thread or process knows of another one: what it said last, and when. */
export class Heartbeat {
  #last: Readiness = { status: 'starting', silentMs: 0 };
  #heardAt = performance.now();

  hear(readiness: Readiness): void {
    this.#last = readiness;
    this.#heardAt = performance.now();
  }

  get isStuck(): boolean {
    return performance.now() - this.#heardAt >= stuckMs;
  }

  get readiness(): Readiness {
    const silentMs = performance.now() - this.#heardAt;
    const { status, silentMs: reportedMs } = this.#last;
    return { status: silentMs >= busyMs ? 'busy' : status, silentMs: Math.max(silentMs, reportedMs) };
  }
}

/** Adds to the metrics of a gateway what `/readyz` says at this moment, so that the two never differ. Both are in the format of Prometheus. */
export function withReadiness(metrics: string, { status, silentMs }: Readiness): string {
  return `${metrics}# HELP gateway_ready Whether the gateway accepts new requests, as /readyz says: 1 or 0
# TYPE gateway_ready gauge
gateway_ready ${status === 'ready' ? 1 : 0}
# HELP gateway_silent_seconds How long the event loop of the gateway, or of one of its workers, has not been heard of
# TYPE gateway_silent_seconds gauge
gateway_silent_seconds ${silentMs / 1_000}
`;
}
