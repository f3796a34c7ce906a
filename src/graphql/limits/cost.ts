// Estimates the most that an operation can cost before it is executed: one walk over its document, with lists as long as they can be.
import { getDeferValues, shouldIncludeNode } from '@graphql-tools/utils';
import {
  type DocumentNode,
  doTypesOverlap,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLDirective,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getArgumentValues,
  getDirectiveValues,
  getNamedType,
  getNullableType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { listBounds } from '../../generated/list-bounds.js';
import { oncePerValue } from '../../lib/run.js';
import { defaultPage, fieldOf, maxPageSize } from '../input.js';
import { readNodeId } from '../node.js';

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
  /** The size of its page if it is a connection, whose lists have that length. */
  readonly page: number | undefined;
  readonly market: ObjectGroup | undefined;
  /** The types of the objects, where their identifiers say them. */
  readonly nodeTypes?: readonly (string | undefined)[] | undefined;
}

/** The cost of one argument value, which is validated, compared and looked up, in values of a response. */
const argumentValue = 2;
/** A long text takes as long as many short ones to compare and send. Each character outside ASCII takes long, where it is normalized or converted. */
const sizeOfText = (text: string) => Math.ceil((text.length + 1) / (Buffer.byteLength(text) > text.length ? 1 : 50));
/** The cost of one field of introspection, which is computed, in values of a response. */
const introspectionValue = 2;
/** The cost of delivering a deferred fragment later on one object, in values of a response. A client that takes no parts is charged too. */
const deferredFragment = 30;
/** The assumed length of a list that nothing limits. */
const listLength = 4;

type Field = GraphQLField<unknown, unknown>;

/** What `@cost` says of a field (schema/base.graphql). */
interface FieldCost {
  readonly calls: number;
  readonly shares?: string;
  readonly per?: 'Market';
  readonly pages?: boolean;
  readonly eventsCounted?: boolean;
  readonly maxPage?: number;
  readonly objects?: number;
  readonly records?: number;
  readonly recordsByArgument?: number;
  readonly values?: number;
}

/** Comes with its parent's response. */
const noCost: FieldCost = { calls: 0 };

/** Introspection: the average lengths of its lists in a schema. */
function introspectionLengths(schema: GraphQLSchema): Readonly<Record<string, number>> {
  const types = Object.values(schema.getTypeMap());
  const directives = schema.getDirectives();
  const fieldsOf = (type: GraphQLNamedType) =>
    isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [];
  const fields = types.flatMap(fieldsOf);
  const ofTypes = (partsOf: (type: GraphQLNamedType) => readonly object[]) =>
    types.flatMap(partsOf).length / types.length;
  return {
    '__Schema.types': types.length,
    '__Schema.directives': directives.length,
    '__Directive.args': directives.flatMap(({ args }) => args).length / directives.length,
    '__Type.fields': ofTypes(fieldsOf),
    '__Field.args': fields.flatMap(({ args }) => args).length / fields.length,
    '__Type.inputFields': ofTypes(type => (isInputObjectType(type) ? Object.values(type.getFields()) : [])),
    '__Type.enumValues': ofTypes(type => (isEnumType(type) ? type.getValues() : [])),
    '__Type.interfaces': ofTypes(type => ('getInterfaces' in type ? type.getInterfaces() : [])),
    '__Type.possibleTypes': ofTypes(type => (isAbstractType(type) ? schema.getPossibleTypes(type) : [])),
    // Half of the types of fields are lists or non-null, and few of them have more than three such wrappers.
    '__Type.ofType': 0.5,
  };
}

/** The costs of all fields that state one. @throws Error if a field with a resolver does not: what makes calls must not cost nothing. */
export const costsOf = oncePerValue((schema: GraphQLSchema): ReadonlyMap<Field, FieldCost> => {
  const directive = schema.getDirective('cost') as GraphQLDirective;
  const introspected = introspectionLengths(schema);
  const costs = new Map<Field, FieldCost>();
  for (const type of Object.values(schema.getTypeMap()).filter(type => isObjectType(type) || isInterfaceType(type))) {
    for (const field of Object.values(type.getFields())) {
      const name = `${type.name}.${field.name}`;
      const length = introspected[name];
      const stated = field.astNode && getDirectiveValues(directive, field.astNode);
      if (stated !== undefined) costs.set(field, stated as unknown as FieldCost);
      else if (length !== undefined) costs.set(field, { calls: 0, objects: length });
      else if (
        !isIntrospectionType(type) &&
        (field.resolve ?? field.subscribe) &&
        !('callsToFind' in field.extensions)
      ) {
        throw new Error(`${name} has a resolver, but no @cost in the schema`);
      }
    }
  }
  return costs;
});

