// Takes upgrade requests, and opens the WebSockets.
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { CloseCode, GRAPHQL_TRANSPORT_WS_PROTOCOL as protocol } from 'graphql-ws';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Handshake } from '../http/authentication.js';
import { maxBodyBytes, stateOf } from '../http/request-state.js';
import type { ConnectionTelemetry } from '../http/request-telemetry.js';
import { lingerAndClose, Refused } from '../http/web-safety.js';
import { normalizedUrl, pathOf } from '../lib/network.js';
import type { Subscriptions } from './subscriptions.js';
import { WebSocketConnection } from './websocket-connection.js';

/** In bytes. What is too much for one operation must not end the others: a message may be as large as a body over HTTP. */
const maxMessageBytes = maxBodyBytes;
/** In bytes, between two complete messages: the frames of the largest one, with pings and pongs in between. */
const maxUnfinishedBytes = maxMessageBytes + 128 * 1024;
/** Per message. Each fragment keeps alive the buffer of up to 64 KB in which it arrived. */
const maxFragments = 64;
/** Per frame: the buffers in which it arrives, each of which costs far more than a byte. */
const maxChunks = 1024;

/** How long a client may take to close its side before the socket is destroyed, in milliseconds. The types of `ws` do not have it. */
const closing = { closeTimeout: 2_000 };

const versionHeaders = { upgrade: 'websocket', connection: 'upgrade, close', 'sec-websocket-version': '13' };

/**
 * Serves GraphQL over WebSocket (`graphql-transport-ws`) at `/graphql`. An upgrade request goes through the hooks of the server like any other
 * request, up to the handler.
 */
export function registerWebsocket(app: FastifyInstance, subscriptions: Subscriptions): void {
  const { connections, requestAdmission, requestTelemetry, authentication } = subscriptions.deps;
  const path = '/graphql';
  const admit = requestAdmission.stage(() => {});
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: maxMessageBytes,
    maxFragments,
    maxBufferedChunks: maxChunks,
    ...closing,
    // A client is told which subprotocol it must use by the code that closes its connection, so it must be able to open one.
    handleProtocols: offered => (offered.has(protocol) ? protocol : ([...offered][0] ?? false)),
  });
  server.on('headers', (headers, request) => {
    headers.push(`x-request-id: ${stateOf(request).operation.id}`);
  });

  server.on('wsClientError', (error, _, request) => {
    // The client may try again with the version that it is told (RFC 6455, 4.4).
    const isOfVersion = error.message.includes('Sec-WebSocket-Version');
    const message = 'The WebSocket handshake is not valid';
    stateOf(request).refusal = isOfVersion ? new Refused(426, message, versionHeaders) : new Refused(400, message);
  });

  // An upgrade in HTTP/1.0 must be ignored (RFC 9110, 7.8).
  const isClaimed = ({ method, url = '', headers, httpVersion }: IncomingMessage) =>
    httpVersion === '1.1' &&
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    pathOf(normalizedUrl(url)) === path;
  connections.takeUpgrades(isClaimed, async (raw, socket, head) => {
    const response = new ServerResponse(raw);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    const telemetry = requestTelemetry.startConnection(raw, response);
    const state = stateOf(raw);
    response.on('finish', () => lingerAndClose(socket));
    response.on('close', () => state.close());
    state.upgrade = request => {
      const handshake = authentication.handshakeOf(request);
      server.handleUpgrade(raw, socket, head, webSocket => {
        response.detachSocket(socket);
        open(webSocket, socket, telemetry, handshake);
      });
    };
    try {
      await admit(state);
    } catch (error) {
      state.refusal = error as Error;
    }
    state.copyHeaders();
    app.routing(raw, response);
  });

  /** A function of its own, so that the listeners of a connection do not keep its request and response alive. */
  function open(socket: WebSocket, raw: Socket, telemetry: ConnectionTelemetry, handshake: Handshake): void {
    const connection = new WebSocketConnection(socket, raw, telemetry, handshake, subscriptions);
    subscriptions.open.add(connection);
    // Before `ws` reads the chunk, so that a message that it completes is no longer counted.
    raw.prependListener('data', chunk => connection.input.arrived(chunk.length, maxUnfinishedBytes));
    socket.on('close', code => {
      subscriptions.open.delete(connection);
      connection.end();
      telemetry.closed(code, connection.operationsStarted, connection.credential);
    });
    if (subscriptions.isDraining) connection.leave();
    if (socket.protocol !== protocol) {
      connection.close(CloseCode.SubprotocolNotAcceptable, `Subprotocol not acceptable: use ${protocol}`);
    }
  }
}
