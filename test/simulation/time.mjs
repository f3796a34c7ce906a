// Virtual time and chance. Each host (a gateway, Redis, the service, the clients) has a wall clock that may be wrong, random numbers by its seed, and
// can be paused or killed: then none of its timers fires, and nothing that was sent to it arrives. Time advances only while nothing can happen without it.
import { AsyncLocalStorage } from 'node:async_hooks';
import crypto from 'node:crypto';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import perfHooks from 'node:perf_hooks';
import { Transform } from 'node:stream';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import v8 from 'node:v8';
import zlib from 'node:zlib';
import FakeTimers from '@sinonjs/fake-timers';

const real = { setImmediate, Date };
const running = new AsyncLocalStorage();
/** A Monday, 09:00 UTC: a day's limits are not reached in a history. */
const startsAt = real.Date.UTC(2026, 5, 1, 9);
let clock;
let world;
let immediates = 0;
/** What runs in threads (Web Crypto, files): the results arrive in the order of the calls, each when nothing else can happen. */
let results = [];

/** Numbers from 0 up to 1, the same for the same seed. */
export function drawsFrom(seed) {
  let state = crypto.createHash('sha256').update(String(seed)).digest().readInt32LE();
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export class Host {
  skewMs = 0;
  isDead = false;
  timers = new Set();
  sockets = new Set();
  #waiting;

  constructor(name, seed) {
    this.name = name;
    this.random = drawsFrom(`${seed} ${name}`);
  }

  /** Runs it as this host, and all that follows from it. */
  run(work) {
    return running.run(this, work);
  }

  /** Something happens to the host: now, at the end of its pause, or never. */
  happen(work) {
    if (this.#waiting !== undefined) this.#waiting.push(work);
    else if (!this.isDead) this.run(work);
  }

  pause() {
    this.#waiting ??= [];
  }

  resume() {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const work of waiting) this.happen(work);
  }
}

export const currentHost = () => running.getStore() ?? world;
/** Since the start of the history, in milliseconds. */
export const now = () => clock.now - startsAt;

/** Begins a history: the clock, and everything random, as at every other start with this seed. */
export function startTime(seed) {
  clock = FakeTimers.createClock(startsAt, 1e9);
  [immediates, results] = [0, []];
  world = new Host('world', seed);
  return world;
}

/** Until nothing can happen without time. */
export async function settle() {
  for (;;) {
    await new Promise(resolve => real.setImmediate(resolve));
    if (immediates > 0) continue;
    const deliver = results.shift();
    if (deliver === undefined) return;
    await deliver();
  }
}

export async function advanceTo(milliseconds) {
  let isThere = false;
  clock.setTimeout(() => (isThere = true), startsAt + milliseconds - clock.now);
  while (!isThere) {
    const before = clock.now;
    if (clock.next() < before) {
      process.stderr.write('Time went back\n');
      process.exit(1);
    }
    await settle();
  }
}

/** A timer of the current host. It is there until it has fired, or was cleared. */
function start(method, isRepeating) {
  return (callback, milliseconds, ...args) => {
    const host = currentHost();
    let [isCleared, isDue] = [false, false];
    const fire = () => {
      if (isDue) return;
      isDue = true;
      host.happen(() => {
        isDue = false;
        if (isCleared) return;
        if (!isRepeating && !timer.isAgain) host.timers.delete(timer);
        timer.isAgain = false;
        callback(...args);
      });
    };
    const begin = () => clock[method](fire, Math.max(1, Number(milliseconds) || 1));
    let pending = begin();
    const timer = pending;
    host.timers.add(timer);
    return Object.assign(timer, {
      startedBy: callback,
      clear() {
        isCleared = true;
        host.timers.delete(timer);
        clock.clearTimeout(pending);
      },
      // That of the clock sets the new time before it takes the timer out by it: its heap is out of order then, others fire late, and time goes back.
      refresh() {
        host.timers.add(timer);
        clock.clearTimeout(pending);
        pending = begin();
        return timer;
      },
    });
  };
}

const startTimeout = start('setTimeout', false);
const startInterval = start('setInterval', true);
const clear = timer => timer?.clear?.();
const startImmediate = (callback, ...args) => {
  immediates += 1;
  const immediate = { isOver: false, hasRef: () => true, ref: () => immediate, unref: () => immediate };
  const end = () => {
    if (!immediate.isOver) immediates -= 1;
    immediate.isOver = true;
  };
  real.setImmediate(() => {
    if (immediate.isOver) return;
    end();
    callback(...args);
  });
  return Object.assign(immediate, { clear: end });
};
const later =
  starting =>
  (milliseconds, value, { signal } = {}) =>
    new Promise((resolve, reject) => {
      const aborted = () => {
        const error = new Error('The operation was aborted');
        return Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR', cause: signal.reason });
      };
      if (signal?.aborted) return reject(aborted());
      const stop = () => {
        clear(timer);
        reject(aborted());
      };
      const timer = starting(() => {
        signal?.removeEventListener('abort', stop);
        resolve(value);
      }, milliseconds);
      signal?.addEventListener('abort', stop, { once: true });
    });

class HostDate extends real.Date {
  constructor(...args) {
    super(...(args.length === 0 ? [HostDate.now()] : args));
  }
  static now() {
    return clock.now + currentHost().skewMs;
  }
}

function fill(bytes) {
  const view = new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength);
  const { random } = currentHost();
  for (let index = 0; index < view.length; index += 1) view[index] = random() * 256;
  return bytes;
}

