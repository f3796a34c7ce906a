// The TCP connections of clients: how many there may be, what is sent on one at once, and who takes an upgrade.
import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Credential, Scope } from '../auth/credentials.js';
import { countValues } from '../lib/count-values.js';
import { networkOf } from '../lib/network.js';
import type { Telemetry } from '../observability/telemetry.js';
import { type RequestState, stateOf } from './request-state.js';
import {
  hasBody,
  hasTooManyLines,
  isArriving,
  lingerAndClose,
  maxHeaderLines,
  refuseUnreadable,
} from './web-safety.js';

/** Unanswered requests on one connection. Browsers send one request after the other; few clients pipeline more than ten. */
export const maxUnanswered = 32;
/** How often a closing server looks for idle connections, in milliseconds. */
const drainMs = 100;

/** The share of the file descriptors of the process that clients may take. */
const share = 0.75;
/** How many descriptors are kept for `ADMIN_PORT`, Redis and files, beside those for the service. */
const kept = 64;
/** From this share of their connections on, the log says so. */
const nearlyFull = 0.7;

/** Takes over the connections of the upgrade requests that it wants. */
interface Upgrades {
  wants(request: IncomingMessage): boolean;
  take(request: IncomingMessage, socket: Socket, head: Buffer): void;
}

/** The HTTP connections of a server, each with its unanswered requests. */
export type Connections = ReturnType<typeof createConnections>;

export interface ClientConnection {
  readonly socket: Socket;
  /** Of its latest client: a proxy sends requests of many. */
  address: string;
  isUpgraded: boolean;
  /** In the order of their requests. Not a set: one that lives long keeps what was deleted from it until a full garbage collection. */
  readonly unanswered: ServerResponse[];
  /** How many bytes the client had taken at the last sweep; undefined if nothing was waiting. */
  taken: number | undefined;
  /** The last credential on it, so that its scope is computed once for many requests. */
  lastScope: { readonly credential: Credential; readonly scope: Scope } | undefined;
}

const key = Symbol('Connection');

/** Undefined for the socket of another server. */
export const clientConnectionOf = (socket: Socket): ClientConnection | undefined =>
  (socket as { [key]?: ClientConnection })[key];

/** @param own those to the service. @param sweepMs if a client takes none of the waiting bytes between two sweeps, its connection is destroyed. */
export function createConnections(telemetry: Pick<Telemetry, 'warn' | 'works' | 'shed'>, own = 0, sweepMs = 10_000) {
  const limit = descriptorLimit();
  const max = Math.floor(Math.min(limit * share, Math.max(limit / 8, limit - kept - own)));
  const open = new Set<ClientConnection>();
  let upgrades: Upgrades = { wants: () => false, take: () => {} };
  const sweeping = setInterval(sweep, sweepMs, open).unref();
  let draining: NodeJS.Timeout | undefined;

  function begin(socket: Socket): void {
    // A socket starts again after an upgrade that was ignored.
    if (clientConnectionOf(socket) !== undefined) return;
    // Node remembers the address once it was read. A client that has reset the connection by now has none.
    const { remoteAddress: address } = socket;
    if (address === undefined) return void socket.destroy();
    const connection: ClientConnection = {
      socket,
      address,
      isUpgraded: false,
      unanswered: [],
      taken: undefined,
      lastScope: undefined,
    };
    Object.assign(socket, { [key]: connection });
    // Node calls it after the last response.
    socket.destroySoon = () => lingerAndClose(socket);
    // As nginx does: who comes next, such as a probe, finds a place as long as one of them waits for nothing, or sends its request slowly.
    if (open.size >= max - 1) closeOldest(open);
    open.add(connection);
    if (open.size >= max * nearlyFull)
      telemetry.warn(subject, `${nearlyFull * 100}% of at most ${max} are open. ${advice}`);
    socket.once('close', () => {
      open.delete(connection);
      if (open.size < max * nearlyFull) telemetry.works(subject);
      // After Node's own listeners, which close the responses that they know.
      setImmediate(closeAll, connection.unanswered);
    });
  }

  return {
    open: open as ReadonlySet<ClientConnection>,
    max,

    /** Follows the connections of a server. Call it once, before the server listens. */
    watch(server: Server): void {
      // Node hides the lines beyond it, but still acts on them: such a request is refused. The same bounds trailers.
      server.maxHeadersCount = maxHeaderLines + 1;
      if (Number.isFinite(max)) server.maxConnections = max;
      server.on('drop', () => telemetry.shed('connections'));
      server.on('connection', begin);
      server.on('upgrade', (request, socket: Socket, head) => passUpgrade(server, upgrades, request, socket, head));
    },

    byKind(): Readonly<Record<string, number>> {
      const kinds: Record<string, number> = { http: 0, websocket: 0, sse: 0, multipart: 0 };
      for (const { isUpgraded, unanswered } of open) {
        const [response] = unanswered;
        const transport = isUpgraded ? 'websocket' : response && stateOf(response.req).operation.transport;
        const kind = transport ?? 'http';
        kinds[kind] = (kinds[kind] ?? 0) + 1;
      }
      return kinds;
    },

    /** How many of them the client with the most holds. Clients are networks, as for rate limits. */
    ofTopClient: () => countValues([...open], ({ address }) => [networkOf(address)])[0]?.count ?? 0,

    /**
     * Passes the upgrades for which `wants` is true to `take`, which then owns the socket. Every other upgrade is ignored, as HTTP
     * allows (RFC 9110, 7.8): its request is answered like any other. Both happen after all earlier requests have been answered.
     */
    takeUpgrades(wants: Upgrades['wants'], take: Upgrades['take']): void {
      upgrades = { wants, take };
    },

    /** Lets a closing server destroy idle connections: those without a complete request, and those whose last one has been answered. */
    drain(): void {
      draining = setInterval(closeIdle, drainMs, open);
    },

    close(): void {
      clearInterval(sweeping);
      clearInterval(draining);
    },
  };
}

