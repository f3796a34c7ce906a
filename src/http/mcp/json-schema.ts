// JSON Schemas of the arguments and the answers of tools.
import {
  astFromValue,
  type GraphQLEnumType,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type OperationDefinitionNode,
  TokenKind,
  TypeNameMetaFieldDef,
  typeFromAST,
  type VariableDefinitionNode,
  valueFromAST,
  valueFromASTUntyped,
} from 'graphql';
import { listBounds } from '../../generated/list-bounds.js';
import type { ListCoordinate } from '../../graphql/list-bounds.js';
import type { SelectedFields, VariableUse } from './selection.js';

export type JsonSchema = Readonly<Record<string, unknown>>;

export type ObjectSchema = JsonSchema & { readonly type: 'object' };

/** The argument or the input field that a value is for. */
type Place = Pick<VariableUse, 'definition' | 'coordinate'>;

/** Every other scalar but `JSONObject` is a text. */
const jsonTypes: Readonly<Record<string, string>> = { Int: 'integer', Float: 'number', Boolean: 'boolean' };

/**
 * The arguments of a tool, from the variables of its operation. An argument has the bounds of the place where its variable is used, and the
 * description of that place, unless a comment stands above the variable.
 */
export function inputSchema(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  uses: readonly VariableUse[],
): ObjectSchema {
  const properties = variableDefinitions.map((definition): Property => {
    const { variable, type: node, defaultValue } = definition;
    const name = variable.name.value;
    // The document is valid, so that its types exist.
    const type = typeFromAST(schema, node as never) as GraphQLInputType;
    const place = uses.find(use => use.variable === name);
    const [comment, required] = requiredIn(commentAbove(definition));
    const described = { ...schemaOf(type, place), ...commentOf(type, place, comment), ...required };
    const fallback = defaultValue ? statedDefault(valueFromAST(defaultValue, type)) : defaultOf(place?.definition);
    return [name, { ...described, ...fallback }, isNonNullType(type) && defaultValue === undefined];
  });
  return objectOf(properties);
}

/** `Required: a, b.` at the end of a comment: the members that an object needs although GraphQL does not say so. */
function requiredIn(comment: string): readonly [comment: string, required: JsonSchema] {
  const [all, names] = /\s*Required: ([\w, ]+)\.$/.exec(comment) ?? [];
  return names === undefined ? [comment, {}] : [comment.slice(0, -String(all).length), { required: names.split(', ') }];
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

type Property = readonly [name: string, schema: JsonSchema, isRequired: boolean];

function objectOf(properties: readonly Property[], more: JsonSchema = {}): ObjectSchema {
  const required = properties.flatMap(([name, , isRequired]) => (isRequired ? [name] : []));
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...more,
  };
}

/** What is optional can be left out. Null of an argument does the same, but many clients drop a tool whose schema has more than one type for a value. */
function schemaOf(type: GraphQLInputType, place: Place | undefined): JsonSchema {
  if (isNonNullType(type)) return schemaOf(type.ofType, place);
  if (isListType(type)) {
    const maxItems = listBounds[place?.coordinate as ListCoordinate] as number | undefined;
    return { type: 'array', items: schemaOf(type.ofType, place), ...(maxItems !== undefined && { maxItems }) };
  }
  if (isEnumType(type)) return { type: 'string', enum: type.getValues().map(({ name }) => name) };
  if (!isInputObjectType(type)) {
    return {
      type: type.name === 'JSONObject' ? 'object' : (jsonTypes[type.name] ?? 'string'),
      ...boundsIn(type.name, place?.definition.description),
    };
  }
  const properties = Object.values(type.getFields()).map((field): Property => {
    const isRequired = isNonNullType(field.type) && field.defaultValue === undefined;
    return [field.name, memberOf(field, `${type.name}.${field.name}`), isRequired];
  });
  return objectOf(properties, type.isOneOf ? { minProperties: 1, maxProperties: 1 } : {});
}

/** A member of an object has no description: the agent has to read all of them, and the name, the type and the bounds are enough for most. */
function memberOf(field: GraphQLInputField, coordinate: string): JsonSchema {
  return { ...schemaOf(field.type, { definition: field, coordinate }), ...defaultOf(field) };
}

function defaultOf(definition: Place['definition'] | undefined): JsonSchema {
  if (definition?.defaultValue === undefined) return {};
  const literal = astFromValue(definition.defaultValue, definition.type);
  return literal == null ? {} : statedDefault(valueFromASTUntyped(literal));
}

/** Null is no value of the type that the schema states. */
const statedDefault = (value: unknown): JsonSchema => (value == null ? {} : { default: value });

function commentOf(type: GraphQLInputType, place: Place | undefined, comment: string): JsonSchema {
  const named = getNamedType(type);
  // A tool takes null as left out, unlike the field.
  const ofPlace = place?.definition.description?.replace(' Null: any.', '');
  const texts = [comment || ofPlace, ...(isEnumType(named) ? [valuesText(named)] : [])];
  const description = texts.filter(Boolean).join(' ');
  return description === '' ? {} : { description };
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

/** What an operation selects, in few bytes: only numbers and booleans have a type, so that everything else can be null. */
export function outputSchema(schema: GraphQLSchema, root: SelectedFields): JsonSchema {
  function outputOf(type: GraphQLOutputType, members: SelectedFields): JsonSchema {
    const present = getNullableType(type);
    if (isListType(present)) return { items: outputOf(present.ofType, members) };
    if (members.size > 0)
      return selected(members, isAbstractType(present) ? schema.getPossibleTypes(present) : [present]);
    const scalar = jsonTypes[present.name];
    return scalar === undefined || !isNonNullType(type) ? {} : { type: scalar };
  }

  function selected(fields: SelectedFields, types: readonly GraphQLNamedType[]): JsonSchema {
    const properties = [...fields].flatMap(([name, { definition, members }]) => {
      if (definition === TypeNameMetaFieldDef) return [[name, { enum: types.map(type => type.name) }]];
      // `next` says the same.
      return name === 'pageInfo' ? [] : [[name, outputOf(definition.type, members)]];
    });
    return { properties: Object.fromEntries(properties) };
  }

  const [field] = root.values();
  return selected(root, field ? [field.parent] : []);
}
