import { MessageChannel } from 'node:worker_threads';

/** Joins buffers. Does not copy if there is only one. */
export function joinBytes(parts: readonly Buffer[]): Buffer {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}

const maxSmallChunks = 64;
const smallBytes = 4 * 1024;
const blockBytes = 64 * 1024;

/**
 * Collects what a peer sends in chunks. A chunk retains the whole buffer that it is a slice of, and about 100 bytes of its own, so after the first
 * `maxSmallChunks` chunks, those smaller than `smallBytes` are copied into blocks.
 */
export class Chunks {
  readonly parts: Buffer[] = [];
  #block: ArrayBuffer | undefined;

  add(chunk: Buffer): void {
    const { parts } = this;
    if (parts.length < maxSmallChunks || chunk.length >= smallBytes) {
      parts.push(chunk);
      return;
    }
    const last = parts.at(-1);
    let used = last?.buffer === this.#block ? (last?.length ?? 0) : blockBytes;
    if (this.#block === undefined || used + chunk.length > blockBytes) {
      this.#block = new ArrayBuffer(blockBytes);
      parts.push(Buffer.alloc(0));
      used = 0;
    }
    const filled = Buffer.from(this.#block, 0, used + chunk.length);
    filled.set(chunk, used);
    parts[parts.length - 1] = filled;
  }
}

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
  const memory = new Set<ArrayBuffer>();
  for (const { buffer } of buffers) if (buffer.byteLength >= freeThreshold) memory.add(buffer as ArrayBuffer);
  if (memory.size === 0) return;
  queueMicrotask(() => {
    try {
      closed.postMessage(undefined, [...memory]);
    } catch {
      // Some of it cannot be transferred: V8 frees it later.
    }
  });
}
