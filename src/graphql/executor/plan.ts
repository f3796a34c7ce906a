import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLAbstractType,
  type GraphQLField,
  type GraphQLFieldResolver,
  GraphQLID,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  GraphQLString,
  type InlineFragmentNode,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from 'graphql';
import { isSkipped } from '../input.js';

/** The fields to execute on an object of one type, in the order of the response. */
export interface ObjectPlan {
  readonly fields: readonly FieldPlan[];
  /** Creates an empty object for the response. */
  readonly Response: new () => Record<string, unknown>;
}

/** One field of the response. */
export interface FieldPlan {
  /** Its alias, or its name. */
  readonly key: string;
  readonly name: string;
  readonly definition: GraphQLField<unknown, unknown>;
  readonly parentType: GraphQLObjectType;
  /** The field's places in the document: several where selections were merged. */
  readonly nodes: readonly [FieldNode, ...FieldNode[]];
  /** Undefined: the value is the property of the same name. */
  readonly resolve: GraphQLFieldResolver<unknown, unknown> | undefined;
  readonly value: ValuePlan;
  /** Whether a string property goes into the response unchanged. */
  readonly isPlainText: boolean;
}

/** How a resolved value is turned into a value of the response. */
export type ValuePlan = { readonly nonNull: boolean } & (
  | { readonly kind: 'leaf'; readonly type: GraphQLLeafType }
  | { readonly kind: 'list'; readonly item: ValuePlan }
  | { readonly kind: 'object'; readonly object: ObjectPlan }
  | {
      readonly kind: 'abstract';
      readonly type: GraphQLAbstractType;
      /** By the name of the object's type. */
      readonly objects: ReadonlyMap<string, ObjectPlan>;
    }
);

/** An operation of a valid document, and what it is executed with. */
export interface PlannableOperation {
  readonly schema: GraphQLSchema;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly operation: OperationDefinitionNode;
  /** Coerced. A plan depends only on those that `@skip` and `@include` use. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** How to execute an operation. */
export interface OperationPlan {
  readonly root: ObjectPlan;
  /** In fields. */
  readonly size: number;
}

/**
 * Works out once what graphql-js works out for each object: which fields to execute, and how to complete their values.
 * @returns undefined where that depends on values.
 */
export function planOperation({
  schema,
  fragments,
  operation,
  variables,
}: PlannableOperation): OperationPlan | undefined {
  const rootType = schema.getRootType(operation.operation);
  let size = 1;

  function planObject(type: GraphQLObjectType, sets: readonly SelectionSetNode[]): ObjectPlan {
    if (type.isTypeOf != null) throw new Unplannable();
    const nodes: NodesByKey = new Map();
    const visitedFragments = new Set<string>();
    for (const set of sets) collectFields(type, set, nodes, visitedFragments);
    size += nodes.size;
    return { fields: [...nodes].map(([key, of]) => planField(type, key, of)), Response: responseClass() };
  }

  function collectFields(
    type: GraphQLObjectType,
    set: SelectionSetNode,
    nodes: NodesByKey,
    visitedFragments: Set<string>,
  ): void {
    for (const selection of set.selections) {
      if (isSkipped(selection, variables)) continue;
      if (selection.kind === Kind.FIELD) {
        const key = selection.alias?.value ?? selection.name.value;
        const sameKey = nodes.get(key);
        if (sameKey === undefined) nodes.set(key, [selection]);
        else sameKey.push(selection);
        continue;
      }
      let fragment: InlineFragmentNode | FragmentDefinitionNode | undefined;
      if (selection.kind === Kind.INLINE_FRAGMENT) fragment = selection;
      else if (!visitedFragments.has(selection.name.value)) {
        visitedFragments.add(selection.name.value);
        fragment = fragments[selection.name.value];
      }
      if (fragment !== undefined && applies(fragment, type)) {
        collectFields(type, fragment.selectionSet, nodes, visitedFragments);
      }
    }
  }

  function applies({ typeCondition }: InlineFragmentNode | FragmentDefinitionNode, type: GraphQLObjectType): boolean {
    if (typeCondition === undefined || typeCondition.name.value === type.name) return true;
    const condition = schema.getType(typeCondition.name.value);
    return isAbstractType(condition) && schema.isSubType(condition, type);
  }

  function planField(parentType: GraphQLObjectType, key: string, nodes: FieldPlan['nodes']): FieldPlan {
    const definition = definitionOf(parentType, nodes[0].name.value);
    const value = planValue(definition.type, nodes);
    const { resolve } = definition;
    const isPlainText = resolve === undefined && value.kind === 'leaf' && textScalars.has(value.type);
    return { key, name: definition.name, definition, parentType, nodes, resolve, value, isPlainText };
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

  function planValue(type: GraphQLOutputType, nodes: FieldPlan['nodes'], nonNull = false): ValuePlan {
    if (isNonNullType(type)) return planValue(type.ofType, nodes, true);
    if (isListType(type)) return { kind: 'list', nonNull, item: planValue(type.ofType, nodes) };
    if (isLeafType(type)) return { kind: 'leaf', nonNull, type };
    const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    if (isObjectType(type)) return { kind: 'object', nonNull, object: planObject(type, sets) };
    const objects = schema.getPossibleTypes(type).map(each => [each.name, planObject(each, sets)] as const);
    return { kind: 'abstract', nonNull, type, objects: new Map(objects) };
  }

  try {
    return rootType == null ? undefined : { root: planObject(rootType, [operation.selectionSet]), size };
  } catch (error) {
    if (error instanceof Unplannable) return undefined;
    throw error;
  }
}

type NodesByKey = Map<string, [FieldNode, ...FieldNode[]]>;

class Unplannable extends Error {}

/** Scalars that serialize a string as itself. */
const textScalars: ReadonlySet<unknown> = new Set([GraphQLString, GraphQLID]);

const noProperties = Object.freeze(Object.create(null));

/** A class of its own for each plan, so that V8 gives its objects one layout. It inherits nothing, since an alias can be any name. */
function responseClass(): ObjectPlan['Response'] {
  const Response = function Response() {} as unknown as ObjectPlan['Response'];
  (Response as { prototype: unknown }).prototype = noProperties;
  return Response;
}
