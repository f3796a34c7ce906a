import {
  type ArgumentNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getOperationAST,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  print,
  type SelectionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';
import { largestPage } from '../input.js';
import { type CountedArguments, callTable, type FieldCost } from './call-table.js';

/** A place in the answer: which objects stand there, and how many they can be. Objects of one `name` are the same objects. */
interface Place {
  readonly name: string;
  readonly objects: number;
  /** The market that they belong to. */
  readonly market: Place | undefined;
}

const nothing: FieldCost = { calls: 0 };
const mutation: FieldCost = { calls: 1 };

/**
 * The most upstream calls that an operation can cause where nothing is kept yet. What one request asks for once, however often it stands in
 * the document, counts once. An upper bound: lists count as long as they may be, and equal values written differently as different.
 * @param document valid, and within the bounds of `checkShape`.
 * @param variables as the client sent them.
 */
export function mostCalls(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Readonly<Record<string, unknown>> = {},
): number {
  const operation = getOperationAST(document, operationName);
  const root = operation && schema.getRootType(operation.operation);
  if (!operation || !root) return 0;

  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const read = (value: ValueNode) => plainOf(value, operation, variables);
  const argumentsOf = numberOfArguments();
  const charges = new Map<string, number>();

  function walk(set: SelectionSetNode, type: GraphQLNamedType, place: Place): void {
    for (const selection of set.selections) {
      if (isLeftOut(selection, read)) continue;
      if (selection.kind === Kind.FIELD) {
        const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[selection.name.value] : undefined;
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
    const cost = callTable[`${type.name}.${field.name}`] ?? (type === schema.getMutationType() ? mutation : nothing);
    const given = countedArguments(node, field, read);
    // Mutations run one after the other and share nothing.
    const before = type === schema.getMutationType() ? `${node.alias?.value ?? field.name}:` : at.name;
    const itself = `${before}/${field.name}(${argumentsOf(node)})`;

    const calls = typeof cost.calls === 'number' ? cost.calls : cost.calls(given);
    if (calls > 0) {
      const payer = (cost.per === 'Market' ? at.market : undefined) ?? at;
      charges.set(cost.shares === undefined ? itself : `${payer.name}/${cost.shares}`, calls * payer.objects);
    }

    if (node.selectionSet === undefined) return;
    const below = getNamedType(field.type);
    // The nodes of a connection and of its edges are the same objects.
    const isSameObject = cost === nothing && field.args.length === 0;
    const objects = at.objects * (given.first ?? cost.objects ?? 1);
    const name = isSameObject ? at.name : itself;
    const place = { name, objects, market: at.market };
    walk(node.selectionSet, below, below.name === 'Market' ? { ...place, market: place } : place);
  }

  walk(operation.selectionSet, root, { name: '', objects: 1, market: undefined });
  let sum = 0;
  for (const calls of charges.values()) sum += calls;
  return sum;
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
