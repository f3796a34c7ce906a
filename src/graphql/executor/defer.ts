// The later parts of a response with `@defer`.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ExecutionResult, type GraphQLError, responsePathAsArray } from 'graphql';
import type { DeferredFragment, ObjectPlan } from './plan.js';
import { type DeferredObject, type PlanInput, type PlanResult, type ResponsePosition, runPlan } from './run-plan.js';

type Path = readonly (string | number)[];

/** A part of a response after the first, in the format of incremental delivery v0.2. Paths of errors begin at the root of the response. */
interface LaterPart {
  /** Fragments that later parts deliver. */
  readonly pending: { readonly id: string; readonly path: Path; readonly label?: string }[];
  /** Data of pending fragments. It belongs to the object at the path of the fragment, or at `subPath` below it. */
  readonly incremental: {
    readonly id: string;
    readonly subPath?: Path;
    readonly data: Record<string, unknown>;
    readonly errors?: readonly GraphQLError[];
  }[];
  /** Fragments that are complete. With errors: a value that may not be null failed, and the fragment has no data. */
  readonly completed: { readonly id: string; readonly errors?: readonly GraphQLError[] }[];
  /** False in the last part. */
  readonly hasNext: boolean;
}

/** A result, or its first part. */
export interface PlannedResult extends ExecutionResult {
  /** Undefined where the result is whole. */
  readonly deferred?: {
    /** What the first part announces. */
    readonly pending: LaterPart['pending'];
    /** The parts after the first. What they hold is executed from the first `next` on. */
    readonly parts: AsyncGenerator<LaterPart, void>;
  };
}

/** The result of an execution that deferred something, with the later parts. */
export function withLaterParts(
  result: ExecutionResult,
  deferred: readonly DeferredObject[],
  input: PlanInput,
): PlannedResult {
  const delivery = new Delivery(input);
  const pending = delivery.begin(deferred);
  return pending.length === 0 ? result : { ...result, deferred: { pending, parts: delivery.parts() } };
}

/** A deferred fragment on one object of the response. */
interface Fragment {
  readonly label: string | undefined;
  readonly at: ResponsePosition | undefined;
  /** The fragments directly inside, which become pending when this one is complete. */
  readonly children: Fragment[];
  readonly groups: Group[];
  /** Of a pending fragment. */
  id: string | undefined;
}

/** Fields of one object that are executed together, for one or several fragments. */
interface Group {
  readonly of: readonly Fragment[];
  readonly plan: ObjectPlan;
  readonly source: unknown;
  readonly at: ResponsePosition | undefined;
  isStarted: boolean;
  /** Undefined until it is executed, and empty from when it is in a part. */
  result: ExecutionResult | undefined;
}

const delivered: ExecutionResult = {};

const emptyPart = (): Omit<LaterPart, 'hasNext'> => ({ pending: [], incremental: [], completed: [] });

/**
 * Executes what is deferred, and puts the results into parts. The groups of a fragment start when the fragment is pending, and it is complete when
 * all of them are, with those that their own results add. No field is in two parts: fragments that select the same field share its group.
 */
class Delivery {
  readonly #input: PlanInput;
  /** By the object that they begin at. */
  readonly #fragments = new Map<ResponsePosition | undefined, Map<DeferredFragment, Fragment>>();
  #pending = 0;
  #lastId = 0;
  #toStart: Group[] = [];
  #part = emptyPart();
  #isAbandoned = false;
  #wake = () => {};

  constructor(input: PlanInput) {
    this.#input = input;
  }

  begin(deferred: readonly DeferredObject[]): LaterPart['pending'] {
    this.#announce(this.#add(deferred));
    return this.#takePart().pending;
  }

