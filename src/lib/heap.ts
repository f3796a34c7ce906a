import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

const mebibyte = 1024 * 1024;
/** What a process takes outside its heap before it serves anything: programs, libraries, the thread for probes. */
const programBytes = 96 * mebibyte;
/** The heap's part of the rest. Bodies and sockets are outside the heap. */
const heapPart = 0.6;
/** A smaller heap would hardly hold the program. */
const smallestHeap = 96 * mebibyte;

/** The most that V8 lets the heap of this process grow to, in bytes. The bounds of what a gateway holds are shares of it. */
export const heapLimit = getHeapStatistics().heap_size_limit;

/** What this process takes with a full heap, in bytes. A container or machine has that much for it. */
export const memoryLimit = programBytes + heapLimit / heapPart;

/** The most for one of the caches of this process, in bytes. */
export const cacheBytes = Math.min(heapLimit / 16, 32 * mebibyte);

/**
 * The flag with which Node's heap fits into the memory of the container or machine. V8 takes 256 MB for the heap of a small container, which is too much
 * below 530 MB. Empty where the heap that V8 chooses fits.
 * @param memory in bytes. Without a limit, `constrainedMemory` says 0 or more than the machine has.
 */
export function heapFlags(
  memory = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()),
  chosen = heapLimit,
): string[] {
  const max = Math.max((memory - programBytes) * heapPart, smallestHeap);
  return max < chosen ? [`--max-heap-size=${Math.floor(max / mebibyte)}`] : [];
}
