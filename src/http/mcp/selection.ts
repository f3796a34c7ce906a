import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isInterfaceType,
  isObjectType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
} from 'graphql';

/** A selection set, and the type that it is on. */
export interface Selection {
  readonly parent: GraphQLCompositeType;
  readonly set: SelectionSetNode;
  /** False if the field above it may be selected by another type of a union instead. */
  readonly isAlways: boolean;
}

/** One member of an object in an answer. */
export interface SelectedField {
  readonly type: GraphQLOutputType;
  readonly description: string | null | undefined;
  /** Where it is selected: the types of a union may each select it. */
  readonly nodes: FieldNode[];
  /** The sets below it. */
  readonly selections: Selection[];
  /** False if only some types have it, or a directive may leave it out. */
  isAlways: boolean;
}

/** Finds the fields that a valid document selects. */
export function createSelector(
  schema: GraphQLSchema,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): (selections: readonly Selection[]) => ReadonlyMap<string, SelectedField> {
  function typeIn(parent: GraphQLCompositeType, name: string | undefined): GraphQLCompositeType {
    const type = name === undefined ? parent : schema.getType(name);
    return isCompositeType(type) ? type : parent;
  }

  function definitionOf(parent: GraphQLCompositeType, name: string) {
    if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef;
    return isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined;
  }

  function collect(
    { parent, set, isAlways }: Selection,
    fields: Map<string, SelectedField>,
  ): Map<string, SelectedField> {
    for (const selection of set.selections) {
      const always = isAlways && !isConditional(selection);
      if (selection.kind === Kind.FIELD) {
        addField(selection, parent, always, fields);
        continue;
      }
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value) : selection;
      if (fragment === undefined) continue;
      const type = typeIn(parent, fragment.typeCondition?.name.value);
      const isWhole = type === parent || (isAbstractType(type) && isPart(parent, type));
      collect({ parent: type, set: fragment.selectionSet, isAlways: always && isWhole }, fields);
    }
    return fields;
  }

  const isPart = (part: GraphQLCompositeType, whole: GraphQLCompositeType) =>
    isAbstractType(whole) && (isObjectType(part) || isInterfaceType(part)) && schema.isSubType(whole, part);

  function addField(
    node: FieldNode,
    parent: GraphQLCompositeType,
    isAlways: boolean,
    fields: Map<string, SelectedField>,
  ): void {
    const key = node.alias?.value ?? node.name.value;
    const definition = definitionOf(parent, node.name.value);
    if (definition === undefined) return;
    const { type, description } = definition;
    const field = fields.get(key) ?? { type, description, nodes: [], selections: [], isAlways };
    field.nodes.push(node);
    field.isAlways ||= isAlways;
    const named = getNamedType(type);
    if (node.selectionSet !== undefined && isCompositeType(named)) {
      field.selections.push({ parent: named, set: node.selectionSet, isAlways });
    }
    fields.set(key, field);
  }

  return selections => {
    const isOnly = selections.length === 1;
    const fields = new Map<string, SelectedField>();
    for (const selection of selections) collect({ ...selection, isAlways: isOnly || selection.isAlways }, fields);
    return fields;
  };
}

const isConditional = ({ directives = [] }: SelectionNode) =>
  directives.some(({ name }) => name.value === 'skip' || name.value === 'include');
