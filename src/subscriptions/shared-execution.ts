import { setImmediate as nextTurn } from 'node:timers/promises';
import { TopicSubscription } from '../data/polling/topic.js';
import { Abandoned } from '../errors.js';
import { inSlices } from './pacing.js';

/** One client's subscription. */
export interface Listener {
  /** @param replaces whether values that were not sent yet are now obsolete. */
  next(text: string, replaces: boolean): void;
  fail(errors: string): void;
  complete(): void;
}

/** Where the values of a shared execution come from, and how values and errors become text. */
export interface SubscriptionSource {
  open(signal: AbortSignal): Promise<AsyncIterable<unknown>>;
  render(value: unknown, signal: AbortSignal): Promise<string>;
  errors(error: unknown): string;
}

interface Member {
  readonly listener: Listener;
  /** The number of the newest rendering that this listener has. */
  received: number;
}

interface Rendering {
  readonly value: unknown;
  readonly order: number;
  readonly text: Promise<string>;
}

/**
 * One subscription, executed and serialized once for all clients that requested the same with the same credential. Where its values are
 * states, a late listener starts with the newest one. It ends with its source, or when the last listener leaves.
 */
export class SharedExecution {
  readonly #source: SubscriptionSource;
  readonly #onOver: () => void;
  readonly #leaving = new AbortController();
  readonly #members = new Set<Member>();
  #opening: Promise<AsyncIterable<unknown>> | undefined;
  #states: TopicSubscription<unknown> | undefined;
  #rendering: Rendering | undefined;
  #over = false;

  /** @param onOver is called before the listeners hear of the end, so that no new listener joins. */
  constructor(source: SubscriptionSource, onOver: () => void) {
    this.#source = source;
    this.#onOver = onOver;
  }

  /** Where its values are states, waits until the newest includes everything that has happened so far. The execution may have ended by then. Never rejects. */
  async refresh(): Promise<void> {
    await this.#opening?.catch(() => {});
    if (this.#states === undefined) return;
    await this.#states.refresh();
    // By then the state is rendered and has a number.
    await nextTurn();
  }

  /** Adds a listener, which gets the newest state and everything after it. Returns a function that removes it. */
  join(listener: Listener): () => void {
    const member: Member = { listener, received: this.#rendering?.order ?? 0 };
    this.#members.add(member);
    const newest = this.#states?.newest;
    if (newest !== undefined) void this.#catchUp(member, newest).catch(() => {});
    return () => {
      if (this.#members.delete(member) && this.#members.size === 0) this.#end();
    };
  }

  /** Runs until the source ends. Never rejects. */
  async run(): Promise<void> {
    try {
      this.#opening = this.#open();
      const source = await this.#opening;
      for await (const value of source) {
        const rendering = this.#render(value);
        await this.#tell(rendering, await rendering.text);
      }
      this.#end();
      await this.#tellEnd(listener => listener.complete());
    } catch (error) {
      const errors = this.#members.size === 0 ? '' : this.#source.errors(error);
      this.#end();
      await this.#tellEnd(listener => listener.fail(errors));
    }
  }

  async #open(): Promise<AsyncIterable<unknown>> {
    const source = await this.#source.open(this.#leaving.signal);
    if (source instanceof TopicSubscription) this.#states = source;
    return source;
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#leaving.abort(new Abandoned('The last listener has left'));
    this.#onOver();
  }

  async #catchUp(member: Member, newest: unknown): Promise<void> {
    const rendering = this.#render(newest);
    member.received = rendering.order - 1;
    this.#give(member, rendering, await rendering.text, true);
  }

  #render(value: unknown): Rendering {
    if (this.#rendering?.value !== value || this.#rendering === undefined) {
      const order = (this.#rendering?.order ?? 0) + 1;
      this.#rendering = { value, order, text: this.#source.render(value, this.#leaving.signal) };
    }
    return this.#rendering;
  }

  async #tell(rendering: Rendering, text: string): Promise<void> {
    const replaces = this.#states !== undefined;
    await inSlices([...this.#members], member => this.#give(member, rendering, text, replaces));
  }

  async #tellEnd(tell: (listener: Listener) => void): Promise<void> {
    await inSlices([...this.#members], member => {
      if (this.#members.delete(member)) tell(member.listener);
    });
  }

  /** Skips a listener that already has this rendering or a newer one. */
  #give(member: Member, { order }: Rendering, text: string, replaces: boolean): void {
    if (member.received >= order || !this.#members.has(member)) return;
    member.received = order;
    member.listener.next(text, replaces);
  }
}
