import { type Client, createClient } from 'graphql-ws';
import { session } from './session-state.js';

const unauthorized = 4401;
const forbidden = 4403;

let silence: ReturnType<typeof setTimeout> | undefined;
/** Whether the credential has just changed: then the next attempt does not wait, however many have failed. */
let isNewSession = false;

const connection = createClient({
  url: 'wss://gateway.example/graphql',
  // By default, it gives up after five attempts or a failed connection, and the waits have no limit.
  retryAttempts: Number.POSITIVE_INFINITY,
  shouldRetry: problem => codeOf(problem) !== forbidden,
  retryWait: async retries => {
    if (!isNewSession) await sleep(Math.min(1_000 * 2 ** retries, 30_000) * (0.5 + Math.random() / 2));
    isNewSession = false;
  },
  // A network that is gone says nothing: a ping without a pong ends the connection.
  keepAlive: 10_000,
  on: {
    ping: received => {
      if (!received) silence = setTimeout(() => connection.terminate(), 5_000);
    },
    pong: received => received && clearTimeout(silence),
    closed: () => clearTimeout(silence),
  },
});

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
    const next: typeof sink.next = result => {
      const updates = (result.data as Updates | null | undefined)?.eventUpdates;
      if (updates?.cursor) variables.after = updates.cursor;
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
            if (!isUnauthenticated(problem)) return sink.error(problem);
            stop();
            session.isOver = true;
            waiting.add(start);
            stop = () => waiting.delete(start);
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

function codeOf(problem: unknown): number | undefined {
  return (problem as { code?: number }).code;
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds));
}
