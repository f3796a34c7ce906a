import {
  astFromValue,
  type DocumentNode,
  type GraphQLArgument,
  type GraphQLCompositeType,
  type GraphQLEnumType,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  TokenKind,
  TypeInfo,
  TypeNameMetaFieldDef,
  typeFromAST,
  type VariableDefinitionNode,
  valueFromAST,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type ListCoordinate, listBounds } from '../../graphql/limits/list-bounds.js';
import type { createSelector, Selection } from './selection.js';

/** A schema in JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** An object in JSON Schema. */
export type ObjectSchema = JsonSchema & { readonly type: 'object' };

/** The argument or the input field that a value is for. */
interface Place {
  readonly definition: GraphQLArgument | GraphQLInputField;
  /** As in `listBounds`. */
  readonly coordinate: string;
}

const jsonTypes: Readonly<Record<string, string>> = {
  Int: 'integer',
  Float: 'number',
  Boolean: 'boolean',
  JSONObject: 'object',
};

const scalarOf = ({ name }: GraphQLNamedType): JsonSchema => ({ type: jsonTypes[name] ?? 'string' });

const nullable = ({ type, ...schema }: JsonSchema): JsonSchema => ({
  type: [type, 'null'],
  ...schema,
  ...(Array.isArray(schema.enum) && { enum: [...schema.enum, null] }),
});

/**
 * The arguments of a tool, from the variables of its operation. An argument has the bounds of the place where its variable is used, and the
 * description of that place, unless a comment stands above the variable.
 */
export function inputSchema(
  schema: GraphQLSchema,
  document: DocumentNode,
  { variableDefinitions = [] }: OperationDefinitionNode,
): ObjectSchema {
  const places = placesOf(schema, document);
  const properties = variableDefinitions.map(definition => {
    const { variable, type: node, defaultValue } = definition;
    const name = variable.name.value;
    // The document is valid, so that its types exist.
    const type = typeFromAST(schema, node as never) as GraphQLInputType;
    const place = places.get(name);
    // An optional argument is left out. Null would do too, but many clients understand only a single type.
    const described = { ...schemaOf(type, place), ...commentOf(type, place, commentAbove(definition)) };
    const fallback = defaultValue && valueFromAST(defaultValue, type);
    return {
      name,
      isRequired: isNonNullType(type) && defaultValue === undefined,
      schema: fallback === undefined ? described : { ...described, default: fallback },
    };
  });
  return objectOf(properties, { additionalProperties: false });
}

/** The text of the comment that ends in the line above an operation or a variable. */
export function commentAbove({ loc }: OperationDefinitionNode | VariableDefinitionNode): string {
  const lines: string[] = [];
  let line = loc?.startToken.line ?? 0;
  for (let token = loc?.startToken.prev; token?.kind === TokenKind.COMMENT; token = token.prev) {
    line -= 1;
    if (token.line !== line) break;
    lines.unshift(token.value.trim());
  }
  return lines.join(' ').trim();
}

interface Property {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: JsonSchema;
}

function objectOf(properties: readonly Property[], more: JsonSchema = {}): ObjectSchema {
  const required = properties.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(properties.map(({ name, schema }) => [name, schema])),
    ...(required.length > 0 && { required }),
    ...more,
  };
}

/** The place of each variable: the first where it is used. */
function placesOf(schema: GraphQLSchema, document: DocumentNode): ReadonlyMap<string, Place> {
  const places = new Map<string, Place>();
  const info = new TypeInfo(schema);
  visit(
    document,
    visitWithTypeInfo(info, {
      Variable({ name }, _, parent) {
        const place = parent !== undefined && 'kind' in parent ? placeOf(parent.kind, parent) : undefined;
        if (place !== undefined && !places.has(name.value)) places.set(name.value, place);
      },
    }),
  );

  function placeOf(kind: Kind, parent: object): Place | undefined {
    const argument = info.getArgument();
    if (kind === Kind.ARGUMENT && argument) {
      const coordinate = `${info.getParentType()?.name}.${info.getFieldDef()?.name}(${argument.name}:)`;
      return { definition: argument, coordinate };
    }
    const object = getNamedType(info.getParentInputType());
    if (kind !== Kind.OBJECT_FIELD || !isInputObjectType(object)) return undefined;
    const { name } = parent as { name: { value: string } };
    const definition = object.getFields()[name.value];
    return definition && { definition, coordinate: `${object.name}.${definition.name}` };
  }
  return places;
}

function inputOf(type: GraphQLInputType, place: Place | undefined): JsonSchema {
  const described = { ...schemaOf(type, place), ...commentOf(type, place) };
  return isNonNullType(type) ? described : nullable(described);
}

