import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Feed } from '../data/polling/topic.js';
import { Abandoned } from '../errors.js';
import { responseText } from '../graphql/response-text.js';
import type { Identity } from '../http/authentication.js';
import type { Claim, MemoryBudget } from '../lib/memory-budget.js';
import type { Executor, Failure } from './executor.js';
import type { Operation } from './operations.js';

/** A result as JSON, in the parts in which it is sent. One object serves all listeners. */
export interface EncodedResult {
  readonly parts: readonly (Buffer | string)[];
  /** The cursor behind which a client can continue. */
  readonly cursor?: string | undefined;
}

/** One client's subscription. */
export interface Listener {
  /** The number of the newest rendering that it has. Only its execution changes it. */
  received: number;
  /** Where it listens; undefined before it has joined. */
  execution: SharedExecution | undefined;
  readonly isOver: boolean;
  /** @param replaces whether values that were not sent yet are now obsolete. */
  next(result: EncodedResult, replaces: boolean): void;
  /** Nothing follows. @param failure undefined if the subscription is complete. */
  end(failure: Failure | undefined): void;
  /** Waits until the client has taken most of what waits for it, or the subscription has ended. */
  room(): Promise<void>;
}

/** What executes a subscription, and what counts its memory. */
export interface SharedExecutionDeps {
  readonly executor: Executor;
  readonly budget: MemoryBudget;
}

interface Rendering {
  readonly value: unknown;
  readonly order: number;
  readonly result: Promise<EncodedResult>;
}

/**
 * One subscription, executed and serialized once for all clients that requested the same with the same credential. It ends with its feed, or when the
 * last listener leaves.
 */
export class SharedExecution {
  readonly #operation: Operation;
  readonly #identity: Identity;
  readonly #deps: SharedExecutionDeps;
  readonly #onClosed: () => void;
  readonly #leaving = new AbortController();
  readonly #listeners = new Set<Listener>();
  readonly #opening: Promise<Feed<unknown>>;
  #feed: Feed<unknown> | undefined;
  #rendering: Rendering | undefined;
  /** Counts the newest text, which is kept for listeners that join later. */
  readonly #newest: Claim;

  /** @param onClosed is called when no new listener may join: before the listeners hear of the end, or of what a new one would have to hear too. */
  constructor(operation: Operation, identity: Identity, deps: SharedExecutionDeps, onClosed: () => void) {
    this.#operation = operation;
    this.#identity = identity;
    this.#deps = deps;
    this.#onClosed = onClosed;
    this.#newest = deps.budget.claim(identity.scope);
    this.#opening = deps.executor.feed(operation, identity, this.#leaving.signal);
    void this.#run();
  }

  /** Call it before `join`. Waits until the newest state is up to date. The execution may have ended by then. Never rejects. */
  async refresh(): Promise<void> {
    const feed = await this.#opening.catch(() => undefined);
    await feed?.refresh();
    // A value that was on its way has a number by then, and a listener that joins does not get it.
    await nextTurn();
  }

  /** Adds a listener, which gets everything that follows, after what the feed has for it first. */
  join(listener: Listener): void {
    const { value, order = 0 } = this.#rendering ?? {};
    listener.execution = this;
    listener.received = order;
    this.#listeners.add(listener);
    const first = this.#feed?.firstAfter(value);
    if (first === undefined) return;
    const rendering = this.#render(first);
    listener.received = rendering.order - 1;
    rendering.result.then(
      result => this.#give(listener, rendering, result),
      error => {
        // The next listener that joins has it rendered again.
        if (this.#rendering === rendering) this.#rendering = { ...rendering, value };
        if (!this.#isMissing(listener, rendering)) return;
        this.leave(listener);
        listener.end(this.#deps.executor.failure(error));
      },
    );
  }

  leave(listener: Listener): void {
    if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#close();
  }

  /** Runs until the feed ends. Never rejects. */
  async #run(): Promise<void> {
    try {
      const feed = await this.#opening;
      this.#feed = feed;
      for await (const value of feed) {
        if (!feed.isJoinable) this.#closeToOthers();
        const rendering = this.#render(value);
        const result = await rendering.result;
        await inSlices([...this.#listeners], listener => this.#give(listener, rendering, result));
        // A client that catches up takes its time. No other client waits for it.
        const [only, other] = feed.isJoinable ? [] : this.#listeners;
        if (other === undefined) await only?.room();
      }
      await this.#end(undefined);
    } catch (error) {
      await this.#end(this.#listeners.size === 0 ? undefined : this.#deps.executor.failure(error));
    }
  }

  async #end(failure: Failure | undefined): Promise<void> {
    this.#close();
    await inSlices([...this.#listeners], listener => {
      if (this.#listeners.delete(listener)) listener.end(failure);
    });
  }

  #close(): void {
    if (this.#leaving.signal.aborted) return;
    this.#leaving.abort(new Abandoned('The last listener has left'));
    this.#closeToOthers();
  }

  #closeToOthers(): void {
    this.#newest.release();
    this.#onClosed();
  }

  #render(value: unknown): Rendering {
    if (this.#rendering?.value !== value || this.#rendering === undefined) {
      const order = (this.#rendering?.order ?? 0) + 1;
      this.#rendering = { value, order, result: this.#encode(value) };
    }
    return this.#rendering;
  }

  async #encode(value: unknown): Promise<EncodedResult> {
    const { executor, budget } = this.#deps;
    const { scope } = this.#identity;
    const claim = budget.claim(scope);
    try {
      const { signal } = this.#leaving;
      const answer = await executor.event(this.#operation, value, this.#identity, signal, claim);
      const text = responseText(answer, claim);
      this.#newest.force(text.length);
      return { parts: [text], cursor: (value as { readonly cursor?: string }).cursor };
    } finally {
      claim.release();
    }
  }

  /** Whether a listener has neither this rendering nor a newer one. */
  #isMissing(listener: Listener, { order }: Rendering): boolean {
    return listener.received < order && this.#listeners.has(listener);
  }

  #give(listener: Listener, rendering: Rendering, result: EncodedResult): void {
    if (!this.#isMissing(listener, rendering)) return;
    listener.received = rendering.order;
    listener.next(result, this.#feed?.isState === true);
  }
}

const sliceSize = 200;

/** Calls `visit` with all items in order, and yields to the event loop after every 200. */
export async function inSlices<T>(items: readonly T[], visit: (item: T) => void): Promise<void> {
  for (const [index, item] of items.entries()) {
    visit(item);
    if (index % sliceSize === sliceSize - 1) await nextTurn();
  }
}
