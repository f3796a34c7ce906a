import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';
import { bounds, checkBound } from './bounds.js';

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/**
 * Refuses a document that is large, deep or repetitive. Meant to run before validation, whose own rules such a document would keep busy.
 * @throws QueryTooComplex with the first measure that is out of bounds.
 */
export function checkDocument({ definitions }: DocumentNode): void {
  const operations = definitions.filter(definition => definition.kind === Kind.OPERATION_DEFINITION);
  const fragments = definitions.filter(definition => definition.kind === Kind.FRAGMENT_DEFINITION);
  checkBound('operations', operations.length);
  checkBound('fragments', fragments.length);
  const byName = new Map(fragments.map(fragment => [fragment.name.value, fragment]));
  for (const root of [...operations, ...fragments]) checkRoot(root, byName);
}

/** Refuses a text of more lines than a document takes, before it is parsed. @throws QueryTooComplex */
export function checkLines(text: string): void {
  checkBound('lines', text.split(/\r\n|[\n\r]/, bounds.lines + 1).length);
}

/** Refuses values that are nested deeper than any field takes. @throws QueryTooComplex */
export function checkVariables(variables: unknown): void {
  checkPlain(variables, 0);
}

function checkPlain(value: unknown, nesting: number): void {
  if (typeof value !== 'object' || value === null) return;
  checkBound('nesting', nesting);
  const inside = Array.isArray(value) ? value : Object.values(value);
  for (const each of inside) checkPlain(each, nesting + 1);
}

function checkRoot(root: OperationDefinitionNode | FragmentDefinitionNode, fragments: Fragments): void {
  const counts = { selections: 0, aliases: 0, directives: 0, literals: 0, __schema: 0, __type: 0 };
  const add = (measure: keyof typeof counts, more: number) => {
    counts[measure] += more;
    checkBound(measure, counts[measure]);
  };

  const walk = (set: SelectionSetNode, depth: number, beside: Map<string, number>, spread: readonly string[]): void => {
    for (const selection of set.selections) {
      add('selections', 1);
      add('directives', selection.directives?.length ?? 0);
      switch (selection.kind) {
        case Kind.FIELD: {
          const name = selection.alias?.value ?? selection.name.value;
          const times = (beside.get(name) ?? 0) + 1;
          beside.set(name, times);
          checkBound('repetitions', times);
          checkBound('depth', depth);
          if (selection.alias !== undefined) add('aliases', 1);
          if (selection.name.value === '__schema' || selection.name.value === '__type') add(selection.name.value, 1);
          for (const { value } of selection.arguments ?? []) checkLiteral(value, 0, () => add('literals', 1));
          if (selection.selectionSet !== undefined) walk(selection.selectionSet, depth + 1, new Map(), spread);
          break;
        }
        case Kind.INLINE_FRAGMENT:
          walk(selection.selectionSet, depth, beside, spread);
          break;
        case Kind.FRAGMENT_SPREAD: {
          const name = selection.name.value;
          const fragment = fragments.get(name);
          // A fragment inside of itself is for validation to refuse.
          if (fragment === undefined || spread.includes(name)) break;
          walk(fragment.selectionSet, depth, beside, [...spread, name]);
        }
      }
    }
  };

  add('directives', root.directives?.length ?? 0);
  walk(root.selectionSet, 1, new Map(), []);
}

function checkLiteral(value: ValueNode, nesting: number, count: () => void): void {
  count();
  if (value.kind !== Kind.LIST && value.kind !== Kind.OBJECT) return;
  checkBound('nesting', nesting);
  const inside = value.kind === Kind.LIST ? value.values : value.fields.map(field => field.value);
  for (const each of inside) checkLiteral(each, nesting + 1, count);
}
