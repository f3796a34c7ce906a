// Finds what an operation uses that is deprecated.
import {
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  type OperationDefinitionNode,
  printSchema,
  separateOperations,
  TypeInfo,
  typeFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { oncePerValue } from '../lib/run.js';

type Part = { readonly deprecationReason?: unknown } | null | undefined;

/**
 * Creates a function that returns the schema coordinates of everything deprecated that an operation of a valid document uses: `Market.name`,
 * `Query.events(page:)`, `EventFilter.search`, `TopicOrderField.LABEL`. It walks each document once, and the coerced values of variables each time.
 * Undefined for a schema without anything deprecated.
 */
export function createDeprecations(schema: GraphQLSchema) {
  if (!printSchema(schema).includes('@deprecated')) return undefined;
  const operationsOf = oncePerValue((document: DocumentNode) => {
    const operations = separateOperations(document);
    return oncePerValue(({ name }: OperationDefinitionNode) =>
      usesIn(schema, operations[name?.value ?? ''] as DocumentNode),
    );
  });
  return (
    document: DocumentNode,
    operation: OperationDefinitionNode,
    values: Readonly<Record<string, unknown>> = {},
  ): readonly string[] => {
    const found = new Set(operationsOf(document)(operation));
    for (const { variable, type } of operation.variableDefinitions ?? []) {
      addUses(values[variable.name.value], typeFromAST(schema, type as never) as GraphQLInputType, found);
    }
    return [...found];
  };
}

const note = (part: Part, coordinate: string, found: Set<string>) => {
  if (part?.deprecationReason != null) found.add(coordinate);
};

function usesIn(schema: GraphQLSchema, document: DocumentNode): ReadonlySet<string> {
  const found = new Set<string>();
  const types = new TypeInfo(schema);
  const collector = visitWithTypeInfo(types, {
    Field: ({ name }) => note(types.getFieldDef(), `${types.getParentType()}.${name.value}`, found),
    Argument({ name }) {
      const directive = types.getDirective();
      const place = directive ? `@${directive.name}` : `${types.getParentType()}.${types.getFieldDef()?.name}`;
      note(types.getArgument(), `${place}(${name.value}:)`, found);
    },
    ObjectField({ name }) {
      const type = getNamedType(types.getParentInputType());
      note(isInputObjectType(type) ? type.getFields()[name.value] : null, `${type}.${name.value}`, found);
    },
    EnumValue: ({ value }) => note(types.getEnumValue(), `${getNamedType(types.getInputType())}.${value}`, found),
  });
  visit(document, collector);
  return found;
}

function addUses(value: unknown, type: GraphQLInputType, found: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value) addUses(item, type, found);
    return;
  }
  const named = getNamedType(type);
  if (isEnumType(named)) note(named.getValue(String(value)), `${named}.${value}`, found);
  if (!isInputObjectType(named)) return;
  for (const [name, member] of Object.entries(Object(value))) {
    const field = named.getFields()[name];
    note(field, `${named}.${name}`, found);
    if (field !== undefined) addUses(member, field.type, found);
  }
}
