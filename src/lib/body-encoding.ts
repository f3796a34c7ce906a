import { setImmediate as nextTurn } from 'node:timers/promises';
import { TextDecoder } from 'node:util';
import { createBrotliDecompress, createGunzip } from 'node:zlib';

/** The content encodings that the gateway reads, as `accept-encoding` names them. */
export const readableEncodings = 'gzip, br';

/** A body that cannot be turned into text. The message says why. */
export class UnreadableBody extends Error {
  override readonly name = 'UnreadableBody';
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Whether a body is UTF-8 without a byte order mark as it is, as most are: then `utf8Pieces` has nothing to do. */
export function isPlainUtf8(body: Buffer, headers: Headers): boolean {
  const isMarked = (body[0] ?? 0) >= 0xef;
  return !isMarked && headers['content-encoding'] === undefined && charsetIn(headers) === undefined;
}

/**
 * Turns a body into UTF-8 without a byte order mark, whatever its content encoding and charset, in small pieces: the caller can stop before a small
 * body has grown large, and each turn of the event loop stays short.
 * @throws UnreadableBody names an encoding or charset that is not read.
 */
export async function* utf8Pieces(body: Buffer, headers: Headers): AsyncGenerator<Buffer> {
  let decoder: TextDecoder | undefined;
  let isFirst = true;
  for await (const piece of withoutContentEncoding(body, headers)) {
    const mark = isFirst ? marks.find(({ bytes }) => piece.subarray(0, bytes.length).equals(bytes)) : undefined;
    // The mark outranks the charset (Encoding Standard, decode).
    if (isFirst && mark?.charset !== 'utf-8') decoder = textDecoder(mark?.charset ?? charsetIn(headers));
    isFirst = false;
    const rest = piece.subarray(mark?.bytes.length ?? 0);
    yield decoder === undefined ? rest : Buffer.from(decoder.decode(rest, { stream: true }));
  }
  if (decoder !== undefined) yield Buffer.from(decoder.decode());
}

const pieceBytes = 64 * 1024;

async function* withoutContentEncoding(body: Buffer, headers: Headers): AsyncGenerator<Buffer> {
  const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase();
  if (body.length === 0 || encoding === 'identity') {
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

const marks = [
  { charset: 'utf-8', bytes: Buffer.of(0xef, 0xbb, 0xbf) },
  { charset: 'utf-16le', bytes: Buffer.of(0xff, 0xfe) },
  { charset: 'utf-16be', bytes: Buffer.of(0xfe, 0xff) },
];

/** The charset that the headers name; undefined for UTF-8, which is also the charset of JSON that names none. */
function charsetIn(headers: Headers): string | undefined {
  const [, charset] = /;\s*charset\s*=\s*["']?([^\s"';]+)/i.exec(String(headers['content-type'] ?? '')) ?? [];
  return charset === undefined || /^utf-?8$/i.test(charset) ? undefined : charset;
}

function textDecoder(charset: string | undefined): TextDecoder | undefined {
  try {
    return charset === undefined ? undefined : new TextDecoder(charset);
  } catch {
    throw new UnreadableBody(`The charset ${named(charset ?? '')} is not supported`);
  }
}

/** What a peer named, short and harmless. */
const named = (text: string) => text.replace(/[^\w+.,-]/g, '?').slice(0, 40);
