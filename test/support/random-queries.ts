import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type NamedTypeNode,
  type OperationDefinitionNode,
  typeFromAST,
} from 'graphql';
import { nodeId } from '../../src/graphql/node.js';
import type { Draw } from './seeded.js';

/** A valid document, and which of its operations is meant. */
export interface RandomQuery {
  readonly text: string;
  readonly operationName: string | undefined;
}

/**
 * Draws a query over a schema: arguments as literals and as variables, aliases, fields that are merged, fragments of both kinds, `@skip` and
 * `@include`, introspection.
 */
export function randomQuery(schema: GraphQLSchema, draw: Draw): RandomQuery {
  const definitions: string[] = [];
  const fragments: { readonly name: string; readonly type: GraphQLObjectType; readonly text: string }[] = [];
  let names = 0;
  const newName = (prefix: string) => `${prefix}${++names}`;

  function variable(type: GraphQLInputType): string {
    const name = newName('v');
    const fallback = isNonNullType(type) || !draw.chance(0.3) ? '' : ` = ${literal(type, true)}`;
    definitions.push(`$${name}: ${type}${fallback}`);
    return `$${name}`;
  }

  function condition(): string {
    if (draw.chance(0.4)) return String(draw.chance(0.5));
    const name = newName('v');
    definitions.push(`$${name}: ${draw.pick(['Boolean!', 'Boolean! = true', 'Boolean = false'])}`);
    return `$${name}`;
  }

  function literal(type: GraphQLInputType, constant = false): string {
    if (!isNonNullType(type) && draw.chance(0.05)) return 'null';
    return printed(type, drawn(type, draw, false), constant);
  }

  function printed(type: GraphQLInputType, value: unknown, constant = false): string {
    if (isNonNullType(type)) return printed(type.ofType, value, constant);
    if (value === null) return 'null';
    if (isListType(type)) {
      return Array.isArray(value)
        ? `[${value.map(item => printed(type.ofType, item, constant)).join(', ')}]`
        : printed(type.ofType, value, constant);
    }
    if (isInputObjectType(type)) {
      const members = Object.entries(value as object).map(([name, member]) => {
        const of = type.getFields()[name]?.type as GraphQLInputType;
        return `${name}: ${!constant && draw.chance(0.15) ? variable(of) : printed(of, member, constant)}`;
      });
      return `{ ${members.join(', ')} }`;
    }
    return isEnumType(type) ? String(value) : JSON.stringify(value);
  }

  function directives(): string {
    if (!draw.chance(0.1)) return '';
    return ` @${draw.pick(['skip', 'include'])}(if: ${condition()})`;
  }

  function argument({ name, type }: GraphQLArgument): string {
    if (!isNonNullType(type) && draw.chance(0.4)) return '';
    return `${name}: ${draw.chance(0.4) ? variable(type) : literal(type)} `;
  }

  function field({ name, args, type }: GraphQLField<unknown, unknown>, depth: number): string {
    const given = args.map(argument).join('');
    const alias = args.length > 0 || draw.chance(0.1) ? `${newName('a')}: ` : '';
    const head = `${alias}${name}${given === '' ? '' : `(${given})`}`;
    const below = getNamedType(type);
    if (isLeafType(below)) return `${head}${directives()}`;
    const once = () =>
      `${head}${directives()} ${isObjectType(below) ? selections(below, depth - 1) : members(below, depth - 1)}`;
    return draw.chance(0.08) ? `${once()} ${once()}` : once();
  }

  function selections(type: GraphQLObjectType, depth: number): string {
    const all = Object.values(type.getFields()).filter(each => depth > 0 || isLeafType(getNamedType(each.type)));
    const chosen = all.filter(() => draw.chance(Math.min(0.9, 3 / all.length)));
    const parts = chosen.map(each => field(each, depth));
    if (parts.length === 0 || draw.chance(0.1)) parts.push('__typename');
    if (draw.chance(0.06))
      parts.push(`...${draw.chance(0.5) ? ` on ${type}` : ''}${directives()} ${selections(type, depth)}`);
    if (draw.chance(0.06))
      for (const each of type.getInterfaces()) parts.push(`... on ${each}${directives()} ${members(each, 0)}`);
    if (draw.chance(0.08)) parts.push(`...${fragment(type, depth)}${directives()}`);
    return `{ ${parts.join(' ')} }`;
  }

  /** Its fields have other types on other members of a union, so each fragment is a field of its own. */
  function members(type: GraphQLNamedType, depth: number): string {
    const own = isInterfaceType(type) ? Object.keys(type.getFields()).filter(() => draw.chance(0.5)) : [];
    const possible = (isAbstractType(type) ? schema.getPossibleTypes(type) : []).filter(() => draw.chance(0.5));
    const fragments = possible.map(each => {
      const fields = Object.values(each.getFields()).filter(
        ({ type: of }) => depth > 0 || isLeafType(getNamedType(of)),
      );
      return `... on ${each}${directives()} { ${newName('a')}: ${field(draw.pick(fields), depth).replace(/^a\d+: /, '')} }`;
    });
    return `{ __typename ${[...own, ...fragments].join(' ')} }`;
  }

  function fragment(type: GraphQLObjectType, depth: number): string {
    const known = fragments.filter(each => each.type === type);
    if (known.length > 0 && draw.chance(0.6)) return draw.pick(known).name;
    const name = newName('F');
    const text = `fragment ${name} on ${type} ${selections(type, depth)}`;
    fragments.push({ name, type, text });
    return name;
  }

  const query = schema.getQueryType() as GraphQLObjectType;
  const roots = Array.from({ length: 1 + draw.below(2) }, () =>
    draw.chance(0.03) ? draw.pick(introspections) : field(draw.pick(Object.values(query.getFields())), 4),
  );
  const given = definitions.length === 0 ? '' : `(${definitions.join(', ')})`;
  const others = draw.chance(0.05) ? ['query Other { viewer { authentication } }'] : [];
  const named = others.length > 0 || draw.chance(0.5);
  const text = [
    `query ${named ? 'Meant' : ''}${given} { ${roots.join(' ')} }`,
    ...others,
    ...fragments.map(each => each.text),
  ].join('\n');
  return { text, operationName: named ? 'Meant' : undefined };
}

