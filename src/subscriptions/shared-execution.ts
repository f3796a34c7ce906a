import { setImmediate as nextTurn } from 'node:timers/promises';
import { TopicSubscription } from '../data/polling/topic.js';
import { Abandoned } from '../errors.js';
import { inSlices } from './slices.js';

/** One client's subscription. */
export interface Listener {
  /** @param replaces whether this makes what was not sent yet superfluous. */
  next(text: string, replaces: boolean): void;
  fail(errors: string): void;
  complete(): void;
}

/** What is broadcast: a source, and how its values and its end are put into words. */
export interface SubscriptionSource {
  open(signal: AbortSignal): Promise<AsyncIterable<unknown>>;
  render(value: unknown, signal: AbortSignal): Promise<string>;
  errors(error: unknown): string;
}

interface Seat {
  readonly listener: Listener;
  /** The number of the newest rendering it was given. */
  heard: number;
}

interface Rendering {
  readonly value: unknown;
  readonly order: number;
  readonly text: Promise<string>;
}

/**
 * One subscription, executed and serialised once for all who asked for the same with the same credential. Where its values are states,
 * a late listener begins with the newest. It ends with its source, or when the last listener leaves.
 */
export class SharedExecution {
  readonly #programme: SubscriptionSource;
  readonly #onOver: () => void;
  readonly #leaving = new AbortController();
  readonly #seats = new Set<Seat>();
  #opening: Promise<AsyncIterable<unknown>> | undefined;
  #states: TopicSubscription<unknown> | undefined;
  #rendering: Rendering | undefined;
  #over = false;

  /** @param onOver is called before the listeners are told, so that nobody joins any more. */
  constructor(programme: SubscriptionSource, onOver: () => void) {
    this.#programme = programme;
    this.#onOver = onOver;
  }

  /** Where its values are states, lets the newest have all that happened before, for whoever joins next. It may be over by then. Never rejects. */
  async refresh(): Promise<void> {
    await this.#opening?.catch(() => {});
    if (this.#states === undefined) return;
    await this.#states.refresh();
    // Until then, what was read before is rendered, and is known by its number.
    await nextTurn();
  }

  /** Listens; returns what ends it. What was rendered before is for others, but for the newest state. */
  join(listener: Listener): () => void {
    const seat: Seat = { listener, heard: this.#rendering?.order ?? 0 };
    this.#seats.add(seat);
    const newest = this.#states?.newest;
    if (newest !== undefined) void this.#catchUp(seat, newest).catch(() => {});
    return () => {
      if (this.#seats.delete(seat) && this.#seats.size === 0) this.#end();
    };
  }

  /** Runs to its end. Never rejects. */
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
      const errors = this.#seats.size === 0 ? '' : this.#programme.errors(error);
      this.#end();
      await this.#tellEnd(listener => listener.fail(errors));
    }
  }

  async #open(): Promise<AsyncIterable<unknown>> {
    const source = await this.#programme.open(this.#leaving.signal);
    if (source instanceof TopicSubscription) this.#states = source;
    return source;
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#leaving.abort(new Abandoned('Everybody has left'));
    this.#onOver();
  }

  async #catchUp(seat: Seat, newest: unknown): Promise<void> {
    const rendering = this.#render(newest);
    seat.heard = rendering.order - 1;
    this.#give(seat, rendering, await rendering.text, true);
  }

  #render(value: unknown): Rendering {
    if (this.#rendering?.value !== value || this.#rendering === undefined) {
      const order = (this.#rendering?.order ?? 0) + 1;
      this.#rendering = { value, order, text: this.#programme.render(value, this.#leaving.signal) };
    }
    return this.#rendering;
  }

  async #tell(rendering: Rendering, text: string): Promise<void> {
    const replaces = this.#states !== undefined;
    await inSlices([...this.#seats], seat => this.#give(seat, rendering, text, replaces));
  }

  async #tellEnd(tell: (listener: Listener) => void): Promise<void> {
    await inSlices([...this.#seats], seat => {
      if (this.#seats.delete(seat)) tell(seat.listener);
    });
  }

  /** Nobody is told what is older than what they have. */
  #give(seat: Seat, { order }: Rendering, text: string, replaces: boolean): void {
    if (seat.heard >= order || !this.#seats.has(seat)) return;
    seat.heard = order;
    seat.listener.next(text, replaces);
  }
}
