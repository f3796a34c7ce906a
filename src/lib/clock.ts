/**
 * The clock of the fleet: every time that is stored, shared, sealed or signed is read here, and no other file reads the clock of the host. It goes on evenly,
 * so that a step of the host's clock changes nothing; with Redis it is Redis' own, so that gateways agree whatever their hosts say. Without Redis it begins
 * with the host's.
 */

/** In milliseconds since 1970, when `performance.now()` was 0. */
let startedAt = Date.now() - performance.now();

/** In milliseconds since 1970. */
export const timeNow = (): number => Math.round(performance.now() + startedAt);

/** The clock of this host, only to be compared with another one. In milliseconds since 1970. */
export const hostTime = (): number => Date.now();

/**
 * Sets the clock to a time that another host has sent.
 * @param milliseconds that host's time, since 1970. @param sentAt when it was asked, by `performance.now()`: half of the round trip is the error.
 */
export function setClock(milliseconds: number, sentAt: number): void {
  const receivedAt = performance.now();
  const started = milliseconds - (sentAt + receivedAt) / 2;
  if (Math.abs(started - startedAt) > (receivedAt - sentAt) / 2) startedAt = started;
}
