/** Parts as one; without a copy where there is but one. */
export function joinBytes(parts: readonly Buffer[]): Buffer {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}

const mostSmall = 64;
const small = 4 * 1024;
const blockBytes = 64 * 1024;

/**
 * What a peer sends in chunks. A chunk keeps the whole buffer that brought it, and takes about 100 bytes itself, so after the first `mostSmall`
 * chunks those of less than `small` bytes are copied into blocks.
 */
export class Chunks {
  readonly parts: Buffer[] = [];
  #block: ArrayBuffer | undefined;

  add(chunk: Buffer): void {
    const { parts } = this;
    if (parts.length < mostSmall || chunk.length >= small) {
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
