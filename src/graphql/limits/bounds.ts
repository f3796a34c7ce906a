// The limits of a document and of a body, checked before validation.
import {
  type DirectiveNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';
import { QueryTooComplex } from '../../errors.js';
import { type BoundedJson, boundedJson } from '../../lib/json.js';

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
  /** Characters of a key of the response, an operation's name or a label. Each is in the response as often as its object. */
  name: 128,
  /** Of one operation. */
  directives: 50,
  /** Literal values in one operation; those of a fragment count each time it is spread. */
  literals: 5_000,
  /** How often one operation may select the whole schema. */
  __schema: 1,
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
  /** Nested lists and objects of one literal value. */
  nesting: 10,
  /** Nested lists and objects of a whole body, before it is parsed. */
  levels: 64,
  /** Reported errors of one document. To create and format an error takes longer than to find it. */
  errors: 5,
} as const;

/** The most that a token of a document takes when it is parsed, in bytes, and how much that can be for each character of short tokens. */
const [bytesPerToken, bytesPerCharacter] = [300, 200];

/** The most that a document of this text takes when it is parsed, in bytes. */
export const bytesOfDocument = ({ length }: string): number =>
  length + Math.min(length * bytesPerCharacter, bounds.tokens * bytesPerToken);

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

/** The value of a JSON text within the same limits; undefined if it is not JSON. @throws QueryTooComplex */
export function jsonValueOf(text: string): unknown {
  const json = checkedJson(Buffer.from(text));
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * Rejects a document that is large, deep or repetitive. It runs before validation, whose rules can take very long for such a document.
 * @throws QueryTooComplex for the first limit that is exceeded.
 */
export function checkDocument({ definitions }: DocumentNode): void {
  const operations = definitions.filter(definition => definition.kind === Kind.OPERATION_DEFINITION);
  const fragments = definitions.filter(definition => definition.kind === Kind.FRAGMENT_DEFINITION);
  checkBound('operations', operations.length);
  checkBound('fragments', fragments.length);
  const byName = new Map(fragments.map(fragment => [fragment.name.value, fragment]));
  for (const definition of [...operations, ...fragments]) checkDefinition(definition, byName);
}

/** Rejects a text with too many lines before it is parsed. @throws QueryTooComplex */
export function checkLines(text: string): void {
  checkBound('lines', text.split(/\r\n|[\n\r]/, bounds.lines + 1).length);
}

/** Fields by their names in the response. Those with the same name become one, with the fields of all their selection sets. */
type MergedFields = Map<string, { times: number; readonly fields: MergedFields }>;

function checkDefinition(
  root: OperationDefinitionNode | FragmentDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): void {
  const counts = new Map<keyof typeof bounds, number>();
  const isMutation = root.kind === Kind.OPERATION_DEFINITION && root.operation === OperationTypeNode.MUTATION;
  const add = (measure: keyof typeof bounds, more: number) => {
    const count = (counts.get(measure) ?? 0) + more;
    counts.set(measure, count);
    checkBound(measure, count);
  };

  /** @param siblings the merged fields of the enclosing object. @param spread the fragments around this set. */
  function walk(set: SelectionSetNode, depth: number, siblings: MergedFields, spread: readonly string[]): void {
    for (const selection of set.selections) {
      add('selections', 1);
      add('directives', selection.directives?.length ?? 0);
      for (const directive of selection.directives ?? []) checkLabel(directive);
      switch (selection.kind) {
        case Kind.FIELD: {
          const name = selection.alias?.value ?? selection.name.value;
          checkBound('name', name.length);
          const merged = siblings.get(name) ?? { times: 0, fields: new Map() };
          siblings.set(name, merged);
          add('repetitions', merged.times);
          merged.times += 1;
          checkBound('depth', depth);
          if (isMutation && depth === 1) add('mutations', 1);
          if (selection.alias !== undefined) add('aliases', 1);
          if (selection.name.value === '__schema' || selection.name.value === '__type') add(selection.name.value, 1);
          for (const { value } of selection.arguments ?? []) checkLiteral(value, 0, () => add('literals', 1));
          if (selection.selectionSet !== undefined) walk(selection.selectionSet, depth + 1, merged.fields, spread);
          break;
        }
        case Kind.INLINE_FRAGMENT:
          walk(selection.selectionSet, depth, siblings, spread);
          break;
        case Kind.FRAGMENT_SPREAD: {
          const name = selection.name.value;
          const fragment = fragments.get(name);
          // Validation rejects a fragment that spreads itself.
          if (fragment === undefined || spread.includes(name)) break;
          walk(fragment.selectionSet, depth, siblings, [...spread, name]);
        }
      }
    }
  }

  checkBound('name', root.name?.value.length ?? 0);
  add('directives', root.directives?.length ?? 0);
  walk(root.selectionSet, 1, new Map(), []);
}

function checkLabel(directive: DirectiveNode): void {
  for (const { value } of directive.arguments ?? []) {
    if (value.kind === Kind.STRING) checkBound('name', value.value.length);
  }
}

function checkLiteral(value: ValueNode, nesting: number, count: () => void): void {
  count();
  if (value.kind !== Kind.LIST && value.kind !== Kind.OBJECT) return;
  checkBound('nesting', nesting);
  const children = value.kind === Kind.LIST ? value.values : value.fields.map(field => field.value);
  for (const child of children) checkLiteral(child, nesting + 1, count);
}
