// What the gateway knows of one request, from its head to the end of its response.
import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Credential, Scope } from '../auth/credentials.js';
import type { RateLimitUsage } from '../context.js';
import { Abandoned, type GatewayError } from '../errors.js';
import { Chunks, joinBytes } from '../lib/body.js';
import type { Claim } from '../lib/memory-budget.js';
import { normalizedUrl, pathOf } from '../lib/network.js';
import type { MaybePromise } from '../lib/run.js';
import type { OperationInfo, Span } from '../observability/operation-info.js';
import type { HeaderList, ResponseInFlight } from './response-cache/store.js';
import { Refused } from './web-safety.js';

/** The largest body of a request, in bytes. */
export const maxBodyBytes = 1024 * 1024;
/** A body in more chunks than this costs more to parse than its content is worth. */
const maxPieces = 20_000;

/** Answers a request, or passes it on. */
export type Handler = (state: RequestState) => MaybePromise<void>;

/** A handler that answers some requests, and passes all others on to `next`. */
export type Stage = (next: Handler) => Handler;

const key = Symbol('RequestState');
type Holder = IncomingMessage & { [key]: RequestState };

/** The state of a request, which exists from the first stage on. */
export const stateOf = (request: IncomingMessage): RequestState => (request as Holder)[key];

/** Everything that the HTTP server knows about a request. The first stage creates it; the others fill in what they find. Its execution adds a `Context`. */
export class RequestState {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** When its whole body had arrived, or, without one, its headers: a slow upload is no work. In milliseconds of `performance.now()`. */
  startedAt = performance.now();
  /** The path of its URL, in the one spelling that the router reads too. */
  readonly path: string;
  readonly address: string;
  readonly operation: OperationInfo;
  /** The span of the whole request; undefined where it is not traced. */
  readonly span: Span | undefined;
  /** Headers of the response that are set before it is known what responds. */
  readonly headers: HeaderList = [];

  // Authentication
  /** The error of an invalid one; undefined where there is none. */
  credential: Credential | GatewayError | undefined;
  scope: Scope | undefined;

  // Admission
  /** The client's rate limit; undefined where nothing is limited. */
  usage: RateLimitUsage | undefined;
  refusal: Error | undefined;
  bodyWatch: BodyWatch | undefined;
  /** Counts the memory of the body; undefined while that is not counted. */
  bodyClaim: Claim | undefined;
  readonly #counts: (() => void)[] = [];
  /** Whether the response lasts as long as its client listens. */
  isStream = false;
  /** Call it before `release` where the response becomes a stream; undefined where it is counted as one already. @throws Overloaded where its client has too many of all connections */
  countAsStream: ((state: RequestState) => void) | undefined;

  /** Once someone reads it. */
  body: MaybePromise<Buffer | Error> | undefined;
  /** Its execution, for whose result equal requests may wait. */
  flight: ResponseInFlight | undefined;
  /** Opens a WebSocket, or sets `refusal`; undefined where that is not what is requested. */
  upgrade: ((request: FastifyRequest) => void) | undefined;

  #isClosed = false;
  readonly #onClose: (() => void)[] = [];

  /** @param span of the request, in which `operation` has its own. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    address: string,
    operation: OperationInfo,
    span?: Span,
  ) {
    request.url = normalizedUrl(request.url ?? '');
    this.request = request;
    this.response = response;
    this.path = pathOf(request.url);
    this.address = address;
    this.operation = operation;
    this.span = span;
    (request as Holder)[key] = this;
  }

  /** The only way to set a header of the response before Fastify. */
  setHeader(name: string, value: OutgoingHttpHeader): void {
    this.headers.push(name, value);
  }

  /** Sets the headers on a response that is not written with `writeHead`, which costs a quarter of `setHeader` for each header. */
  copyHeaders(): void {
    const { headers, response } = this;
    for (let at = 0; at + 1 < headers.length; at += 2) response.setHeader(String(headers[at]), headers[at + 1] ?? '');
  }

  /** @param end of a count of the request, such as that of those in flight. */
  countUntilReleased(end: () => void): void {
    if (this.#isClosed) end();
    else this.#counts.push(end);
  }

  /** Ends the counts: the response has ended, or has become a stream, which has a limit of its own. */
  release(): void {
    this.isStream = !this.#isClosed;
    for (const end of this.#counts.splice(0)) end();
    // Its key has the whole body, which nothing counts.
    if (this.isStream) this.flight = undefined;
  }

  /** Calls `work` once the response has ended or its client has gone; at once if that was before. */
  whenClosed(work: () => void): void {
    if (this.#isClosed) work();
    else this.#onClose.push(work);
  }

  /** The response has emitted `close`, which Node 24 may do twice. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.release();
    for (const work of this.#onClose) work();
  }
}

/** Whose request, operation or connection it is. */
export type Client = Pick<RequestState, 'address' | 'scope' | 'credential'>;

/** Whether a request is for GraphQL, with a response that ends. A browser that opens the page for people counts for a moment. */
export const isForGraphql = ({ path, request: { method } }: RequestState) =>
  path === '/graphql' && (method === 'POST' || method === 'GET');

/**
 * Reads the body of a request once; later callers get the same buffer. Returns, and does not throw, an Error if the body cannot be
 * read: Refused where it is too large, an error of its watch, or Abandoned.
 */
export function readBody(request: IncomingMessage): MaybePromise<Buffer | Error> {
  const state = stateOf(request);
  state.body ??= new Promise(resolve => collectBody(state, resolve));
  return state.body;
}

function collectBody(state: RequestState, resolve: (body: Buffer | Error) => void): void {
  const { request, response, bodyWatch: watch } = state;
  let chunks = new Chunks();
  let size = 0;
  let pieces = 0;
  /** Undefined once it is settled: the listeners below live as long as the request, and would keep the body. */
  let settling: typeof resolve | undefined = resolve;
  const settle = (body: Buffer | Error) => {
    state.body = body;
    settling?.(body);
    settling = undefined;
    chunks = new Chunks();
  };
  const on = (event: 'data' | 'end', work: (chunk: Buffer) => void) =>
    request.on(event, (chunk: Buffer) => {
      // Node still delivers the rest of a body that was refused.
      if (settling === undefined) return;
      try {
        work(chunk);
      } catch (error) {
        settle(error as Error);
      }
    });
  if (Number(request.headers['content-length']) > maxBodyBytes) {
    settle(tooLarge());
    return;
  }
  if (/\b100-continue\b/i.test(request.headers.expect ?? '') && request.httpVersion === '1.1') response.writeContinue();
  on('data', chunk => {
    size += chunk.length;
    pieces += 1;
    if (size > maxBodyBytes) throw tooLarge();
    if (pieces > maxPieces) throw new Refused(413, `The body must arrive in at most ${maxPieces} chunks`);
    watch?.grew(size);
    chunks.add(chunk);
  });
  on('end', () => {
    state.startedAt = performance.now();
    watch?.ended();
    settle(joinBytes(chunks.parts));
  });
  request.on('close', () => {
    if (settling !== undefined && !request.readableEnded) settle(new Abandoned('The client has gone'));
  });
  // `close` follows.
  request.on('error', () => {});
}

const tooLarge = () => new Refused(413, `The body must be at most ${maxBodyBytes} bytes`);

/** Decides, while a body arrives, whether the gateway continues with the request. Either function may throw an error that refuses it. */
export interface BodyWatch {
  /** @param bytes that the body takes so far. */
  grew(bytes: number): void;
  ended(): void;
}
