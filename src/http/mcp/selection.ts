// What an operation selects, and where it uses its variables.
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';
import { fieldOf } from '../../graphql/input.js';

export interface SelectedField {
  readonly parent: GraphQLNamedType;
  readonly definition: GraphQLField<unknown, unknown>;
  /** Where it is selected: the types of a union may each select it. */
  readonly nodes: FieldNode[];
  readonly members: SelectedFields;
}

/** Fields by their keys in the answer. */
export type SelectedFields = Map<string, SelectedField>;

/** What an operation of a valid document selects. */
export function selectedFields(
  schema: GraphQLSchema,
  { definitions }: DocumentNode,
  { operation, selectionSet: root }: OperationDefinitionNode,
): SelectedFields {
  const fragments = definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION) as FragmentDefinitionNode[];

  function collect({ selections }: SelectionSetNode, parent: GraphQLNamedType, fields: SelectedFields): SelectedFields {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) {
        const definition = fieldOf(parent, selection.name.value) as SelectedField['definition'];
        const key = selection.alias?.value ?? selection.name.value;
        const field: SelectedField = fields.get(key) ?? { parent, definition, nodes: [], members: new Map() };
        field.nodes.push(selection);
        fields.set(key, field);
        if (selection.selectionSet) collect(selection.selectionSet, getNamedType(definition.type), field.members);
        continue;
      }
      const isInline = selection.kind === Kind.INLINE_FRAGMENT;
      const fragment = isInline ? selection : fragments.find(({ name }) => name.value === selection.name.value);
      const type = schema.getType(fragment?.typeCondition?.name.value ?? parent.name);
      if (fragment && type) collect(fragment.selectionSet, type, fields);
    }
    return fields;
  }

  return collect(root, schema.getRootType(operation) as GraphQLNamedType, new Map());
}

export interface VariableUse {
  readonly variable: string;
  /** The path of the field in the data: `market.companies`. */
  readonly field: string;
  /** The path within the arguments of the field: `filter.naics`. */
  readonly argument: string;
  readonly definition: GraphQLArgument | GraphQLInputField;
  /** As in `listBounds`. */
  readonly coordinate: string;
}

/** The variables in the arguments of a field. @param path of the field in the data. */
export function usesIn({ parent, definition: field, nodes }: SelectedField, path: string): readonly VariableUse[] {
  const uses: VariableUse[] = [];

  function visit(value: ValueNode, use: Omit<VariableUse, 'variable'>): void {
    const type = getNamedType(use.definition.type);
    if (value.kind === Kind.VARIABLE) uses.push({ ...use, variable: value.name.value });
    if (value.kind === Kind.LIST) {
      for (const [index, item] of value.values.entries()) visit(item, { ...use, argument: `${use.argument}.${index}` });
    }
    if (value.kind !== Kind.OBJECT || !isInputObjectType(type)) return;
    for (const { name, value: member } of value.fields) {
      const definition = type.getFields()[name.value];
      const at = { argument: `${use.argument}.${name.value}`, coordinate: `${type.name}.${name.value}` };
      if (definition !== undefined) visit(member, { ...use, ...at, definition });
    }
  }

  for (const { name, value } of nodes.flatMap(node => node.arguments ?? [])) {
    const definition = field.args.find(argument => argument.name === name.value);
    const coordinate = `${parent.name}.${field.name}(${name.value}:)`;
    if (definition !== undefined) visit(value, { field: path, argument: name.value, definition, coordinate });
  }
  return uses;
}
