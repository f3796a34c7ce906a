// A closed loop: so many connections, each of which asks again as soon as it was answered. On plain sockets, so that the
// generator costs less than the fastest server.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('\r\n0\r\n\r\n');

/**
 * A POST of JSON, ready for the wire.
 * @param {string} path @param {string} body @param {Record<string, string>} [headers]
 */
export function post(path, body, headers = {}) {
  const lines = Object.entries({ 'content-type': 'application/json', accept: 'application/json', ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  return `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** One connection that asks one thing at a time. */
export class Connection {
  #socket;
  /** @type {Buffer[]} */
  #chunks = [];
  #size = 0;
  /** @type {{ status: number, bodyAt: number, end: number | undefined } | undefined} */
  #head;
  /** @type {((result: { status: number, body: () => string, length: number }) => void) | undefined} */
  #resolve;
  /** @type {((error: Error) => void) | undefined} */
  #reject;

  /** @param {string} origin @param {string} [localAddress] of the client */
  constructor(origin, localAddress) {
    const { hostname, port } = new URL(origin);
    this.#socket = connect({ port: Number(port), host: hostname, localAddress });
    this.#socket.setNoDelay(true);
    this.#socket.on('data', chunk => this.#take(chunk));
    const fail = error =>
      this.#reject?.(error instanceof Error ? error : new Error('The server closed the connection'));
    this.#socket.on('error', fail);
    this.#socket.on('close', fail);
  }

  /** @param {string | Buffer} request @returns {Promise<{ status: number, body: () => string, length: number }>} */
  ask(request) {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#socket.write(request);
    });
  }

  close() {
    this.#reject = undefined;
    this.#socket.destroy();
  }

  /** @param {Buffer} chunk */
  #take(chunk) {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    this.#head ??= headOf(this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks));
    if (this.#head === undefined) return;
    const { status, bodyAt, end } = this.#head;
    if (end === undefined ? !endsWith(chunk, this.#chunks) : this.#size < end) return;
    const chunks = this.#chunks;
    const length = this.#size - bodyAt;
    this.#chunks = [];
    this.#size = 0;
    this.#head = undefined;
    this.#resolve?.({ status, length, body: () => bodyOf(Buffer.concat(chunks).subarray(bodyAt), end === undefined) });
  }
}

/** Asks one thing on a connection of its own. @param {string} origin @param {string} request */
export async function askOnce(origin, request) {
  const connection = new Connection(origin);
  const { status, body, length } = await connection.ask(request);
  const text = body();
  connection.close();
  return { status, length, text };
}

/** @param {Buffer} bytes */
function headOf(bytes) {
  const at = bytes.indexOf(headEnd);
  if (at === -1) return undefined;
  const head = bytes.latin1Slice(0, at);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const bodyAt = at + headEnd.length;
  return { status: Number(head.slice(9, 12)), bodyAt, end: length === undefined ? undefined : bodyAt + Number(length) };
}

/** JSON holds no raw line break, so that only the end of a chunked body looks like it. */
function endsWith(chunk, chunks) {
  const tail = chunk.length >= lastChunk.length ? chunk : Buffer.concat(chunks);
  return tail.length >= lastChunk.length && tail.subarray(-lastChunk.length).equals(lastChunk);
}

/** @param {Buffer} bytes @param {boolean} chunked */
function bodyOf(bytes, chunked) {
  if (!chunked) return bytes.toString();
  const pieces = [];
  for (let at = 0; at < bytes.length; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.latin1Slice(at, lineEnd), 16);
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return Buffer.concat(pieces).toString();
}

/**
 * Runs a closed loop until so many requests are answered or so many seconds are over; every request that was sent is waited for.
 * @param {{ origin: string, connections: number, from?: number, requests?: number, seconds?: number, requestOf: (number: number, connection: number) => string,
 *   lengthOf?: (number: number) => number | undefined, isTimed?: (number: number) => boolean, pauseMs?: number, accepts?: (body: string) => boolean,
 *   onAnswer?: () => void, staysAwake?: boolean }} plan `from`: the number of the first request; `lengthOf`: the length of the right body, if it is known;
 *   `isTimed`: whether the latency of a request counts; `pauseMs`: how long a connection rests after an answer; `accepts`: whether a body is right;
 *   `staysAwake`: the process never sleeps while it waits
 * @returns what was answered, in milliseconds where it is a time; `wrong` counts answers with another status or length
 */
export async function load({
  origin,
  connections,
  from = 0,
  requests = Number.POSITIVE_INFINITY,
  seconds,
  requestOf,
  lengthOf,
  isTimed = () => true,
  pauseMs = 0,
  accepts,
  onAnswer,
  staysAwake = false,
}) {
  let isRunning = true;
  const turn = () => void (isRunning && setImmediate(turn));
  if (staysAwake) turn();
  const startedAt = performance.now();
  const until = seconds === undefined ? Number.POSITIVE_INFINITY : startedAt + seconds * 1_000;
  /** @type {number[]} */
  const latencies = [];
  let sent = 0;
  let count = 0;
  let wrong = 0;
  const lanes = Array.from({ length: connections }, async (_, lane) => {
    const connection = new Connection(origin);
    while (sent < requests) {
      const sentAt = performance.now();
      if (sentAt >= until) break;
      const number = from + sent;
      sent += 1;
      const answer = await connection.ask(requestOf(number, lane));
      count += 1;
      if (isTimed(number)) latencies.push(performance.now() - sentAt);
      onAnswer?.();
      const isRight = answer.status === 200 && answer.length === (lengthOf?.(number) ?? answer.length);
      if (!isRight || accepts?.(answer.body()) === false) wrong += 1;
      if (pauseMs > 0) await sleep(pauseMs);
    }
    connection.close();
  });
  await Promise.all(lanes).finally(() => {
    isRunning = false;
  });
  const milliseconds = performance.now() - startedAt;
  latencies.sort((a, b) => a - b);
  const quantile = share => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return {
    count,
    wrong,
    milliseconds,
    perSecond: (count / milliseconds) * 1_000,
    p50: quantile(0.5),
    p99: quantile(0.99),
  };
}
