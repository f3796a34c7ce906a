import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Resumable, TopicSubscription } from '../data/polling/topic.js';
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
  open(signal: AbortSignal): Promise<AsyncIterable<unknown>>;
  render(value: unknown, signal: AbortSignal): Promise<string>;
  errors(error: unknown): string;
}

interface Rendering {
  readonly value: unknown;
  readonly order: number;
  readonly result: Promise<EncodedResult>;
}

type ResumableSource = Resumable<{ readonly cursor: string }>;

const isResumable = (source: AsyncIterable<unknown>): source is ResumableSource => 'startAfter' in source;

/**
 * One subscription, executed and serialized once for all clients that requested the same with the same credential. Where its values are
 * states, a late listener starts with the newest one; where a client can resume, with the place where it starts. It ends with its source, or when the last listener leaves.
 */
export class SharedExecution {
  readonly #source: SubscriptionSource;
  readonly #onClosed: () => void;
  readonly #leaving = new AbortController();
  readonly #listeners = new Set<Listener>();
  #opening: Promise<AsyncIterable<unknown>> | undefined;
  #states: TopicSubscription<unknown> | undefined;
  #resumable: ResumableSource | undefined;
  #rendering: Rendering | undefined;
  #over = false;

  /** @param onClosed is called when no new listener may join: before the listeners hear of the end, or of what a new one would have to hear too. */
  constructor(source: SubscriptionSource, onClosed: () => void) {
    this.#source = source;
    this.#onClosed = onClosed;
  }

  /** If the source delivers states, waits until the newest state is up to date. Does nothing for other sources. The execution may have ended by then. Never rejects. */
  async refresh(): Promise<void> {
    await this.#opening?.catch(() => {});
    if (this.#states === undefined) return;
    await this.#states.refresh();
    // By then the state is rendered and has a number.
    await nextTurn();
  }

  /** Adds a listener, which gets the newest state and everything after it. */
  join(listener: Listener): void {
    listener.execution = this;
    listener.received = this.#rendering?.order ?? 0;
    this.#listeners.add(listener);
    const newest = this.#states?.newest;
    if (newest !== undefined) void this.#catchUp(listener, newest).catch(() => {});
    else if (this.#resumable !== undefined && this.#rendering !== undefined)
      void this.#start(listener, this.#resumable, this.#rendering).catch(() => {});
  }

  leave(listener: Listener): void {
    if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#end();
  }

  /** Runs until the source ends. Never rejects. */
  async run(): Promise<void> {
    try {
      this.#opening = this.#open();
      const source = await this.#opening;
      for await (const value of source) {
        if (this.#resumable?.isResumed) this.#onClosed();
        const rendering = this.#render(value);
        await this.#tell(rendering, await rendering.result);
        // A client that catches up takes its time. No other client waits for it: a resumed execution is not shared after its first value.
        const [only, other] = this.#resumable?.isResumed ? this.#listeners : [];
        if (only !== undefined && other === undefined) await only.room();
      }
      this.#end();
      await this.#tellEnd(listener => listener.complete());
    } catch (error) {
      const errors = this.#listeners.size === 0 ? '' : this.#source.errors(error);
      this.#end();
      await this.#tellEnd(listener => listener.fail(errors));
    }
  }

  async #open(): Promise<AsyncIterable<unknown>> {
    const source = await this.#source.open(this.#leaving.signal);
    if (source instanceof TopicSubscription) this.#states = source;
    else if (isResumable(source)) this.#resumable = source;
    return source;
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#leaving.abort(new Abandoned('The last listener has left'));
    this.#onClosed();
  }

  async #catchUp(listener: Listener, newest: unknown): Promise<void> {
    const rendering = this.#render(newest);
    listener.received = rendering.order - 1;
    this.#give(listener, rendering.order, await rendering.result, true);
  }

  /** Tells a listener where it starts, unless it has got a later value by then. */
  async #start(listener: Listener, source: ResumableSource, { value, order }: Rendering): Promise<void> {
    listener.received = order - 1;
    const start = source.startAfter(value as { readonly cursor: string });
    this.#give(listener, order, await this.#encode(start), false);
  }

  async #encode(value: unknown): Promise<EncodedResult> {
    const text = await this.#source.render(value, this.#leaving.signal);
    const cursor = this.#resumable === undefined ? undefined : (value as { readonly cursor: string }).cursor;
    return { parts: [text], needsRoom: true, cursor };
  }

  #render(value: unknown): Rendering {
    if (this.#rendering?.value !== value || this.#rendering === undefined) {
      const order = (this.#rendering?.order ?? 0) + 1;
      this.#rendering = { value, order, result: this.#encode(value) };
    }
    return this.#rendering;
  }

  async #tell({ order }: Rendering, result: EncodedResult): Promise<void> {
    const replaces = this.#states !== undefined;
    await inSlices([...this.#listeners], listener => this.#give(listener, order, result, replaces));
  }

  async #tellEnd(tell: (listener: Listener) => void): Promise<void> {
    await inSlices([...this.#listeners], listener => {
      if (this.#listeners.delete(listener)) tell(listener);
    });
  }

  /** Skips a listener that already has this rendering or a newer one. */
  #give(listener: Listener, order: number, result: EncodedResult, replaces: boolean): void {
    if (listener.received >= order || !this.#listeners.has(listener)) return;
    listener.received = order;
    listener.next(result, replaces);
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
