import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Sandbox } from '../../src/sandbox/server.js';
import { counted } from './metrics.js';
import { until } from './until.js';

/** Lets the sandbox hold back what it is asked for at these paths until the function is called that this returns. */
export function hold(sandbox: Pick<Sandbox, 'tell'>, path: string | RegExp, times?: number): () => void {
  let release = () => {};
  const until = new Promise<void>(resolve => {
    release = resolve;
  });
  const forget = sandbox.tell({ path, until, ...(times !== undefined && { times }) });
  return () => {
    forget();
    release();
  };
}

/** Waits until a gateway of this process has so many requests, and has begun to work on them. */
export async function begun(url: string, requests: number): Promise<void> {
  await until(async () => (await counted(url, 'gateway_requests_in_flight')) === requests);
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
}
