import type { IncomingMessage } from 'node:http';
import type { Stage } from '../../lib/pipeline.js';

/** For new requests in one turn of the event loop, in milliseconds. */
const sliceMs = 2;

/**
 * A stage that gives new requests a slice of each turn of the event loop. Those that do not fit in wait for the next turn, in the order of arrival. Otherwise a
 * thousand busy connections would fill each turn, and the requests in progress would get the replies of the service only between such turns.
 * @param isUrgent whether a request never waits.
 */
export function createTurns(isUrgent: (request: IncomingMessage) => boolean): Stage {
  return next => {
    let waiting: (() => void)[] = [];
    let sliceEnd = 0;
    /** Whether a slice was begun in this turn. */
    let isBegun = false;

    function beginSlice(): void {
      isBegun = true;
      sliceEnd = performance.now() + sliceMs;
      setImmediate(endTurn);
    }

    function endTurn(): void {
      isBegun = false;
      if (waiting.length === 0) return;
      beginSlice();
      let handled = 0;
      while (handled < waiting.length && performance.now() < sliceEnd) waiting[handled++]?.();
      waiting = waiting.slice(handled);
    }

    return (request, response) => {
      if (isUrgent(request)) return next(request, response);
      if (!isBegun) beginSlice();
      if (waiting.length === 0 && performance.now() < sliceEnd) return next(request, response);
      return new Promise((resolve, reject) => {
        waiting.push(() => {
          try {
            // The client may have hung up meanwhile.
            resolve(request.socket.destroyed ? undefined : next(request, response));
          } catch (error) {
            reject(error);
          }
        });
      });
    };
  };
}
