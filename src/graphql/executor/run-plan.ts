// Executes a plan: calls the resolvers of each object, completes what they return, and collects errors and what is deferred.
import { isIterableObject } from '@graphql-tools/utils';
import {
  defaultTypeResolver,
  type ExecutionResult,
  GraphQLError,
  type GraphQLResolveInfo,
  getArgumentValues,
  locatedError,
  responsePathAsArray,
} from 'graphql';
import { isLeftOut, isUnreadable } from '../../data/parsing.js';
import { QueryTooComplex, RecordLeftOut } from '../../errors.js';
import type { MaybePromise } from '../../lib/run.js';
import { lengthOf } from '../response-text.js';
import { cannotBeRead } from '../scalars.js';
import type { DeferPlan, FieldPlan, LeafPlan, ObjectPlan, PlannableOperation, ValuePlan } from './plan.js';

/** Errors of one response that are reported. To make and format one takes about 50 µs. */
export const maxErrors = 200;

const originalError = new QueryTooComplex('errors', maxErrors + 1, maxErrors);
/** Stands for all errors above the limit: further nulls of the response have no error of their own. */
export const moreErrors = new GraphQLError(originalError.message, { originalError });

export interface PlanInput extends PlannableOperation {
  readonly context: unknown;
  /** Waits before each step after something was read. Undefined: a step begins at once. */
  readonly turn?: (() => Promise<void>) | undefined;
  /** Gets the length of the planned data as JSON, in bytes. Without errors, `responseBytes` can take it for the whole. */
  readonly counted?: { length: number } | undefined;
  /** How many errors the response may still have, in all its parts; below 0 once `moreErrors` stands for the others. */
  readonly errors: { left: number };
}

/** What an execution left for later at one object of its result. */
export interface DeferredObject {
  readonly plan: DeferPlan;
  readonly source: unknown;
  /** Undefined for the whole response. */
  readonly at: ResponsePosition | undefined;
}

export interface PlanResult {
  readonly whole: ExecutionResult;
  /** Outer objects first. */
  readonly deferred: readonly DeferredObject[];
}

/**
 * Executes a plan. It calls the same resolvers in the same order as graphql-js. Where several values under one nulled field fail, it may report
 * a different one of the errors; the specification leaves that open.
 * @param source the object whose fields are executed, and `base` its position; undefined for the whole response.
 * @returns the result itself if no resolver returned a promise; a promise that never rejects otherwise.
 */
export function runPlan(
  plan: ObjectPlan,
  input: PlanInput,
  source?: unknown,
  base?: ResponsePosition,
): MaybePromise<PlanResult> {
  return new PlanExecution(input, base).run(plan, source);
}

/** An object or a list of the response. */
type Container = Record<string | number, unknown>;

/** A field or a list item of the response. It is also the `path` that resolvers receive. */
export interface ResponsePosition {
  readonly prev: ResponsePosition | undefined;
  readonly key: string | number;
  readonly typename: string | undefined;
  readonly nonNull: boolean;
  readonly container: Container;
  /** Whether an error replaced the value by null. */
  isNulled: boolean;
}

const noArguments = Object.freeze({});

/**
 * One execution. A value goes into its container at once; a promised one when it settles. The result is complete when no promise is left
 * to wait for.
 */
class PlanExecution {
  readonly #input: PlanInput;
  /** Stands for the result itself: an error that reaches it leaves no data. */
  readonly #base: ResponsePosition | undefined;
  readonly #errors: GraphQLError[] = [];
  readonly #deferred: DeferredObject[] = [];
  readonly #arguments = new Map<FieldPlan, Record<string, unknown>>();
  #data: Record<string, unknown> | null = null;
  /** Of the data as JSON, as `responseBytes` counts it. */
  #length = 0;
  #isNulled = false;
  #waitingFor = 0;
  #finish: ((result: PlanResult) => void) | undefined;

  constructor(input: PlanInput, base: ResponsePosition | undefined) {
    this.#input = input;
    this.#base = base;
  }

