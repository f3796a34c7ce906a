import { makeVar } from '@apollo/client';
import { createClient } from 'graphql-ws';
import { sessionEnded } from './links';

/** Close codes after which a new attempt is of no use: no valid session, and an origin that may not use the cookie. */
const UNAUTHORIZED = 4401;
const REFUSED = [UNAUTHORIZED, 4403];

export type Connection = 'idle' | 'connecting' | 'live' | 'reconnecting' | 'refused';

/** State of the WebSocket, for the badge. */
export const connection = makeVar<Connection>('idle');

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
  shouldRetry: problem => !REFUSED.includes(closeCode(problem)),
  retryWait: async retries => {
    if (!isNewSession) await restOrOnline(Math.min(500 * 2 ** retries, 15_000) * (0.5 + Math.random() / 2));
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
      const { code, wasClean } = event as CloseEvent;
      if (code === UNAUTHORIZED) sessionEnded(true);
      connection(REFUSED.includes(code) ? 'refused' : wasClean ? 'idle' : 'reconnecting');
    },
  },
});

/** Connects again at once, with the new cookie. */
export function reconnect(): void {
  isNewSession = true;
  socket.terminate();
}

function closeCode(problem: unknown): number {
  return problem instanceof CloseEvent ? problem.code : 0;
}

/** Waits, or until the browser says that the network is back. */
function restOrOnline(milliseconds: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, milliseconds);
    addEventListener('online', () => resolve(), { once: true });
  });
}
