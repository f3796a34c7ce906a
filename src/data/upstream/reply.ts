import { UpstreamInvalidResponse } from '../../errors.js';
import { cutNumberArrays, quoteNumberArrays } from '../embeddings/number-arrays.js';
import type { Body } from './body.js';
import { checkBody } from './body-bounds.js';
import type { UpstreamRequest } from './request.js';

/** What came back over the wire, whatever its status. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Body;
}

/** The text of a reply, whose body is read by it. Vectors that the request wants are strings in it (`"0.1,0.2"`), those that it does not want are null. @throws UpstreamInvalidResponse where it is out of the bounds of its family. */
export function textOf({ body }: Reply, { family, vectors }: UpstreamRequest): string {
  const text = body.read(bytes => {
    if (vectors === undefined) return bytes.toString();
    return vectors.wanted ? quoteNumberArrays(bytes, vectors.member) : cutNumberArrays(bytes, vectors.member);
  });
  checkBody(text, family);
  return text;
}

/** The JSON of such a text; undefined where it is empty. @throws UpstreamInvalidResponse where it is no JSON. */
export function jsonOf(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new UpstreamInvalidResponse('The service answered with something that is no JSON', undefined, false);
  }
}

/** Whether the service forbids keeping a reply. */
export function forbidsKeeping({ headers }: Reply): boolean {
  return /\bno-store\b/i.test(String(headers['cache-control'] ?? ''));
}
