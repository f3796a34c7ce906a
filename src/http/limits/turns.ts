import type { IncomingMessage, ServerResponse } from 'node:http';
import { FairQueue } from '../../lib/fair-queue.js';
import type { Handler, Stage } from '../request-state.js';

/** What becomes of requests that have to wait. */
export interface TurnsOptions {
  /** Whether a request never waits. */
  isUrgent(request: IncomingMessage): boolean;
  /** Whose request it is: clients take turns. */
  clientOf(request: IncomingMessage): string;
  /** Refuses a request that has waited for too long. */
  readonly refuse: Handler;
}

/** For new requests in one turn of the event loop, in milliseconds; and as long again for refusals. */
const sliceMs = 2;
/** A line that was not empty for so many turns is an overload, and not a burst. */
const overloadTurns = 50;
/** In an overload, a request that has waited longer is refused, if its client has more than its share of the line. */
const maxWaitMs = 50;
/** A line of so many is never an overload: so many busy clients together may wait for each other. Each client has its share of it. */
const shortLine = 64;

/** Lets a request that waits in line leave it, for a handler. */
type Leave = (handler: Handler) => void;

/**
 * A stage that gives new requests a slice of each turn of the event loop. Those that do not fit in wait in line for the next turn, in which clients take
 * turns. Otherwise a thousand busy connections would fill each turn, and the requests in progress would get the replies of the service only between
 * such turns. In an overload, those that have waited long are refused: the line would become as long as there are connections, and each request would
 * wait for all of it.
 */
export function createTurns({ isUrgent, clientOf, refuse }: TurnsOptions): Stage {
  return next => {
    const line = new FairQueue<Leave>(1);
    let sliceEnd = 0;
    /** Whether a slice was begun in this turn. */
    let isBegun = false;
    /** The turns since the line was empty. */
    let turns = 0;

    function beginSlice(): void {
      isBegun = true;
      sliceEnd = performance.now() + sliceMs;
      setImmediate(endTurn);
    }

    function endTurn(): void {
      isBegun = false;
      if (line.size === 0) return;
      turns += 1;
      if (turns > overloadTurns) refuseSome();
      beginSlice();
      do line.take()?.(next);
      while (line.size > 0 && performance.now() < sliceEnd);
      if (line.size === 0) turns = 0;
    }

    function refuseSome(): void {
      const startedAt = performance.now();
      const isOver = (waitedMs: number, ofClient: number) =>
        waitedMs > maxWaitMs && ofClient > shortLine / line.clients;
      for (const leave of line.takeWhile(isOver)) {
        leave(refuse);
        if (performance.now() - startedAt > sliceMs) return;
      }
    }

    return (request, response) => {
      if (isUrgent(request)) return next(request, response);
      if (!isBegun) beginSlice();
      if (line.size === 0 && performance.now() < sliceEnd) return next(request, response);
      return new Promise((resolve, reject) => line.add(clientOf(request), leaveOf(request, response, resolve, reject)));
    };
  };
}

function leaveOf(
  request: IncomingMessage,
  response: ServerResponse,
  resolve: (done: void | Promise<void>) => void,
  reject: (error: unknown) => void,
): Leave {
  return handler => {
    try {
      // The client may have hung up meanwhile.
      resolve(request.socket.destroyed ? undefined : handler(request, response));
    } catch (error) {
      reject(error);
    }
  };
}
