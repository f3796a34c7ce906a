// Plans an operation: which fields to execute on each object, and how to complete their values.
import { doesFragmentConditionMatch, getDeferValues, shouldIncludeNode } from '@graphql-tools/utils';
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
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { fieldOf } from '../input.js';

/** The fields to execute on an object of one type, in the order of the response. */
export interface ObjectPlan {
  readonly fields: readonly FieldPlan[];
  readonly Response: new () => Record<string, unknown>;
  /** What a response object takes in JSON besides its values, in characters. */
  readonly length: number;
  readonly deferred: DeferPlan | undefined;
}

export interface DeferPlan {
  /** The deferred fragments that begin at this object, outer ones first. */
  readonly fragments: readonly DeferredFragment[];
  readonly groups: readonly DeferredGroup[];
}

/** One `@defer` of the document, on objects at one place of the plan. */
export interface DeferredFragment {
  readonly label: string | undefined;
  readonly parent: DeferredFragment | undefined;
}

/** Fields of an object that exactly the same deferred fragments select. They are executed together, once, whichever fragment needs them first. */
interface DeferredGroup {
  readonly of: ReadonlySet<DeferredFragment>;
  readonly plan: ObjectPlan;
}

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
}

/** How a resolved value is turned into a value of the response. */
export type ValuePlan = {
  readonly nonNull: boolean;
} /** `isText`: whether a string goes into the response unchanged. */ & (
  | { readonly kind: 'leaf'; readonly type: GraphQLLeafType; readonly isText: boolean }
  | { readonly kind: 'list'; readonly item: ValuePlan }
  | { readonly kind: 'object'; readonly object: ObjectPlan }
  | {
      readonly kind: 'abstract';
      readonly type: GraphQLAbstractType;
      /** By the name of the object's type. */
      readonly objects: ReadonlyMap<string, ObjectPlan>;
    }
);

export type LeafPlan = Extract<ValuePlan, { kind: 'leaf' }>;

/** An operation of a valid document, and what it is executed with. */
export interface PlannableOperation {
  readonly schema: GraphQLSchema;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly operation: OperationDefinitionNode;
  /** Coerced. A plan depends only on those that `@skip`, `@include` and `@defer` use. */
  readonly variables: Readonly<Record<string, unknown>>;
}

export interface OperationPlan {
  readonly root: ObjectPlan;
  /** In fields. */
  readonly size: number;
}

/**
 * Works out once what graphql-js works out for each object: which fields to execute, and how to complete their values.
 * @param defers whether `@defer` is honored. If not, a deferred fragment is a fragment like any other.
 */
export function planOperation(input: PlannableOperation, defers: boolean): OperationPlan {
  const { schema, operation } = input;
  const collect = createCollector(input, defers);
  let size = 1;

  /** @param now the deferred fragments that this object is executed for; empty where it is in the first part. */
  function planObject(
    type: GraphQLObjectType,
    sets: readonly Selected<SelectionSetNode>[],
    now: Fragments,
  ): ObjectPlan {
    const { nodes, deferred } = collect(type, sets);
    size += nodes.size;
    const fields: FieldPlan[] = [];
    const groups: { readonly of: Fragments; readonly fields: FieldPlan[] }[] = [];
    for (const [key, selected] of nodes) {
      const of = fragmentsOf(selected);
      const field = planField(type, key, selected, of);
      const group = isSame(of, now) ? { fields } : groups.find(each => isSame(each.of, of));
      if (group === undefined) groups.push({ of, fields: [field] });
      else group.fields.push(field);
    }
    if (deferred.length === 0 && groups.length === 0) return planOf(fields, undefined);
    const later = groups.map(group => ({ of: group.of, plan: planOf(group.fields, undefined) }));
    return planOf(fields, { fragments: deferred, groups: later });
  }

  function planField(parentType: GraphQLObjectType, key: string, selected: SelectedFields, now: Fragments): FieldPlan {
    const nodes = selected.map(({ node }) => node) as [FieldNode, ...FieldNode[]];
    // A valid document has no other fields.
    const definition = fieldOf(parentType, nodes[0].name.value) as GraphQLField<unknown, unknown>;
    const sets = selected.flatMap(({ node: { selectionSet }, within }) =>
      selectionSet === undefined ? [] : { node: selectionSet, within },
    );
    const value = planValue(definition.type, sets, now);
    return { key, name: definition.name, definition, parentType, nodes, resolve: definition.resolve, value };
  }

  function planValue(
    type: GraphQLOutputType,
    sets: readonly Selected<SelectionSetNode>[],
    now: Fragments,
    nonNull = false,
  ): ValuePlan {
    if (isNonNullType(type)) return planValue(type.ofType, sets, now, true);
    if (isListType(type)) return { kind: 'list', nonNull, item: planValue(type.ofType, sets, now) };
    if (isLeafType(type)) return { kind: 'leaf', nonNull, type, isText: textScalars.has(type) };
    if (isObjectType(type)) return { kind: 'object', nonNull, object: planObject(type, sets, now) };
    const objects = schema.getPossibleTypes(type).map(each => [each.name, planObject(each, sets, now)] as const);
    return { kind: 'abstract', nonNull, type, objects: new Map(objects) };
  }

  // A valid operation has a type.
  const rootType = schema.getRootType(operation.operation) as GraphQLObjectType;
  const root = planObject(rootType, [{ node: operation.selectionSet, within: undefined }], new Set());
  return { root, size };
}