/**
 * Follows a request until its response is closed, also where the connection is lost while the response waits behind another: there, Node 20 does not emit
 * `close`. Returns whether the client is there to be answered. A connection that sends far more requests than its bound is destroyed.
 */
export function followRequest(state: RequestState): boolean {
  const { request, response } = state;
  // No one reads its body, which Node would parse for as long as it arrives.
  if (request.method !== 'POST' && hasBody(request.headers)) response.shouldKeepAlive = false;
  const { socket } = request;
  const { unanswered = [] } = clientConnectionOf(socket) ?? {};
  unanswered.push(response);
  response.on('close', () => {
    const index = unanswered.indexOf(response);
    if (index !== -1) unanswered.splice(index, 1);
    state.close();
  });
  if (unanswered.length > 2 * maxUnanswered) socket.destroy();
  // Node parses a chunk to its end, even after the connection was destroyed.
  return !socket.destroyed;
}

/** How many requests of a connection are not answered yet. */
export const unansweredOn = (socket: Socket): number => clientConnectionOf(socket)?.unanswered.length ?? 0;

/** Fulfilled once a response is the first that its connection waits for. */
export async function turnOf(response: ServerResponse): Promise<void> {
  const { unanswered = [] } = clientConnectionOf(response.req.socket) ?? {};
  const before = unanswered[unanswered.indexOf(response) - 1];
  if (before !== undefined) await new Promise<void>(resolve => before.once('close', () => resolve()));
}

function sweep(open: ReadonlySet<ClientConnection>): void {
  for (const connection of open) {
    const { socket, isUpgraded } = connection;
    if (isUpgraded) continue;
    const taken = socket.writableLength > 0 ? bytesTaken(socket) : undefined;
    if (taken !== undefined && taken === connection.taken) socket.destroy();
    connection.taken = taken;
  }
}

const isIdle = ({ socket, unanswered, isUpgraded }: ClientConnection) =>
  unanswered.length === 0 && !isUpgraded && socket.writable;

function closeIdle(open: ReadonlySet<ClientConnection>): void {
  for (const connection of open) if (isIdle(connection)) connection.socket.destroy();
}

/** Whether it waits for no response, because its request is still arriving, or its last response was sent while it goes on sending. */
const isUploading = ({ socket, unanswered, isUpgraded }: ClientConnection) =>
  unanswered.every(({ req }) => isArriving(req)) && !isUpgraded && !socket.destroyed;

function closeOldest(open: ReadonlySet<ClientConnection>): void {
  for (const makesRoom of [isIdle, isUploading])
    for (const connection of open) if (makesRoom(connection)) return void connection.socket.destroy();
}

const subject = 'Connections';
const advice = 'Raise the limit of open files, or look at gateway_connections';

/** How many file descriptors the process may have; unlimited where the system does not say. */
function descriptorLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function destroy(this: Socket): void {
  this.destroy();
}

function closeAll(responses: readonly ServerResponse[]): void {
  // A copy: each response that closes is removed from the list.
  for (const response of [...responses]) {
    response.destroy();
    response.emit('close');
  }
}

/**
 * How many bytes the operating system has taken for a client. It grows whenever a slow client takes some bytes. `writableLength` alone does not
 * change while a large buffer is being sent. Node measures progress for its own timeouts in the same way.
 */
export function bytesTaken(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize: number } | null };
  return socket.bytesWritten - socket.writableLength - (handle?.writeQueueSize ?? 0);
}

function passUpgrade(server: Server, upgrades: Upgrades, request: IncomingMessage, socket: Socket, head: Buffer): void {
  socket.on('error', destroy);
  const connection = clientConnectionOf(socket);
  const proceed = () => {
    if (socket.destroyed) return;
    if (hasTooManyLines(request)) return refuseUnreadable({ code: 'HPE_HEADER_OVERFLOW' }, socket);
    if (!upgrades.wants(request)) return ignoreUpgrade(server, request, socket, head);
    if (connection !== undefined) connection.isUpgraded = true;
    upgrades.take(request, socket, head);
  };
  const last = connection?.unanswered.at(-1);
  if (last === undefined) proceed();
  else last.once('close', proceed);
}

/** Puts the request back in front of Node's parser, without its upgrade header. On Node 24, `shouldUpgradeCallback` would do. */
function ignoreUpgrade(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  socket.removeListener('error', destroy);
  const { method, url, httpVersion, rawHeaders } = request;
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    // Without a space after the colon, so that the head does not grow beyond its bound.
    if (rawHeaders[at]?.toLowerCase() !== 'upgrade') text += `${rawHeaders[at]}:${rawHeaders[at + 1]}\r\n`;
  }
  socket.unshift(Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}
