import WebSocket from 'ws';
import type { Running } from './program.js';
import { until } from './until.js';

/** What a process that runs holds. */
export interface Holdings {
  /** Bytes in use on its heap after a collection, without what V8 keeps of compiled code, which grows for long. */
  readonly heap: number;
  /** Bytes of its buffers, which lie outside the heap. */
  readonly buffers: number;
}

/** Looks into a process that was started with `inspected` in its environment. */
export interface Inspector {
  holdings(): Promise<Holdings>;
  /**
   * The longest time that its event loop was held up while something was done, in milliseconds: by the clock, or by the processor's time of
   * the whole process where that is less, since other processes take their part of the clock. Without what the operating system took to give
   * it fresh memory, which is up to the machine: on some, 16 microseconds a page.
   */
  maxBlock(work: () => Promise<unknown>): Promise<number>;
  /** How many times as long a fixed task takes now as on the machine that the bounds of tests are stated for, by the processor's time; at least 1. */
  slowdown(): Promise<number>;
  close(): void;
}

export const inspected = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

const look = `JSON.stringify({
  heap: process.getBuiltinModule('v8').getHeapSpaceStatistics()
    .filter(({ space_name }) => !/^(code|trusted|read_only)/.test(space_name))
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0),
  buffers: process.memoryUsage().arrayBuffers,
})`;

const beginWatch = `{
  const used = () => {
    const { userCPUTime, systemCPUTime, minorPageFault } = process.resourceUsage();
    return { clock: performance.now(), cpu: (userCPUTime + systemCPUTime) / 1000, pages: minorPageFault };
  };
  const since = before => {
    const now = used();
    return { now, time: Math.min(now.clock - before.clock, now.cpu - before.cpu), pages: now.pages - before.pages };
  };
  globalThis.timeOfPage ??= Math.min(...Array.from({ length: 5 }, () => {
    const before = used();
    Buffer.alloc(4_000_000, 1);
    const { time, pages } = since(before);
    return pages === 0 ? 0 : time / pages;
  }));
  let last = used();
  const watch = { longest: 0, isOver: false };
  globalThis.watch = watch;
  setImmediate(function turn() {
    const { now, time, pages } = since(last);
    watch.longest = Math.max(watch.longest, time - pages * timeOfPage);
    last = now;
    if (!watch.isOver) setImmediate(turn);
  });
}`;
/** What the fixed task takes on two cores of 2.6 GHz with Node 20, in microseconds of the processor. */
const referenceTime = 6_100;
const fixedTask = `{
  const text = globalThis.fixedText ??= JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id, name: 'name ' + id })));
  const times = Array.from({ length: 9 }, () => {
    const before = process.cpuUsage();
    JSON.stringify(JSON.parse(text));
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  // The median: what was measured before met other processes, too.
  const now = times.sort((one, other) => one - other)[4];
  String(Math.max(now / ${referenceTime}, 1));
}`;
/** A message of the inspector may be heard before the turn in which something was done has ended. */
const endWatch = `new Promise(resolve => setImmediate(() => {
  watch.isOver = true;
  setImmediate(() => resolve(String(watch.longest)));
}))`;

/** Connects to the inspector of a running program. */
export async function inspect(running: Running): Promise<Inspector> {
  let address: string | undefined;
  await until(() => {
    [address] = /ws:\/\/127\.0\.0\.1:\S+/.exec(running.stderr()) ?? [];
    return address !== undefined;
  });
  const socket = new WebSocket(address ?? '');
  await until(() => socket.readyState === WebSocket.OPEN);
  const waiting = new Map<number, (result: { result?: { value?: string } }) => void>();
  socket.on('message', data => {
    const { id, result } = JSON.parse(String(data));
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  let last = 0;
  const call = (method: string, params = {}) => {
    last += 1;
    const answer = new Promise<{ result?: { value?: string } }>(resolve => waiting.set(last, resolve));
    socket.send(JSON.stringify({ id: last, method, params }));
    return answer;
  };
  return {
    async holdings() {
      // The second collects what finalisers let go after the first.
      for (let pass = 0; pass < 2; pass += 1) await call('HeapProfiler.collectGarbage');
      const { result } = await call('Runtime.evaluate', { expression: look });
      return JSON.parse(result?.value ?? '');
    },
    async maxBlock(work) {
      await call('Runtime.evaluate', { expression: beginWatch });
      await work();
      const { result } = await call('Runtime.evaluate', { expression: endWatch, awaitPromise: true });
      return Number(result?.value);
    },
    async slowdown() {
      const { result } = await call('Runtime.evaluate', { expression: fixedTask });
      return Number(result?.value);
    },
    close: () => socket.terminate(),
  };
}
