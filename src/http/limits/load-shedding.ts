import { getHeapStatistics } from 'node:v8';
import { heapLimit } from '../../lib/heap.js';
import type { MemoryBudget } from '../../lib/memory-budget.js';
import type { ShedReason } from '../../observability/telemetry.js';

/** Decides whether this process has memory for new work. How much work runs at once is the matter of `ConcurrencyLimit`. */
export interface LoadShedding {
  /** Why new work is refused now; undefined: it is accepted. */
  reason(): Extract<ShedReason, 'memory' | 'requests_in_flight'> | undefined;
  /** Requests in flight. */
  readonly inFlight: number;
  /** Counts a request as in flight until the returned function is called. It may be called again. */
  enter(): () => void;
  close(): void;
}

const sampleMs = 500;
/** A heap is full before a garbage collection. One that is full in this many samples in a row stays full. */
const samplesInARow = 2;
const fullHeap = 0.92;

/** Measures twice a second, so that a request costs only a comparison of numbers. */
export function createLoadShedding(
  maxInFlight: number,
  heapShare: () => number = usedShareOfHeap,
  budget?: Pick<MemoryBudget, 'isNearlyFull'>,
): LoadShedding {
  let inFlight = 0;
  let full = 0;
  const sample = () => {
    full = heapShare() > fullHeap ? full + 1 : 0;
  };
  const timer = setInterval(sample, sampleMs).unref();
  return {
    reason() {
      if (full >= samplesInARow || budget?.isNearlyFull) return 'memory';
      return inFlight >= maxInFlight ? 'requests_in_flight' : undefined;
    },
    get inFlight() {
      return inFlight;
    },
    enter() {
      inFlight += 1;
      let hasLeft = false;
      return () => {
        if (!hasLeft) inFlight -= 1;
        hasLeft = true;
      };
    },
    close: () => clearInterval(timer),
  };
}

/** The used part of the largest heap, 0 to 1. */
function usedShareOfHeap(): number {
  return getHeapStatistics().used_heap_size / heapLimit;
}
