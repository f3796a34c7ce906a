import { z } from 'zod';
import { UpstreamInvalidResponse } from '../../errors.js';
import type { SkippedRecord } from '../../observability/response-metadata.js';

/** Where a body strayed from the specification: every stray field by name, and the records that could not be read for it. */
export interface Drift {
  readonly fields: readonly string[];
  readonly leftOut: readonly SkippedRecord[];
}

/** What collects drift while a body is parsed. */
export interface DriftCollector extends Drift {
  readonly fields: string[];
  readonly leftOut: SkippedRecord[];
}

let seen: DriftCollector | undefined;

/**
 * Runs a parser and collects the drift that it meets. Parsing is synchronous, so that one collector at a time is enough.
 * @param drift what other pieces of the same body have met, to which this one adds.
 * @throws UpstreamInvalidResponse where the parser throws.
 */
export function parseLenient<T>(
  parse: () => T,
  drift: DriftCollector = { fields: [], leftOut: [] },
): { value: T; drift: Drift } {
  seen = drift;
  try {
    return { value: parse(), drift };
  } catch {
    throw new UpstreamInvalidResponse('The service answered with a body that it does not document', undefined, false);
  } finally {
    seen = undefined;
  }
}

/**
 * A schema as compiled code, which takes a good value at a fraction of the cost. What is seen on the way counts once, although a bad value
 * is parsed again for its issues.
 */
function compiled<T extends z.ZodType>(schema: T): (value: unknown) => z.ZodSafeParseResult<z.output<T>> {
  const fast = z.compile(schema);
  return value => {
    const fields = seen?.fields.length;
    const leftOut = seen?.leftOut.length;
    const result = fast.safeParse(value);
    if (result.success) return result;
    if (fields !== undefined && leftOut !== undefined) {
      seen?.fields.splice(fields);
      seen?.leftOut.splice(leftOut);
    }
    return schema.safeParse(value);
  };
}

/** A field that is null where the service sends nothing, or something else than it promised; the latter is noted as `name`: `Event.title`. */
export function tolerant<T extends z.ZodType>(name: string, schema: T) {
  const stray = z
    .unknown()
    .default(null)
    .transform((value): null => {
      if (value !== null) seen?.fields.push(name);
      return null;
    });
  return z.union([schema.nullable(), stray]);
}

/** A list of records; null in the place of each that cannot be read. */
export function placedRecords<T extends z.ZodType>(name: string, schema: T) {
  const parse = compiled(schema);
  return z.array(z.unknown()).transform(items => items.map(item => readable(name, parse(item), item)));
}

/** A list of records, without those that cannot be read. */
export function requiredRecords<T extends z.ZodType>(name: string, schema: T) {
  return placedRecords(name, schema).transform(items => items.filter(item => item !== null));
}

/** Of one body. A list of more unreadable records is not what the service documents, and to find out why each is one takes seconds. */
const mostLeftOut = 1_000;

function readable<T>(name: string, result: z.ZodSafeParseResult<T>, item: unknown): T | null {
  if (result.success) return result.data;
  if (seen !== undefined && seen.leftOut.length >= mostLeftOut) throw new Error('Too many records cannot be read');
  const fields = [...new Set(result.error.issues.map(issue => issue.path.join('.')))];
  seen?.fields.push(...fields.map(field => (field === '' ? name : `${name}.${field}`)));
  seen?.leftOut.push({ record: name, id: idOf(item), fields });
  return null;
}

/** A list of records, without those that cannot be read; empty where there is none, or where it is no list. */
export function records<T extends z.ZodType>(name: string, schema: T) {
  return tolerant(`${name}[]`, requiredRecords(name, schema)).transform(items => items ?? []);
}

function idOf(item: unknown): string | null {
  const { _id, id, jobId, topicId, domain } = (item ?? {}) as Record<string, unknown>;
  const found = _id ?? id ?? jobId ?? topicId ?? domain;
  return typeof found === 'string' || typeof found === 'number' ? String(found) : null;
}