function callsFor({ calls, pages, eventsCounted }: FieldCost, { has, ids = 1 }: Given, statisticsLimit: number) {
  if (eventsCounted) return calls + Math.ceil(statisticsLimit / maxPageSize);
  if (pages && has('last')) return 4;
  if (pages && has('after')) return 3;
  return calls * ids;
}

/**
 * Estimates the most that an operation can cost. Work that the gateway does once counts once, even if the document selects it several
 * times. What goes into the response counts as often as it occurs there. Lists count at their maximum length, and equal arguments that are written
 * differently count as different.
 * @param document valid, and within the limits of `checkDocument`.
 * @param variables coerced.
 * @param statisticsLimit `EVENT_STATISTICS_LIMIT`.
 * @throws GraphQLError for a variable that is null where an argument must not be: otherwise each object that has the field would report it.
 */
export function estimateCost(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
  statisticsLimit: number,
): OperationCost {
  const root = schema.getRootType(operation.operation) as GraphQLObjectType;
  const definitions = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  const fragments = new Map((definitions as FragmentDefinitionNode[]).map(each => [each.name.value, each]));
  const coerced = { coerced: variables, sources: {} };
  const costs = costsOf(schema);
  const argumentsOf = argumentReader(variables);
  const charges = new Map<string, number>();
  const filtered = new Map<string, number>();
  let values = 0;

  function walk(set: SelectionSetNode, type: GraphQLCompositeType, group: ObjectGroup): void {
    for (const selection of set.selections) {
      if (!shouldIncludeNode(coerced, selection)) continue;
      if (selection.kind === Kind.FIELD) {
        const field = fieldOf(type, selection.name.value);
        if (field !== undefined) walkField(selection, field, type, group);
        continue;
      }
      const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);
      if (fragment === undefined) continue;
      const condition = fragment.typeCondition?.name.value;
      const named = condition === undefined ? type : (schema.getType(condition) as GraphQLCompositeType);
      // Below a fragment on an interface, there may be one on another type.
      if (!doTypesOverlap(schema, type, named)) continue;
      if (getDeferValues(coerced, selection) !== undefined) values += group.times * deferredFragment;
      // An object stays what it is within a fragment on an interface.
      if (named === type || isObjectType(type)) walk(fragment.selectionSet, type, group);
      else walk(fragment.selectionSet, named, narrowTo(named, group, charges, statisticsLimit));
    }
  }

  function walkField(node: FieldNode, field: Field, type: GraphQLCompositeType, group: ObjectGroup): void {
    const isMutation = type === schema.getMutationType();
    const cost = costs.get(field) ?? noCost;
    const given = argumentsOf(node, { field, maxPage: cost.maxPage });
    // Mutations run one after the other and share no calls.
    const parent = isMutation ? `${node.alias?.value ?? field.name}:` : group.name;
    const path = `${parent}/${field.name}(${given.id})`;

    const calls = callsFor(cost, given, statisticsLimit);
    if (calls > 0) {
      const payer = (cost.per === 'Market' ? group.market : undefined) ?? group;
      const payers = payer.page === undefined ? payer.objects : payer.times;
      charges.set(cost.shares === undefined ? path : `${payer.name}/${cost.shares}`, calls * payers);
    }

    const { records: always = 0, recordsByArgument = 0 } = cost;
    const records = always + recordsByArgument * (Number(given.has('filter')) + Number(given.has('orderBy')));
    if (records > 0) filtered.set(path, records * group.objects);

    const isList = isListType(getNullableType(field.type));
    // What the lists of a connection hold, `objects` of the group counts already.
    const length = given.size ?? given.ids ?? cost.objects ?? (isList && group.page === undefined ? listLength : 1);
    const items = isList ? (group.page ?? length) : 1;
    const value = cost.values ?? (isIntrospectionType(type) ? introspectionValue : 1);
    values += group.times * (value * items + argumentValue * given.values);

    if (node.selectionSet === undefined) return;
    const below = getNamedType(field.type) as GraphQLCompositeType;
    // The nodes of a connection and those of its edges are the same objects.
    const isSameObject = (cost === noCost || group.page !== undefined) && field.args.length === 0;
    const objects = group.objects * length;
    const child: ObjectGroup = {
      name: isSameObject ? group.name : path,
      objects,
      times: group.times * items,
      page: given.size,
      // Also what a payload lists are the companies of one market.
      market: group.market ?? (cost.shares === 'companies' ? group : undefined),
      nodeTypes: given.nodeTypes,
    };
    // The market of an object within a market is the same market.
    const outer = field.name === 'market' ? group.market : undefined;
    const market = outer === undefined ? child : { ...child, name: outer.name, objects: outer.objects };
    walk(node.selectionSet, below, below.name === 'Market' ? { ...market, market } : child);
  }

  walk(operation.selectionSet, root, { name: '', objects: 1, times: 1, page: undefined, market: undefined });
  const sum = (amounts: ReadonlyMap<string, number>) => sumBy([...amounts.values()], amount => amount);
  return { calls: sum(charges), records: sum(filtered), values: Math.round(values) };
}

