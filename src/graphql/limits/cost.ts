import {
  type ArgumentNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isObjectType,
  Kind,
  type ListValueNode,
  type OperationDefinitionNode,
  print,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  type ValueNode,
} from 'graphql';
import { oncePerValue } from '../../lib/once-per-value.js';
import { defaultPage, largestPage } from '../input.js';
import {
  type CountedArguments,
  costTable,
  type FieldCost,
  introspectionTable,
  listLength,
  nodeTable,
} from './cost-table.js';

/** The most that an operation can cost. */
export interface OperationCost {
  /** Upstream calls if nothing is cached. */
  readonly calls: number;
  /** Records that the gateway filters, sorts or counts itself, for each filter, order and count. */
  readonly records: number;
  /** Values that the gateway reads from arguments and writes into the response. */
  readonly values: number;
}

/** The group of objects in the response that a selection set is for. */
interface ObjectGroup {
  /** Equal names mean the same group. */
  readonly name: string;
  /** How many objects there can be. For a connection: the size of its page. */
  readonly objects: number;
  /** How often they occur in the response. For a connection: once for each connection, whatever the size of its page. */
  readonly times: number;
  /** Whether it is a connection, whose lists have the size of its page. */
  readonly isPage: boolean;
  /** The market that they belong to. */
  readonly market: ObjectGroup | undefined;
}

/** The cost of one argument value, which is validated, compared and looked up, in values of a response. */
const argumentValue = 2;
/** The cost of one field of introspection, which is computed, in values of a response. */
const introspectionValue = 2;
/** The cost of delivering a deferred fragment later on one object, in values of a response. A client that takes no parts is charged too. */
const deferredFragment = 30;
const noCost: FieldCost = { calls: 0 };
const mutationCost: FieldCost = { calls: 1 };

const tableFor = oncePerValue((schema: GraphQLSchema) => ({ ...costTable, ...introspectionTable(schema) }));

/**
 * Estimates the most that an operation can cost. Work that the gateway does once counts once, even if the document selects it several
 * times. What goes into the response counts as often as it occurs there. Lists count at their maximum length, and equal arguments that are written
 * differently count as different.
 * @param document valid, and within the limits of `checkDocument`.
 * @param variables as the client sent them.
 * @param statisticsLimit `EVENT_STATISTICS_LIMIT`.
 */
