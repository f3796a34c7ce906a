import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLFieldResolver,
  GraphQLID,
  GraphQLIncludeDirective,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  GraphQLString,
  getDirectiveValues,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from 'graphql';

/** What is asked of an object of one type: its fields in the order of the answer. */
export interface ObjectPlan {
  readonly type: GraphQLObjectType;
  readonly fields: readonly FieldPlan[];
  /** Makes an answer's object, which has no members but those that are asked for. */
  readonly Answer: new () => Record<string, unknown>;
}

/** One field of the answer. */
export interface FieldPlan {
  /** Its name in the answer. */
  readonly key: string;
  readonly name: string;
  readonly definition: GraphQLField<unknown, unknown>;
  readonly parentType: GraphQLObjectType;
  /** Where it stands in the document; in more than one place where selections were merged. */
  readonly nodes: readonly [FieldNode, ...FieldNode[]];
  /** Undefined: the property of its name is its value. */
  readonly resolve: GraphQLFieldResolver<unknown, unknown> | undefined;
  readonly value: ValuePlan;
  /** Whether a string is the answer as it stands. */
  readonly isText: boolean;
}

/** How a value is made into what stands in the answer. */
export type ValuePlan = { readonly nonNull: boolean } & (
  | { readonly kind: 'leaf'; readonly type: GraphQLLeafType }
  | { readonly kind: 'list'; readonly type: GraphQLOutputType; readonly item: ValuePlan }
  | { readonly kind: 'object'; readonly object: ObjectPlan }
);

/** What a plan is made for. */
export interface PlanDeps {
  readonly schema: GraphQLSchema;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly operation: OperationDefinitionNode;
  /** As they were coerced; of these, only those matter that stand in `@skip` and `@include`. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** A plan, and its size in fields. */
export interface Plan {
  readonly root: ObjectPlan;
  readonly size: number;
}

/**
 * What to do for an operation, worked out once.
 * @param parts of a valid document.
 * @returns undefined where that cannot be known before there are values: for types that are not object types.
 */
export function planOf({ schema, fragments, operation, variables }: PlanDeps): Plan | undefined {
  const rootType = schema.getRootType(operation.operation);
  let size = 1;

  function objectPlan(type: GraphQLObjectType, sets: readonly SelectionSetNode[]): ObjectPlan {
    if (type.isTypeOf != null) throw new Unplannable();
    const nodes = new Map<string, [FieldNode, ...FieldNode[]]>();
    const spread = new Set<string>();
    for (const set of sets) collect(type, set, nodes, spread);
    size += nodes.size;
    return { type, fields: [...nodes].map(([key, of]) => fieldPlan(type, key, of)), Answer: answerClass() };
  }

  function collect(
    type: GraphQLObjectType,
    set: SelectionSetNode,
    nodes: Map<string, [FieldNode, ...FieldNode[]]>,
    spread: Set<string>,
  ): void {
    for (const selection of set.selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD && spread.has(selection.name.value)) continue;
      if (isLeftOut(selection)) continue;
      if (selection.kind === Kind.FIELD) {
        const key = selection.alias?.value ?? selection.name.value;
        const before = nodes.get(key);
        if (before === undefined) nodes.set(key, [selection]);
        else before.push(selection);
        continue;
      }
      if (selection.kind === Kind.FRAGMENT_SPREAD) spread.add(selection.name.value);
      const part = selection.kind === Kind.FRAGMENT_SPREAD ? fragments[selection.name.value] : selection;
      const condition = part?.typeCondition?.name.value;
      if (part === undefined || (condition !== undefined && !isOf(type, condition))) continue;
      collect(type, part.selectionSet, nodes, spread);
    }
  }

  function isLeftOut(selection: SelectionNode): boolean {
    if (selection.directives === undefined || selection.directives.length === 0) return false;
    return (
      getDirectiveValues(GraphQLSkipDirective, selection, variables)?.if === true ||
      getDirectiveValues(GraphQLIncludeDirective, selection, variables)?.if === false
    );
  }

  function isOf(type: GraphQLObjectType, condition: string): boolean {
    if (type.name === condition) return true;
    if (!isObjectType(schema.getType(condition))) throw new Unplannable();
    return false;
  }

  function fieldPlan(parentType: GraphQLObjectType, key: string, nodes: FieldPlan['nodes']): FieldPlan {
    const definition = definitionOf(parentType, nodes[0].name.value);
    const value = valuePlan(definition.type, nodes);
    const { resolve } = definition;
    const isText = resolve === undefined && value.kind === 'leaf' && texts.has(value.type);
    return { key, name: definition.name, definition, parentType, nodes, resolve, value, isText };
  }

  function definitionOf(parentType: GraphQLObjectType, name: string): GraphQLField<unknown, unknown> {
    if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef;
    if (parentType === schema.getQueryType()) {
      if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef;
      if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef;
    }
    const definition = parentType.getFields()[name];
    if (definition === undefined) throw new Unplannable();
    return definition;
  }

  function valuePlan(type: GraphQLOutputType, nodes: FieldPlan['nodes'], nonNull = false): ValuePlan {
    if (isNonNullType(type)) return valuePlan(type.ofType, nodes, true);
    if (isListType(type)) return { kind: 'list', nonNull, type: type.ofType, item: valuePlan(type.ofType, nodes) };
    if (isLeafType(type)) return { kind: 'leaf', nonNull, type };
    if (!isObjectType(type)) throw new Unplannable();
    const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    return { kind: 'object', nonNull, object: objectPlan(type, sets) };
  }

  try {
    return rootType == null ? undefined : { root: objectPlan(rootType, [operation.selectionSet]), size };
  } catch (error) {
    if (error instanceof Unplannable) return undefined;
    throw error;
  }
}

class Unplannable extends Error {}

/** Scalars that leave a string as it is. */
const texts: ReadonlySet<unknown> = new Set([GraphQLString, GraphQLID]);

const nothing = Object.freeze(Object.create(null));

/** A class for each plan, so that its objects have one layout. They inherit nothing: an alias may be called as anything is. */
function answerClass(): ObjectPlan['Answer'] {
  const Answer = function Answer() {} as unknown as ObjectPlan['Answer'];
  (Answer as { prototype: unknown }).prototype = nothing;
  return Answer;
}
