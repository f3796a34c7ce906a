import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Feed } from '../data/polling/topic.js';
import { Abandoned } from '../errors.js';
import type { Claim } from '../lib/memory-budget.js';

/** A result as JSON, in the parts in which it is sent. One object serves all listeners. */
export interface EncodedResult {
  readonly parts: readonly (Buffer | string)[];
  /** Whether the client is disconnected if it is slow and the memory budget has no room for the result. */
  readonly needsRoom: boolean;
  /** The cursor behind which a client can continue. */
  readonly cursor?: string | undefined;
}

/** The parts of a result with a text before and after it. */
export function framed({ parts }: EncodedResult, before: string, after: string): readonly (Buffer | string)[] {
  const [only] = parts;
  return typeof only === 'string' ? [before + only + after] : [before, ...parts, after];
}

/** One client's subscription. */
export interface Listener {
  /** The number of the newest rendering that it has. Only its execution changes it. */
  received: number;
  /** Where it listens; undefined before it has joined. */
  execution: SharedExecution | undefined;
  /** Whether it wants nothing more. */
  isOver: boolean;
  /** @param replaces whether values that were not sent yet are now obsolete. */
  next(result: EncodedResult, replaces: boolean): void;
  fail(errors: string): void;
  complete(): void;
  /** Waits until the client has taken most of what waits for it, or the subscription has ended. */
  room(): Promise<void>;
}

/** Where the values of a shared execution come from, and how values and errors become text. */
export interface SubscriptionSource {
  open(signal: AbortSignal): Promise<Feed<unknown>>;
  render(value: unknown, signal: AbortSignal): Promise<string>;
  errors(error: unknown): string;
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
  readonly #source: SubscriptionSource;
  readonly #onClosed: () => void;
  readonly #leaving = new AbortController();
  readonly #listeners = new Set<Listener>();
  readonly #opening: Promise<Feed<unknown>>;
  #feed: Feed<unknown> | undefined;
  #rendering: Rendering | undefined;
  #isOver = false;

  /** @param onClosed is called when no new listener may join: before the listeners hear of the end, or of what a new one would have to hear too. */
  constructor(source: SubscriptionSource, onClosed: () => void) {
    this.#source = source;
    this.#onClosed = onClosed;
    this.#opening = source.open(this.#leaving.signal);
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
    rendering.result.then(result => this.#give(listener, rendering, result)).catch(() => {});
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
        if (!feed.isJoinable) this.#onClosed();
        const rendering = this.#render(value);
        const result = await rendering.result;
        await inSlices([...this.#listeners], listener => this.#give(listener, rendering, result));
        // A client that catches up takes its time. No other client waits for it.
        const [only, other] = feed.isJoinable ? [] : this.#listeners;
        if (other === undefined) await only?.room();
      }
      this.#close();
      await this.#end(listener => listener.complete());
    } catch (error) {
      const errors = this.#listeners.size === 0 ? '' : this.#source.errors(error);
      this.#close();
      await this.#end(listener => listener.fail(errors));
    }
  }

  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#leaving.abort(new Abandoned('The last listener has left'));
    this.#onClosed();
  }

  async #end(end: (listener: Listener) => void): Promise<void> {
    await inSlices([...this.#listeners], listener => {
      if (this.#listeners.delete(listener)) end(listener);
    });
  }

  #render(value: unknown): Rendering {
    if (this.#rendering?.value !== value || this.#rendering === undefined) {
      const order = (this.#rendering?.order ?? 0) + 1;
      this.#rendering = { value, order, result: this.#encode(value) };
    }
    return this.#rendering;
  }

  async #encode(value: unknown): Promise<EncodedResult> {
    const text = await this.#source.render(value, this.#leaving.signal);
    return { parts: [text], needsRoom: true, cursor: (value as { readonly cursor?: string }).cursor };
  }

  /** Skips a listener that already has this rendering or a newer one. */
  #give(listener: Listener, { order }: Rendering, result: EncodedResult): void {
    if (listener.received >= order || !this.#listeners.has(listener)) return;
    listener.received = order;
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

/** In bytes. Above this send buffer a client is slow: it gets nothing more until it has taken what was sent. */
export const slowBytes = 64 * 1024;

/** Counts what is queued for one client, or sent and not yet taken, against the memory budget. */
export class SendBuffer {
  readonly #sent: () => number;
  #claim: Claim;
  #queued = 0;
  /** Callbacks that wait until the client has taken something; made when the first one has to wait. */
  #waiting: Set<() => void> | undefined;

  /** @param sent returns how many bytes were sent and not yet taken by the client. */
  constructor(sent: () => number, claim: Claim) {
    this.#sent = sent;
    this.#claim = claim;
  }

  get isSlow(): boolean {
    return this.#sent() > slowBytes;
  }

  /** Calls back once, when the client has taken some of what was sent, or when the connection has ended. */
  whenTaken(callback: () => void): void {
    this.#waiting ??= new Set();
    this.#waiting.add(callback);
  }

  /** Counts bytes that wait to be sent, or no longer do (`by` below 0). Returns whether the memory budget has room for them. */
  queue(by: number): boolean {
    this.#queued += by;
    return this.count();
  }

  /** Counts the unsent bytes. Returns whether the memory budget has room for them. */
  count(): boolean {
    return this.#claim.force((this.isSlow ? this.#sent() : 0) + this.#queued);
  }

  /** The client has taken some bytes. */
  taken(): void {
    this.count();
    this.#wake();
  }

  /** Counts against another claim from now on. */
  chargeTo(claim: Claim): void {
    this.#claim.release();
    this.#claim = claim;
  }

  /** The connection has ended: counts nothing any more. */
  release(): void {
    this.#wake();
    this.#claim.release();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const each of waiting ?? []) each();
  }
}
