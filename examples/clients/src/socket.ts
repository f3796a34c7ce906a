import { type Client, createClient } from 'graphql-ws';
import { session } from './session-state.js';

const unauthorized = 4401;
const forbidden = 4403;
/** A bug of the gateway. After this code, graphql-ws gives up by itself. */
const internalError = 4500;

let silence: ReturnType<typeof setTimeout> | undefined;
/** Whether the credential has just changed: then the next attempt does not wait, however many have failed. */
let isNewSession = false;

const connection = createClient({
  url: 'wss://gateway.example/graphql',
  // By default, it gives up after five attempts or a failed connection, and the waits have no limit.
  retryAttempts: Number.POSITIVE_INFINITY,
  shouldRetry: problem => codeOf(problem) !== forbidden,
  retryWait: async retries => {
    if (!isNewSession) await sleep(growing(retries));
    isNewSession = false;
  },
  // A network that is gone says nothing: a ping without a pong ends the connection, and so does one that does not open.
  keepAlive: 10_000,
  on: {
    connecting: () => expectWithin(10_000),
    connected: () => clearTimeout(silence),
    ping: received => received || expectWithin(5_000),
    pong: received => received && clearTimeout(silence),
    closed: () => clearTimeout(silence),
  },
});

function expectWithin(milliseconds: number): void {
  clearTimeout(silence);
  silence = setTimeout(() => connection.terminate(), milliseconds);
}

interface Updates {
  readonly eventUpdates?: { readonly cursor?: string } | null;
}

/** Subscriptions that ended without a session. They start again after the next sign-in. */
const waiting = new Set<() => void>();

export const socket: Client = {
  ...connection,
  subscribe(payload, sink) {
    // graphql-ws sends this object again after each reconnect: `eventUpdates(after: $after)` continues behind its last `cursor`.
    const variables = { ...payload.variables };
    let failures = 0;
    const next: typeof sink.next = result => {
      const updates = (result.data as Updates | null | undefined)?.eventUpdates;
      if (updates?.cursor) variables.after = updates.cursor;
      failures = 0;
      sink.next(result);
    };
    let stop = () => {};
    const start = () => {
      stop = connection.subscribe(
        { ...payload, variables },
        {
          ...sink,
          next,
          error: problem => {
            if (!isUnauthenticated(problem) && !mayPass(problem)) return sink.error(problem);
            stop();
            if (isUnauthenticated(problem)) {
              session.isOver = true;
              waiting.add(start);
              stop = () => waiting.delete(start);
            } else {
              const again = setTimeout(start, retryAfterMs(problem) + growing(failures));
              failures += 1;
              stop = () => clearTimeout(again);
            }
          },
        },
      );
    };
    start();
    return () => stop();
  },
};

/** Call this after signing in and signing out: it reconnects with the current credential and starts all subscriptions again. */
export function reconnect(): void {
  session.isOver = false;
  isNewSession = true;
  connection.terminate();
  const starts = [...waiting];
  waiting.clear();
  for (const start of starts) start();
}

/** Whether the gateway closed the connection, or ended one subscription, because there is no valid session. */
function isUnauthenticated(problem: unknown): boolean {
  if (!Array.isArray(problem)) return codeOf(problem) === unauthorized;
  return problem.some(({ extensions }) => extensions?.code === 'UNAUTHENTICATED');
}

/** Whether the same subscription may succeed later. */
function mayPass(problem: unknown): boolean {
  if (!Array.isArray(problem)) return codeOf(problem) === internalError;
  return problem.some(({ extensions }) => extensions?.retryable === true);
}

/** How long the gateway asks to wait. */
function retryAfterMs(problem: unknown): number {
  if (!Array.isArray(problem)) return 0;
  return Math.max(...problem.map(({ extensions }) => extensions?.retryAfterSeconds ?? 0)) * 1_000;
}

/** A wait in milliseconds that is longer after each failure, and another one in each page. */
function growing(failures: number): number {
  return Math.min(1_000 * 2 ** failures, 30_000) * (0.5 + Math.random() / 2);
}

function codeOf(problem: unknown): number | undefined {
  return (problem as { code?: number }).code;
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds));
}
