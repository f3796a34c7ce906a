// Finds what an operation uses that is deprecated.
import { transformInputValue } from '@graphql-tools/utils';
import {
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  isEnumType,
  NoDeprecatedCustomRule,
  type OperationDefinitionNode,
  printSchema,
  separateOperations,
  typeFromAST,
  validate,
} from 'graphql';
import { oncePerValue } from '../lib/run.js';

type Part = { readonly deprecationReason?: unknown } | null | undefined;

/**
 * Creates a function that returns the schema coordinates of everything deprecated that an operation of a valid document uses: `Market.name`,
 * `Query.events(page:)`, `EventFilter.search`, `TopicOrderField.LABEL`. It walks each document once, and the coerced values of variables each time.
 * Undefined for a schema without anything deprecated.
 */
export const createDeprecations = oncePerValue((schema: GraphQLSchema) => {
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
});

/** How a message of graphql-js begins: what is deprecated, and its argument if that is. */
const deprecatedPart =
  /^(?:The (?:input )?field|The enum value|Field|Directive) "?([@\w.]+)"?(?: argument "(\w+)")? is deprecated/;

function usesIn(schema: GraphQLSchema, document: DocumentNode): readonly string[] {
  const errors = validate(schema, document, [NoDeprecatedCustomRule], { maxErrors: Number.POSITIVE_INFINITY });
  return errors.map(({ message }) => {
    const [, coordinate = message, argument] = deprecatedPart.exec(message) ?? [];
    return argument === undefined ? coordinate : `${coordinate}(${argument}:)`;
  });
}

/** Adds the members and values of an input. */
function addUses(value: unknown, type: GraphQLInputType, found: Set<string>): void {
  const note = (part: Part, coordinate: string) => {
    if (part?.deprecationReason != null) found.add(coordinate);
  };
  transformInputValue(
    type,
    value,
    (leaf, each) => isEnumType(leaf) && note(leaf.getValue(String(each)), `${leaf}.${each}`),
    (object, members) => {
      for (const name of Object.keys(members)) note(object.getFields()[name], `${object}.${name}`);
      return members;
    },
  );
}
