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
  getOperationAST,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isObjectType,
  Kind,
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
import { largestPage } from '../input.js';
import { type CountedArguments, callTable, type FieldCost, introspectionTable, listLength } from './call-table.js';

/** What an operation can cost at most. */
export interface OperationCost {
  /** Upstream calls, where nothing is kept yet. */
  readonly calls: number;
  /** Records that the gateway looks through by itself, once for each selection of them. */
  readonly records: number;
  /** Values that the gateway reads out of arguments and writes into the answer. */
  readonly values: number;
}

/** A place in the answer: which objects stand there, and how many they can be. Objects of one `name` are the same objects. */
interface Place {
  readonly name: string;
  /** As many as can stand there; of a connection, as many as stand on its page. */
  readonly objects: number;
  /** How often the object itself stands in the answer: once for a connection, whatever is on its page. */
  readonly times: number;
  /** Whether it is a connection, whose lists are as long as its page. */
  readonly isPage: boolean;
  /** The market that they belong to. */
  readonly market: Place | undefined;
}

/** A value of an argument is checked, compared and looked up: it takes as long as this many of an answer. */
const argumentValue = 2;
/** A field of the schema itself is worked out, where others are there. */
const introspectionValue = 2;
const nothing: FieldCost = { calls: 0 };
const mutation: FieldCost = { calls: 1 };

const tableFor = oncePerValue((schema: GraphQLSchema) => ({ ...callTable, ...introspectionTable(schema) }));

/**
 * The most that an operation can cost. What one request loads or selects once, however often it stands in the document, counts once; what is
 * written into the answer, as often as it stands there. Lists count as long as they may be, and equal values written differently as different.
 * @param document valid, and within the bounds of `checkShape`.
 * @param variables as the client sent them.
 */
export function estimateCost(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Readonly<Record<string, unknown>> = {},
): OperationCost {
  const operation = getOperationAST(document, operationName);
  const root = operation && schema.getRootType(operation.operation);
  if (!operation || !root) return { calls: 0, records: 0, values: 0 };

  const table = tableFor(schema);

  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const read = (value: ValueNode) => plainOf(value, operation, variables);
  const argumentsOf = numberOfArguments();
  const sizeOf = sizeOfArguments(operation, variables);
  const charges = new Map<string, number>();
  const lookedThrough = new Map<string, number>();
  let values = 0;

  function walk(set: SelectionSetNode, type: GraphQLNamedType, place: Place): void {
    for (const selection of set.selections) {
      if (isLeftOut(selection, read)) continue;
      if (selection.kind === Kind.FIELD) {
        const field = fieldOf(type, selection.name.value);
        if (field !== undefined) walkField(selection, field, type, place);
        continue;
      }
      const part = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);
      if (part === undefined) continue;
      const condition = part.typeCondition?.name.value;
      walk(part.selectionSet, (condition !== undefined && schema.getType(condition)) || type, place);
    }
  }

  function walkField(node: FieldNode, field: GraphQLField<unknown, unknown>, type: GraphQLNamedType, at: Place): void {
    const cost = table[`${type.name}.${field.name}`] ?? (type === schema.getMutationType() ? mutation : nothing);
    const given = countedArguments(node, field, read);
    // Mutations run one after the other and share nothing.
    const before = type === schema.getMutationType() ? `${node.alias?.value ?? field.name}:` : at.name;
    const itself = `${before}/${field.name}(${argumentsOf(node)})`;

    const calls = typeof cost.calls === 'number' ? cost.calls : cost.calls(given);
    if (calls > 0) {
      const payer = (cost.per === 'Market' ? at.market : undefined) ?? at;
      charges.set(cost.shares === undefined ? itself : `${payer.name}/${cost.shares}`, calls * payer.objects);
    }

    const records = cost.records?.(given) ?? 0;
    if (records > 0) lookedThrough.set(itself, records * at.objects);

    const isList = isListType(getNullableType(field.type));
    // A page's length is told by its `first`, and stands in `objects` of its connection.
    const length = given.first ?? cost.objects ?? (isList && !at.isPage ? listLength : 1);
    values +=
      at.times *
      ((cost.values ?? (isIntrospectionType(type) ? introspectionValue : 1)) * (isList ? length : 1) +
        argumentValue * sizeOf(node));

    if (node.selectionSet === undefined) return;
    const below = getNamedType(field.type);
    // The nodes of a connection and of its edges are the same objects.
    const isSameObject = cost === nothing && field.args.length === 0;
    const objects = at.objects * length;
    const name = isSameObject ? at.name : itself;
    const times = isList ? objects : at.times;
    const place = { name, objects, times, isPage: given.first !== undefined, market: at.market };
    walk(node.selectionSet, below, below.name === 'Market' ? { ...place, market: place } : place);
  }

  walk(operation.selectionSet, root, { name: '', objects: 1, times: 1, isPage: false, market: undefined });
  return { calls: sumOf(charges), records: sumOf(lookedThrough), values: Math.round(values) };
}

