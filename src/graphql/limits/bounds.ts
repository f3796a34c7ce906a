import { QueryTooComplex } from '../../errors.js';

/**
 * What one request may be. Each bound is several times what the largest query of a person or a tool needs (GraphiQL's introspection: 300
 * tokens, 15 levels), and small enough that no request within all of them takes more than a few milliseconds to check.
 */
export const bounds = {
  /** Of one value in a body, such as a document, in bytes. */
  text: 100_000,
  /** Of a document. Each error says in which line it is, for which the lines are counted again. */
  lines: 2_000,
  /** Names, numbers, strings and punctuators; the parser stops at the first one more. */
  tokens: 5_000,
  operations: 20,
  fragments: 100,
  /** Fields inside of fields, fragments not counted. */
  depth: 20,
  /** Fields and fragments of one operation, each fragment as often as it is spread. */
  selections: 1_000,
  /** Of one operation. */
  aliases: 100,
  /** Of one operation. */
  directives: 50,
  /** Values written into one operation, each fragment's as often as it is spread. */
  literals: 5_000,
  /** Questions for the whole schema in one operation, and for one of its types. */
  __schema: 1,
  __type: 10,
  /** Records that the gateway looks through for one operation: fifty filters over 5,000 companies. */
  records: 250_000,
  /** Values that the gateway reads and writes for one operation, reckoned from its fields and the length of lists. */
  values: 100_000,
  /** How often one name may stand beside itself: comparing such fields takes the square of their number. */
  repetitions: 20,
  /** Values in the lists and objects of a body: beyond any field's own bound, of which the field speaks better. */
  items: 20_000,
  /** Members of all objects of a body. Names that are new cost the parser of JSON the most. */
  members: 2_000,
  /** Lists and objects inside of each other in one value. */
  nesting: 10,
  /** The same of a whole body, before it is parsed. */
  levels: 64,
  /** Of a document, as many as are told: to make and to word one costs more than to find it. */
  errors: 5,
} as const;

/** @throws QueryTooComplex where a measure is out of its bound. */
export function within(measure: keyof typeof bounds, value: number): void {
  if (value > bounds[measure]) throw new QueryTooComplex(measure, value, bounds[measure]);
}
