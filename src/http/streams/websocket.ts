import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { WebSocketServer } from 'ws';
import type { Stay } from '../observability/visits.js';
import { pathOf } from '../path.js';
import type { Arrival, Reception } from '../reception.js';
import { Connection, type StreamTimes } from './connection.js';
import { protocol } from './messages.js';
import { inSlices } from './slices.js';
import { spread } from './spread.js';
import type { Streams } from './streams.js';

interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly stay: Stay;
}

const largestMessage = 256 * 1024;

/**
 * GraphQL over WebSocket (`graphql-transport-ws`) at `path`. The request of a connection goes through the hooks of the server like any
 * other, up to the handler.
 * @returns what says good-bye to all connections, spread over a time in milliseconds.
 */
export function registerWebsocket(
  app: FastifyInstance,
  path: string,
  streams: Streams,
  reception: Reception,
  times: StreamTimes,
): (spreadMs: number) => Promise<void> {
  const upgrades = new WeakMap<IncomingMessage, Upgrade>();
  const connections = new Set<Connection>();
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: largestMessage,
    handleProtocols: offered => (offered.has(protocol) ? protocol : false),
  });
  server.on('headers', (headers, request) => {
    const id = upgrades.get(request)?.stay.id;
    if (id !== undefined) headers.push(`x-request-id: ${id}`);
  });
  const authenticate = (arrival: Arrival, presented: object) => reception.authenticate(arrival, presented);

  app.server.on('upgrade', (raw, socket, head) => {
    const response = new ServerResponse(raw);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as never);
    socket.on('error', () => socket.destroy());
    if (raw.headers.upgrade?.toLowerCase() !== 'websocket' || pathOf(raw.url ?? '') !== path) {
      // A proposal that is not taken leaves a request like any other (RFC 9110, 7.8).
      delete raw.headers.upgrade;
      response.on('finish', () => socket.end());
      app.server.emit('request', raw, response);
      return;
    }
    const stay = streams.visits.stay(raw);
    response.setHeader('x-request-id', stay.id);
    response.on('finish', () => {
      stay.refused(response.statusCode);
      socket.end();
    });
    upgrades.set(raw, { socket, head, stay });
    app.routing(raw, response);
  });

  app.addHook('onRequest', async (request, reply) => {
    const upgrade = upgrades.get(request.raw);
    if (upgrade === undefined) return;
    if (!offers(request.headers['sec-websocket-protocol'])) {
      return reply.code(400).send({ errors: [{ message: `Speak ${protocol}`, extensions: { code: 'BAD_REQUEST' } }] });
    }
    const arrival = reception.arrive(request);
    reply.hijack();
    // Whoever holds the response holds the whole request for as long as the socket lives.
    reply.raw.detachSocket(upgrade.socket as never);
    const { stay } = upgrade;
    server.handleUpgrade(request.raw, upgrade.socket, upgrade.head, socket => {
      const connection = new Connection(socket, stay.id, arrival, { streams, times, authenticate });
      connections.add(connection);
      socket.on('close', code => {
        connections.delete(connection);
        connection.end();
        stay.closed(code, connection.begun);
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

  return spreadMs => spread([...connections], spreadMs, connection => connection.leave());
}

const offers = (header: string | undefined) => (header ?? '').split(',').some(name => name.trim() === protocol);
