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
