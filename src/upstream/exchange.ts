import type { Dispatcher } from 'undici';
import type { Cancellation } from '../cancellation.js';
import { joinBytes } from '../join-bytes.js';

/** What came back over the wire, whatever its status. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** A call that ended without a reply. `sent` tells whether the service may have got the request. */
export class BrokenExchange extends Error {
  override readonly name = 'BrokenExchange';
  readonly sent: boolean;

  constructor(sent: boolean, cause: unknown) {
    super('The exchange broke', { cause });
    this.sent = sent;
  }
}

/**
 * Sends one request and collects the whole reply. `dispatch` and not `request`, because no stream is needed.
 * @throws BrokenExchange where no whole reply came; its cause is the reason of a cancellation.
 */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  cancellation: Cancellation,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const collector = new Collector(cancellation, resolve, reject);
    if (cancellation.reason !== undefined) return collector.cancel();
    cancellation.onCancel(() => collector.cancel());
    dispatcher.dispatch(options, collector);
  });
}

/** Collects one reply; an object, since every call under way has one, and its closures would take more. */
class Collector implements Dispatcher.DispatchHandler {
  readonly #cancellation: Cancellation;
  readonly #resolve: (reply: Reply) => void;
  readonly #reject: (error: BrokenExchange) => void;
  #chunks: Buffer[] | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: Reply['headers'] = {};

  constructor(cancellation: Cancellation, resolve: (reply: Reply) => void, reject: (error: BrokenExchange) => void) {
    this.#cancellation = cancellation;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** The caller is told at once; undici learns of it now, or when it takes the request up. */
  cancel(): void {
    const { reason } = this.#cancellation;
    this.#fail(reason);
    if (reason !== undefined) this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { reason } = this.#cancellation;
    if (reason !== undefined) controller.abort(reason);
    else this.#controller = controller;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Reply['headers']): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#chunks === undefined) this.#chunks = [chunk];
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#cancellation.onCancel(undefined);
    this.#resolve({ status: this.#status, headers: this.#headers, body: joinBytes(this.#chunks ?? []) });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  #fail(cause: unknown): void {
    this.#cancellation.onCancel(undefined);
    this.#reject(new BrokenExchange(this.#controller !== undefined, cause));
  }
}
