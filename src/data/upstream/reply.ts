import { UpstreamInvalidResponse } from '../../errors.js';
import { releaseArrayBuffers, type UnreadableBody } from '../../lib/body.js';
import {
  type BoundedJson,
  backslash,
  boundedJson,
  brace,
  bracket,
  closingBracket,
  colon,
  type JsonBounds,
  otherSpaces,
  quote,
  space,
} from '../../lib/json.js';
import type { UpstreamRequest } from './request.js';

/** What came back over the wire, whatever its status. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** UTF-8 without a byte order mark. Incomplete if it is unreadable. */
  readonly body: Buffer;
  /** Why the body could not be decoded. */
  readonly unreadable?: UnreadableBody | undefined;
}

/**
 * The bounds of a reply's body. Within them, a step of reading usually takes no longer than 50 milliseconds. The slowest ones measured: 230 for 30 MB of
 * escaped quotes, 148 for 34 MB of companies in Japanese.
 */
interface BodyBounds extends JsonBounds {
  /** As it comes over the wire. */
  readonly bytes: number;
  /** Bytes besides the vectors, where a body has some. */
  readonly otherBytes: number;
}

const mebibyte = 1024 * 1024;

/** One record, or a list of some hundreds: jobs, topics, earlier criteria. */
const defaultBounds: BodyBounds = {
  // Above it, to decode and parse a single text takes tens of milliseconds.
  text: 4 * mebibyte,
  number: 1_024,
  levels: 64,
  bytes: 4 * mebibyte,
  otherBytes: Number.POSITIVE_INFINITY,
  items: 10_000,
  members: 10_000,
  // A record has some tens of members. The longest list in one is a company's, of countries, industries or numbers.
  own: { members: 1_000, items: 10_000 },
};

/** All companies of a market: tens of thousands. */
const companiesBounds: BodyBounds = {
  ...defaultBounds,
  bytes: 32 * mebibyte,
  items: 500_000,
  members: 300_000,
};

/** The endpoint families whose bodies may be large. */
const boundsByFamily = new Map<string, BodyBounds>([
  // A page of a hundred. Their embeddings are cut out, or turned into text, before anything is counted.
  ['events', { ...defaultBounds, bytes: 32 * mebibyte, otherBytes: 8 * mebibyte, items: 50_000, members: 50_000 }],
  ['companies', companiesBounds],
  // One object may have a member for each company.
  ['esg', { ...companiesBounds, own: { members: 10_000, items: 10_000 } }],
]);

/** The bounds for the bodies of an endpoint family. */
export function bodyBoundsOf(family: string): BodyBounds {
  return boundsByFamily.get(family) ?? defaultBounds;
}

/** The error for a body or headers beyond their bounds. */
export function responseTooLarge(): UpstreamInvalidResponse {
  return new UpstreamInvalidResponse('The response of the service is too large');
}

/**
 * The text of a reply. Embeddings that the request wants are strings in it (`"0.1,0.2"`); embeddings that it does not want are null. The bounds keep out
 * texts that would take the parser, or the code that reads the value, too long. Changes the body in place and frees it, so read it once.
 * @throws UpstreamInvalidResponse if the body is not said to be JSON, could not be decoded, or exceeds the bounds of its endpoint family
 */
export function replyText({ headers, body, unreadable }: Reply, { family, vectors }: UpstreamRequest): BoundedJson {
  const type = headers['content-type'];
  if (type !== undefined && body.length > 0 && !jsonType.test(`${type}`))
    throw new UpstreamInvalidResponse('The service answered with a body whose type is not JSON');
  if (unreadable !== undefined)
    throw new UpstreamInvalidResponse(`The service's response cannot be read. ${unreadable.message}`);
  const bounds = bodyBoundsOf(family);
  const arrays = vectors === undefined ? [] : flatArrays(body, vectors.member);
  let otherBytes = body.length;
  for (const { from, to } of arrays) otherBytes -= to + 1 - from;
  if (otherBytes > bounds.otherBytes) throw responseTooLarge();
  const bytes = (vectors?.wanted ? quoteNumberArrays : cutNumberArrays)(body, arrays);
  const text = boundedJson(bytes, bounds);
  if (typeof text !== 'string') throw responseTooLarge();
  releaseArrayBuffers([body]);
  return text;
}

const jsonType = /^[^;]*[/+]json\s*(?:;|$)/i;

/** The JSON value of such a text; undefined for an empty text. @throws UpstreamInvalidResponse if it is not JSON */
export function parseReply(text: BoundedJson): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new UpstreamInvalidResponse('The service answered with a body that is not JSON');
  }
}

/** A flat array in a body: the index of its `[`, and of its `]`. */
interface FlatArray {
  readonly from: number;
  readonly to: number;
}

const nothing = Buffer.from('null');

/** A body with each of these arrays replaced by null, so that unwanted numbers are never parsed. */
export function cutNumberArrays(body: Buffer, arrays: readonly FlatArray[]): Buffer {
  const parts: Buffer[] = [];
  let kept = 0;
  for (const { from, to } of arrays) {
    parts.push(body.subarray(kept, from), nothing);
    kept = to + 1;
  }
  return parts.length === 0 ? body : Buffer.concat([...parts, body.subarray(kept)]);
}

/** Turns each of these arrays into a string of its own text in place, `[1, 2]` into `"1, 2"`, which is parsed at the speed of copying. Returns the body. */
export function quoteNumberArrays(body: Buffer, arrays: readonly FlatArray[]): Buffer {
  for (const { from, to } of arrays) {
    body[from] = quote;
    body[to] = quote;
    // Between numbers these are white space; JSON does not allow them inside a string.
    const inside = body.subarray(from + 1, to);
    for (const other of otherSpaces) {
      for (let at = inside.indexOf(other); at !== -1; at = inside.indexOf(other, at)) inside[at] = space;
    }
  }
  return body;
}

/** Every flat array under a member of this name, which is ASCII. The body must be JSON in UTF-8. */
export function flatArrays(body: Buffer, member: string): readonly FlatArray[] {
  const found: FlatArray[] = [];
  const key = JSON.stringify(member);
  let to = -1;
  for (let at = body.indexOf(key); at !== -1; at = body.indexOf(key, at)) {
    const value = valueAfter(body, at, at + key.length);
    at += key.length;
    if (value === undefined || body[value] !== bracket) continue;
    // The bracket found before may still be the next one. Searching again each time would make this quadratic.
    if (to <= value) to = body.indexOf(closingBracket, value + 1);
    if (to === -1) break;
    const inside = body.subarray(value + 1, to);
    if (inside.includes(quote) || inside.includes(bracket) || inside.includes(brace)) continue;
    found.push({ from: value, to });
    at = to;
  }
  return found;
}

/** Where the value of a key begins; undefined if the quotes do not belong to a key, but are escaped or belong to a value. */
function valueAfter(body: Buffer, start: number, end: number): number | undefined {
  let slashes = 0;
  while (body[start - 1 - slashes] === backslash) slashes += 1;
  if (slashes % 2 === 1) return undefined;
  let hasColon = false;
  for (let at = end; at < body.length; at += 1) {
    const byte = body[at] ?? 0;
    if (byte <= space) continue;
    if (hasColon || byte !== colon) return hasColon ? at : undefined;
    hasColon = true;
  }
  return undefined;
}
