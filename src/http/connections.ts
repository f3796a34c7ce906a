import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Attached } from '../lib/attached.js';

/** Requests that one connection may have unanswered at a time. Browsers send one after the other; few clients pipeline more than ten. */
const mostUnanswered = 32;

/** A connection with bytes waiting, of which its client took none from one sweep to the next, is destroyed. */
const defaultSweepMs = 10_000;

/** What takes over the connection of a request that asks for an upgrade. */
export type UpgradeListener = (request: IncomingMessage, socket: Socket, head: Buffer) => void;

/** The connections of a server that speak HTTP, each with its unanswered requests. */
export interface Connections {
  /** Follows the connections of a server from their begin to their end. To be called once, before it listens. */
  watch(server: Server): void;
  /**
   * Sees every request before `next` does. Its response emits `close` in any case: Node 20 emits none for a response that waits behind
   * another when the connection is lost. Where the request is answered all the same, Node 24 emits it once more: listen with `once`. A connection that
   * goes on sending far beyond its bound is destroyed.
   */
  listener(next: RequestListener): RequestListener;
  /** Whether the connection of this request has more unanswered requests than one connection may have. */
  isOverBound(request: IncomingMessage): boolean;
  /**
   * Passes the upgrades that `isClaimed` holds for on to `take`, which then owns the socket. Every other upgrade is ignored, as HTTP
   * allows (RFC 9110, 7.8): its request is answered like any other. Both happen after the requests before it have been answered.
   */
  claimUpgrades(isClaimed: (request: IncomingMessage) => boolean, take: UpgradeListener): void;
  /** Destroys every connection without an unanswered request. */
  closeIdle(): void;
  /** Ends the sweeps. */
  close(): void;
}

interface Connection {
  readonly socket: Socket;
  readonly unanswered: Set<ServerResponse>;
  /** The `progressOf` the socket at the last sweep; undefined where nothing was waiting. */
  progress: number | undefined;
}

export function createConnections(sweepMs = defaultSweepMs): Connections {
  const open = new Set<Connection>();
  const connectionOf = new Attached<Connection, Socket>();
  let isClaimed: (request: IncomingMessage) => boolean = () => false;
  let take: UpgradeListener = () => {};

  function begin(socket: Socket): void {
    const known = connectionOf.get(socket);
    // A socket begins again after an upgrade that was ignored.
    if (known !== undefined) return;
    const connection: Connection = { socket, unanswered: new Set(), progress: undefined };
    connectionOf.set(socket, connection);
    open.add(connection);
    socket.once('close', () => {
      open.delete(connection);
      // After the listeners of Node, which close as many as they know of.
      setImmediate(closeAll, connection.unanswered);
    });
  }

  /** `this`: the response. One function for all, since every request has it. */
  function onClose(this: ServerResponse): void {
    connectionOf.get(this.req.socket)?.unanswered.delete(this);
  }

  function sweep(): void {
    for (const connection of open) {
      const { socket } = connection;
      const progress = socket.writableLength > 0 ? progressOf(socket) : undefined;
      if (progress !== undefined && progress === connection.progress) socket.destroy();
      connection.progress = progress;
    }
  }
  const sweeping = setInterval(sweep, sweepMs).unref();

  return {
    watch(server) {
      // Node's default drops what is beyond 1,000 headers but goes by it all the same. The size of the head is the bound.
      server.maxHeadersCount = 0;
      server.on('connection', begin);
      server.on('upgrade', (request, socket: Socket, head) => {
        socket.on('error', destroy);
        const proceed = () => {
          if (socket.destroyed) return;
          if (!isClaimed(request)) return goOnWithoutUpgrade(server, request, socket, head);
          const connection = connectionOf.get(socket);
          if (connection !== undefined) open.delete(connection);
          take(request, socket, head);
        };
        const last = [...(connectionOf.get(socket)?.unanswered ?? [])].at(-1);
        if (last === undefined) proceed();
        else last.once('close', proceed);
      });
    },

    listener: next => (request, response) => {
      const { socket } = request;
      const connection = connectionOf.get(socket);
      if (connection !== undefined) {
        connection.unanswered.add(response);
        response.on('close', onClose);
        if (connection.unanswered.size > 2 * mostUnanswered) socket.destroy();
      }
      // A chunk is parsed to its end, also after the connection was destroyed.
      if (!socket.destroyed) next(request, response);
    },

    isOverBound: ({ socket }) => (connectionOf.get(socket)?.unanswered.size ?? 0) > mostUnanswered,

    claimUpgrades(claims, taker) {
      isClaimed = claims;
      take = taker;
    },

    closeIdle() {
      for (const { socket, unanswered } of open) if (unanswered.size === 0) socket.destroy();
    },

    close: () => clearInterval(sweeping),
  };
}

/** `this`: the socket. */
function destroy(this: Socket): void {
  this.destroy();
}

function closeAll(responses: ReadonlySet<ServerResponse>): void {
  for (const response of responses) {
    response.destroy();
    response.emit('close');
  }
}

/**
 * A number that changes whenever the client's side of the network takes something: `writableLength` alone stands still while a large buffer
 * is being sent. Node measures progress for its own timeouts in the same way.
 */
function progressOf(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize: number } | null };
  return socket.bytesWritten - socket.writableLength - (handle?.writeQueueSize ?? 0);
}

/**
 * Hands the request back to Node's parser, without the header that made it an upgrade, in front of everything that follows it. Node 24 would
 * not stop the parser in the first place where `shouldUpgradeCallback` says no; Node 20 has no such option.
 */
function goOnWithoutUpgrade(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  socket.removeListener('error', destroy);
  const { method, url, httpVersion, rawHeaders } = request;
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    // Without a space in between: the head must not grow beyond its bound.
    if (rawHeaders[at]?.toLowerCase() !== 'upgrade') text += `${rawHeaders[at]}:${rawHeaders[at + 1]}\r\n`;
  }
  socket.unshift(Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}
