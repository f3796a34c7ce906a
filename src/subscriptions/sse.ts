import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Abandoned, BadUserInput, RateLimited } from '../errors.js';
import type { Authentication, Identity } from '../http/authentication.js';
import type { Claim } from '../lib/memory-budget.js';
import { type OperationInfo, outcomeOfErrors } from '../observability/operation-info.js';
import { type Asked, asked } from './messages.js';
import type { Operation } from './operations.js';
import { drainGradually } from './spread.js';
import { type FrameEncoder, inParts, Subscriber, slowBytes, type Wire } from './subscriber.js';
import type { Subscriptions } from './subscriptions.js';

const wording: FrameEncoder = {
  around: ['event: next\ndata: ', '\n\n'],
  next: text => `event: next\ndata: ${text}\n\n`,
  fail: errors => `${wording.next(`{"errors":${errors}}`)}${wording.complete()}`,
  complete: () => 'event: complete\ndata: \n\n',
};

const head = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // What ends the stream ends the connection, for which a closing server would wait otherwise.
  connection: 'close',
  // Proxies such as nginx would hold the events back.
  'x-accel-buffering': 'no',
};

/**
 * GraphQL over Server-Sent Events, in distinct connections, at `path`: POST, and GET for queries and subscriptions.
 * @returns what ends all streams, spread over a time in milliseconds, so that their clients come back.
 */
export function registerSse(
  app: FastifyInstance,
  path: string,
  streams: Subscriptions,
  authentication: Authentication,
  heartbeatMs: number,
): (spreadMs: number) => Promise<void> {
  const open = new Set<Stream>();

  app.route({
    url: path,
    method: ['GET', 'POST'],
    async handler(request, reply) {
      if (!(request.headers.accept ?? '').includes('text/event-stream')) {
        return reply.code(406).send(plainError('Accept must include text/event-stream'));
      }
      const guest = await authentication.authenticate(authentication.handshakeOf(request));
      const leave = streams.enter(guest);
      if (leave === undefined) throw new RateLimited('Too many connections with this credential');
      reply.headers(head);
      reply.hijack();
      // What a browser has to be told is set by the server's hooks, as for any other answer.
      const stream = new Stream(reply.raw, reply.getHeaders() as OutgoingHttpHeaders, streams.claim(guest), leave);
      open.add(stream);
      reply.raw.on('close', () => {
        open.delete(stream);
        stream.closed();
      });
      stream.run(
        () => readAsked(request),
        request.method === 'GET',
        guest,
        streams,
        streams.requestTelemetry.of(request.raw),
      );
    },
  });

  const heartbeat = setInterval(() => {
    for (const stream of open) stream.beat();
  }, heartbeatMs);
  app.addHook('onClose', () => clearInterval(heartbeat));
  return spreadMs => drainGradually([...open], spreadMs, stream => stream.depart());
}

/** One response that goes on. */
class Stream implements Wire {
  readonly #response: ServerResponse;
  readonly #leave: () => void;
  /** Counts what it has not taken, or the answer that it waits for. */
  readonly #claim: Claim;
  #queued = 0;
  /** How much it had to take at the last heartbeat. */
  #untaken = 0;
  #stop = () => {};
  #over = false;
  /** Whether it waits for one answer. */
  #isSingle = false;

  constructor(response: ServerResponse, headers: OutgoingHttpHeaders, claim: Claim, leave: () => void) {
    this.#response = response;
    this.#leave = leave;
    this.#claim = claim;
    response.on('error', () => response.destroy());
    response.socket?.setKeepAlive(true);
    response.writeHead(200, headers);
    response.write(':\n\n');
  }

  get buffered(): number {
    return this.#response.writableLength;
  }

  send(frame: string, whenSent?: () => void): void {
    if (this.#over) return;
    const isSlow = this.buffered > slowBytes;
    this.#response.write(frame, error => {
      this.#count();
      if (error == null) whenSent?.();
    });
    // Who does not take what there is must not fill the memory of all.
    if (!this.#count() && isSlow) this.#response.destroy();
  }

