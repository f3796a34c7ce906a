// The reply to one request, collected from the wire within its limits.
import { type Dispatcher, errors } from 'undici';
import { UpstreamInvalidResponse } from '../../errors.js';
import { Chunks, isPlainUtf8, joinBytes, releaseArrayBuffers, UnreadableBody, utf8Pieces } from '../../lib/body.js';
import { addTo, BulkheadFull, maxBeyond, shareOf } from '../../lib/run.js';
import type { Reply } from './request.js';

/** The error for a body or headers beyond their bounds. */
export function responseTooLarge(): UpstreamInvalidResponse {
  return new UpstreamInvalidResponse('The response of the service is too large');
}

/** An exchange that ended without a reply. `sent` says whether the service may have received the request. */
export class BrokenExchange extends Error {
  override readonly name = 'BrokenExchange';
  readonly sent: boolean;

  constructor(sent: boolean, cause: unknown) {
    super('The exchange broke', { cause });
    this.sent = sent;
  }
}

/** The bytes of all bodies that are being received, or wait to be read. Once they are `max`, a client with less than its share may still have more. */
export class ByteBudget {
  readonly #max: number;
  readonly #heldBy = new Map<string | undefined, number>();
  held = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Counts bytes for a client. @returns false, and counts nothing, where there is no room. */
  take(client: string | undefined, bytes: number): boolean {
    const max = this.#max;
    const held = this.held + bytes;
    if (held > max) {
      const own = this.#heldBy.get(client) ?? 0;
      if (own + bytes > shareOf(max, this.#heldBy.size, own) || held > max * (1 + maxBeyond)) return false;
    }
    this.giveBack(client, -bytes);
    return true;
  }

  giveBack(client: string | undefined, bytes: number): void {
    this.held -= bytes;
    addTo(this.#heldBy, client, -bytes);
  }
}

export interface ReplyLimits {
  /** For the body of this reply, as it comes over the wire and as it is decoded. */
  readonly bodyBytes: number;
  /** Shared by all replies that are being received. */
  readonly budget: ByteBudget;
  /** Whose turn the call takes. */
  readonly client?: string | undefined;
}

/** Informational replies (status 100-199) before the final one. A service that keeps sending them would keep the parser busy for nothing. */
const maxInformationalReplies = 10;

/** Learns how an exchange ended, once. */
export interface ExchangeListener {
  /** The body counts for the budget until `release` is called. */
  onReply(reply: Reply): void;
  /** @param error its cause may be the reason given to `abort`. */
  onBroken(error: BrokenExchange): void;
}

/** Collects the whole reply to one request, as undici reports it. Aborts as soon as the reply is known to exceed its limits. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #limits: ReplyLimits;
  readonly #listener: ExchangeListener;
  #chunks: Chunks | undefined = new Chunks();
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: Reply['headers'] = {};
  #informationalReplies = 0;
  #bytes = 0;
  /** As they came over the wire, while they are decoded. */
  #encodedBytes = 0;
  #isOver = false;

  constructor(limits: ReplyLimits, listener: ExchangeListener) {
    this.#limits = limits;
    this.#listener = listener;
  }

  /** Ends the exchange early. The listener learns of it at once; undici now, or when it starts the request. What undici reports later is ignored. */
  abort(reason: Error): void {
    if (this.#isOver) return;
    this.#break(reason);
    this.#controller?.abort(reason);
  }

  /** @throws Error after `abort`: undici then sends nothing and keeps the connection, which `controller.abort` would destroy. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) throw new Error('The exchange was ended before it began');
    this.#controller = controller;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Reply['headers']): void {
    if (status < 200) {
      this.#informationalReplies += 1;
      if (this.#informationalReplies > maxInformationalReplies) {
        this.abort(new UpstreamInvalidResponse('The service sent too many informational replies'));
      }
      return;
    }
    this.#status = status;
    this.#headers = headers;
    if (Number(headers['content-length']) > this.#limits.bodyBytes) this.abort(responseTooLarge());
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.#isOver) return;
    const { bodyBytes, budget, client } = this.#limits;
    if (this.#bytes + chunk.length > bodyBytes) {
      this.abort(responseTooLarge());
    } else if (!budget.take(client, chunk.length)) {
      this.abort(new BulkheadFull('Too many bytes are being received'));
    } else {
      this.#bytes += chunk.length;
      this.#chunks?.add(chunk);
    }
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    const parts = this.#chunks?.parts ?? [];
    const body = joinBytes(parts);
    if (isPlainUtf8(body, this.#headers)) {
      if (parts.length > 1) releaseArrayBuffers(parts);
      this.#reply(body);
    } else {
      void this.#decode(body);
    }
  }

  /** Counts the decoded body as it counted what came over the wire. */
  async #decode(encoded: Buffer): Promise<void> {
    const chunks = new Chunks();
    this.#chunks = chunks;
    this.#encodedBytes = this.#bytes;
    this.#bytes = 0;
    let unreadable: UnreadableBody | undefined;
    try {
      for await (const piece of utf8Pieces(encoded, this.#headers)) {
        if (this.#isOver) return;
        this.onResponseData(undefined, piece);
      }
    } catch (error) {
      if (!(error instanceof UnreadableBody)) return this.#break(error as Error);
      unreadable = error;
    }
    if (!this.#isOver) this.#reply(joinBytes(chunks.parts), unreadable);
  }

  #reply(body: Buffer, unreadable?: UnreadableBody): void {
    this.#isOver = true;
    this.#chunks = undefined;
    this.#listener.onReply({ status: this.#status, headers: this.#headers, body, unreadable });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (!this.#isOver) this.#break(error instanceof errors.HeadersOverflowError ? responseTooLarge() : error);
  }

  #break(cause: Error): void {
    this.#isOver = true;
    this.release();
    this.#listener.onBroken(new BrokenExchange(this.#controller !== undefined, cause));
  }

  /** The body is not needed any more, or is about to be read. */
  release(): void {
    this.#chunks = undefined;
    const { budget, client } = this.#limits;
    budget.giveBack(client, this.#bytes + this.#encodedBytes);
  }
}
