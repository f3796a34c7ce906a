// The vocabulary in which models say what a body of the service may hold, and what becomes of a value that deviates.
import { z } from 'zod';
import { type UnreadableRecord, UpstreamInvalidResponse } from '../errors.js';
import { oncePerValue } from '../lib/run.js';
import { completeTime, maxTimeLength, readTime } from '../lib/time.js';
import { parseWebUrl } from '../lib/web-url.js';
import { Vector } from './vector.js';

/** Where a body deviates from the specification: each field by name (`Event.title`), and how many records cannot be read because of it. */
export interface SchemaDrift {
  readonly fields: string[];
  leftOut: number;
}

/** Collects the drift of the body that is being parsed. Parsing is synchronous, so there is at most one at a time. */
let current: SchemaDrift | undefined;

/**
 * Runs a parser that tolerates drift.
 * @param schemaDrift collects the drift of the body, of which the parser may see one piece.
 * @throws UpstreamInvalidResponse if the parser throws, with a message of its own or a general one.
 */
export function parseLenient<Body, T>(parser: { parse(body: Body): T }, body: Body, schemaDrift: SchemaDrift): T {
  current = schemaDrift;
  try {
    return parser.parse(body);
  } catch (error) {
    if (error instanceof UpstreamInvalidResponse) throw error;
    throw new UpstreamInvalidResponse('The service answered with a body that it does not document');
  } finally {
    current = undefined;
  }
}

/** A schema as compiled code, which parses a good value at a fraction of the cost. It is undefined for a bad value, which counts no drift. */
function compiled<T extends z.ZodType>(schema: T): (value: unknown) => z.output<T> | undefined {
  const fast = z.compile(schema);
  return value => {
    const [fields, leftOut] = [current?.fields.length, current?.leftOut];
    const { data, success } = fast.safeParse(value);
    if (success) return data;
    current?.fields.splice(fields ?? 0);
    if (current !== undefined) current.leftOut = leftOut ?? 0;
    return undefined;
  };
}

/** What any value becomes that does not match its documented type. */
const drifted = <U>(instead: U, name: string) =>
  z.unknown().transform((): U => {
    current?.fields.push(name);
    return instead;
  });

/** A field that is null if the service sends nothing, or a value of another type than documented; the latter counts as drift of `name` (`Event.title`). */
export const tolerant = <T extends z.ZodType>(name: string, schema: T) => fieldOr(null, name, schema);

/** The same for a time or a number: what cannot be read is also an error of its field, which clients could take for nothing otherwise. */
export const readable = <T extends z.ZodType>(name: string, schema: T) => fieldOr(unreadable, name, schema);

const fieldOr = <T extends z.ZodType, U>(instead: U, name: string, schema: T) =>
  z.union([schema.nullable().default(null), drifted(instead, name)]);

/** A number of a list. One that is too large for JavaScript is an error at its place. */
export const listedNumber = (name: string) =>
  z.union([z.number(), z.custom(value => typeof value === 'number').pipe(drifted(unreadable, name))]);

/** Stands for a time or a number that cannot be read, until a scalar makes an error of it. Unlike an Error, it stays the same in Redis. */
interface Unreadable {
  readonly $unreadable: true;
}

const unreadable: Unreadable = { $unreadable: true };

/** What scalars make of values from the service. */
export type ReadNumber = number | Unreadable;
export type ReadTime = string | Unreadable;

/** Whether a value of any scalar stands for one that cannot be read. */
export const isUnreadable = (value: unknown): boolean => (value as Unreadable | null)?.$unreadable === true;

/** A time or a number to reckon with; null where there is none. */
export const known = <T extends string | number>(value: T | Unreadable | null | undefined): T | null =>
  typeof value === 'object' ? null : (value ?? null);

/** Stands for a record of a list that cannot be read, until the field with the list leaves it out and says so. Unlike an Error, it stays the same in Redis. */
export interface LeftOut {
  readonly $leftOut: UnreadableRecord;
}

export const isLeftOut = (item: unknown): item is LeftOut =>
  typeof item === 'object' && (item as LeftOut | null)?.$leftOut !== undefined;

/** The same stand-in, at its place in a longer list. */
export const leftOutAt = ({ $leftOut }: LeftOut, index: number): LeftOut => ({ $leftOut: { ...$leftOut, index } });

/** The records of a list that can be read. */
export const present = <T>(items: readonly (T | LeftOut)[]): readonly T[] =>
  items.some(isLeftOut) ? (items.filter(item => !isLeftOut(item)) as T[]) : (items as readonly T[]);

const presentOf = oncePerValue(present<unknown>);

/** The same for a list of any length, found once. */
export const presentOnce = <T>(items: readonly (T | LeftOut)[]) => presentOf(items) as readonly T[];