function sumOf(charges: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const charge of charges.values()) sum += charge;
  return sum;
}

const metaFields = new Map(
  [SchemaMetaFieldDef, TypeMetaFieldDef, TypeNameMetaFieldDef].map(field => [field.name, field] as const),
);

function fieldOf(type: GraphQLNamedType, name: string): GraphQLField<unknown, unknown> | undefined {
  const own = isObjectType(type) || isInterfaceType(type) ? type.getFields()[name] : undefined;
  return own ?? metaFields.get(name);
}

type Read = (value: ValueNode) => unknown;

function countedArguments(node: FieldNode, field: GraphQLField<unknown, unknown>, read: Read): CountedArguments {
  const valueFor = (name: string) => {
    const given = node.arguments?.find(argument => argument.name.value === name);
    return given && read(given.value);
  };
  const first = field.args.find(({ name }) => name === 'first');
  return {
    first: first && pageSize(valueFor('first') ?? first.defaultValue),
    after: valueFor('after') != null,
    filter: valueFor('filter') != null,
  };
}

/** What is no size is refused by its field, and reckoned with as the largest until then. */
function pageSize(value: unknown): number {
  return typeof value === 'number' && value >= 0 && value <= largestPage ? value : largestPage;
}

function isLeftOut({ directives }: SelectionNode, read: Read): boolean {
  return (directives ?? []).some(({ name, arguments: given }) => {
    const condition = given?.find(argument => argument.name.value === 'if');
    if (condition === undefined) return false;
    return (
      (name.value === 'skip' && read(condition.value) === true) ||
      (name.value === 'include' && read(condition.value) === false)
    );
  });
}

/** A number, a boolean, null, or what a variable stands for; anything else is of no interest here but that it is there. */
function plainOf(
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
      return definition?.defaultValue && plainOf(definition.defaultValue, operation, {});
    }
    default:
      return value;
  }
}

/**
 * A number for the arguments of a field, the same for the same text: within one request, equal texts are equal values. Each text is looked at
 * once, since it may be long.
 */
function numberOfArguments(): (node: FieldNode) => number {
  const ofNodes = new Map<FieldNode, number>();
  const ofTexts = new Map<string, number>();
  return node => {
    let number = ofNodes.get(node);
    if (number === undefined) {
      const text = textOf(node.arguments);
      number = ofTexts.get(text) ?? ofTexts.size;
      ofTexts.set(text, number);
      ofNodes.set(node, number);
    }
    return number;
  };
}

function textOf(given: readonly ArgumentNode[] | undefined): string {
  return (given ?? [])
    .map(argument => {
      const { loc } = argument;
      return loc === undefined ? print(argument) : loc.source.body.slice(loc.start, loc.end);
    })
    .join();
}

/** How many values the arguments of a field hold, those in its variables included. */
function sizeOfArguments(
  operation: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): (node: FieldNode) => number {
  const ofNodes = new Map<FieldNode, number>();
  const ofVariables = new Map<string, number>();

  function ofLiteral(value: ValueNode): number {
    switch (value.kind) {
      case Kind.LIST:
        return sumBy(value.values, ofLiteral);
      case Kind.OBJECT:
        return sumBy(value.fields, field => ofLiteral(field.value));
      case Kind.VARIABLE: {
        const name = value.name.value;
        const size = ofVariables.get(name) ?? ofVariable(name);
        ofVariables.set(name, size);
        return size;
      }
      default:
        return 1;
    }
  }

  function ofVariable(name: string): number {
    if (Object.hasOwn(variables, name)) return ofPlain(variables[name]);
    const definition = operation.variableDefinitions?.find(({ variable }) => variable.name.value === name);
    return definition?.defaultValue === undefined ? 1 : ofLiteral(definition.defaultValue);
  }

  return node => {
    const size = ofNodes.get(node) ?? sumBy(node.arguments ?? [], argument => ofLiteral(argument.value));
    ofNodes.set(node, size);
    return size;
  };
}

function ofPlain(value: unknown): number {
  return typeof value === 'object' && value !== null ? sumBy(Object.values(value), ofPlain) : 1;
}

function sumBy<T>(items: readonly T[], size: (item: T) => number): number {
  return items.reduce((sum, item) => sum + size(item), 0);
}
