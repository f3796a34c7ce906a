/** Settles the promise of a listener that waits for the next value. */
interface Waiting<T> {
  readonly resolve: (result: IteratorResult<T>) => void;
  readonly reject: (error: Error) => void;
}

/**
 * One listener's view of a topic. Each value replaces the one before it, so that a slow reader gets the newest value and never a queue.
 * Ends when its signal aborts or the topic ends. It has one reader: `next` is called again only after its promise has settled.
 */
export class TopicSubscription<T> implements AsyncIterableIterator<T> {
  readonly #topic: Topic<T>;
  #waiting: Waiting<T> | undefined;
  #unread: { value: T } | undefined;
  #end: { error?: Error } | undefined;

  constructor(topic: Topic<T>) {
    this.#topic = topic;
  }

  /** The value a new listener would get; undefined after an error. It may be newer than the last one published. */
  get newest(): T | undefined {
    return this.#end?.error === undefined ? this.#topic.newest : undefined;
  }

  /** Brings `newest` up to date with everything that happened before, as far as that can be known. Never rejects. */
  refresh(): Promise<void> {
    return this.#topic.refresh();
  }

  /** Drops the unread value. */
  forget(): void {
    this.#unread = undefined;
  }

  /** Gives the listener a value. */
  push(value: T): void {
    if (this.#end !== undefined) return;
    if (this.#waiting === undefined) this.#unread = { value };
    else this.#settle(waiting => waiting.resolve({ value, done: false }));
  }

  /** Ends the iteration after the unread value, if there is one. */
  finish(error?: Error): void {
    if (this.#end !== undefined) return;
    this.#end = error === undefined ? {} : { error };
    this.#settle(waiting => (error === undefined ? waiting.resolve(done) : waiting.reject(error)));
  }

  /** Ends the iteration at once with an error, without the unread value. */
  fail(error: Error): void {
    this.#unread = undefined;
    this.finish(error);
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#unread !== undefined) {
      const { value } = this.#unread;
      this.#unread = undefined;
      return Promise.resolve({ value, done: false });
    }
    if (this.#end !== undefined) {
      const { error } = this.#end;
      this.#end = {};
      return error === undefined ? Promise.resolve(done) : Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  async return(): Promise<IteratorResult<T>> {
    this.#unread = undefined;
    this.finish();
    this.#topic.unsubscribe(this);
    return done;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #settle(settle: (waiting: Waiting<T>) => void): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) settle(waiting);
  }
}

/** A source of values behind each of which a client can continue later, in any gateway. */
export interface Resumable<T extends { readonly cursor: string }> extends AsyncIterable<T> {
  /** Whether it continues an earlier subscription: a listener that joined after its first value would miss something. */
  readonly isResumed: boolean;
  /** What a listener gets first if it joins after this value: its own start. */
  startAfter(value: T): T;
}

/** What the owner of a topic provides. */
interface TopicHooks {
  /** Called when the last listener has left. */
  onEmpty(): void;
  /** See `TopicSubscription.refresh`. */
  refresh(): Promise<void>;
}

/** The newest value of something that changes, and its listeners in this process. */
export class Topic<T> {
  readonly #subscriptions = new Set<TopicSubscription<T>>();
  readonly #onEmpty: () => void;
  #newest: { value: T } | undefined;
  readonly refresh: TopicHooks['refresh'];

  constructor({ onEmpty, refresh }: TopicHooks) {
    this.#onEmpty = onEmpty;
    this.refresh = refresh;
  }

  get newest(): T | undefined {
    return this.#newest?.value;
  }

  /** Replaces the value for later listeners; current listeners do not get it. */
  replace(value: T): void {
    this.#newest = { value };
  }

  /** Replaces the value, and gives it to all listeners. */
  publish(value: T): void {
    this.replace(value);
    for (const subscription of this.#subscriptions) subscription.push(value);
  }

  /** Ends all subscriptions, with an error if there is one. */
  end(error?: Error): void {
    const subscriptions = [...this.#subscriptions];
    this.#subscriptions.clear();
    for (const subscription of subscriptions) subscription.finish(error);
    this.#onEmpty();
  }

  /** Forgets the value: neither later listeners nor those that have not read it get it. */
  forget(): void {
    this.#newest = undefined;
    for (const subscription of this.#subscriptions) subscription.forget();
  }

  /** Subscribes until the signal aborts. The newest value comes first. */
  subscribe(signal: AbortSignal): TopicSubscription<T> {
    const subscription = new TopicSubscription(this);
    this.#subscriptions.add(subscription);
    if (this.#newest !== undefined) subscription.push(this.#newest.value);
    if (signal.aborted) void subscription.return();
    else signal.addEventListener('abort', () => void subscription.return(), { once: true });
    return subscription;
  }

  unsubscribe(subscription: TopicSubscription<T>): void {
    if (this.#subscriptions.delete(subscription) && this.#subscriptions.size === 0) this.#onEmpty();
  }
}

const done = { value: undefined, done: true } as const;