const introspections = [
  '__type(name: "Event") { kind name description fields(includeDeprecated: true) { name args { name defaultValue } type { kind ofType { name } } } }',
  '__schema { queryType { name } directives { name locations } }',
  '__typename',
] as const;

/** Values for the variables of an operation, of which some are left out and some do not fit. */
export function randomVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  draw: Draw,
): Record<string, unknown> {
  const values = variableDefinitions.flatMap(({ variable, type: node, defaultValue }) => {
    const type = typeFromAST(schema, node as NamedTypeNode) as GraphQLInputType;
    const isOptional = !isNonNullType(type) || defaultValue !== undefined;
    if (draw.chance(isOptional ? 0.15 : 0.01)) return [];
    const misfit = draw.chance(0.02);
    const value = misfit ? draw.pick([{}, [], [[]], true, 1.5, 'x', null, { unknown: 1 }]) : drawn(type, draw);
    return [[variable.name.value, value]];
  });
  return Object.fromEntries(values);
}

const texts = [
  '',
  'a',
  'castings',
  'x,y',
  'example.com',
  '2026-01-31',
  '2026-01-31T08:30:00Z',
  'aXRlbTow',
  '7',
] as const;

/** A value that fits, of which a resolver may think otherwise. */
function drawn(type: GraphQLInputType, draw: Draw, nullable = true): unknown {
  if (isNonNullType(type)) return drawn(type.ofType, draw, false);
  if (nullable && draw.chance(0.03)) return null;
  if (isListType(type)) {
    const item = () => drawn(type.ofType, draw);
    return draw.chance(0.2) ? item() : Array.from({ length: draw.below(3) }, item);
  }
  if (isInputObjectType(type)) {
    const all = Object.values(type.getFields());
    const members = type.isOneOf ? [draw.pick(all)] : all.filter(each => isNonNullType(each.type) || draw.chance(0.25));
    return Object.fromEntries(members.map(each => [each.name, drawn(each.type, draw, !type.isOneOf)]));
  }
  if (isEnumType(type)) return draw.pick(type.getValues()).name;
  switch (type.name) {
    case 'Int':
      return draw.pick([0, 1, 2, 3, 5, 10, 101]);
    case 'JSONObject':
      return {};
    case 'Float':
      return draw.pick([0, -1.5, 2, 1e6]);
    case 'Boolean':
      return draw.chance(0.5);
    case 'ID':
      return draw.pick(['1', '2', 'o-1', '', 'not/an/id', nodeId('Market', ['1']), nodeId('Topic', ['1', '2'])]);
    default:
      return draw.pick(texts);
  }
}
