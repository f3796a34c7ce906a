import {
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  type OperationDefinitionNode,
  separateOperations,
  TypeInfo,
  typeFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { oncePerValue } from '../lib/once-per-value.js';

/** What an operation uses of what is deprecated. */
interface DeprecatedUses {
  /** In its document, by their schema coordinates: `Market.name`, `Query.events(page:)`, `EventFilter.search`, `TopicSort.LABEL_ASC`. */
  readonly coordinates: readonly string[];
  /** The variables whose values can use more. */
  readonly variables: readonly { readonly name: string; readonly type: GraphQLInputType }[];
}

/**
 * Creates a function that returns the coordinates of everything deprecated that an operation of a valid document uses. It walks each document once, and
 * the values only of variables that can contain something deprecated. The function returns undefined for a schema without anything deprecated.
 */
export function createDeprecations(schema: GraphQLSchema) {
  const { coordinates: deprecated, inputs } = deprecationsOf(schema);

  const usesOf = oncePerValue((document: DocumentNode) => {
    const operations = separateOperations(document);
    return oncePerValue(({ name, variableDefinitions }: OperationDefinitionNode): DeprecatedUses => {
      const found = new Set<string>();
      const types = new TypeInfo(schema);
      const use = (coordinate: string) => deprecated.has(coordinate) && found.add(coordinate);
      const collector = visitWithTypeInfo(types, {
        Field: node => void use(`${types.getParentType()}.${node.name.value}`),
        Argument(node) {
          const directive = types.getDirective();
          const place = directive ? `@${directive.name}` : `${types.getParentType()}.${types.getFieldDef()?.name}`;
          use(`${place}(${node.name.value}:)`);
        },
        ObjectField: node => void use(`${getNamedType(types.getParentInputType())}.${node.name.value}`),
        EnumValue: node => void use(`${getNamedType(types.getInputType())}.${node.value}`),
      });
      visit(operations[name?.value ?? ''] as DocumentNode, collector);
      const variables = (variableDefinitions ?? []).flatMap(({ variable, type: node }) => {
        const type = typeFromAST(schema, node as never) as GraphQLInputType;
        return inputs.has(getNamedType(type).name) ? { name: variable.name.value, type } : [];
      });
      return { coordinates: [...found], variables };
    });
  });

  function addFrom(value: unknown, type: GraphQLInputType, found: Set<string>): void {
    if (Array.isArray(value)) for (const item of value) addFrom(item, type, found);
    const named = getNamedType(type);
    const names = isEnumType(named) ? [value] : isInputObjectType(named) ? Object.keys(Object(value)) : [];
    for (const name of names) if (deprecated.has(`${named}.${name}`)) found.add(`${named}.${name}`);
    if (!isInputObjectType(named) || Array.isArray(value)) return;
    for (const [name, member] of Object.entries(Object(value))) {
      const field = named.getFields()[name];
      if (field !== undefined && inputs.has(getNamedType(field.type).name)) addFrom(member, field.type, found);
    }
  }

  return (
    document: DocumentNode,
    operation: OperationDefinitionNode,
    values: Readonly<Record<string, unknown>> = {},
  ): readonly string[] | undefined => {
    if (deprecated.size === 0) return undefined;
    const { coordinates, variables } = usesOf(document)(operation);
    if (variables.length === 0) return coordinates;
    const found = new Set(coordinates);
    for (const { name, type } of variables) addFrom(values[name], type, found);
    return [...found];
  };
}

/** The coordinates of everything deprecated in a schema, and the names of the input types and enums in which something is. */
function deprecationsOf(schema: GraphQLSchema) {
  const coordinates = new Set<string>();
  const note = (of: { readonly deprecationReason?: unknown }, coordinate: string) => {
    if (of.deprecationReason != null) coordinates.add(coordinate);
  };
  const types = Object.values(schema.getTypeMap());
  for (const directive of schema.getDirectives()) {
    for (const arg of directive.args) note(arg, `@${directive.name}(${arg.name}:)`);
  }
  for (const type of types) {
    if (isEnumType(type)) for (const value of type.getValues()) note(value, `${type}.${value.name}`);
    if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      note(field, `${type}.${field.name}`);
      for (const arg of 'args' in field ? field.args : []) note(arg, `${type}.${field.name}(${arg.name}:)`);
    }
  }
  const inputs = new Set<string>();
  /** Until nothing is found any more, since an input type can contain itself. */
  for (let size = -1; size < inputs.size; ) {
    size = inputs.size;
    for (const type of types) {
      const members = isEnumType(type)
        ? type.getValues()
        : isInputObjectType(type)
          ? Object.values(type.getFields())
          : [];
      const isDeprecating = members.some(
        member =>
          coordinates.has(`${type}.${member.name}`) || ('type' in member && inputs.has(getNamedType(member.type).name)),
      );
      if (isDeprecating) inputs.add(type.name);
    }
  }
  return { coordinates, inputs };
}