export function estimateCost(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>> = {},
  statisticsLimit = 2_000,
): OperationCost {
  const root = schema.getRootType(operation.operation);
  if (root == null) return { calls: 0, records: 0, values: 0 };
  const table = tableFor(schema);
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const read = (value: ValueNode) => plainValue(value, operation, variables);
  const argumentsId = identifyArguments();
  const sizeOfArguments = measureArguments(operation, variables);
  const charges = new Map<string, number>();
  const filtered = new Map<string, number>();
  let values = 0;

  function walk(set: SelectionSetNode, type: GraphQLNamedType, group: ObjectGroup): void {
    for (const selection of set.selections) {
      if (isSkipped(selection, read)) continue;
      if (selection.kind === Kind.FIELD) {
        const field = fieldOf(type, selection.name.value);
        if (field !== undefined) walkField(selection, field, type, group);
        continue;
      }
      const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);
      if (fragment === undefined) continue;
      if (isDeferred(selection, read)) values += group.times * deferredFragment;
      const condition = fragment.typeCondition?.name.value;
      const narrowed = (condition !== undefined && schema.getType(condition)) || type;
      walk(fragment.selectionSet, narrowed, narrowed === type ? group : narrowTo(narrowed, group));
    }
  }

  /** The group of a fragment on one of the possible types of a node. */
  function narrowTo({ name }: GraphQLNamedType, group: ObjectGroup): ObjectGroup {
    charges.set(`${group.name}/... on ${name}`, (nodeTable[name] ?? 0) * group.objects);
    return name === 'Market' ? { ...group, market: group } : group;
  }

  function walkField(
    node: FieldNode,
    field: GraphQLField<unknown, unknown>,
    type: GraphQLNamedType,
    group: ObjectGroup,
  ): void {
    const isMutation = type === schema.getMutationType();
    const cost = table[`${type.name}.${field.name}`] ?? (isMutation ? mutationCost : noCost);
    const counted = { ...countedArguments(node, field, read), statisticsLimit };
    // Mutations run one after the other and share no calls.
    const parent = isMutation ? `${node.alias?.value ?? field.name}:` : group.name;
    const path = `${parent}/${field.name}(${argumentsId(node)})`;

    const calls = typeof cost.calls === 'number' ? cost.calls : cost.calls(counted);
    if (calls > 0) {
      const payer = (cost.per === 'Market' ? group.market : undefined) ?? group;
      charges.set(cost.shares === undefined ? path : `${payer.name}/${cost.shares}`, calls * payer.objects);
    }

    const records = cost.records?.(counted) ?? 0;
    if (records > 0) filtered.set(path, records * group.objects);

    const isList = isListType(getNullableType(field.type));
    // The lists of a connection are as long as its page, which `objects` of the group counts already.
    const length = counted.size ?? counted.ids ?? cost.objects ?? (isList && !group.isPage ? listLength : 1);
    const value = cost.values ?? (isIntrospectionType(type) ? introspectionValue : 1);
    values += group.times * (value * (isList ? length : 1) + argumentValue * sizeOfArguments(node));

    if (node.selectionSet === undefined) return;
    const below = getNamedType(field.type);
    // The nodes of a connection and those of its edges are the same objects.
    const isSameObject = cost === noCost && field.args.length === 0;
    const objects = group.objects * length;
    const child: ObjectGroup = {
      name: isSameObject ? group.name : path,
      objects,
      times: isList ? objects : group.times,
      isPage: counted.size !== undefined,
      market: group.market,
    };
    // The market of an object within a market is the same market.
    const outer = field.name === 'market' ? group.market : undefined;
    const market = outer === undefined ? child : { ...child, name: outer.name, objects: outer.objects };
    walk(node.selectionSet, below, below.name === 'Market' ? { ...market, market } : child);
  }

  walk(operation.selectionSet, root, { name: '', objects: 1, times: 1, isPage: false, market: undefined });
  const sum = (amounts: ReadonlyMap<string, number>) => sumBy([...amounts.values()], amount => amount);
  return { calls: sum(charges), records: sum(filtered), values: Math.round(values) };
}

const metaFields = new Map(
  [SchemaMetaFieldDef, TypeMetaFieldDef, TypeNameMetaFieldDef].map(field => [field.name, field] as const),
);

function fieldOf(type: GraphQLNamedType, name: string): GraphQLField<unknown, unknown> | undefined {
  const own = isObjectType(type) || isInterfaceType(type) ? type.getFields()[name] : undefined;
  return own ?? metaFields.get(name);
}

type Read = (value: ValueNode) => unknown;

function countedArguments(
  node: FieldNode,
  field: GraphQLField<unknown, unknown>,
  read: Read,
): Omit<CountedArguments, 'statisticsLimit'> {
  const valueFor = (name: string) => {
    const given = node.arguments?.find(argument => argument.name.value === name);
    return given && read(given.value);
  };
  const first = field.args.find(({ name }) => name === 'first');
  const idsArgument = field.args.find(({ name }) => name === 'ids' || name === 'nodeIds');
  return {
    size: first && countedSize(valueFor('first') ?? valueFor('last') ?? first.defaultValue ?? defaultPage),
    has: name => valueFor(name) != null,
    ids: idsArgument && countedList(valueFor(idsArgument.name)),
  };
}

/** The length of a list that a variable holds or the document contains. */
function countedList(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return (value as ValueNode | undefined)?.kind === Kind.LIST ? (value as ListValueNode).values.length : 1;
}

