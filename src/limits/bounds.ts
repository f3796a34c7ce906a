/**
 * What one document may be. Each bound is several times what the largest query of a person or a tool needs (GraphiQL's introspection: 300
 * tokens, 15 levels), and small enough that no document within all of them takes more than a few milliseconds to check.
 */
export const bounds = {
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
  /** How often one name may stand beside itself: comparing such fields takes the square of their number. */
  repetitions: 20,
  /** Of one list, in the document or in a variable: beyond any field's own bound, of which the field speaks better. */
  items: 20_000,
  /** Lists and objects inside of each other in one value. */
  nesting: 10,
} as const;
