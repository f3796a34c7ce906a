import {
  type ExecutionResult,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  locatedError,
  type OperationDefinitionNode,
  responsePathAsArray,
} from 'graphql';
import type { MaybePromise } from '../../lib/maybe-promise.js';
import { type Completion, type Path, PendingValue, Unfinished } from './pending-value.js';
import type { FieldPlan, ObjectPlan, Plan, ValuePlan } from './plan.js';

/** One execution of a plan. */
export interface PlanRun {
  readonly schema: GraphQLSchema;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly operation: OperationDefinitionNode;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly context: unknown;
}

/**
 * Executes a plan, step by step as graphql-js would: the same resolvers in the same order, and the same errors in the same order.
 * @returns the result, now where all of it is there now; a promise of it never rejects.
 */
export function runPlan(plan: Plan, run: PlanRun): MaybePromise<ExecutionResult> {
  return new Running(run).result(plan.root);
}

const noArguments = Object.freeze({});

class Running implements Completion {
  readonly #run: PlanRun;
  readonly #errors: GraphQLError[] = [];
  /** Where errors made nulls; undefined stands for the whole answer. */
  readonly #nulls = new Set<Path | undefined>();

  readonly #given = new Map<FieldPlan, Record<string, unknown>>();

  constructor(run: PlanRun) {
    this.#run = run;
  }

  result(root: ObjectPlan): MaybePromise<ExecutionResult> {
    const failed = (error: unknown) => {
      this.#note(error as GraphQLError, undefined);
      return this.#answer(null);
    };
    try {
      const data = this.#object(root, undefined, undefined);
      if (!(data instanceof Unfinished)) return this.#answer(data);
      return new Promise(resolve => {
        const put = (done: unknown) => resolve(this.#answer(done as ExecutionResult['data']));
        data.place = { turns: 1, put, fail: error => resolve(failed(error)) };
      });
    } catch (error) {
      return failed(error);
    }
  }

  #answer(data: ExecutionResult['data']): ExecutionResult {
    return this.#errors.length === 0 ? { data: data ?? null } : { errors: this.#errors, data: data ?? null };
  }

