import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';
import { bounds, checkBound } from './bounds.js';

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

/** Rejects variables that are nested deeper than any input type. @throws QueryTooComplex */
export function checkVariables(value: unknown, nesting = 0): void {
  if (typeof value !== 'object' || value === null) return;
  checkBound('nesting', nesting);
  const children = Array.isArray(value) ? value : Object.values(value);
  for (const child of children) checkVariables(child, nesting + 1);
}

function checkDefinition(
  root: OperationDefinitionNode | FragmentDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): void {
  const counts = { selections: 0, mutations: 0, aliases: 0, directives: 0, literals: 0, __schema: 0, __type: 0 };
  const isMutation = root.kind === Kind.OPERATION_DEFINITION && root.operation === OperationTypeNode.MUTATION;
  const add = (measure: keyof typeof counts, more: number) => {
    counts[measure] += more;
    checkBound(measure, counts[measure]);
  };

  /** @param siblings how often each name occurs in the enclosing selection set. @param spread the fragments around this set. */
  function walk(set: SelectionSetNode, depth: number, siblings: Map<string, number>, spread: readonly string[]): void {
    for (const selection of set.selections) {
      add('selections', 1);
      add('directives', selection.directives?.length ?? 0);
      switch (selection.kind) {
        case Kind.FIELD: {
          const name = selection.alias?.value ?? selection.name.value;
          const times = (siblings.get(name) ?? 0) + 1;
          siblings.set(name, times);
          checkBound('repetitions', times);
          checkBound('depth', depth);
          if (isMutation && depth === 1) add('mutations', 1);
          if (selection.alias !== undefined) add('aliases', 1);
          if (selection.name.value === '__schema' || selection.name.value === '__type') add(selection.name.value, 1);
          for (const { value } of selection.arguments ?? []) checkLiteral(value, 0, () => add('literals', 1));
          if (selection.selectionSet !== undefined) walk(selection.selectionSet, depth + 1, new Map(), spread);
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

  add('directives', root.directives?.length ?? 0);
  walk(root.selectionSet, 1, new Map(), []);
}

function checkLiteral(value: ValueNode, nesting: number, count: () => void): void {
  count();
  if (value.kind !== Kind.LIST && value.kind !== Kind.OBJECT) return;
  checkBound('nesting', nesting);
  const children = value.kind === Kind.LIST ? value.values : value.fields.map(field => field.value);
  for (const child of children) checkLiteral(child, nesting + 1, count);
}
