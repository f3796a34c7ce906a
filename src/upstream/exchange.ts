import type { Dispatcher } from 'undici';
import type { Cancellation, Stage } from '../cancellation.js';
import { Body } from './body.js';
import type { Reply } from './reply.js';

/** A call that ended without a reply. `sent` tells whether the service may have got the request. */
export class BrokenExchange extends Error {
  override readonly name = 'BrokenExchange';
  readonly sent: boolean;

  constructor(sent: boolean, cause: unknown) {
    super('The exchange broke', { cause });
    this.sent = sent;
  }
}

/** Is told how an exchange ended, once. */
export interface Ending {
  replied(reply: Reply): void;
  /** @param error its cause may be the reason of a cancellation. */
  broke(error: BrokenExchange): void;
}

/** Sends one request and collects the whole reply. `dispatch` and not `request`, because no stream is needed. */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  cancellation: Cancellation,
  ending: Ending,
): void {
  const collector = new Collector(cancellation, ending);
  if (cancellation.reason !== undefined) {
    collector.cancelled();
    return;
  }
  cancellation.enter(collector);
  dispatcher.dispatch(options, collector);
}

/** Collects one reply; an object, since every call under way has one, and its closures would take more. */
class Collector implements Dispatcher.DispatchHandler, Stage {
  readonly #cancellation: Cancellation;
  #ending: Ending | undefined;
  #chunks: Buffer[] | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: Reply['headers'] = {};

  constructor(cancellation: Cancellation, ending: Ending) {
    this.#cancellation = cancellation;
    this.#ending = ending;
  }

  /** The caller is told at once; undici learns of it now, or when it takes the request up. */
  cancelled(): void {
    const { reason } = this.#cancellation;
    this.#over()?.broke(new BrokenExchange(this.#controller !== undefined, reason));
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
    const body = new Body(this.#chunks ?? []);
    this.#over()?.replied({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#over()?.broke(new BrokenExchange(this.#controller !== undefined, error));
  }

  /** Whom to tell of the end, where nobody was told yet. */
  #over(): Ending | undefined {
    const ending = this.#ending;
    if (ending !== undefined) this.#cancellation.enter(undefined);
    this.#ending = undefined;
    return ending;
  }
}
