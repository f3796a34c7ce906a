import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { WebSocketServer } from 'ws';
import type { Authentication, Handshake } from '../http/authentication.js';
import type { Connections } from '../http/connections.js';
import { errorBody, safeHeaders } from '../http/web-safety.js';
import { pathOf } from '../lib/path.js';
import type { ConnectionTelemetry } from '../observability/request-telemetry.js';
import { Connection, type StreamTimes } from './connection.js';
import { protocol } from './messages.js';
import { inSlices } from './slices.js';
import { drainGradually } from './spread.js';
import type { Subscriptions } from './subscriptions.js';

interface Upgrade {
  readonly socket: Socket;
  readonly head: Buffer;
  readonly telemetry: ConnectionTelemetry;
  readonly response: ServerResponse;
}

const largestMessage = 256 * 1024;
/** In bytes, between two whole messages: the frames of the largest one, and pings and pongs among them. */
const mostUnfinished = 2 * largestMessage;
/** Of one message. Each fragment keeps the buffer of up to 64 KB that brought it. */
const mostFragments = 64;
/** Of one frame: the buffers that bring it, each of which costs far more than a byte. */
const mostChunks = 1024;

/** How long a client that is refused may take to read why, in milliseconds. */
const lingerMs = 1_000;

/**
 * GraphQL over WebSocket (`graphql-transport-ws`) at `path`. The request of a connection goes through the hooks of the server like any
 * other, up to the handler.
 * @returns what says good-bye to all connections, spread over a time in milliseconds.
 */
export function registerWebsocket(
  app: FastifyInstance,
  path: string,
  upgradable: Pick<Connections, 'claimUpgrades'>,
  streams: Subscriptions,
  authentication: Authentication,
  times: StreamTimes,
): (spreadMs: number) => Promise<void> {
  const upgrades = new WeakMap<IncomingMessage, Upgrade>();
  const connections = new Set<Connection>();
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: largestMessage,
    maxFragments: mostFragments,
    maxBufferedChunks: mostChunks,
    handleProtocols: offered => (offered.has(protocol) ? protocol : false),
  });
  server.on('headers', (headers, request) => {
    const id = upgrades.get(request)?.telemetry.id;
    if (id !== undefined) headers.push(`x-request-id: ${id}`);
  });
  const authenticate = (arrival: Handshake, rawCredentials: object) =>
    authentication.authenticate(arrival, rawCredentials);

  server.on('wsClientError', (_, __, request) => {
    const head = { ...safeHeaders, 'content-type': 'application/json; charset=utf-8' };
    const body = JSON.stringify(errorBody('This is not a WebSocket handshake that can be read', 'BAD_REQUEST'));
    upgrades.get(request)?.response.writeHead(400, head).end(body);
  });

  const isClaimed = ({ method, url = '', headers }: IncomingMessage) =>
    method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && pathOf(url) === path;
  upgradable.claimUpgrades(isClaimed, (raw, socket, head) => {
    const response = new ServerResponse(raw);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    const telemetry = streams.requestTelemetry.startConnection(raw);
    response.setHeader('x-request-id', telemetry.id);
    response.on('finish', () => {
      telemetry.refused(response.statusCode);
      dismiss(socket);
    });
    response.once('close', () => {
      if (!response.writableFinished) telemetry.refused(undefined);
    });
    upgrades.set(raw, { socket, head, telemetry, response });
    app.routing(raw, response);
  });

  app.addHook('onRequest', async (request, reply) => {
    const upgrade = upgrades.get(request.raw);
    if (upgrade === undefined) return;
    if (!offers(request.headers['sec-websocket-protocol'])) {
      return reply.code(400).send(errorBody(`Speak ${protocol}`, 'BAD_REQUEST'));
    }
    const arrival = authentication.handshakeOf(request);
    reply.hijack();
    const { telemetry, response } = upgrade;
    server.handleUpgrade(request.raw, upgrade.socket, upgrade.head, socket => {
      // Whoever holds the response holds the whole request for as long as the socket lives.
      response.detachSocket(upgrade.socket);
      const connection = new Connection(socket, telemetry.id, arrival, { streams, times, authenticate });
      connections.add(connection);
      // Before `ws` reads it: a message that the chunk completes is then no longer counted.
      upgrade.socket.prependListener('data', chunk => connection.arrived(chunk.length, mostUnfinished));
      socket.on('close', code => {
        connections.delete(connection);
        connection.end();
        telemetry.closed(code, connection.begun);
      });
    });
  });

  let beating = false;
  const heartbeat = setInterval(async () => {
    if (beating) return;
    beating = true;
    await inSlices([...connections], connection => connection.beat());
    beating = false;
  }, times.heartbeatMs);
  app.addHook('onClose', () => clearInterval(heartbeat));

  return spreadMs => drainGradually([...connections], spreadMs, connection => connection.leave());
}

const offers = (header: string | undefined) => (header ?? '').split(',').some(name => name.trim() === protocol);

/**
 * Ends a connection that was answered. What its client still sends is read and thrown away for a while: a socket that is destroyed with
 * unread bytes resets the connection, and the client may never see the answer; one that nobody reads or destroys is never closed.
 */
function dismiss(socket: Socket): void {
  socket.resume();
  socket.end();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
}
