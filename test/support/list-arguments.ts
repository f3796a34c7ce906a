import {
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';

/** A list that an operation can be given, and the way to it. */
export interface ListArgument {
  /** `CompanyFilter.naics`, or `Query.markets(ids:)` for an argument that is a list itself. */
  readonly coordinate: string;
  readonly operation: 'query' | 'mutation';
  /** The fields from the root down to the one that takes the list, all but the last with their arguments: `market(id: "1")`. */
  readonly above: readonly string[];
  /** The type that the field is of. */
  readonly parent: string;
  /** The field with all its arguments, the list being `list` in GraphQL's syntax, and with a selection. */
  field(list: string): string;
  /** The list's type: `[String!]!`. */
  readonly type: string;
}

type Input = GraphQLArgument | GraphQLInputField;

/** Every list that a query or a mutation of the schema can be given, by the shortest way to it. */
export function listArguments(schema: GraphQLSchema): readonly ListArgument[] {
  const found: ListArgument[] = [];
  for (const operation of ['query', 'mutation'] as const) {
    const root = operation === 'query' ? schema.getQueryType() : schema.getMutationType();
    const seen = new Set([root]);
    const open: { type: GraphQLObjectType; above: readonly string[] }[] = root ? [{ type: root, above: [] }] : [];
    for (let at = open.shift(); at !== undefined; at = open.shift()) {
      const { type, above } = at;
      for (const field of Object.values(type.getFields())) {
        const below = getNamedType(field.type);
        const selection = isCompositeType(below) ? ' { __typename }' : '';
        for (const { input, path, coordinate } of listsOf(field.args, `${type.name}.${field.name}`)) {
          found.push({
            ...{ coordinate, operation, above, parent: type.name, type: `${getNullableType(input.type)}!` },
            field: list => `${field.name}${argumentsOf(field.args, path, list)}${selection}`,
          });
        }
        if (!isObjectType(below) || seen.has(below)) continue;
        seen.add(below);
        open.push({ type: below, above: [...above, `${field.name}${argumentsOf(field.args)}`] });
      }
    }
  }
  return found;
}

function listsOf(
  inputs: readonly Input[],
  owner: string,
  above: readonly string[] = [],
): { input: Input; path: readonly string[]; coordinate: string }[] {
  return inputs.flatMap(input => {
    const path = [...above, input.name];
    const type = getNullableType(input.type);
    const coordinate = above.length === 0 ? `${owner}(${input.name}:)` : `${owner}.${input.name}`;
    const own = isListType(type) ? [{ input, path, coordinate }] : [];
    const named = getNamedType(type);
    const isNew = isInputObjectType(named) && path.length < 6 && !isListType(type);
    return [...own, ...(isNew ? listsOf(Object.values(named.getFields()), named.name, path) : [])];
  });
}

function argumentsOf(args: readonly Input[], path: readonly string[] = [], list = ''): string {
  const given = args.flatMap(input => {
    const isOnPath = input.name === path[0];
    if (!isOnPath && input.name === 'first') return ['first: 100'];
    if (!isOnPath && !(isNonNullType(input.type) && input.defaultValue === undefined)) return [];
    return [`${input.name}: ${literalOf(input.type, isOnPath ? path.slice(1) : [], isOnPath, list)}`];
  });
  return given.length === 0 ? '' : `(${given.join(' ')})`;
}

function literalOf(of: GraphQLInputType, path: readonly string[], isOnPath: boolean, list: string): string {
  if (isOnPath && path.length === 0) return list;
  const type = getNullableType(of);
  if (isListType(type)) return '[]';
  if (isInputObjectType(type)) {
    if (type.isOneOf && !isOnPath) return type.getFields().all ? '{ all: true }' : '{ matching: {} }';
    return argumentsOf(Object.values(type.getFields()), path, list).replace(/^\((.*)\)$/, '{ $1 }') || '{}';
  }
  if (isEnumType(type)) return type.getValues()[0]?.name ?? '';
  return { ID: '"1"', Int: '1', Float: '1', Boolean: 'true' }[type.name] ?? '"a.example"';
}