  run(plan: ObjectPlan, source: unknown): MaybePromise<PlanResult> {
    try {
      this.#data = this.#object(plan, source, this.#base);
    } catch (error) {
      this.#setNull(this.#base, error as GraphQLError);
    }
    if (this.#waitingFor === 0) return this.#result();
    return new Promise(resolve => {
      // Not a function made here: V8 puts one that is assigned to a property into the old generation, with the whole request behind it.
      this.#finish = resolve;
    });
  }

  #result(): PlanResult {
    const data = this.#isNulled ? null : this.#data;
    const deferred = this.#deferred.filter(({ at }) => !this.#isBelowNull(at));
    // A fragment without data is a failed one only with an error.
    if (data === null && this.#errors.length === 0) this.#errors.push(moreErrors);
    const { counted } = this.#input;
    if (counted !== undefined) counted.length = this.#length;
    return { whole: this.#errors.length > 0 ? { errors: this.#errors, data } : { data }, deferred };
  }

  #object(
    { fields, Response, length, deferred }: ObjectPlan,
    source: unknown,
    prev: ResponsePosition | undefined,
  ): Record<string, unknown> {
    const response = new Response();
    this.#length += length;
    if (deferred !== undefined) this.#deferred.push({ plan: deferred, source, at: prev });
    const object = typeof source === 'object' && source !== null ? (source as Record<string, unknown>) : undefined;
    const waitingBefore = this.#waitingFor;
    for (const field of fields) {
      const { key } = field;
      if (field.resolve === undefined && field.value.kind === 'leaf' && object !== undefined) {
        const leaf = this.#leaf(field.value, object[field.name]);
        if (leaf !== undefined) {
          response[key] = leaf;
          continue;
        }
      }
      const { nonNull } = field.value;
      const typename = field.parentType.name;
      const at: ResponsePosition = { prev, key, typename, nonNull, container: response, isNulled: false };
      try {
        const value = this.#resolve(field, source, at);
        // To throw it from `serialize` would take longer than all the rest, and each value of a list can be one.
        const isWrong = typeof value === 'object' && field.value.kind === 'leaf' && isUnreadable(value);
        if (isWrong) this.#fail(cannotBeRead, field, at);
        else response[key] = this.#valueAt(field, field.value, at, value);
      } catch (error) {
        if (!nonNull || this.#waitingFor === waitingBefore) this.#fail(error, field, at);
        else {
          // As with graphql-js, an object with promises fails later, and what stands behind it goes on.
          this.#valueAt(field, field.value, at, Promise.reject(error));
          return response;
        }
      }
    }
    return response;
  }

  #list(field: FieldPlan, item: ValuePlan, prev: ResponsePosition, values: unknown): unknown[] {
    if (!isIterableObject(values)) {
      throw new GraphQLError(`Expected Iterable, but did not find one for field "${coordinateOf(field)}".`);
    }
    if (
      item.kind === 'leaf' &&
      item.isText &&
      Array.isArray(values) &&
      values.every(value => typeof value === 'string')
    ) {
      this.#length += values.reduce((sum, text) => sum + lengthOf(text), values.length + 2);
      return values;
    }
    const items: unknown[] = [];
    const container = items as unknown as Container;
    const { nonNull } = item;
    let index = 0;
    for (const value of values) {
      if (isLeftOut(value)) {
        this.#report(new RecordLeftOut(value.$leftOut), field, prev);
        continue;
      }
      const at: ResponsePosition = { prev, key: index, typename: undefined, nonNull, container, isNulled: false };
      index += 1;
      try {
        items.push(this.#valueAt(field, item, at, value));
      } catch (error) {
        this.#fail(error, field, at);
      }
    }
    this.#length += items.length + 2;
    return items;
  }

  /** What becomes of a property that a scalar can hold; undefined for any other, which needs a position: a promise may set it, or an error names it. */
  #leaf({ nonNull, type, isText }: LeafPlan, value: unknown): unknown {
    let leaf = value;
    if (typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && !isText)) {
      try {
        leaf = type.serialize(value) ?? undefined;
      } catch {
        return undefined;
      }
    } else if (typeof value !== 'string' && (value !== null || nonNull)) return undefined;
    this.#length += lengthOf(leaf);
    return leaf;
  }

