import { z } from 'zod';
import { UpstreamInvalidResponse } from '../errors.js';
import type { LeftOut } from '../receipt.js';

/** Where a body strayed from the specification: every stray field by name, and the records that could not be read for it. */
export interface Drift {
  readonly fields: readonly string[];
  readonly leftOut: readonly LeftOut[];
}

let seen: { fields: string[]; leftOut: LeftOut[] } | undefined;

/**
 * Runs a parser and collects the drift that it meets. Parsing is synchronous, so that one collector at a time is enough.
 * @throws UpstreamInvalidResponse where the parser throws.
 */
export function understood<T>(parse: () => T): { value: T; drift: Drift } {
  const drift = { fields: [], leftOut: [] };
  seen = drift;
  try {
    return { value: parse(), drift };
  } catch {
    throw new UpstreamInvalidResponse('The service answered with a body that it does not document', undefined, false);
  } finally {
    seen = undefined;
  }
}

/** A field that is null where the service sends nothing, or something else than it promised; the latter is noted as `name`: `Event.title`. */
export function tolerant<T extends z.ZodType>(name: string, schema: T) {
  return z
    .preprocess(value => value ?? null, schema.nullable())
    .catch(() => {
      seen?.fields.push(name);
      return null;
    });
}

/** A list of records; null in the place of each that cannot be read. */
export function placedRecords<T extends z.ZodType>(name: string, schema: T) {
  return z.array(z.unknown()).transform(items => items.map(item => readable(name, schema, item)));
}

/** A list of records, without those that cannot be read. */
export function requiredRecords<T extends z.ZodType>(name: string, schema: T) {
  return placedRecords(name, schema).transform(items => items.filter(item => item !== null));
}

function readable<T extends z.ZodType>(name: string, schema: T, item: unknown): z.output<T> | null {
  const result = schema.safeParse(item);
  if (result.success) return result.data;
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
