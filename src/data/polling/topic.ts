// The newest value of something that changes, and its listeners in this process.
/** The values that a subscription delivers, for all clients that share it. */
export interface Feed<T> extends AsyncIterable<T> {
  /** Whether each value is a whole state, which replaces the one before it. */
  readonly isState: boolean;
  /** Whether a client may join after the first value: not where the feed continues an earlier one, because the client would miss something. */
  readonly isJoinable: boolean;
  /** What a client gets first that joins after the value `last`: the newest state, or the place where it begins. Undefined: the next value. */
  firstAfter(last: T | undefined): T | undefined;
  /** Brings the newest state up to date with everything that happened before, as far as that can be known. Never rejects. */
  refresh(): Promise<void>;
}

/**
 * One listener's view of a topic. Each value replaces the one before it, so that a slow reader gets the newest value and never a queue.
 * Ends when its signal aborts or the topic ends. It is read once.
 */
export class TopicSubscription<T> implements Feed<T> {
  readonly isState = true;
  readonly isJoinable = true;
  readonly #topic: Topic<T>;
  #wake = () => {};
  #unread: { readonly value: T } | undefined;
  #end: { readonly error?: Error | undefined } | undefined;

  constructor(topic: Topic<T>) {
    this.#topic = topic;
  }

  /** The newest state; it may be newer than the last one published. Undefined after an error. */
  firstAfter(): T | undefined {
    return this.#end?.error === undefined ? this.#topic.newest : undefined;
  }

  refresh(): Promise<void> {
    return this.#topic.refresh();
  }

  forget(): void {
    this.#unread = undefined;
  }

  push(value: T): void {
    this.#unread = { value };
    this.#wake();
  }

  /** Ends the iteration after the unread value, if there is one. */
  finish(error?: Error): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** Ends the iteration at once, without the unread value. */
  leave(error?: Error): void {
    this.forget();
    this.finish(error);
    this.#topic.unsubscribe(this);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, undefined> {
    try {
      for (;;) {
        const unread = this.#unread;
        this.forget();
        if (unread !== undefined) yield unread.value;
        else if (this.#end?.error !== undefined) throw this.#end.error;
        else if (this.#end !== undefined) return undefined;
        else await new Promise<void>(resolve => (this.#wake = resolve));
      }
    } finally {
      this.leave();
    }
  }
}

export class Topic<T> {
  /** What later listeners get first. Current listeners get only what is published. */
  newest: T | undefined;
  readonly refresh: () => Promise<void>;
  readonly #subscriptions = new Set<TopicSubscription<T>>();
  readonly #onEmpty: () => void;

  constructor({ onEmpty, refresh }: { onEmpty(): void; refresh(): Promise<void> }) {
    this.#onEmpty = onEmpty;
    this.refresh = refresh;
  }

  publish(value: T): void {
    this.newest = value;
    for (const subscription of this.#subscriptions) subscription.push(value);
  }

  end(error?: Error): void {
    const subscriptions = [...this.#subscriptions];
    this.#subscriptions.clear();
    for (const subscription of subscriptions) subscription.finish(error);
    this.#onEmpty();
  }

  /** Forgets the value: neither later listeners nor those that have not read it get it. */
  forget(): void {
    this.newest = undefined;
    for (const subscription of this.#subscriptions) subscription.forget();
  }

  /** Subscribes until the signal aborts. The newest value comes first. */
  subscribe(signal: AbortSignal): TopicSubscription<T> {
    const subscription = new TopicSubscription(this);
    this.#subscriptions.add(subscription);
    if (this.newest !== undefined) subscription.push(this.newest);
    if (signal.aborted) subscription.leave();
    else signal.addEventListener('abort', () => subscription.leave(), { once: true });
    return subscription;
  }

  unsubscribe(subscription: TopicSubscription<T>): void {
    if (this.#subscriptions.delete(subscription) && this.#subscriptions.size === 0) this.#onEmpty();
  }
}
