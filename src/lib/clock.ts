/**
 * The clock of the fleet: every time that is stored, shared, sealed or signed is read here, and no other file reads the clock of the host. It goes on evenly,
 * so that a step of the host's clock changes nothing at once; with Redis it is Redis' own, so that gateways agree whatever their hosts say. Without Redis it
 * begins with the host's, and follows it where that was set for good.
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

const samplesInARow = 3;
/** Less is the error of a clock that goes on evenly. In milliseconds. */
const maxDifferenceMs = 1_000;
let differing = 0;

/** Sets the clock to the host's where they differ at three calls in a row: the host was suspended, or was wrong before. To be called every few seconds without Redis. */
export function followHost(): void {
  differing = Math.abs(hostTime() - timeNow()) > maxDifferenceMs ? differing + 1 : 0;
  if (differing >= samplesInARow) setClock(hostTime(), performance.now());
}
