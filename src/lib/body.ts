// Bodies in chunks and in content encodings.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { createBrotliDecompress, createGunzip } from 'node:zlib';

/** Joins buffers. Does not copy if there is only one. */
export function joinBytes(parts: readonly Buffer[]): Buffer {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}

const maxSmallChunks = 64;
const smallBytes = 4 * 1024;

/**
 * Collects what a peer sends in chunks. A chunk retains the whole buffer that it is a slice of, and about 100 bytes of its own, so after `maxSmallChunks`
 * chunks in a row that are smaller than `smallBytes`, they are copied into one.
 */
export class Chunks {
  readonly parts: Buffer[] = [];
  /** How many of the last parts are small. */
  #small = 0;

  add(chunk: Buffer): void {
    this.parts.push(chunk);
    this.#small = chunk.length < smallBytes ? this.#small + 1 : 0;
    if (this.#small < maxSmallChunks) return;
    this.#small = 0;
    this.add(Buffer.concat(this.parts.splice(-maxSmallChunks)));
  }
}

/** In bytes. Freeing less saves little, and what is smaller than half of Node's pool may be a part of it, which cannot be transferred. */
const freeThreshold = Math.max(16 * 1024, Buffer.poolSize / 2);

const closed = new MessageChannel().port1;
closed.close();

/**
 * Frees the memory of buffers that are not read again, once nothing runs: until then undici's parser may read the last of them. Memory that is
 * transferred to a closed port is gone (HTML standard, message port post message steps). V8 frees it late, and collects garbage more often because
 * of it (docs/decisions/0056-tricks.md). To measure without it, return at the top.
 */
export function releaseArrayBuffers(buffers: readonly Buffer[]): void {
  const large = buffers.filter(({ length }) => length >= freeThreshold);
  if (large.length === 0) return;
  const memory = new Set(large.map(({ buffer }) => buffer as ArrayBuffer));
  queueMicrotask(() => {
    try {
      closed.postMessage(undefined, [...memory]);
    } catch {
      // Some of it cannot be transferred: V8 frees it later.
    }
  });
}

/** The content encodings that the gateway reads, as `accept-encoding` names them. */
export const readableEncodings = 'gzip, br';

/** A body that cannot be turned into text. The message says why. */
export class UnreadableBody extends Error {
  override readonly name = 'UnreadableBody';
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** A charset other than UTF-8, the one of JSON, and ASCII, which is a part of it. */
const otherCharset = /;\s*charset\s*=\s*["']?(?!(?:utf-?8|us-ascii)(?:[\s"';]|$))([^\s"';]+)/i;
const byteOrderMark = Buffer.of(0xef, 0xbb, 0xbf);

/** Whether a body is UTF-8 without a byte order mark as it is, as most are: then `utf8Pieces` has nothing to do. */
export function isPlainUtf8(body: Buffer, headers: Headers): boolean {
  return (
    body[0] !== byteOrderMark[0] &&
    headers['content-encoding'] === undefined &&
    !otherCharset.test(`${headers['content-type']}`)
  );
}

/**
 * Removes the content encoding of a body and its byte order mark, in small pieces: the caller can stop before a small body has grown large, and each
 * turn of the event loop stays short.
 * @throws UnreadableBody names an encoding that is not read, or a charset other than UTF-8.
 */
export async function* utf8Pieces(body: Buffer, headers: Headers): AsyncGenerator<Buffer> {
  const charset = otherCharset.exec(`${headers['content-type']}`)?.[1];
  let isFirst = true;
  for await (const piece of withoutContentEncoding(body, headers)) {
    if (charset !== undefined) throw new UnreadableBody(`The charset ${named(charset)} is not supported`);
    const isMarked = isFirst && piece.subarray(0, byteOrderMark.length).equals(byteOrderMark);
    isFirst = false;
    yield isMarked ? piece.subarray(byteOrderMark.length) : piece;
  }
}

const pieceBytes = 64 * 1024;

async function* withoutContentEncoding(body: Buffer, headers: Headers): AsyncGenerator<Buffer> {
  const encodings =
    String(headers['content-encoding'] ?? '')
      .toLowerCase()
      .match(/[^\s,]+/g) ?? [];
  const encoding = encodings.filter(each => each !== 'identity').join();
  if (body.length === 0 || encoding === '') {
    for (let at = 0; at < body.length; at += pieceBytes) {
      yield body.subarray(at, at + pieceBytes);
      await nextTurn();
    }
    return;
  }
  const createDecoder = decoders.get(encoding);
  if (createDecoder === undefined) throw new UnreadableBody(`The content encoding ${named(encoding)} is not supported`);
  const decoder = createDecoder();
  decoder.end(body);
  try {
    yield* decoder;
  } catch {
    throw new UnreadableBody(`The content encoding is ${encoding}, but the body is not`);
  }
}

const decoders = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
]);

/** What a peer named, short and harmless. */
const named = (text: string) => text.replace(/[^\w+.,-]/g, '?').slice(0, 40);