/** Lets the results of what runs in threads arrive in the order of the calls. */
function resultsInOrder(owner, names) {
  for (const name of names) {
    const original = owner[name];
    owner[name] = function (...args) {
      const result = original.apply(this, args);
      result.catch(() => {});
      return new Promise((resolve, reject) => results.push(() => result.then(resolve, reject)));
    };
  }
}

/** Replaces what tells the time and what is random. Before anything of the gateway is loaded. */
export function replaceTimeAndChance() {
  const timing = {
    setTimeout: startTimeout,
    setInterval: startInterval,
    setImmediate: startImmediate,
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  };
  Object.assign(globalThis, timing, { Date: HostDate });
  Object.assign(timers, timing);
  const setImmediateLater = later(callback => startImmediate(callback));
  Object.assign(timersPromises, {
    setTimeout: later(startTimeout),
    setImmediate: (value, options) => setImmediateLater(0, value, options),
  });
  AbortSignal.timeout = milliseconds => {
    const controller = new AbortController();
    startTimeout(() => controller.abort(new DOMException('The operation timed out', 'TimeoutError')), milliseconds);
    return controller.signal;
  };
  performance.now = () => now() + 1_000;
  process.hrtime = () => [Math.floor(now() / 1_000), (now() % 1_000) * 1e6];
  process.hrtime.bigint = () => BigInt(now()) * 1_000_000n;
  process.memoryUsage = Object.assign(
    () => ({ rss: 1e8, heapTotal: 1e8, heapUsed: 5e7, external: 1e6, arrayBuffers: 1e6 }),
    { rss: () => 1e8 },
  );
  const heap = v8.getHeapStatistics();
  v8.getHeapStatistics = () => ({ ...heap, heap_size_limit: 4e9, used_heap_size: 5e7, total_heap_size: 1e8 });
  const none = { count: 0, min: 0, max: 0, mean: 0, stddev: 0, exceeds: 0, percentiles: new Map() };
  const quick = { ...none, enable() {}, disable() {}, reset() {}, percentile: () => 0 };
  perfHooks.monitorEventLoopDelay = () => quick;
  Math.random = () => currentHost().random();
  crypto.randomFillSync = fill;
  crypto.randomBytes = size => fill(Buffer.alloc(size));
  crypto.randomInt = (low, high) => low + Math.floor(currentHost().random() * (high - low));
  const web = Object.getPrototypeOf(globalThis.crypto);
  web.getRandomValues = fill;
  web.randomUUID = crypto.randomUUID = () => {
    const hex = fill(Buffer.alloc(16)).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
  // Node's own does it in a thread.
  const createGunzip = () => new Transform({ transform: (bytes, _, done) => done(null, zlib.gunzipSync(bytes)) });
  Object.defineProperty(zlib, 'createGunzip', { value: createGunzip });
  const subtle = Object.getPrototypeOf(globalThis.crypto.subtle);
  resultsInOrder(subtle, ['importKey', 'deriveKey', 'deriveBits', 'encrypt', 'decrypt', 'sign', 'verify', 'digest']);
  syncBuiltinESMExports();
  startTime('loading');
}

/** The same of files. After everything was loaded: Node itself reads modules so. */
export function replaceFiles() {
  const { open } = fs;
  // Only the handles that a gateway opens: the functions below use those of their own.
  fs.open = async (...args) => {
    const handle = await open(...args);
    resultsInOrder(handle, ['writeFile', 'chown', 'sync', 'close']);
    return handle;
  };
  resultsInOrder(fs, ['access', 'mkdir', 'open', 'readdir', 'rename', 'rm', 'stat']);
  syncBuiltinESMExports();
}
