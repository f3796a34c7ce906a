// The simulated network: `net.connect` leads to a host that listens here, over a pair of streams with a delay. A server's line can refuse, be slow or silent.

import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { Duplex } from 'node:stream';
import { currentHost } from './time.mjs';

const latencyMs = 1;

/** By the name of the server. `silent`: to and from these hosts (undefined: all), what is sent waits until the line speaks again. */
let lines = new Map();
let world;

export function startNetwork(ofHistory) {
  lines = new Map();
  world = ofHistory;
}

const isSilent = ({ line: { silent }, host }) => silent.has(undefined) || silent.has(host);
const broken = code => Object.assign(new Error(code), { code });

/** One end of a connection, with what a socket has beside a stream. */
export class Socket extends Duplex {
  connecting = true;
  remoteAddress = '10.0.0.9';
  remotePort = 4_000;
  bytesWritten = 0;
  #outgoing = [];
  #timer;
  #timeout;

  constructor(line, host, options) {
    super({ ...options, emitClose: true });
    Object.assign(this, { line, host });
    host.sockets.add(this);
    line.sockets.add(this);
  }

  _read() {}

  _write(chunk, _, done) {
    this.bytesWritten += chunk.length;
    this.send({ chunk });
    done();
  }

  _final(done) {
    this.send({ isEnd: true });
    done();
  }

  _destroy(error, done) {
    this.setTimeout(0);
    this.host.sockets.delete(this);
    this.line.sockets.delete(this);
    this.send({ isEnd: true });
    done(error);
  }

  /** What is sent arrives in order, after the delay of the line. */
  send(message) {
    this.#outgoing.push(message);
    this.flushLater();
  }

  flushLater() {
    if (this.#timer !== undefined || this.peer === undefined || this.isSilent || this.#outgoing.length === 0) return;
    this.#timer = world.run(() => setTimeout(() => this.#flush(), latencyMs + this.line.delayMs));
  }

  #flush() {
    this.#timer = undefined;
    if (this.isSilent) return;
    const sent = this.#outgoing.splice(0);
    const chunks = sent.flatMap(({ chunk }) => chunk ?? []);
    const { peer } = this;
    peer.host.happen(() => {
      if (peer.destroyed) {
        if (chunks.length > 0) this.host.happen(() => this.destroy(broken('ECONNRESET')));
        return;
      }
      if (chunks.length > 0) peer.push(Buffer.concat(chunks));
      if (sent.some(({ isEnd }) => isEnd)) peer.push(null);
      peer.touch();
    });
  }

  opened() {
    this.connecting = false;
    this.emit('connect');
    this.emit('ready');
  }

  get isSilent() {
    return isSilent(this) || isSilent(this.peer);
  }

  touch() {
    this.#timeout?.refresh();
  }

  setTimeout(milliseconds, callback) {
    clearTimeout(this.#timeout);
    this.#timeout = undefined;
    if (callback) this.once('timeout', callback);
    if (milliseconds > 0) this.#timeout = this.host.run(() => setTimeout(() => this.emit('timeout'), milliseconds));
    return this;
  }
}
for (const name of ['setNoDelay', 'setKeepAlive', 'ref', 'unref']) {
  Socket.prototype[name] = function () {
    return this;
  };
}

export function lineOf(name) {
  const line = lines.get(name) ?? { sockets: new Set(), delayMs: 0, silent: new Set(), waiting: [], isRefusing: false };
  lines.set(name, line);
  return line;
}

/** @param accept gets the server's end of each connection. */
export function listen(name, host, accept) {
  Object.assign(lineOf(name), { host, accept });
}

export function connectTo({ host: name }) {
  const line = lineOf(name);
  const client = new Socket(line, currentHost(), { allowHalfOpen: false });
  const open = () =>
    client.host.happen(() => {
      if (client.destroyed) return;
      if (line.accept === undefined || line.isRefusing || line.host.isDead)
        return client.destroy(broken('ECONNREFUSED'));
      const server = new Socket(line, line.host, { allowHalfOpen: true });
      [client.peer, server.peer] = [server, client];
      server.connecting = false;
      line.host.happen(() => line.accept(server));
      client.opened();
      client.flushLater();
    });
  const attempt = () => (isSilent(client) ? line.waiting.push(attempt) : open());
  world.run(() => setTimeout(attempt, 2 * (latencyMs + line.delayMs)));
  return client;
}

/** Nothing passes, to and from one host or all, until the line speaks again; then what waited arrives. */
export function silence(name, host) {
  lineOf(name).silent.add(host);
}

export function speak(name, host) {
  const line = lineOf(name);
  line.silent.delete(host);
  for (const attempt of line.waiting.splice(0)) attempt();
  for (const socket of [...line.sockets]) socket.flushLater();
}

/** Breaks all connections of a host, or of a line. */
export function reset({ sockets }) {
  for (const socket of [...sockets]) {
    for (const end of [socket, socket.peer ?? socket]) end.host.happen(() => end.destroy(broken('ECONNRESET')));
  }
}

/** Before anything of the gateway is loaded. */
export function replaceNetwork() {
  net.connect = net.createConnection = connectTo;
  syncBuiltinESMExports();
}