/** The group of a fragment on one of the possible types of an object, with as many of the objects as can have it; what finds them again is charged. */
function narrowTo(
  type: GraphQLNamedType,
  group: ObjectGroup,
  charges: Map<string, number>,
  statisticsLimit: number,
): ObjectGroup {
  const { nodeTypes } = group;
  // An object below a fragment on another interface is found by that on its type. One whose type nothing says has one of them, and pays once.
  if (!isObjectType(type) || nodeTypes === undefined) return group;
  const ofType = nodeTypes.filter(each => each === type.name || each === undefined).length;
  const shareOf = (count: number) => (nodeTypes.length === 0 ? count : (count * ofType) / nodeTypes.length);
  const narrowed = {
    ...group,
    // Fields of several types may have the same name.
    name: `${group.name}/... on ${type.name}`,
    objects: shareOf(group.objects),
    times: shareOf(group.times),
  };
  const callsToFind = fieldOf(type, 'nodeId')?.extensions.callsToFind as ((limit: number) => number) | undefined;
  charges.set(narrowed.name, (callsToFind?.(statisticsLimit) ?? 0) * narrowed.objects);
  return type.name === 'Market' ? { ...narrowed, market: narrowed } : narrowed;
}

type Given = ReturnType<ReturnType<typeof argumentReader>>;

/** Creates a function that reads the arguments of a field. It reads each node once, since a fragment may be spread often and its texts may be long. */
function argumentReader(variables: Readonly<Record<string, unknown>>) {
  const ids = new Map<string, number>();
  /** A list of a variable is the same object wherever the variable is used. */
  const sizeOfObject = oncePerValue((value: object): number => sumBy(Object.values(value), sizeOf));
  const nodeTypesOf = oncePerValue((ids: readonly string[]) =>
    ids.slice(0, listBounds['Query.nodes(nodeIds:)']).map(id => readNodeId(id)?.type),
  );
  const sizeOf = (value: unknown) => {
    if (typeof value === 'object' && value !== null) return sizeOfObject(value);
    return typeof value === 'string' ? sizeOfText(value) : 1;
  };

  return oncePerValue((node: FieldNode, { field, maxPage }: { field: Field; maxPage: number | undefined }) => {
    // Arguments with the same text have the same value within one operation.
    const text = (node.arguments ?? []).map(({ loc }) => loc?.source.body.slice(loc.start, loc.end)).join();
    const id = ids.get(text) ?? ids.size;
    ids.set(text, id);
    const values: Readonly<Record<string, unknown>> = getArgumentValues(field, node, variables);
    const list = values.ids ?? values.nodeIds;
    const nodeIds = values.nodeIds ?? (values.nodeId === undefined ? undefined : [values.nodeId]);
    const first = field.args.find(({ name }) => name === 'first');
    return {
      /** Equal for equal ones. */
      id,
      values: sumBy(Object.values(values), sizeOf),
      /** The size of the page, 0 to 100; undefined if the field is not paginated. A size that is null is the default, too. */
      size: first && countedSize(values.first ?? values.last ?? first.defaultValue, maxPage),
      /** Whether the client gives this argument, and not as null. */
      has: (name: string) => values[name] != null,
      /** The number of identifiers; undefined if the field takes no list of them. */
      ids: Array.isArray(list) ? list.length : undefined,
      nodeTypes: Array.isArray(nodeIds) ? nodeTypesOf(nodeIds) : undefined,
    };
  });
}

/** An invalid size counts as the largest; the field itself rejects it later. */
function countedSize(value: unknown = defaultPage, max = maxPageSize): number {
  return typeof value === 'number' && value >= 0 && value <= max ? value : max;
}

function sumBy<T>(items: readonly T[], size: (item: T) => number): number {
  return items.reduce((sum, item) => sum + size(item), 0);
}
