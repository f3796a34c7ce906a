import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { buildProgram, type Program, type Running } from '../support/program.js';
import { until } from '../support/until.js';

let program: Program;
let running: Running | undefined;
beforeAll(async () => {
  program = await buildProgram();
});
afterEach(async () => {
  await running?.kill();
  running = undefined;
});

/** Code that a process runs first: at SIGUSR2 its event loop is busy for six seconds, of which the gateway is not ready for four. */
const busyAtSignal = 'process.once("SIGUSR2",()=>{const end=performance.now()+6000;while(performance.now()<end);})';

/** Starts a gateway with a listener for probes. @returns the address of that listener */
async function startWithAdmin(env: Record<string, string> = {}): Promise<string> {
  running = await program.start({ ADMIN_PORT: '0', ...env });
  const [, address = ''] = /^Probes and metrics: (.*)\/metrics$/m.exec(running.stdout()) ?? [];
  return address.replace('localhost', '127.0.0.1');
}

async function ask(address: string): Promise<{ status: number; text: string; milliseconds: number }> {
  const startedAt = performance.now();
  const response = await fetch(address);
  const text = await response.text();
  return { status: response.status, text, milliseconds: performance.now() - startedAt };
}

test('probes and metrics have a listener of their own, and the metrics leave the port for clients', async () => {
  const admin = await startWithAdmin();
  expect(await ask(`${admin}/healthz`)).toMatchObject({ status: 200, text: '{"status":"ok"}' });
  expect(await ask(`${admin}/readyz`)).toMatchObject({ status: 200, text: '{"status":"ready"}' });
  const metrics = await ask(`${admin}/metrics`);
  expect(metrics.status).toBe(200);
  expect(metrics.text).toMatch(/^gateway_operations_limit 256$/m);
  expect((await ask(`${admin}/graphql`)).status).toBe(404);
  expect((await ask(`${running?.url}/metrics`)).status).toBe(404);
  expect((await ask(`${running?.url}/readyz`)).status).toBe(200);
});

test('probes are answered while the event loop of the gateway is busy, and say so', async () => {
  const admin = await startWithAdmin({
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(busyAtSignal)}`,
  });
  await until(async () => /^gateway_ready 1$/m.test((await ask(`${admin}/metrics`)).text));
  running?.signal('SIGUSR2');
  let slowest = 0;
  const probe = async (path: string) => {
    const answer = await ask(admin + path);
    slowest = Math.max(slowest, answer.milliseconds);
    return answer;
  };
  await until(async () => (await probe('/readyz')).text === '{"status":"busy"}');
  expect((await probe('/healthz')).status).toBe(200);
  const { text } = await probe('/metrics');
  expect(text).toMatch(/^gateway_operations_limit 256$/m);
  expect(text.match(/^gateway_ready .*$/gm)).toEqual(['gateway_ready 0']);
  expect(Number(/^gateway_silent_seconds (.*)$/m.exec(text)?.[1])).toBeGreaterThan(1.5);
  await until(async () => (await probe('/readyz')).status === 200);
  expect((await probe('/metrics')).text).toMatch(/^gateway_ready 1$/m);
  // Each reader sees afterwards how long it was: a read does not hide it from the next one.
  for (const _ of [1, 2]) {
    const { text: later } = await probe('/metrics');
    expect(Number(/^nodejs_eventloop_lag_max_seconds (.*)$/m.exec(later)?.[1])).toBeGreaterThan(2.5);
  }
  await until(() => /"silentMs":\d{4}.*"msg":"The event loop was blocked/.test(running?.stderr() ?? ''));
  expect(slowest).toBeLessThan(1_000);
});

test('after SIGTERM the gateway is not ready until it ends', async () => {
  const admin = await startWithAdmin({ SHUTDOWN_NOTICE_MS: '1500' });
  running?.signal('SIGTERM');
  await until(async () => (await ask(`${admin}/readyz`)).text === '{"status":"closing"}');
  expect((await ask(`${admin}/healthz`)).status).toBe(200);
  expect(await running?.ended).toMatchObject({ code: 0 });
});

test('a port that is taken is one clear line', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await until(async () => other.listening);
  const { port } = other.address() as AddressInfo;
  const { code, stderr } = await program.run({ PORT: '0', ADMIN_PORT: String(port) });
  other.close();
  expect(code).toBe(1);
  expect(stderr.trim().split('\n').at(-1)).toMatch(/ADMIN_PORT: cannot listen at 127.0.0.1, port \d+: .*EADDRINUSE/);
});
