import { Abandoned } from '../errors.js';

/** The result that graphql-ws is turning into a message; undefined at any other time. */
let serialized: EncodedResult | undefined;

/** A result as JSON, which goes into the message as it is: one text serves all listeners. */
export class EncodedResult {
  readonly data = null;
  readonly parts: readonly (Buffer | string)[];
  /** Whether the client is disconnected if it is slow and the memory budget has no room for the result. */
  readonly needsRoom: boolean;

  constructor(parts: readonly (Buffer | string)[], needsRoom: boolean) {
    this.parts = parts;
    this.needsRoom = needsRoom;
  }

  /** Leaves a `null` in the message, in the place of the parts. */
  toJSON(): null {
    serialized = this;
    return null;
  }
}

/** The results of one operation. `return` ends them at once, whatever they wait for, so that the client may use the id again. */
export class OperationResults implements AsyncGenerator<EncodedResult, undefined> {
  /** True until the operation is known to be a subscription: a draining connection waits for its response. */
  isSingle = true;
  readonly id: string;
  readonly #stopping = new AbortController();
  readonly #results: AsyncGenerator<EncodedResult, undefined>;
  readonly #onEnd: (results: OperationResults) => void;
  #settle: ((result: IteratorResult<EncodedResult, undefined>) => void) | undefined;

  constructor(
    id: string,
    run: (results: OperationResults) => AsyncGenerator<EncodedResult, undefined>,
    onEnd: (results: OperationResults) => void,
  ) {
    this.id = id;
    this.#results = run(this);
    this.#onEnd = onEnd;
  }

  /** Aborts when the operation has ended or is to stop. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  next(): Promise<IteratorResult<EncodedResult, undefined>> {
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#results.next().then(
        result => {
          if (result.done) this.#end();
          resolve(result);
        },
        error => {
          this.#end();
          reject(error);
        },
      );
    });
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#end();
    this.#results.return(undefined).catch(() => {});
    const end = { done: true, value: undefined } as const;
    this.#settle?.(end);
    return end;
  }

  #end(): void {
    this.#onEnd(this);
    this.#stopping.abort(new Abandoned('The client has gone'));
  }

  async throw(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}

/** A message of graphql-ws in the parts in which it is sent. @param needsRoom see `EncodedResult`; true for a message without a result. */
export function messageParts(message: string): {
  readonly parts: readonly (Buffer | string)[];
  readonly needsRoom: boolean;
} {
  const result = serialized;
  serialized = undefined;
  if (result === undefined) return { parts: [message], needsRoom: true };
  const before = message.slice(0, -'null}'.length);
  const [only] = result.parts;
  const parts = typeof only === 'string' ? [`${before}${only}}`] : [before, ...result.parts, '}'];
  return { parts, needsRoom: result.needsRoom };
}