/** An invalid size counts as the largest; the field itself rejects it later. */
function countedSize(value: unknown): number {
  return typeof value === 'number' && value >= 0 && value <= largestPage ? value : largestPage;
}

function isSkipped({ directives }: SelectionNode, read: Read): boolean {
  return (directives ?? []).some(({ name, arguments: given }) => {
    const condition = given?.find(argument => argument.name.value === 'if');
    if (condition === undefined) return false;
    return (
      (name.value === 'skip' && read(condition.value) === true) ||
      (name.value === 'include' && read(condition.value) === false)
    );
  });
}

function isDeferred({ directives }: SelectionNode, read: Read): boolean {
  return (directives ?? []).some(({ name, arguments: given }) => {
    const condition = given?.find(argument => argument.name.value === 'if');
    return name.value === 'defer' && (condition === undefined || read(condition.value) !== false);
  });
}

/** The value of a number, boolean, null or variable. For anything else only its presence matters: it is returned as a node. */
function plainValue(
  value: ValueNode,
  operation: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): unknown {
  switch (value.kind) {
    case Kind.INT:
      return Number(value.value);
    case Kind.BOOLEAN:
      return value.value;
    case Kind.NULL:
      return null;
    case Kind.VARIABLE: {
      const name = value.name.value;
      if (Object.hasOwn(variables, name) && variables[name] !== undefined) return variables[name];
      const definition = operation.variableDefinitions?.find(({ variable }) => variable.name.value === name);
      return definition?.defaultValue && plainValue(definition.defaultValue, operation, {});
    }
    default:
      return value;
  }
}

/**
 * Creates a function that numbers the arguments of fields. Equal texts have the same number: within one request they have the same value. Each text
 * is compared only once, since it may be long.
 */
function identifyArguments(): (node: FieldNode) => number {
  const byNode = new Map<FieldNode, number>();
  const byText = new Map<string, number>();
  return node => {
    let number = byNode.get(node);
    if (number === undefined) {
      const text = argumentsText(node.arguments);
      number = byText.get(text) ?? byText.size;
      byText.set(text, number);
      byNode.set(node, number);
    }
    return number;
  };
}

function argumentsText(given: readonly ArgumentNode[] | undefined): string {
  return (given ?? [])
    .map(argument => {
      const { loc } = argument;
      return loc === undefined ? print(argument) : loc.source.body.slice(loc.start, loc.end);
    })
    .join();
}

/** Creates a function that counts the values in the arguments of a field, including those in variables. */
function measureArguments(
  operation: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): (node: FieldNode) => number {
  const byNode = new Map<FieldNode, number>();
  const byVariable = new Map<string, number>();

  function sizeOfLiteral(value: ValueNode): number {
    switch (value.kind) {
      case Kind.LIST:
        return sumBy(value.values, sizeOfLiteral);
      case Kind.OBJECT:
        return sumBy(value.fields, field => sizeOfLiteral(field.value));
      case Kind.VARIABLE: {
        const name = value.name.value;
        const size = byVariable.get(name) ?? sizeOfVariable(name);
        byVariable.set(name, size);
        return size;
      }
      default:
        return 1;
    }
  }

  function sizeOfVariable(name: string): number {
    if (Object.hasOwn(variables, name)) return sizeOfValue(variables[name]);
    const definition = operation.variableDefinitions?.find(({ variable }) => variable.name.value === name);
    return definition?.defaultValue === undefined ? 1 : sizeOfLiteral(definition.defaultValue);
  }

  return node => {
    const size = byNode.get(node) ?? sumBy(node.arguments ?? [], argument => sizeOfLiteral(argument.value));
    byNode.set(node, size);
    return size;
  };
}

function sizeOfValue(value: unknown): number {
  return typeof value === 'object' && value !== null ? sumBy(Object.values(value), sizeOfValue) : 1;
}

function sumBy<T>(items: readonly T[], size: (item: T) => number): number {
  return items.reduce((sum, item) => sum + size(item), 0);
}
