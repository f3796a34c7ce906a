import { UpstreamInvalidResponse } from '../errors.js';
import type { Reply } from './exchange.js';
import { cutNumberArrays, quoteNumberArrays } from './number-arrays.js';
import type { UpstreamRequest } from './request.js';

/**
 * The JSON of a reply. Vectors that the request wants are text in it (`"0.1,0.2"`), those that it does not want are null.
 * `bytes` is the size of what was parsed, about. An empty body is undefined.
 * @throws UpstreamInvalidResponse where the body is no JSON.
 */
export function jsonOf({ body }: Reply, { vectors }: UpstreamRequest): { json: unknown; bytes: number } {
  const textOf = vectors?.wanted ? quoteNumberArrays : cutNumberArrays;
  const text = vectors === undefined ? body.toString() : textOf(body, vectors.member);
  if (text === '') return { json: undefined, bytes: 0 };
  try {
    return { json: JSON.parse(text), bytes: text.length };
  } catch {
    throw new UpstreamInvalidResponse('The service answered with something that is no JSON', undefined, false);
  }
}

/** Whether the service forbids keeping a reply. */
export function forbidsKeeping({ headers }: Reply): boolean {
  return /\bno-store\b/i.test(String(headers['cache-control'] ?? ''));
}