  queue(by: number): boolean {
    this.#queued += by;
    return this.#count();
  }

  /** Counts what it has not taken; tells whether there is room for it. Its one answer is counted as a whole until it has gone. */
  #count(): boolean {
    const { buffered } = this;
    return this.#isSingle || this.#claim.set((buffered > slowBytes ? buffered : 0) + this.#queued);
  }

  /** A comment, so that proxies keep the connection; who has much to take, and took nothing since the last one, is gone. */
  beat(): void {
    const { buffered } = this;
    if (this.#response.writableNeedDrain && buffered >= this.#untaken) this.#response.destroy();
    else if (!this.#response.writableNeedDrain) this.send(':\n\n');
    this.#untaken = buffered;
  }

  /** Its connection is gone. */
  closed(): void {
    this.end();
    this.#claim.release();
  }

  /** Ends, unless it waits for one answer: then it ends with that. */
  depart(): void {
    if (!this.#isSingle) this.end();
  }

  /** Ends cleanly and stops whatever runs. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#stop();
    this.#leave();
    this.#response.end();
  }

  run(read: () => Asked, isGet: boolean, guest: Identity, streams: Subscriptions, trail: OperationInfo): void {
    try {
      const operation = streams.read(read(), trail);
      if (isGet && operation.type === 'mutation') throw new BadUserInput('query', 'send a mutation with POST');
      if (operation.type === 'subscription') this.#listen(operation, guest, streams, trail);
      else void this.#answer(operation, guest, streams, trail);
    } catch (error) {
      this.send(wording.fail(streams.worded(error, trail)));
      this.end();
    }
  }

  #listen(operation: Operation, guest: Identity, streams: Subscriptions, trail: OperationInfo): void {
    const subscriber = new Subscriber(this, wording, (_, told) => {
      if (told !== undefined) trail.outcome = outcomeOfErrors(JSON.parse(told));
      this.end();
    });
    const leave = streams.subscribe(operation, guest, subscriber, trail);
    streams.telemetry.listeners('sse', 1);
    this.#stop = () => {
      leave();
      subscriber.stop();
      streams.telemetry.listeners('sse', -1);
    };
  }

  async #answer(operation: Operation, guest: Identity, streams: Subscriptions, trail: OperationInfo): Promise<void> {
    this.#isSingle = true;
    const stopping = new AbortController();
    this.#stop = () => stopping.abort(new Abandoned('The client has gone'));
    try {
      const outcome = await streams.single(operation, guest, stopping.signal, trail, this.#claim);
      if ('errors' in outcome) this.send(wording.fail(JSON.stringify(outcome.errors)));
      else if (!this.#over) {
        const parts = inParts(outcome.answer, wording, this.#claim);
        for (const part of [...parts, wording.complete()]) this.#response.write(part);
      }
    } catch (error) {
      this.send(wording.fail(streams.worded(error, trail)));
    }
    this.end();
  }
}

/** @throws BadUserInput where it is not what GraphQL over HTTP asks with. */
function readAsked({ method, query, body }: FastifyRequest): Asked {
  const given = method === 'GET' ? fromQuery(query as Record<string, unknown>) : body;
  const result = asked.safeParse(given);
  if (result.success) return result.data;
  throw new BadUserInput(String(result.error.issues[0]?.path[0] ?? 'query'), 'is not what GraphQL over HTTP asks with');
}

function fromQuery({ query, documentId, operationName, variables, extensions }: Record<string, unknown>) {
  return {
    query,
    documentId,
    operationName,
    variables: parsed('variables', variables),
    extensions: parsed('extensions', extensions),
  };
}

function parsed(name: string, text: unknown): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(String(text));
  } catch {
    throw new BadUserInput(name, 'is no JSON');
  }
}

const plainError = (message: string) => ({ errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] });