/** What is made of the records of a list, with the same stand-ins. */
export const mapPresent = <T, U>(items: readonly (T | LeftOut)[], make: (item: T) => U): readonly (U | LeftOut)[] =>
  items.map(item => (isLeftOut(item) ? item : make(item)));

/** The JSON of models, with null for a value and nothing for a record that cannot be read. */
export const modelJson = (value: unknown): string =>
  JSON.stringify(value, (_, member) => {
    if (isUnreadable(member)) return null;
    return Array.isArray(member) ? present(member) : member;
  });

/** A list as the value of a field, whose execution leaves out the others, and says so. */
export const listed = <T>(items: readonly (T | LeftOut)[]) => items as readonly T[];

/** A list of records, with a stand-in at the place of each that cannot be read. */
export const requiredRecords = <T extends z.ZodType>(name: string, schema: T) =>
  z.array(z.unknown()).transform(recordParser(name, schema));

/** The same for a list that may be missing; empty if the service sends none. Something that is not a list is one record that cannot be read. */
export const records = <T extends z.ZodType>(name: string, schema: T) => {
  const parse = recordParser(name, schema);
  return z.union([
    z
      .array(z.unknown())
      .nullish()
      .transform(items => (items == null ? [] : parse(items))),
    drifted<(z.output<T> | LeftOut)[]>([{ $leftOut: { record: name, id: null, index: 0, fields: [''] } }], `${name}[]`),
  ]);
};

/** Parses all items of a list at once, or, only where one of them is bad, item by item. */
function recordParser<T extends z.ZodType>(name: string, schema: T) {
  const parseAll = compiled(z.array(schema));
  /** Compiled for the first bad list: that takes milliseconds, and most lists never have one. */
  let parse: ReturnType<typeof compiled<T>> | undefined;
  const parseEach = (item: unknown, index: number): z.output<T> | LeftOut => {
    parse ??= compiled(schema);
    return parse(item) ?? recordOrLeftOut(name, schema.safeParse(item), item, index);
  };
  return (items: readonly unknown[]): (z.output<T> | LeftOut)[] => parseAll(items) ?? items.map(parseEach);
}

/** Per body. A list with more unreadable records is not what the service documents, and collecting the issues of each would take seconds. */
const maxLeftOut = 1_000;

function recordOrLeftOut<T>(name: string, result: z.ZodSafeParseResult<T>, item: unknown, index: number): T | LeftOut {
  if (result.success) return result.data;
  if (current !== undefined && ++current.leftOut > maxLeftOut) throw new Error('Too many records cannot be read');
  const fields = [...new Set(result.error.issues.map(issue => issue.path.join('.')))];
  current?.fields.push(...fields.map(field => (field === '' ? name : `${name}.${field}`)));
  return { $leftOut: { record: name, id: idOf(name, item), index, fields } };
}

/** @param name of the record: what identifies a `Topic`, or one of `Topic.groups`, may be its `topicId`. */
function idOf(name: string, item: unknown): string | null {
  const [type = ''] = name.split('.');
  const { _id, id, domain, ...others } = (item ?? {}) as Record<string, unknown>;
  const found = _id ?? id ?? others[`${type.charAt(0).toLowerCase()}${type.slice(1)}Id`] ?? domain;
  return typeof found === 'string' || typeof found === 'number' ? String(found) : null;
}

/** A time as the service sends it. */
export const utcTime = z.union([
  z.string().max(maxTimeLength).regex(completeTime),
  z.string().transform((text, context) => {
    const time = readTime(text);
    if (time !== undefined) return time;
    context.addIssue({ code: 'custom', message: 'is not a time' });
    return z.NEVER;
  }),
]);

/** At most 16,384 numbers: those of the largest models are 4,096. */
const numbers = /^ *(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)? *(?:, *(?=\S)|$)){0,16384}$/;

const isFlat = (list: unknown) =>
  Array.isArray(list) && list.every(item => item === null || typeof item === 'number' || typeof item === 'boolean');

const wantedVector = z.string().regex(numbers);
/** The text between the brackets of a wanted vector, which `replyText` has made; null for an unwanted one, which is not cut out of a short body. */
export const vector = z.union([
  wantedVector.transform(text => new Vector(text)),
  z.custom(isFlat).transform(() => null),
]);

