import { QueryTooComplex } from '../../errors.js';
import { type BoundedJson, boundedJson } from '../../lib/text.js';

/**
 * The limits of one request. Each is several times what the largest query of a person or a tool needs (GraphiQL's introspection: 300 tokens, 15
 * levels), and small enough that a request within all of them takes at most a few milliseconds to check.
 */
export const bounds = {
  /** Bytes of one string in a body, such as a document. */
  text: 100_000,
  /** Bytes of one number in a body, or of white space outside of its strings. */
  number: 100_000,
  /** Of a document. graphql-js counts the lines again for each error, to report its position. */
  lines: 2_000,
  /** Names, numbers, strings and punctuators of a document. The parser stops at the first token above the limit. */
  tokens: 5_000,
  operations: 20,
  fragments: 100,
  /** Nested fields, not counting fragments. */
  depth: 20,
  /** Fields and fragments of one operation; a fragment counts each time it is spread. */
  selections: 1_000,
  /** Root fields of one mutation, which run one after the other. Each may carry long lists. */
  mutations: 20,
  /** Of one operation. */
  aliases: 100,
  /** Of one operation. */
  directives: 50,
  /** Literal values in one operation; those of a fragment count each time it is spread. */
  literals: 5_000,
  /** How often one operation may select the whole schema. */
  __schema: 1,
  /** How often one operation may select a type of the schema. */
  __type: 10,
  /** Records that the gateway filters, sorts or counts for one operation: fifty filters over 5,000 companies. */
  records: 250_000,
  /** Values that the gateway reads and writes for one operation, estimated from its fields and the length of lists. */
  values: 100_000,
  /** Pairs of fields in one operation that become one field of the response, such as 2,016 for a field that is written 64 times. Validation compares them. */
  repetitions: 2_016,
  /** Values in the lists and objects of a body. It is above the limit of any single field, whose error says more. */
  items: 20_000,
  /** Members of all objects of a body. New names are what the JSON parser spends most time on. */
  members: 2_000,
  /** Nested lists and objects of one value. */
  nesting: 10,
  /** Nested lists and objects of a whole body, before it is parsed. */
  levels: 64,
  /** Reported errors of one document. To create and format an error takes longer than to find it. */
  errors: 5,
} as const;

/** @throws QueryTooComplex if a value is above its limit. */
export function checkBound(measure: keyof typeof bounds, value: number): void {
  if (value > bounds[measure]) throw new QueryTooComplex(measure, value, bounds[measure]);
}

/** The text of JSON whose strings, numbers, values, members and levels are within the limits. @throws QueryTooComplex */
export function checkedJson(bytes: Buffer): BoundedJson {
  const text = boundedJson(bytes, bounds);
  if (typeof text === 'string') return text;
  throw new QueryTooComplex(text.measure, text.value, bounds[text.measure]);
}
