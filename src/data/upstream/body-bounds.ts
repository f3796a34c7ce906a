import { UpstreamInvalidResponse } from '../../errors.js';
import { type JsonBounds, jsonExcess } from '../../lib/json-excess.js';

/** What the body of a reply may be. */
export interface BodyBounds extends JsonBounds {
  /** As it comes over the wire. */
  readonly bytes: number;
}

const megabyte = 1024 * 1024;

const everywhere = { text: Number.POSITIVE_INFINITY, levels: 64 };

/** One record, or a list of some hundreds. */
const small: BodyBounds = { ...everywhere, bytes: 4 * megabyte, items: 50_000, members: 50_000 };

/** A page of a hundred. The numbers of their vectors do not count: they are cut out, or made into text, before. */
const events: BodyBounds = { ...everywhere, bytes: 32 * megabyte, items: 100_000, members: 100_000 };

/** All companies of a market, some ten thousand. */
const companies: BodyBounds = { ...everywhere, bytes: 32 * megabyte, items: 500_000, members: 300_000 };

/** The endpoint families whose bodies may be large. */
const byFamily = new Map([
  ['events', events],
  ['companies', companies],
  ['esg', companies],
]);

/** The bounds of the bodies of an endpoint family. */
export function bodyBoundsOf(family: string): BodyBounds {
  return byFamily.get(family) ?? small;
}

/** Refuses the text of a body that would take the parser, or whatever walks through its value, too long. @throws UpstreamInvalidResponse */
export function checkBody(text: string, family: string): void {
  if (jsonExcess(text, bodyBoundsOf(family)) !== undefined) throw tooLarge();
}

/** The error for a body that is out of its bounds. It would be no smaller the next time. */
export function tooLarge(): UpstreamInvalidResponse {
  return new UpstreamInvalidResponse('The answer of the service is too large', undefined, false);
}