function schemaOf(type: GraphQLInputType, place: Place | undefined): JsonSchema {
  if (isNonNullType(type)) return schemaOf(type.ofType, place);
  if (isListType(type)) {
    const maxItems = listBounds[place?.coordinate as ListCoordinate] as number | undefined;
    const item: GraphQLInputType = type.ofType;
    const items = isNonNullType(item) ? schemaOf(item, place) : nullable(schemaOf(item, place));
    return { type: 'array', items, ...(maxItems !== undefined && { maxItems }) };
  }
  if (isEnumType(type)) return { type: 'string', enum: type.getValues().map(({ name }) => name) };
  if (!isInputObjectType(type)) return { ...scalarOf(type), ...boundsIn(type.name, place?.definition.description) };
  const properties = Object.values(type.getFields()).map(field => ({
    name: field.name,
    isRequired: isNonNullType(field.type) && field.defaultValue === undefined,
    schema: inputOf(field.type, { definition: field, coordinate: `${type.name}.${field.name}` }),
  }));
  return objectOf(properties, {
    additionalProperties: false,
    ...(type.isOneOf && { minProperties: 1, maxProperties: 1 }),
  });
}

/** The description of a value and its default, from its place; the values of an enum, from its type. */
function commentOf(type: GraphQLInputType, place: Place | undefined, comment = ''): JsonSchema {
  const named = getNamedType(type);
  const texts = [comment || place?.definition.description, ...(isEnumType(named) ? [valuesText(named)] : [])];
  const description = texts.filter(Boolean).join(' ');
  const { defaultValue, type: typeThere } = place?.definition ?? {};
  const literal = typeThere && defaultValue !== undefined ? astFromValue(defaultValue, typeThere) : undefined;
  return {
    ...(description !== '' && { description }),
    ...(literal != null && { default: valueFromASTUntyped(literal) }),
  };
}

const valuesText = (type: GraphQLEnumType) =>
  type
    .getValues()
    .map(({ name, description }) => `\`${name}\`: ${description}`)
    .join(' ');

/** How the descriptions of the schema state bounds: `1 to 100`, `0 to 255 characters`, `at most 1,000 characters`, `from 1`, `At least 1`. */
const stated =
  /\b(?:(?<min>\d[\d,]*) to |at most )(?<max>\d[\d,]*)\b(?<text> characters)?|\b(?:from|at least) (?<start>\d[\d,]*)\b/gi;

/** The bounds that a description states. Tests check that the gateway enforces them. */
function boundsIn(type: string, description: string | null | undefined): JsonSchema {
  const isNumber = type === 'Int' || type === 'Float';
  if (!isNumber && type !== 'String' && type !== 'ID') return {};
  const all = [...(description ?? '').matchAll(stated)].map(({ groups = {} }) => groups);
  const { min, start = min, max } = all.find(({ text }) => isNumber === (text === undefined)) ?? {};
  const [lowest, highest] = isNumber ? ['minimum', 'maximum'] : ['minLength', 'maxLength'];
  const numberOf = (digits: string) => Number(digits.replaceAll(',', ''));
  return { ...(start && { [lowest]: numberOf(start) }), ...(max && { [highest]: numberOf(max) }) };
}

/** A description in one line, without the calls of the gateway, which agents do not need. */
const forAgents = (description: string) => description.replace(/\s*Upstream:.*$/s, '').replaceAll('\n', ' ');

/** What an operation selects, as JSON Schema. */
export function outputSchema(
  schema: GraphQLSchema,
  fieldsOf: ReturnType<typeof createSelector>,
  root: readonly Selection[],
): ObjectSchema {
  function outputOf(type: GraphQLOutputType, selections: readonly Selection[]): JsonSchema {
    return isNonNullType(type) ? present(type.ofType, selections) : nullable(present(type, selections));
  }

  function present(type: GraphQLOutputType, selections: readonly Selection[]): JsonSchema {
    if (isListType(type)) return { type: 'array', items: outputOf(type.ofType, selections) };
    if (isEnumType(type)) return { type: 'string', enum: type.getValues().map(({ name }) => name) };
    return selections.length === 0 ? scalarOf(getNamedType(type)) : selected(selections);
  }

  function selected(selections: readonly Selection[]): ObjectSchema {
    const properties = [...fieldsOf(selections)].map(([name, field]) => {
      const { type, description, isAlways, nodes } = field;
      const isTypeName = nodes[0]?.name.value === TypeNameMetaFieldDef.name;
      const value = isTypeName
        ? { type: 'string', enum: selections.flatMap(({ parent }) => typeNames(parent)) }
        : { ...outputOf(type, field.selections), ...(description && { description: forAgents(description) }) };
      return { name, isRequired: isAlways, schema: value };
    });
    return objectOf(properties);
  }

  const typeNames = (type: GraphQLCompositeType) =>
    (isAbstractType(type) ? schema.getPossibleTypes(type) : [type]).map(({ name }) => name);

  return selected(root);
}
