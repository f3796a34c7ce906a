import type { ServerResponse } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { MemoryBudget } from '../../lib/memory-budget.js';

/** The load above which this process refuses new work. */
interface LoadSheddingBounds {
  readonly requestsInFlight: number;
  /** The 99th percentile of a sample, in milliseconds. */
  readonly eventLoopDelayMs: number;
}

/** The measurements, which a test can replace. */
export interface Probes {
  /** The 99th percentile since the last time, in milliseconds. */
  eventLoopDelayMs(): number;
  /** The used part of the largest heap, 0 to 1. */
  heapShare(): number;
  close(): void;
}

/** Decides whether this process is overloaded. */
export interface LoadShedding {
  /** Why new work is refused now; undefined: it is accepted. */
  reason(): 'event loop' | 'heap' | 'answers' | 'requests in flight' | undefined;
  /** Requests in flight. */
  readonly inFlight: number;
  /** Counts a request as in flight until its response has been sent or its client has hung up. */
  enter(response: ServerResponse): void;
  close(): void;
}

const sampleMs = 500;
/** One long task, such as a garbage collection, is not an overload. This many slow samples in a row are. */
const samplesInARow = 2;
const fullHeap = 0.92;
const resolutionMs = 20;

/** Measures twice a second, so that a request costs only a comparison of numbers. */
export function createLoadShedding(
  bounds: LoadSheddingBounds,
  probes: Probes = realProbes(),
  budget?: Pick<MemoryBudget, 'isNearlyFull'>,
): LoadShedding {
  let inFlight = 0;
  let slow = 0;
  let full = 0;
  const sample = () => {
    slow = probes.eventLoopDelayMs() > bounds.eventLoopDelayMs ? slow + 1 : 0;
    full = probes.heapShare() > fullHeap ? full + 1 : 0;
  };
  const timer = setInterval(sample, sampleMs).unref();
  return {
    reason() {
      if (slow >= samplesInARow) return 'event loop';
      if (full >= samplesInARow) return 'heap';
      if (budget?.isNearlyFull) return 'answers';
      return inFlight >= bounds.requestsInFlight ? 'requests in flight' : undefined;
    },
    get inFlight() {
      return inFlight;
    },
    enter(response) {
      inFlight += 1;
      response.once('close', () => {
        inFlight -= 1;
      });
    },
    close() {
      clearInterval(timer);
      probes.close();
    },
  };
}

function realProbes(): Probes {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  return {
    eventLoopDelayMs() {
      // Not the mean: requests wait for the long tasks, no matter how many short ones run in between.
      const late = delay.percentile(99) / 1_000_000 - resolutionMs;
      delay.reset();
      return late;
    },
    heapShare() {
      const { used_heap_size, heap_size_limit } = getHeapStatistics();
      return used_heap_size / heap_size_limit;
    },
    close: () => void delay.disable(),
  };
}
