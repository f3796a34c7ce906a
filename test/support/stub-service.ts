import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers one request of a stub; `count` says which of all requests it is, from 1. */
export type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** A service of a test's own, over real sockets, that does what its handler does and counts what reaches it. */
export interface StubService {
  readonly origin: string;
  /** The requests that arrived, as `GET /path?query`, in their order. */
  readonly calls: readonly string[];
  /** How many connections were ever opened. */
  readonly connections: number;
  /** The most requests that were under way at one time. */
  readonly maxConcurrent: number;
  handle: Handler;
  /** Resolves when that many requests have arrived. */
  arrived(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Answers with a status and a body, which is sent as JSON unless it is text. */
export function reply(response: ServerResponse, status: number, body: unknown = {}): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body));
}

/** The body of an event list without events. */
export const noEvents = {
  meta: { totalItems: 0, totalPages: 0, currentPage: 1, pageSize: 10, unfilteredTotalItems: 0 },
  data: [],
};

/** Starts a stub on a free loopback port. */
export async function startStubService(handler: Handler): Promise<StubService> {
  const calls: string[] = [];
  let [connections, atOnce, maxConcurrent] = [0, 0, 0];
  let waiting: { count: number; resolve: () => void }[] = [];
  const server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    atOnce += 1;
    maxConcurrent = Math.max(maxConcurrent, atOnce);
    response.once('close', () => {
      atOnce -= 1;
    });
    stub.handle(request, response, calls.length);
    for (const { count, resolve } of waiting) if (calls.length >= count) resolve();
    waiting = waiting.filter(({ count }) => calls.length < count);
  });
  server.on('connection', () => {
    connections += 1;
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');

  const stub: StubService = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    get connections() {
      return connections;
    },
    get maxConcurrent() {
      return maxConcurrent;
    },
    handle: handler,
    async arrived(count) {
      if (calls.length >= count) return;
      await new Promise<void>(resolve => waiting.push({ count, resolve }));
    },
    async close() {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return stub;
}
