import { z } from 'zod';
import { UpstreamInvalidResponse } from '../../errors.js';
import type { SkippedRecord } from '../../observability/response-metadata.js';

/** Where a body deviates from the specification: each field by name (`Event.title`), and the records that cannot be read because of it. */
export interface SchemaDrift {
  readonly fields: string[];
  readonly skipped: SkippedRecord[];
}

/** Collects the drift of the body that is being parsed. Parsing is synchronous, so there is at most one at a time. */
let current: SchemaDrift | undefined;

/**
 * Runs a parser that tolerates drift.
 * @param schemaDrift collects the drift of the body, of which the parser may see one piece.
 * @throws UpstreamInvalidResponse if the parser throws, with a message of its own or a general one.
 */
export function parseLenient<T>(parse: () => T, schemaDrift: SchemaDrift): T {
  current = schemaDrift;
  try {
    return parse();
  } catch (error) {
    if (error instanceof UpstreamInvalidResponse) throw error;
    throw new UpstreamInvalidResponse('The service answered with a body that it does not document', undefined, false);
  } finally {
    current = undefined;
  }
}

/**
 * A schema as compiled code, which parses a good value at a fraction of the cost. A bad value is parsed a second time, by the schema itself, for its
 * issues; its drift is counted once.
 */
function compiled<T extends z.ZodType>(schema: T): (value: unknown) => z.ZodSafeParseResult<z.output<T>> {
  const fast = z.compile(schema);
  return value => {
    const [fields, skipped] = [current?.fields.length, current?.skipped.length];
    const result = fast.safeParse(value);
    if (result.success) return result;
    current?.fields.splice(fields ?? 0);
    current?.skipped.splice(skipped ?? 0);
    return schema.safeParse(value);
  };
}

/** A field that is null if the service sends nothing, or a value of another type than documented; the latter counts as drift of `name` (`Event.title`). */
export function tolerant<T extends z.ZodType>(name: string, schema: T) {
  const orNull = z
    .unknown()
    .default(null)
    .transform((value): null => {
      if (value !== null) current?.fields.push(name);
      return null;
    });
  return z.union([schema.nullable(), orNull]);
}

/** A list of records, with null in place of each that cannot be read. */
export function placedRecords<T extends z.ZodType>(name: string, schema: T) {
  const parse = compiled(schema);
  return z.array(z.unknown()).transform(items => items.map(item => recordOrNull(name, parse(item), item)));
}

/** A list of records, without those that cannot be read. */
export function requiredRecords<T extends z.ZodType>(name: string, schema: T) {
  return placedRecords(name, schema).transform(items => items.filter(item => item !== null));
}

/** Per body. A list with more unreadable records is not what the service documents, and collecting the issues of each would take seconds. */
const maxSkipped = 1_000;

function recordOrNull<T>(name: string, result: z.ZodSafeParseResult<T>, item: unknown): T | null {
  if (result.success) return result.data;
  if (current !== undefined && current.skipped.length >= maxSkipped) throw new Error('Too many records cannot be read');
  const fields = [...new Set(result.error.issues.map(issue => issue.path.join('.')))];
  current?.fields.push(...fields.map(field => (field === '' ? name : `${name}.${field}`)));
  current?.skipped.push({ record: name, id: idOf(item), fields });
  return null;
}

/** A list of records, without those that cannot be read; empty if the service sends none, or something that is not a list. */
export function records<T extends z.ZodType>(name: string, schema: T) {
  return tolerant(`${name}[]`, requiredRecords(name, schema)).transform(items => items ?? []);
}

function idOf(item: unknown): string | null {
  const { _id, id, jobId, topicId, domain } = (item ?? {}) as Record<string, unknown>;
  const found = _id ?? id ?? jobId ?? topicId ?? domain;
  return typeof found === 'string' || typeof found === 'number' ? String(found) : null;
}
