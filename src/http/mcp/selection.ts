import {
  type DocumentNode,
  type FieldNode,
  type GraphQLArgument,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  Kind,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
  type ValueNode,
} from 'graphql';

/** A selection set, and the type that it is on. */
export interface Selection {
  readonly parent: GraphQLCompositeType;
  readonly set: SelectionSetNode;
}

/** One member of an object in an answer. */
export interface SelectedField {
  readonly parent: GraphQLCompositeType;
  readonly definition: GraphQLField<unknown, unknown>;
  /** Where it is selected: the types of a union may each select it. */
  readonly nodes: FieldNode[];
  /** The sets below it. */
  readonly selections: Selection[];
}

/** Finds the fields that selection sets of one place have in common. */
export type Selector = (selections: readonly Selection[]) => ReadonlyMap<string, SelectedField>;

/** @param document a valid one. */
export function createSelector(schema: GraphQLSchema, { definitions }: DocumentNode): Selector {
  const fragments = definitions.filter(definition => definition.kind === Kind.FRAGMENT_DEFINITION);

  function definitionOf(parent: GraphQLCompositeType, name: string) {
    if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef;
    return isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined;
  }

  function addField(node: FieldNode, parent: GraphQLCompositeType, fields: Map<string, SelectedField>): void {
    const definition = definitionOf(parent, node.name.value);
    if (definition === undefined) return;
    const key = node.alias?.value ?? node.name.value;
    const field = fields.get(key) ?? { parent, definition, nodes: [], selections: [] };
    field.nodes.push(node);
    const named = getNamedType(definition.type);
    if (node.selectionSet !== undefined && isCompositeType(named)) {
      field.selections.push({ parent: named, set: node.selectionSet });
    }
    fields.set(key, field);
  }

  function collect({ parent, set }: Selection, fields: Map<string, SelectedField>): void {
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        addField(selection, parent, fields);
        continue;
      }
      const fragment =
        selection.kind === Kind.INLINE_FRAGMENT
          ? selection
          : fragments.find(({ name }) => name.value === selection.name.value);
      if (fragment === undefined) continue;
      const type = schema.getType(fragment.typeCondition?.name.value ?? '');
      collect({ parent: isCompositeType(type) ? type : parent, set: fragment.selectionSet }, fields);
    }
  }

  return selections => {
    const fields = new Map<string, SelectedField>();
    for (const selection of selections) collect(selection, fields);
    return fields;
  };
}

/** A place in the arguments of a field that a variable fills. */
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