  #object(
    { fields, Answer }: ObjectPlan,
    source: unknown,
    path: Path | undefined,
  ): Record<string, unknown> | Unfinished {
    const answer = new Answer();
    const owner = typeof source === 'object' && source !== null ? (source as Record<string, unknown>) : undefined;
    let unfinished: Unfinished | undefined;
    try {
      for (const field of fields) {
        const { key } = field;
        if (field.isText && owner !== undefined) {
          const text = owner[field.name];
          if (typeof text === 'string' || (text === null && !field.value.nonNull)) {
            answer[key] = text;
            continue;
          }
        }
        const value = this.#field(field, source, path);
        answer[key] = value;
        if (!(value instanceof PendingValue)) continue;
        unfinished ??= new Unfinished(answer);
        unfinished.waitFor(value);
      }
    } catch (error) {
      if (unfinished === undefined) throw error;
      unfinished.doom(error);
    }
    return unfinished ?? answer;
  }

  #field(field: FieldPlan, source: unknown, above: Path | undefined): unknown {
    const path: Path = { prev: above, key: field.key, typename: field.parentType.name };
    try {
      return this.#placed(field, field.value, path, this.#resolved(field, source, path));
    } catch (error) {
      return this.failed(error, field, field.value, path);
    }
  }

  #item(field: FieldPlan, plan: ValuePlan, path: Path, value: unknown): unknown {
    try {
      return this.#placed(field, plan, path, value);
    } catch (error) {
      return this.failed(error, field, plan, path);
    }
  }

  /** What stands in the place of a value; a slot where that is not there yet. */
  #placed(field: FieldPlan, plan: ValuePlan, path: Path, value: unknown): unknown {
    if (isPromise(value)) {
      const slot = new PendingValue(this, field, plan, path, 2);
      slot.take(value);
      return slot;
    }
    const completed = this.complete(field, plan, path, value);
    if (!(completed instanceof Unfinished)) return completed;
    const slot = new PendingValue(this, field, plan, path, 1);
    completed.place = slot;
    return slot;
  }

  #resolved(field: FieldPlan, source: unknown, path: Path): unknown {
    const { definition, resolve } = field;
    const { context } = this.#run;
    if (resolve !== undefined) return resolve(source, this.#arguments(field), context, this.#info(field, path));
    if (typeof source !== 'object' && typeof source !== 'function') return undefined;
    const property = (source as Record<string, unknown> | null)?.[definition.name];
    if (typeof property !== 'function') return property;
    return property.call(source, this.#arguments(field), context, this.#info(field, path));
  }

  /** Made once for all objects that the field is asked of. */
  #arguments(field: FieldPlan): Record<string, unknown> {
    const { definition, nodes } = field;
    if (definition.args.length === 0) return noArguments;
    let given = this.#given.get(field);
    if (given === undefined) {
      given = getArgumentValues(definition, nodes[0], this.#run.variables);
      this.#given.set(field, given);
    }
    return given;
  }

  #info({ definition, nodes, parentType }: FieldPlan, path: Path): GraphQLResolveInfo {
    const { schema, fragments, operation, variables } = this.#run;
    return {
      fieldName: definition.name,
      fieldNodes: nodes,
      returnType: definition.type,
      parentType,
      path,
      schema,
      fragments,
      rootValue: undefined,
      operation,
      variableValues: variables as GraphQLResolveInfo['variableValues'],
    };
  }

  complete(field: FieldPlan, plan: ValuePlan, path: Path, value: unknown): unknown {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) {
      if (!plan.nonNull) return null;
      throw new Error(`Cannot return null for non-nullable field ${coordinateOf(field)}.`);
    }
    switch (plan.kind) {
      case 'leaf':
        return leaf(plan.type, value);
      case 'list':
        return this.#list(field, plan.item, path, value);
      case 'object':
        return this.#object(plan.object, value, path);
    }
  }

  #list(field: FieldPlan, item: ValuePlan, path: Path, values: unknown): unknown {
    if (!isIterable(values)) {
      throw new GraphQLError(`Expected Iterable, but did not find one for field "${coordinateOf(field)}".`);
    }
    const items: unknown[] = [];
    let unfinished: Unfinished | undefined;
    for (const value of values) {
      const key = items.length;
      const completed = this.#item(field, item, { prev: path, key, typename: undefined }, value);
      items.push(completed);
      if (!(completed instanceof PendingValue)) continue;
      unfinished ??= new Unfinished(items);
      unfinished.waitFor(completed);
    }
    return unfinished ?? items;
  }

  /** The null that stands for what failed. @throws the error, where null may not stand there. */
  failed(thrown: unknown, { nodes }: FieldPlan, { nonNull }: ValuePlan, path: Path): null {
    const error = locatedError(thrown, nodes, responsePathAsArray(path));
    if (nonNull) throw error;
    this.#note(error, path);
    return null;
  }

  /** Takes an error down, unless what it happened in is null already. */
  #note(error: GraphQLError, path: Path | undefined): void {
    for (let at = path; at !== undefined; at = at.prev) if (this.#nulls.has(at)) return;
    if (this.#nulls.has(undefined)) return;
    this.#nulls.add(path);
    this.#errors.push(error);
  }
}

function leaf(type: Extract<ValuePlan, { kind: 'leaf' }>['type'], value: unknown): unknown {
  const serialized = type.serialize(value);
  if (serialized === null || serialized === undefined) {
    throw new Error(`${type}.serialize made nothing of a value`);
  }
  return serialized;
}

function coordinateOf({ parentType, definition }: FieldPlan): string {
  return `${parentType.name}.${definition.name}`;
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<unknown>).then === 'function';
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}