  async *parts(): AsyncGenerator<LaterPart, void> {
    try {
      do {
        this.#start();
        if (this.#part.completed.length === 0) {
          await new Promise<void>(resolve => (this.#wake = resolve));
          // What settles in the same turn of the event loop goes into the same part.
          await nextTurn();
        } else yield this.#takePart();
      } while (this.#pending > 0 || this.#part.completed.length > 0);
    } finally {
      this.#isAbandoned = true;
    }
  }

  #takePart(): LaterPart {
    const part = { ...this.#part, hasNext: this.#pending > 0 };
    this.#part = emptyPart();
    return part;
  }

  /** Adds what an execution deferred. @returns the outermost fragments. */
  #add(deferred: readonly DeferredObject[]): Fragment[] {
    const outermost: Fragment[] = [];
    for (const { plan, source, at } of deferred) {
      const here = new Map<DeferredFragment, Fragment>();
      this.#fragments.set(at, here);
      for (const planned of plan.fragments) {
        const { label, parent } = planned;
        const fragment = { label, at, children: [], groups: [], id: undefined };
        here.set(planned, fragment);
        (parent === undefined ? outermost : this.#find(parent, at).children).push(fragment);
      }
      for (const { of: planned, plan: fields } of plan.groups) {
        const of = [...planned].map(each => this.#find(each, at));
        const group = { of, plan: fields, source, at, isStarted: false, result: undefined };
        for (const { groups } of of) groups.push(group);
        if (of.some(({ id }) => id !== undefined)) this.#toStart.push(group);
      }
    }
    return outermost;
  }

  /** The fragment on the object at this position, or on the nearest object around it. */
  #find(planned: DeferredFragment, position: ResponsePosition | undefined): Fragment {
    let at = position;
    while (true) {
      const fragment = this.#fragments.get(at)?.get(planned);
      if (fragment !== undefined) return fragment;
      if (at === undefined) throw new Error('A deferred fragment is outside of its object');
      at = at.prev;
    }
  }

  #announce(fragments: readonly Fragment[]): void {
    for (const fragment of fragments) {
      const { label, at, groups, children } = fragment;
      if (groups.every(({ result }) => result === delivered)) {
        // Other fragments, or the first part, have all its fields.
        this.#announce(children);
        continue;
      }
      fragment.id = String(this.#lastId++);
      this.#pending += 1;
      this.#part.pending.push({
        id: fragment.id,
        path: responsePathAsArray(at),
        ...(label !== undefined && { label }),
      });
      this.#toStart.push(...groups);
      this.#completeIfFinished(fragment);
    }
  }

  #start(): void {
    // What a group finishes at once may add more of them.
    for (const group of this.#toStart) {
      if (group.isStarted || this.#isAbandoned || group.of.every(({ id }) => id === undefined)) continue;
      group.isStarted = true;
      const result = runPlan(group.plan, this.#input, group.source, group.at);
      if (result instanceof Promise) void result.then(settled => this.#finish(group, settled));
      else this.#finish(group, result);
    }
    this.#toStart = [];
  }

  #finish(group: Group, { whole, deferred }: PlanResult): void {
    group.result = whole;
    if (whole.data !== null) this.#add(deferred);
    for (const fragment of group.of) this.#completeIfFinished(fragment);
    this.#wake();
  }

  /** Puts a pending fragment into the part if it is complete or has failed. */
  #completeIfFinished(fragment: Fragment): void {
    const { id, at, groups, children } = fragment;
    const failed = groups.find(({ result }) => result?.data === null)?.result;
    if (id === undefined || (failed === undefined && groups.some(({ result }) => result === undefined))) return;
    fragment.id = undefined;
    this.#pending -= 1;
    this.#part.completed.push({ id, ...(failed?.errors && { errors: failed.errors }) });
    if (failed !== undefined) return;
    for (const group of groups) {
      const { data, errors } = group.result ?? {};
      if (data == null) continue;
      const subPath = responsePathAsArray(group.at).slice(responsePathAsArray(at).length);
      this.#part.incremental.push({ id, ...(subPath.length > 0 && { subPath }), data, ...(errors && { errors }) });
      group.result = delivered;
    }
    this.#announce(children);
  }
}
