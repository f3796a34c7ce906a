/**
 * One listener's view of a topic: each value replaces the one before it, so that a slow reader gets the newest and never a queue.
 * Ends when its signal aborts, and as the topic ends.
 */
export class TopicSubscription<T> implements AsyncIterableIterator<T> {
  #topic: Topic<T>;
  #waiting: PromiseWithResolvers<IteratorResult<T>> | undefined;
  #unread: { value: T } | undefined;
  #last: { value: T } | undefined;
  #end: { error?: Error } | undefined;

  constructor(topic: Topic<T>) {
    this.#topic = topic;
  }

  /** What a listener who came now would get, which may be newer than what was told. */
  get newest(): T | undefined {
    return this.#topic.newest;
  }

  /** Brings the newest up to date with all that happened before, as far as that can be known now. Never rejects. */
  async refresh(): Promise<void> {
    let refreshed: Topic<T>;
    do {
      refreshed = this.#topic;
      await refreshed.refresh();
    } while (refreshed !== this.#topic);
  }

  /** Goes on with another topic, which makes what was not read of this one superfluous. */
  moveTo(topic: Topic<T>): void {
    this.#topic = topic;
    this.#unread = undefined;
  }

  /** Gives it a value, unless that is of the past for whoever has what was given before. */
  put(value: T): void {
    if (this.#end !== undefined) return;
    if (this.#last !== undefined && this.#topic.isPast(value, this.#last.value)) return;
    this.#last = { value };
    if (this.#waiting === undefined) this.#unread = { value };
    else this.#settle(waiting => waiting.resolve({ value, done: false }));
  }

  /** What was not read yet still is, before the end. */
  finish(error?: Error): void {
    if (this.#end !== undefined) return;
    this.#end = error === undefined ? {} : { error };
    this.#settle(waiting => (error === undefined ? waiting.resolve(over) : waiting.reject(error)));
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
      return error === undefined ? Promise.resolve(over) : Promise.reject(error);
    }
    this.#waiting ??= withResolvers();
    return this.#waiting.promise;
  }

  async return(): Promise<IteratorResult<T>> {
    this.#unread = undefined;
    this.finish();
    this.#topic.leave(this);
    return over;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #settle(settle: (waiting: PromiseWithResolvers<IteratorResult<T>>) => void): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) settle(waiting);
  }
}

interface PromiseWithResolvers<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

/** What a topic depends on its owner for. */
export interface TopicHooks<T> {
  /** Is called when the last listener has left. */
  onEmpty(): void;
  /** As `Reading.refresh` has it. */
  refresh(): Promise<void>;
  /** Whether a value is of the past for whoever has the other one. */
  isPast(value: T, other: T): boolean;
}

/** The newest value of something that changes, and who listens to it, within one process. */
export class Topic<T> {
  readonly #readings = new Set<TopicSubscription<T>>();
  readonly #onEmpty: () => void;
  #newest: { value: T } | undefined;
  readonly refresh: TopicHooks<T>['refresh'];
  readonly isPast: TopicHooks<T>['isPast'];

  constructor({ onEmpty, refresh, isPast }: TopicHooks<T>) {
    this.#onEmpty = onEmpty;
    this.refresh = refresh;
    this.isPast = isPast;
  }

  get newest(): T | undefined {
    return this.#newest?.value;
  }

  /** Takes a value over for whoever comes later. */
  keep(value: T): void {
    if (this.#newest === undefined || !this.isPast(value, this.#newest.value)) this.#newest = { value };
  }

  /** Takes a value over and tells it to all. */
  tell(value: T): void {
    this.keep(value);
    for (const reading of this.#readings) reading.put(value);
  }

  /** Ends all readings, with an error where there is one. */
  end(error?: Error): void {
    const readings = [...this.#readings];
    this.#readings.clear();
    for (const reading of readings) reading.finish(error);
    this.#onEmpty();
  }

  /** Leaves all listeners to another topic. */
  handOver(to: Topic<T>): void {
    const readings = [...this.#readings];
    this.#readings.clear();
    for (const reading of readings) {
      reading.moveTo(to);
      to.#take(reading);
    }
    this.#onEmpty();
  }

  /** Listens until the signal aborts; the newest value comes first. */
  read(signal: AbortSignal): TopicSubscription<T> {
    const reading = new TopicSubscription(this);
    this.#take(reading);
    if (signal.aborted) void reading.return();
    else signal.addEventListener('abort', () => void reading.return(), { once: true });
    return reading;
  }

  leave(reading: TopicSubscription<T>): void {
    if (this.#readings.delete(reading) && this.#readings.size === 0) this.#onEmpty();
  }

  #take(reading: TopicSubscription<T>): void {
    this.#readings.add(reading);
    if (this.#newest !== undefined) reading.put(this.#newest.value);
  }
}

const over = { value: undefined, done: true } as const;

function withResolvers<T>(): PromiseWithResolvers<T> {
  let resolve: (value: T) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<T>((resolved, rejected) => {
    resolve = resolved;
    reject = rejected;
  });
  return { promise, resolve, reject };
}
