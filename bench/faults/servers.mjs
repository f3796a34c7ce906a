// The servers of a fleet, as processes.
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { freePort } from '../lib/processes.mjs';
import { answers, Process } from './processes.mjs';

const top = fileURLToPath(new URL('../..', import.meta.url));
const startScript = JSON.parse(readFileSync(`${top}package.json`, 'utf8')).scripts.start;
/** Where the servers keep their files. Who starts them removes it. */
export const folder = mkdtempSync(join(tmpdir(), 'faults-'));

export async function startSandbox() {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const sandbox = new Process({
    command: process.execPath,
    args: [`${top}dist/sandbox/main.js`, '--port', String(port)],
    ready: () => answers(`${origin}/_sandbox/calls`),
  });
  await sandbox.start();
  const control = (method, path, body) =>
    fetch(`${origin}/_sandbox/${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
  return {
    process: sandbox,
    origin,
    tell: rule => control('POST', 'rules', { pathPattern: '^/(?!_sandbox)', ...rule }),
    forget: () => control('DELETE', 'rules'),
    /** The paths of the calls since the last time. */
    async calls() {
      const calls = await (await control('GET', 'calls')).json();
      await control('DELETE', 'calls');
      return calls.map(({ path }) => path);
    },
  };
}

export async function startRedis(...args) {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const admin = new Redis(url, { retryStrategy: () => 50 });
  admin.on('error', () => {});
  const server = new Process({
    command: 'redis-server',
    args: [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--dir',
      mkdtempSync(join(folder, 'redis-')),
      ...args,
    ],
    ready: () => admin.ping().then(Boolean, () => false),
  });
  await server.start();
  return { process: server, url, port, admin };
}

/**
 * @param {{ flags?: string[], env?: Record<string, string>, within?: string }} [options] `within`: what a shell does first, before it starts the
 * gateway as `npm start` does
 */
export async function startGateway(sandbox, redisUrl, { flags = [], env = {}, within } = {}) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const environment = {
    PORT: String(port),
    UPSTREAM_BASE_URL: sandbox.origin,
    UPSTREAM_API_URL: `${sandbox.origin}/api`,
    UPSTREAM_DEV_URL: `${sandbox.origin}/stage`,
    UPSTREAM_TIMEOUT_MS: '1000',
    SESSION_SECRET: 'a secret of the bench with 32 characters',
    TRUST_PROXY: '127.0.0.1',
    ...(redisUrl && { REDIS_URL: redisUrl }),
    ...env,
  };
  const gateway = new Process({
    ...(within === undefined
      ? { command: process.execPath, args: [...flags, `${top}dist/main.js`] }
      : { command: 'sh', args: ['-c', `cd ${top} && ${within} && ${startScript}`] }),
    env: environment,
    ready: () => answers(`${url}/readyz`),
  });
  await gateway.start();
  return { process: gateway, url, env: environment };
}

/** The balancer of docs/operations before two or three gateways. */
export async function startBalancer(gateways) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const [one, two, three] = gateways.map(gateway => new URL(gateway.url).host);
  const balancer = new Process({
    command: 'haproxy',
    args: ['-db', '-f', `${top}docs/operations/haproxy.cfg`],
    env: {
      BALANCER: `127.0.0.1:${port}`,
      GATEWAY_ONE: one,
      GATEWAY_TWO: two,
      ...(three && { GATEWAY_THREE: three }),
    },
    ready: () => answers(`${url}/readyz`),
  });
  await balancer.start();
  return url;
}