  /**
   * The value for a position; undefined if it is promised. Then the caller's assignment keeps the order of keys, and the value is set when the
   * promise settles. @throws if the value cannot be completed.
   */
  #valueAt(field: FieldPlan, plan: ValuePlan, at: ResponsePosition, value: unknown): unknown {
    if (!isPromise(value, field.resolve !== undefined)) return this.#complete(field, plan, at, value);
    this.#waitingFor += 1;
    const { turn } = this.#input;
    const promise = Promise.resolve(value);
    (turn === undefined ? promise : promise.finally(turn)).then(
      settled => this.#settle(field, plan, at, settled),
      error => this.#settle(field, plan, at, error, true),
    );
    return undefined;
  }

  #settle(field: FieldPlan, plan: ValuePlan, at: ResponsePosition, value: unknown, isRejected = false): void {
    try {
      if (isRejected) throw value;
      at.container[at.key] = this.#complete(field, plan, at, value);
    } catch (thrown) {
      const error = this.#located(thrown, field, at);
      let nulled: ResponsePosition | undefined = at;
      while (nulled !== this.#base && nulled?.nonNull === true) nulled = nulled.prev;
      this.#setNull(nulled, error);
    }
    this.#waitingFor -= 1;
    if (this.#waitingFor === 0) this.#finish?.(this.#result());
  }

  #located(thrown: unknown, { nodes }: FieldPlan, at: ResponsePosition): GraphQLError {
    return this.#input.errors.left > 0 ? locatedError(thrown, nodes, responsePathAsArray(at)) : moreErrors;
  }

  /** Handles an error while the containers above are still being filled. @throws it where null is not allowed, for the container above. */
  #fail(thrown: unknown, field: FieldPlan, at: ResponsePosition): void {
    const error = this.#located(thrown, field, at);
    if (at.nonNull) throw error;
    this.#setNull(at, error);
  }

  /** Reports what is left out of a list. */
  #report(thrown: unknown, field: FieldPlan, at: ResponsePosition): void {
    const { errors } = this.#input;
    if (errors.left < 0) return;
    this.#errors.push(this.#located(thrown, field, at));
    errors.left -= 1;
  }

  /** Replaces a value by null and reports why. If an error already made a parent null, later errors are not reported. */
  #setNull(position: ResponsePosition | undefined, error: GraphQLError): void {
    const { errors } = this.#input;
    if (errors.left >= 0) {
      if (this.#isBelowNull(position)) return;
      this.#errors.push(errors.left > 0 ? error : moreErrors);
      errors.left -= 1;
    }
    if (position === undefined || position === this.#base) {
      this.#isNulled = true;
      return;
    }
    position.isNulled = true;
    position.container[position.key] = null;
  }

  #isBelowNull(position: ResponsePosition | undefined): boolean {
    for (let at = position; at !== this.#base && at !== undefined; at = at.prev) if (at.isNulled) return true;
    return this.#isNulled;
  }

  #complete(field: FieldPlan, plan: ValuePlan, at: ResponsePosition, value: unknown): unknown {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) {
      this.#length += lengthOf(null);
      if (!plan.nonNull) return null;
      throw new Error(`Cannot return null for non-nullable field ${coordinateOf(field)}.`);
    }
    switch (plan.kind) {
      case 'leaf': {
        const serialized = plan.type.serialize(value);
        if (serialized == null) throw new Error(`${plan.type}.serialize returned no value`);
        this.#length += lengthOf(serialized);
        return serialized;
      }
      case 'list':
        return this.#list(field, plan.item, at, value);
      case 'object':
        return this.#object(plan.object, value, at);
      case 'abstract': {
        const resolveType = plan.type.resolveType ?? defaultTypeResolver;
        const object = plan.objects.get(`${resolveType(value, this.#input.context, this.#info(field, at), plan.type)}`);
        if (object === undefined) throw new Error(`Unknown type for abstract field ${coordinateOf(field)}.`);
        return this.#object(object, value, at);
      }
    }
  }

  #resolve(field: FieldPlan, source: unknown, at: ResponsePosition): unknown {
    const { definition, resolve } = field;
    const { context } = this.#input;
    if (resolve !== undefined) return resolve(source, this.#argumentsOf(field), context, this.#info(field, at));
    if (typeof source !== 'object' && typeof source !== 'function') return undefined;
    const property = (source as Record<string, unknown> | null)?.[definition.name];
    if (typeof property !== 'function') return property;
    return property.call(source, this.#argumentsOf(field), context, this.#info(field, at));
  }

  /** The coerced arguments of a field, which are the same for every object that has the field. */
  #argumentsOf(field: FieldPlan): Record<string, unknown> {
    const { definition, nodes } = field;
    if (definition.args.length === 0) return noArguments;
    let values = this.#arguments.get(field);
    if (values === undefined) {
      values = getArgumentValues(definition, nodes[0], this.#input.variables);
      this.#arguments.set(field, values);
    }
    return values;
  }

  #info({ definition, nodes, parentType }: FieldPlan, path: ResponsePosition): GraphQLResolveInfo {
    const { schema, fragments, operation, variables } = this.#input;
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
}

function coordinateOf({ parentType, definition }: FieldPlan): string {
  return `${parentType.name}.${definition.name}`;
}

/** Only what a resolver returned may hold a promise of a library: to look for `then` in all values takes longer than to complete most of them. */
function isPromise(value: unknown, isResolved: boolean): value is PromiseLike<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return value instanceof Promise || (isResolved && typeof (value as PromiseLike<unknown>).then === 'function');
}
