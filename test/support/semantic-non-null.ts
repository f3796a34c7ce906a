import {
  type GraphQLField,
  type GraphQLSchema,
  getDirectiveValues,
  getNamedType,
  getNullableType,
  isInterfaceType,
  isListType,
  isObjectType,
  Kind,
  parse,
  type SelectionSetNode,
} from 'graphql';
import type { GraphqlAnswer } from './gateway.js';

type Field = GraphQLField<unknown, unknown>;

/** The levels at which a field is null only together with an error: 0 for the field itself, 1 for the items of its list. Empty for other fields. */
export function errorLevels(schema: GraphQLSchema, { astNode }: Field): readonly number[] {
  const directive = schema.getDirective('semanticNonNull');
  const values = directive && astNode ? getDirectiveValues(directive, astNode) : undefined;
  return (values?.levels as number[] | undefined) ?? [];
}

/** All fields of a schema with their coordinates. */
export const fieldsOf = (schema: GraphQLSchema): readonly (readonly [coordinate: string, field: Field])[] =>
  Object.values(schema.getTypeMap())
    .filter(type => (isObjectType(type) || isInterfaceType(type)) && !type.name.startsWith('__'))
    .flatMap(type =>
      Object.values(isObjectType(type) || isInterfaceType(type) ? type.getFields() : {}).map(
        field => [`${type}.${field.name}`, field] as const,
      ),
    );

/** A value of a field that is null only together with an error. */
export interface CheckedValue {
  readonly coordinate: string;
  /** `null with an error`, `null without an error`, or `value`. */
  readonly what: string;
}

/**
 * The values in a response of all fields that are null only together with an error.
 * @param text of one operation without named fragments. Where a type is abstract, it selects `__typename`.
 */
export function checkedValues(schema: GraphQLSchema, text: string, { data, errors }: GraphqlAnswer): CheckedValue[] {
  const [operation] = parse(text).definitions;
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('No operation');
  const checked: CheckedValue[] = [];
  const hasError = (path: readonly unknown[]) =>
    errors?.some(error => path.every((key, index) => error.path?.[index] === key)) ?? false;

  function visitObject(typeName: string, set: SelectionSetNode, value: object, path: readonly unknown[]): void {
    for (const selection of set.selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) throw new Error('Named fragments are not read');
      if (selection.kind === Kind.INLINE_FRAGMENT) {
        if (selection.typeCondition?.name.value === typeName)
          visitObject(typeName, selection.selectionSet, value, path);
        continue;
      }
      const type = schema.getType(typeName);
      const field = isObjectType(type) ? type.getFields()[selection.name.value] : undefined;
      if (field === undefined) continue;
      const key = selection.alias?.value ?? field.name;
      visitValue(`${type}.${field.name}`, field, field.type, selection.selectionSet, (value as never)[key], [
        ...path,
        key,
      ]);
    }
  }

  function visitValue(
    coordinate: string,
    field: Field,
    type: Field['type'],
    set: SelectionSetNode | undefined,
    value: unknown,
    path: readonly unknown[],
    level = 0,
  ): void {
    if (errorLevels(schema, field).includes(level)) {
      const what = value === null ? `null ${hasError(path) ? 'with' : 'without'} an error` : 'value';
      checked.push({ coordinate, what });
    }
    const nullable = getNullableType(type);
    if (value === null || value === undefined) return;
    if (isListType(nullable)) {
      for (const [index, item] of (value as unknown[]).entries()) {
        visitValue(coordinate, field, nullable.ofType, set, item, [...path, index], level + 1);
      }
    } else if (set !== undefined) {
      const { __typename = getNamedType(type).name } = value as { __typename?: string };
      visitObject(__typename, set, value, path);
    }
  }

  const root = schema.getRootType(operation.operation);
  if (root && data) visitObject(root.name, operation.selectionSet, data, []);
  return checked;
}
