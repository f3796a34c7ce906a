import type { Dispatcher } from 'undici';
import { UpstreamInvalidResponse } from '../../errors.js';
import { Chunks } from '../../lib/join-bytes.js';
import { Body } from './body.js';
import { tooLarge } from './body-bounds.js';
import { BulkheadFull } from './bulkhead.js';
import type { ByteBudget } from './byte-budget.js';
import type { Cancellation, Stage } from './cancellation.js';
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

/** Statuses 100-199 that may come before the real one: a service that goes on sending them would keep the parser busy for nothing. */
const mostInformational = 10;

/** How much of a reply is received. */
export interface Reception {
  /** Of this reply. */
  readonly largestBody: number;
  /** Of all replies that are on their way. */
  readonly arriving: ByteBudget;
}

/**
 * Sends one request and collects the whole reply. `dispatch` and not `request`, because no stream is needed. A body that is too large, or has
 * no room beside the others that are arriving, is given up as soon as that is known.
 */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  reception: Reception,
  cancellation: Cancellation,
  ending: Ending,
): void {
  const collector = new Collector(reception, cancellation, ending);
  if (cancellation.reason !== undefined) {
    collector.cancelled();
    return;
  }
  cancellation.enter(collector);
  dispatcher.dispatch(options, collector);
}

/** Collects one reply; an object, since every call under way has one, and its closures would take more. */
class Collector implements Dispatcher.DispatchHandler, Stage {
  readonly #reception: Reception;
  readonly #cancellation: Cancellation;
  #ending: Ending | undefined;
  #chunks: Chunks | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: Reply['headers'] = {};
  #informational = 0;
  #bytes = 0;

  constructor(reception: Reception, cancellation: Cancellation, ending: Ending) {
    this.#reception = reception;
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

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Reply['headers']): void {
    if (status < 200) {
      this.#informational += 1;
      if (this.#informational > mostInformational) this.#giveUp(controller, endlessAnnouncement());
      return;
    }
    this.#status = status;
    this.#headers = headers;
    if (Number(headers['content-length']) > this.#reception.largestBody) this.#giveUp(controller, tooLarge());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ending === undefined) return;
    const { largestBody, arriving } = this.#reception;
    if (this.#bytes + chunk.length > largestBody) {
      this.#giveUp(controller, tooLarge());
      return;
    }
    if (!arriving.take(chunk.length)) {
      this.#giveUp(controller, new BulkheadFull('Too much is arriving'));
      return;
    }
    this.#bytes += chunk.length;
    this.#chunks ??= new Chunks();
    this.#chunks.add(chunk);
  }

  onResponseEnd(): void {
    const body = new Body(this.#chunks?.parts ?? []);
    this.#over()?.replied({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#over()?.broke(new BrokenExchange(this.#controller !== undefined, error));
  }

  #giveUp(controller: Dispatcher.DispatchController, cause: Error): void {
    this.#over()?.broke(new BrokenExchange(true, cause));
    controller.abort(cause);
  }

  /** Whom to tell of the end, where nobody was told yet. */
  #over(): Ending | undefined {
    const ending = this.#ending;
    if (ending === undefined) return undefined;
    this.#cancellation.enter(undefined);
    this.#ending = undefined;
    this.#chunks = undefined;
    this.#reception.arriving.giveBack(this.#bytes);
    return ending;
  }
}

const endlessAnnouncement = () =>
  new UpstreamInvalidResponse('The service announced an answer too often', undefined, false);
