import { ApolloLink, makeVar } from '@apollo/client';
import { useReactiveVar } from '@apollo/client/react';
import { createClient } from 'graphql-ws';
import { finalize, retry, tap, timer } from 'rxjs';
import { errorsIn, hasCode, isRetryable } from './errors';
import { cookies, sessionEnded, setOld } from './links';

/** Close codes after which a new attempt is of no use: no valid session, and an origin that may not use the cookie. */
const UNAUTHORIZED = 4401;
const REFUSED = [UNAUTHORIZED, 4403];

export type Connection = 'idle' | 'connecting' | 'live' | 'reconnecting' | 'refused';

/** State of the WebSocket, and how many subscriptions wait until they begin again. */
const connection = makeVar<Connection>('idle');
const waiting = makeVar(0);

/** Whether live updates come, for the badge. */
export function useConnection(): Connection {
  const state = useReactiveVar(connection);
  return useReactiveVar(waiting) > 0 ? 'reconnecting' : state;
}

let silence: ReturnType<typeof setTimeout> | undefined;
/** Whether the cookie has just changed: then the next attempt does not wait, however many have failed. */
let isNewSession = false;

/** A network that is gone does not close a connection. The page closes it if what it expects does not come in time. */
function expectWithin(milliseconds: number): void {
  clearTimeout(silence);
  silence = setTimeout(() => socket.terminate(), milliseconds);
}

/** The WebSocket of all subscriptions. It reconnects by itself, and subscribes again. */
export const socket = createClient({
  url: `${location.origin.replace('http', 'ws')}/graphql`,
  retryAttempts: Number.POSITIVE_INFINITY,
  shouldRetry: problem => !REFUSED.includes((problem as CloseEvent).code),
  retryWait: async retries => {
    if (!isNewSession) await restOrOnline(growing(retries));
    isNewSession = false;
  },
  keepAlive: 5_000,
  on: {
    connecting(isRetry) {
      connection(isRetry ? 'reconnecting' : 'connecting');
      expectWithin(8_000);
    },
    connected() {
      connection('live');
      clearTimeout(silence);
    },
    ping: received => received || expectWithin(3_000),
    pong: received => received && clearTimeout(silence),
    closed: event => {
      clearTimeout(silence);
      const { code } = event as CloseEvent;
      if (code === UNAUTHORIZED) sessionEnded(true);
      // The page itself closes with 1000, when it has no subscription any more.
      connection(REFUSED.includes(code) ? 'refused' : code === 1000 ? 'idle' : 'reconnecting');
    },
  },
});

/** Begins a subscription again after what may pass, such as too many requests, and, if the session has ended, once the user is signed in again. */
export const beginsAgain = new ApolloLink((operation, forward) =>
  forward(operation).pipe(
    retry({
      resetOnSuccess: true,
      delay(error, failures) {
        if (hasCode(error, 'UNAUTHENTICATED')) sessionEnded(true);
        if (sessionEnded()) return new Promise(resolve => sessionEnded.onNextChange(resolve));
        if (connection() === 'refused' || !isRetryable(error)) throw error;
        const seconds = Math.max(0, ...errorsIn(error).map(({ retryAfterSeconds = 0 }) => retryAfterSeconds));
        waiting(waiting() + 1);
        return timer(seconds * 1_000 + growing(failures)).pipe(finalize(() => waiting(waiting() - 1)));
      },
    }),
  ),
);

/** Tells of states of jobs whether they are old: the gateway asks every 30 seconds, and sends the last one again after 90 if the service does not respond. */
export const ageOfJobs = new ApolloLink((operation, forward) => {
  const name = `${operation.operationName} ${JSON.stringify(operation.variables)}`;
  // The clocks of the gateway and this computer can differ.
  let minAge = Number.POSITIVE_INFINITY;
  return forward(operation).pipe(
    tap(({ data }) => {
      if (!data?.jobProgress) return;
      const age = Date.now() - Date.parse(data.jobProgress.observedAt);
      minAge = Math.min(minAge, age);
      setOld(name, age - minAge < 60_000 ? undefined : Date.now() - age + minAge);
    }),
    finalize(() => setOld(name, undefined)),
  );
});

/** Connects again at once, with the new cookie: the session has not ended any more. */
export function reconnect(): void {
  cookies(cookies() + 1);
  sessionEnded(false);
  isNewSession = true;
  socket.terminate();
}

/** A wait in milliseconds that is longer after each failure, and another one in each page. */
function growing(failures: number): number {
  return Math.min(500 * 2 ** failures, 15_000) * (0.5 + Math.random() / 2);
}

/** Waits, or until the browser says that the network is back. */
function restOrOnline(milliseconds: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, milliseconds);
    addEventListener('online', () => resolve(), { once: true });
  });
}
