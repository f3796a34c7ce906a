import type { ServerResponse } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { MemoryBudget } from '../../lib/memory-budget.js';

/** How much this process may have on its hands before it turns new work away. */
export interface LoadSheddingBounds {
  readonly requestsInFlight: number;
  /** The 99th percentile of a sample, in milliseconds. */
  readonly eventLoopDelayMs: number;
}

/** What is measured, so that a test need not fill a heap. */
export interface Probes {
  /** The 99th percentile since the last time, in milliseconds. */
  eventLoopDelayMs(): number;
  /** Of what it may grow to, 0 to 1. */
  heapShare(): number;
  close(): void;
}

/** Whether this process has more on its hands than it can bear. */
export interface LoadShedding {
  /** Why new work is turned away at the moment; undefined: it is not. */
  reason(): 'event loop' | 'heap' | 'answers' | 'requests in flight' | undefined;
  /** Requests in flight. */
  readonly inFlight: number;
  /** Counts a request as in flight until its response has been sent or its client has gone. */
  enter(response: ServerResponse): void;
  close(): void;
}

const sampleMs = 500;
/** One long task, such as a start or a garbage collection, is no pressure; a second sample in a row is. */
const samplesInARow = 2;
const fullHeap = 0.92;
const resolutionMs = 20;

/** Measures twice a second; what it costs a request is a comparison of numbers. */
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
      // Not the mean: requests wait for the long tasks, however many short ones there are in between.
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
