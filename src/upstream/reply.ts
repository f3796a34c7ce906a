import { UpstreamInvalidResponse } from '../errors.js';
import type { Body } from './body.js';
import { cutNumberArrays, quoteNumberArrays } from './number-arrays.js';
import type { UpstreamRequest } from './request.js';

/** What came back over the wire, whatever its status. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Body;
}

/**
 * The JSON of a reply, whose body is read by it. Vectors that the request wants are text in it (`"0.1,0.2"`), those that it does not want are null.
 * `bytes` is the size of what was parsed, about. An empty body is undefined.
 * @throws UpstreamInvalidResponse where the body is no JSON.
 */
export function jsonOf({ body }: Reply, { vectors }: UpstreamRequest): { json: unknown; bytes: number } {
  const text = body.read(bytes => textOf(bytes, vectors));
  if (text === '') return { json: undefined, bytes: 0 };
  try {
    return { json: JSON.parse(text), bytes: text.length };
  } catch {
    throw new UpstreamInvalidResponse('The service answered with something that is no JSON', undefined, false);
  }
}

function textOf(bytes: Buffer, vectors: UpstreamRequest['vectors']): string {
  if (vectors === undefined) return bytes.toString();
  return vectors.wanted ? quoteNumberArrays(bytes, vectors.member) : cutNumberArrays(bytes, vectors.member);
}

/** Whether the service forbids keeping a reply. */
export function forbidsKeeping({ headers }: Reply): boolean {
  return /\bno-store\b/i.test(String(headers['cache-control'] ?? ''));
}
