import { MessageChannel } from 'node:worker_threads';
import { joinBytes } from '../../lib/join-bytes.js';

/** The body of a reply, in the parts that the wire brought. Read once, and at once: then its memory is given back. */
export class Body {
  readonly #parts: readonly Buffer[];

  /** @param parts are nobody else's. */
  constructor(parts: readonly Buffer[]) {
    this.#parts = parts;
  }

  /** @returns what `understand` makes of the bytes. */
  read<T>(understand: (bytes: Buffer) => T): T {
    const bytes = joinBytes(this.#parts);
    // A small copy lies in the pool that small buffers share.
    const own = bytes.length === bytes.buffer.byteLength ? [...this.#parts, bytes] : this.#parts;
    giveBackSoon(own);
    return understand(bytes);
  }
}

/** In bytes. What is smaller costs little. */
const worthGivingBack = 16 * 1024;

const closed = new MessageChannel().port1;
closed.close();

/**
 * Frees the memory of buffers as soon as nothing runs: not now, for the parser that brought the last of them may still be at it. What is transferred
 * to a closed port is gone (HTML: message port post message steps). V8 would free it with its next collection, and collects the young generation
 * for every 32 MB of it.
 */
function giveBackSoon(buffers: readonly Buffer[]): void {
  const memory = new Set(buffers.map(({ buffer }) => buffer as ArrayBuffer).filter(isLarge));
  if (memory.size === 0) return;
  queueMicrotask(() => {
    try {
      closed.postMessage(undefined, [...memory]);
    } catch {
      // Some of it may not be transferred: V8 frees it later.
    }
  });
}

const isLarge = ({ byteLength }: ArrayBuffer) => byteLength >= worthGivingBack;