/** A URL in its usual form, which needs no parser: a domain in ASCII, and nothing that is not printable. */
export const usualUrl = /^https?:\/\/(?:(?!xn--)[a-z\d-]{1,63}\.){1,8}[a-z]{2,24}(?:[/?#][!-~]*)?$/;

/** A URL that a browser may open. */
export const webUrl = z.union([z.string().regex(usualUrl), z.string().refine(url => parseWebUrl(url) !== undefined)]);

/** A closed set of the service's values, mapped to their names in the schema. */
export const closedSet = <const T extends Readonly<Record<string, string>>>(names: T) =>
  z.enum(Object.keys(names) as (keyof T & string)[]).transform(value => names[value] as T[keyof T]);

/** An identifier, which is text in the schema also where the service sends a number. */
export const identifier = z.union([z.string().min(1), z.int().min(0)]).transform(String);

/** The content of a body whose wrapper the specification does not show: `{data}`, `{metadata, data}` or the content itself. */
export const unwrapped = (body: unknown): unknown => memberOr(body, 'data');

/** A member of an object that has it, else the whole. */
export const memberOr = (whole: unknown, member: string): unknown =>
  typeof whole === 'object' && whole !== null && Object.hasOwn(whole, member)
    ? (whole as Readonly<Record<string, unknown>>)[member]
    : whole;

/** A record of which each member may be missing or null, but not all: an empty object, or what another server answers, is no record. */
export const withSomeOf = <T extends z.ZodType>(members: readonly string[], record: T, keepsOthers = false) =>
  z.preprocess(value => {
    const found = Object(value);
    // A record that keeps its other members is one by their values, too, if it has one of these.
    const counted = keepsOthers && members.some(member => Object.hasOwn(found, member)) ? Object.keys(found) : members;
    return counted.some(member => found[member] != null) && isNoRemark(value) ? value : undefined;
  }, record);

/** The body of a success that the specification does not show: nothing, a list, or an object that names no error (see `contentOf`). */
export const receipt = z.union([z.null(), z.undefined(), z.array(z.unknown()), z.record(z.string(), z.unknown())]);

const said = /^(?:message|code|detail)$/i;
const saidWith = /^(?:title|instance|type|path|timestamp|request_?id)$/i;

/** Whether there is more than what a server says where it has nothing else to answer: `{"message":"Unauthorized"}`. */
export function isNoRemark(body: unknown): boolean {
  const members = Object.keys(Object(unwrapped(body)));
  // Most records end it with their first member.
  return members.some(each => !said.test(each) && !saidWith.test(each)) || members.every(each => !said.test(each));
}

/** The list in such a body: the content itself, or a member of it. @throws UpstreamInvalidResponse as `whole` does */
export function listIn(body: unknown, member: string): unknown {
  const content = unwrapped(body);
  return whole(body, Array.isArray(content) ? content : Object(content)[member]);
}

/** @throws UpstreamInvalidResponse where the body says that what is taken of it is only one page */
export function whole(body: unknown, taken: unknown): unknown {
  const length = Array.isArray(taken) ? taken.length : Number.POSITIVE_INFINITY;
  for (const part of [body, unwrapped(body)].map(Object)) {
    for (const { totalItems, total, totalPages } of [part, part.meta, part.metadata, part.pagination].map(Object)) {
      if (isAbove(totalItems, length) || isAbove(total, length) || isAbove(totalPages, 1))
        throw new UpstreamInvalidResponse('The service answered with one page of a longer list');
    }
  }
  return taken;
}

const isAbove = (value: unknown, limit: number) => typeof value !== 'object' && Number(value) > limit;

/** JSON of any form. An object with a number that is too large for JavaScript stands for one that cannot be read: in Redis, the number would be null. */
export function readableJson<T>(value: T): T {
  if (isReadable(value)) return value;
  current?.fields.push('JSONObject');
  return marked(value) as T;
}

const isReadable = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).every(isReadable)
    : value !== Number.POSITIVE_INFINITY && value !== Number.NEGATIVE_INFINITY;

const marked = (value: unknown): unknown => {
  if (isReadable(value) || typeof value !== 'object' || value === null) return value;
  const parts = Object.entries(value).map(([name, part]) => [name, marked(part)] as const);
  return Array.isArray(value) ? parts.map(([, part]) => part) : { ...Object.fromEntries(parts), ...unreadable };
};

/** A record that the specification shows only in part: the known members, and all others under `attributes` (null if there are none). */
export function withAttributes<T extends z.ZodObject>(known: T) {
  const members = new Set(Object.keys(known.shape));
  return z.record(z.string(), z.unknown()).transform((record, context) => {
    const result = known.safeParse(record);
    if (!result.success) {
      context.issues.push(...result.error.issues.map(issue => ({ ...issue, input: record }) as z.core.$ZodRawIssue));
      return z.NEVER;
    }
    const others = Object.entries(record).filter(([member]) => !members.has(member));
    return { ...result.data, attributes: others.length === 0 ? null : readableJson(Object.fromEntries(others)) };
  });
}
