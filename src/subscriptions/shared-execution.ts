// One subscription that is executed and serialized once for all clients that ask the same with the same credential.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Feed } from '../data/polling/topic.js';
import { Abandoned } from '../errors.js';
import { responseMessage } from '../graphql/response-text.js';
import type { Identity } from '../http/authentication.js';
import type { MemoryBudget } from '../lib/memory-budget.js';
import type { Executor, Failure, Operation } from './executor.js';
import type { Parts } from './send-buffer.js';

/** A result as JSON, in the parts in which it is sent. One object serves all listeners. */
export interface EncodedResult {
  readonly parts: Parts;
  /** Of all parts, in bytes, or in characters of a text. */
  readonly length: number;
  readonly cursor?: string | undefined;
}

export interface Listener {
  readonly isOver: boolean;
  /** To be called when it is over. `join` sets it. */
  onStop: (() => void) | undefined;
  /** @param replaces whether values that were not sent yet are now obsolete. */
  next(result: EncodedResult, replaces: boolean): void;
  /** Nothing follows. @param failure undefined if the subscription is complete. */
  end(failure: Failure | undefined): void;
  /** Waits until the client has taken most of what waits for it, or the subscription has ended. */
  room(): Promise<void>;
}

export type SharedExecution = ReturnType<typeof createSharedExecution>;

interface SharedExecutionDeps {
  readonly executor: Executor;
  readonly budget: MemoryBudget;
}

/** A value of the subscription as bytes. Newer ones have higher numbers. */
interface Rendering {
  readonly value: unknown;
  readonly order: number;
  readonly result: Promise<EncodedResult>;
}

/** Renders the values of one subscription, each once. The newest stays, and counts, for listeners that join later. */
function createRenderer(
  operation: Operation,
  identity: Identity,
  { executor, budget }: SharedExecutionDeps,
  signal: AbortSignal,
) {
  const newestClaim = budget.claim(identity);
  let newest: Rendering | undefined;

  async function encode(value: unknown): Promise<EncodedResult> {
    const claim = budget.claim(identity);
    try {
      const answer = await executor.event(operation, value, identity, signal, claim);
      const message = responseMessage(answer, claim);
      newestClaim.force(message.length);
      return { ...message, cursor: (value as { readonly cursor?: string }).cursor };
    } finally {
      claim.release();
    }
  }

  return {
    newest: () => newest,
    render(value: unknown): Rendering {
      if (newest === undefined || newest.value !== value) {
        newest = { value, order: (newest?.order ?? 0) + 1, result: encode(value) };
      }
      return newest;
    },
    /** A rendering has failed: its value is rendered again when it is needed. @param before the value before it. */
    forget(failed: Rendering, before: unknown): void {
      if (newest === failed) newest = { ...failed, value: before };
    },
    release: () => newestClaim.release(),
  };
}

/**
 * One subscription, executed and serialized once for all clients that requested the same with the same credential. It ends with its feed, or when the
 * last listener leaves.
 * @param onClosed is called when no new listener may join: before the listeners hear of the end, or of what a new one would have to hear too.
 */
export function createSharedExecution(
  operation: Operation,
  identity: Identity,
  deps: SharedExecutionDeps,
  onClosed: () => void,
) {
  const { executor } = deps;
  const leaving = new AbortController();
  const { newest, render, forget, release } = createRenderer(operation, identity, deps, leaving.signal);
  const opening = executor.feed(operation, identity, leaving.signal);
  /** Each with the number of the newest rendering that it has. */
  const listeners = new Map<Listener, number>();
  let feed: Feed<unknown> | undefined;
  void run();

  /** Runs until the feed ends. Never rejects. */
  async function run(): Promise<void> {
    let failure: Failure | undefined;
    try {
      feed = await opening;
      for await (const value of feed) {
        if (!feed.isJoinable) closeToOthers();
        const next = render(value);
        const result = await next.result;
        await inSlices([...listeners.keys()], listener => give(listener, next, result));
        // A client that catches up takes its time. No other client waits for it.
        const [only, other] = feed.isJoinable ? [] : listeners.keys();
        if (other === undefined) await only?.room();
      }
    } catch (error) {
      if (listeners.size > 0) failure = executor.failure(error);
    }
    close();
    await inSlices([...listeners.keys()], listener => {
      if (listeners.delete(listener)) listener.end(failure);
    });
  }

  function close(): void {
    if (leaving.signal.aborted) return;
    leaving.abort(new Abandoned('The last listener has left'));
    closeToOthers();
  }

  function closeToOthers(): void {
    release();
    onClosed();
  }

  function leave(listener: Listener): void {
    if (listeners.delete(listener) && listeners.size === 0) close();
  }

  /** Whether a listener has neither this rendering nor a newer one. */
  const isMissing = (listener: Listener, { order }: Rendering) => (listeners.get(listener) ?? order) < order;

  function give(listener: Listener, given: Rendering, result: EncodedResult): void {
    if (!isMissing(listener, given)) return;
    listeners.set(listener, given.order);
    listener.next(result, feed?.isState === true);
  }

  return {
    /** Call it before `join`. Waits until the newest state is up to date. The execution may have ended by then. Never rejects. */
    async refresh(): Promise<void> {
      const opened = await opening.catch(() => undefined);
      await opened?.refresh();
      // A value that was on its way has a number by then, and a listener that joins does not get it.
      await nextTurn();
    },

    /** Adds a listener, which gets everything that follows, after what the feed has for it first. */
    join(listener: Listener): void {
      const { value, order = 0 } = newest() ?? {};
      listeners.set(listener, order);
      listener.onStop = () => leave(listener);
      const first = feed?.firstAfter(value);
      if (first === undefined) return;
      const own = render(first);
      listeners.set(listener, own.order - 1);
      own.result.then(
        result => give(listener, own, result),
        error => {
          forget(own, value);
          if (!isMissing(listener, own)) return;
          leave(listener);
          listener.end(executor.failure(error));
        },
      );
    },
  };
}

const sliceSize = 200;

/** Calls `visit` with all items in order, and yields to the event loop after every 200. */
export async function inSlices<T>(items: readonly T[], visit: (item: T) => void): Promise<void> {
  for (const [index, item] of items.entries()) {
    visit(item);
    if (index % sliceSize === sliceSize - 1) await nextTurn();
  }
}
