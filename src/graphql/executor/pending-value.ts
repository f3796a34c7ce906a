import type { GraphQLResolveInfo } from 'graphql';
import type { FieldPlan, ValuePlan } from './plan.js';

export type Path = GraphQLResolveInfo['path'];

/** Makes values into what stands in the answer. */
export interface Completion {
  /** @throws where the value is none of what the plan says. */
  complete(field: FieldPlan, plan: ValuePlan, path: Path, value: unknown): unknown;
  /** The null that stands for what failed. @throws the error, where null may not stand there. */
  failed(error: unknown, field: FieldPlan, plan: ValuePlan, path: Path): null;
}

/** What waits for a value. */
interface Place {
  /** How many turns graphql-js takes to hear there that the value failed: one for each of its promises. */
  readonly turns: 1 | 2;
  put(value: unknown): void;
  fail(error: unknown): void;
}

/** The place of one value that is not there yet, in an object or a list. */
export class PendingValue implements Place {
  readonly turns: 1 | 2;
  readonly #running: Completion;
  readonly #field: FieldPlan;
  readonly #plan: ValuePlan;
  readonly #path: Path;
  within: Unfinished | undefined;

  constructor(running: Completion, field: FieldPlan, plan: ValuePlan, path: Path, turns: 1 | 2) {
    this.#running = running;
    this.#field = field;
    this.#plan = plan;
    this.#path = path;
    this.turns = turns;
  }

  /** Takes what is promised, when it is there. */
  take(promise: PromiseLike<unknown>): void {
    promise.then(
      value => this.#complete(value),
      error => inTurns(1, () => this.fail(error)),
    );
  }

  #complete(value: unknown): void {
    try {
      const completed = this.#running.complete(this.#field, this.#plan, this.#path, value);
      if (completed instanceof Unfinished) completed.place = this;
      else this.put(completed);
    } catch (error) {
      inTurns(1, () => this.fail(error));
    }
  }

  put(value: unknown): void {
    this.within?.put(this.#path.key, value);
  }

  fail(error: unknown): void {
    try {
      this.put(this.#running.failed(error, this.#field, this.#plan, this.#path));
    } catch (located) {
      inTurns(1, () => this.within?.fail(located));
    }
  }
}

/** An object or a list with places whose values are not there yet. */
export class Unfinished {
  /** None: nobody waits for it, since an item of the list failed at once. */
  place: Place | undefined;
  readonly #answer: Record<string, unknown> | unknown[];
  #waitsFor = 0;
  #isOver = false;
  #doom: unknown;

  constructor(answer: Record<string, unknown> | unknown[]) {
    this.#answer = answer;
  }

  waitFor(slot: PendingValue): void {
    slot.within = this;
    this.#waitsFor += 1;
  }

  put(key: string | number, value: unknown): void {
    (this.#answer as Record<string | number, unknown>)[key] = value;
    this.#waitsFor -= 1;
    if (this.#waitsFor > 0 || this.#isOver) return;
    if (this.#doom === undefined) this.place?.put(this.#answer);
    else this.fail(this.#doom);
  }

  /** Where a value failed and null may not stand, it fails itself, once. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { place } = this;
    if (place === undefined) return;
    const turns = Array.isArray(this.#answer) ? place.turns : place.turns + 1;
    inTurns(turns, () => place.fail(this.#doom ?? error));
  }

  /** Lets it fail of this error, when all it waits for is there or one of that has failed. */
  doom(error: unknown): void {
    this.#doom = error;
  }
}

/** Errors are told in the order of graphql-js, whose promises take turns to be heard of. */
function inTurns(turns: number, task: () => void): void {
  if (turns === 0) task();
  else queueMicrotask(() => inTurns(turns - 1, task));
}