/** A node of the document, and the innermost deferred fragment that it is in. */
interface Selected<Node> {
  readonly node: Node;
  readonly within: DeferredFragment | undefined;
}

type SelectedFields = readonly Selected<FieldNode>[];
type Fragments = ReadonlySet<DeferredFragment>;

/** Finds what selection sets select on an object of one type: its fields by their keys, and the deferred fragments that begin at it. */
function createCollector({ schema, fragments, variables: coerced }: PlannableOperation, defers: boolean) {
  const variables = { coerced, sources: {} };
  return (type: GraphQLObjectType, sets: readonly Selected<SelectionSetNode>[]) => {
    const nodes = new Map<string, Selected<FieldNode>[]>();
    /** The named fragments that were collected already, by the deferred fragment around them. */
    const visited = new Map<DeferredFragment | undefined, Set<string>>();
    const deferred: DeferredFragment[] = [];

    function collect(set: SelectionSetNode, within: DeferredFragment | undefined): void {
      for (const selection of set.selections) {
        if (!shouldIncludeNode(variables, selection)) continue;
        if (selection.kind === Kind.FIELD) {
          const key = selection.alias?.value ?? selection.name.value;
          const sameKey = nodes.get(key);
          if (sameKey === undefined) nodes.set(key, [{ node: selection, within }]);
          else sameKey.push({ node: selection, within });
          continue;
        }
        const isInline = selection.kind === Kind.INLINE_FRAGMENT;
        const fragment = isInline ? selection : fragments[selection.name.value];
        if (fragment === undefined || !doesFragmentConditionMatch(schema, fragment, type)) continue;
        const defer = defers ? getDeferValues(variables, selection) : undefined;
        if (defer !== undefined) {
          const started = { label: defer.label, parent: within };
          deferred.push(started);
          collect(fragment.selectionSet, started);
          continue;
        }
        if (!isInline) {
          const names = visited.get(within) ?? new Set();
          if (names.has(selection.name.value)) continue;
          visited.set(within, names.add(selection.name.value));
        }
        collect(fragment.selectionSet, within);
      }
    }

    for (const { node, within } of sets) collect(node, within);
    return { nodes, deferred };
  };
}

/** The outermost deferred fragments that select a field; empty where it is selected outside of them as well. */
function fragmentsOf(selected: SelectedFields): Fragments {
  const all = new Set<DeferredFragment>();
  for (const { within } of selected) {
    if (within === undefined) return noFragments;
    all.add(within);
  }
  return new Set([...all].filter(({ parent }) => !isWithin(parent, all)));
}

const noFragments: Fragments = new Set();

function isWithin(fragment: DeferredFragment | undefined, fragments: Fragments): boolean {
  return fragment !== undefined && (fragments.has(fragment) || isWithin(fragment.parent, fragments));
}

const isSame = (one: Fragments, other: Fragments) => one.size === other.size && [...one].every(each => other.has(each));

/** Scalars that serialize a string as itself. */
const textScalars: ReadonlySet<unknown> = new Set([GraphQLString, GraphQLID]);

const noProperties = Object.freeze(Object.create(null));

const planOf = (fields: readonly FieldPlan[], deferred: DeferPlan | undefined): ObjectPlan => ({
  fields,
  Response: responseClass(),
  length: fields.reduce((sum, { key }) => sum + key.length + 4, 2),
  deferred,
});

/** A class of its own for each plan, so that V8 gives its objects one layout. It inherits nothing, since an alias can be any name. */
function responseClass(): ObjectPlan['Response'] {
  const Response = function Response() {} as unknown as ObjectPlan['Response'];
  (Response as { prototype: unknown }).prototype = noProperties;
  return Response;
}
