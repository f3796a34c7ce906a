import { MessageChannel } from 'node:worker_threads';

/** In bytes. Freeing less saves little. */
const freeThreshold = 16 * 1024;

const closed = new MessageChannel().port1;
closed.close();

/**
 * Frees the memory of buffers that are not read again, once nothing runs: until then undici's parser may read the last of them. Memory that is
 * transferred to a closed port is gone (HTML standard, message port post message steps). V8 frees it late, and collects garbage more often because
 * of it (docs/decisions/0056-tricks.md). To measure without it, return at the top.
 */
export function releaseArrayBuffers(buffers: readonly Buffer[]): void {
  const memory = new Set(buffers.map(({ buffer }) => buffer as ArrayBuffer).filter(isLarge));
  if (memory.size === 0) return;
  queueMicrotask(() => {
    try {
      closed.postMessage(undefined, [...memory]);
    } catch {
      // Some of it cannot be transferred: V8 frees it later.
    }
  });
}

const isLarge = ({ byteLength }: ArrayBuffer) => byteLength >= freeThreshold;
