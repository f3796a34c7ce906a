// From the bytes of a reply to JSON, within bounds.
import { UpstreamInvalidResponse } from '../../errors.js';
import { releaseArrayBuffers } from '../../lib/body.js';
import { type BoundedJson, boundedJson, cutNumberArrays, flatArrays, quoteNumberArrays } from '../../lib/json.js';
import { unwrapped } from '../parsing.js';
import { errorOfProblem, saysFailure, statedStatus } from './call-errors.js';
import { responseTooLarge } from './exchange.js';
import type { BodyBounds, NamedRecord, Reply, UpstreamRequest } from './request.js';

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

/** The bounds of the body that answers a request. */
export const boundsOf = ({ bounds }: UpstreamRequest): BodyBounds =>
  bounds === undefined ? defaultBounds : { ...defaultBounds, ...bounds };

/**
 * The text of a reply. Embeddings that the request wants are strings in it (`"0.1,0.2"`); embeddings that it does not want are null where
 * the body is long. The bounds keep out texts that would take the parser, or the code that reads the value, too long. Changes the body in place and frees
 * it, so read it once.
 * @throws UpstreamInvalidResponse if the body is not said to be JSON, could not be decoded, or exceeds its bounds
 */
export function replyText({ headers, body, unreadable }: Reply, request: UpstreamRequest): BoundedJson {
  const type = headers['content-type'];
  if (type !== undefined && body.length > 0 && !jsonType.test(`${type}`))
    throw new UpstreamInvalidResponse('The service answered with a body whose type is not JSON');
  if (unreadable !== undefined)
    throw new UpstreamInvalidResponse(`The service's response cannot be read. ${unreadable.message}`);
  const { vectors } = request;
  const bounds = boundsOf(request);
  const isCut = vectors !== undefined && (vectors.wanted || body.length > maxShort);
  const arrays = isCut ? flatArrays(body, vectors.member) : [];
  let otherBytes = body.length;
  for (const { from, to } of arrays) otherBytes -= to + 1 - from;
  if (otherBytes > bounds.otherBytes) throw responseTooLarge();
  const bytes = (vectors?.wanted ? quoteNumberArrays : cutNumberArrays)(body, arrays);
  const text = boundedJson(bytes, bounds);
  if (typeof text !== 'string') throw responseTooLarge();
  releaseArrayBuffers([body]);
  return text;
}

/** In bytes. The numbers in so few take the parser no time. */
const maxShort = 1_024;

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

/**
 * The JSON value of a reply of status 200-299; undefined for an empty one.
 * @throws UpstreamInvalidResponse if it is not JSON, or names another record than the requested one; the error that it says if it says that the request failed
 */
export function contentOf(text: BoundedJson, reply: Reply, request: UpstreamRequest): unknown {
  const body = parseReply(text);
  const content = unwrapped(body);
  for (const part of new Set([body, content])) {
    const problem = inCamelCase(part);
    if (saysThatItFailed(problem, request)) throw errorOfProblem(problem, reply, request);
  }
  const refused = request.safe ? undefined : itemsIn(content).map(inCamelCase).find(isRefused);
  if (refused !== undefined) throw errorOfProblem(refused, reply, request);
  if (request.record !== undefined) checkNames(request.record, body, content);
  return body;
}

type Members = Readonly<Record<string, unknown>>;

/** The members of an object, which some servers begin with a capital letter: `Success`. */
function inCamelCase(part: unknown): Members {
  if (!isObject(part)) return {};
  if (!Object.keys(part).some(name => /^[A-Z]/.test(name))) return part;
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [name.charAt(0).toLowerCase() + name.slice(1), value]),
  );
}

const isObject = (part: unknown): part is Members => typeof part === 'object' && part !== null && !Array.isArray(part);

/** The items of each list in the content of a write's answer. */
const itemsIn = (content: unknown): readonly unknown[] =>
  (isObject(content) ? Object.values(content) : [content]).filter(Array.isArray).flat();

/** As the service says it, or a server in front of it. */
function saysThatItFailed(problem: Members, { safe }: UpstreamRequest): boolean {
  const isFailure = [problem.status, problem.result].some(saysFailure) && !(safe && mayHaveFailed(problem));
  const { errorCode, errorMessage, errors, fault, failed } = problem;
  return (
    isFailure ||
    isRefused(problem) ||
    Boolean(errorCode || errorMessage || fault) ||
    isSome(errors) ||
    (!safe && isSome(failed)) ||
    statedStatus(problem) !== null
  );
}

/** Also one item of a write may be, while the others are not. */
const isRefused = ({ success, ok, authenticated, error }: Members) =>
  [success, ok, authenticated].some(isNo) || Boolean(error);

const isSome = (found: unknown) => found != null && Object.keys(Object(found)).length > 0;

/** Whether a body is a market, an observation, criteria or a list such as jobs, which may have the status "failed" themselves. Those of JSend are never theirs. */
function mayHaveFailed(found: Members): boolean {
  const { status, id, _id, name, searchCriteria, message, data, jobs, companies } = found;
  if (/^(?:error|fail)$/i.test(`${status}`)) return false;
  // An error has a name, too, and says what happened.
  const named = message == null ? (name ?? searchCriteria) : null;
  return (id ?? _id ?? named) != null || [data, jobs, companies].some(Array.isArray);
}

const isNo = (value: unknown) => typeof value !== 'object' && /^(?:false|no|0)$/i.test(String(value));

/** A reply that names no record is taken: the specification does not show every body. @throws UpstreamInvalidResponse */
function checkNames({ id, member }: NamedRecord, body: unknown, content: unknown): void {
  // As most records do.
  if (member === '_id' && (content as Readonly<Record<string, unknown>> | null)?.[member] === id) return;
  const { searchCriteria, companies, jobs } = Object(content);
  const inMarket =
    member === '_id' ? [] : [body, Object(body).metadata, content, searchCriteria, companies, jobs].flat();
  const named = [
    ...[content].flat().map(record => Object(record)[member]),
    ...inMarket.map(part => Object(part).marketId),
  ];
  if (named.some(other => other != null && other !== id && other !== Number(id)))
    throw new UpstreamInvalidResponse('The service answered with another record than the requested one');
}
