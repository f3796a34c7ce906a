import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';
import { ask, demoHeaders } from './support/gateway.js';
import { buildProgram, type Program } from './support/program.js';
import { until } from './support/until.js';

const script = 'docs/operations/fleet.mjs';
const PATH = process.env.PATH ?? '';

let program: Program;
beforeAll(async () => {
  program = await buildProgram();
});

/** A fleet that runs, as it says itself. */
interface Fleet {
  readonly balancer: string;
  readonly gateways: readonly { url: string; pid: number }[];
  readonly child: ChildProcess;
  readonly exit: Promise<unknown[]>;
}

async function startFleet(): Promise<Fleet> {
  const child = spawn(process.execPath, [script], {
    env: { PATH, PORT: '0', PROGRAM: program.folder, MAX_EVENT_LOOP_DELAY_MS: '60000' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  let said = '';
  for await (const line of createInterface({ input: child.stdout })) {
    said += `${line}\n`;
    if (line.startsWith('Stop')) break;
  }
  const balancer = /balancer +(http:\S+)\/graphql/.exec(said)?.[1];
  if (balancer === undefined) throw new Error(`The fleet did not start: ${said}`);
  const gateways = [...said.matchAll(/gateway-\d +(http:\S+) \(process (\d+)\)/g)];
  return { balancer, gateways: gateways.map(([, url = '', pid]) => ({ url, pid: Number(pid) })), child, exit };
}

/** Whether any process still has an open connection to an address, as the kernel lists them: established, or closed by the other side only. */
function hasConnectionTo(url: string): boolean {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  return lines.some(line => {
    const [, , remote, state] = line.trim().split(/\s+/);
    return remote?.endsWith(`:${port}`) === true && (state === '01' || state === '08');
  });
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Events of one more name each time, so that none is kept. */
let asked = 0;
const query = (url: string) =>
  ask(`${url}/graphql`, 'query ($filter: EventFilter) { events(filter: $filter) { totalCount } }', {
    filter: { impactedEntities: [`Nobody ${++asked}`] },
  });

const clients = 8;

/** Keeps asking with all clients; no answer may be anything but right. */
async function askUntil({ balancer }: Fleet, isOver: () => boolean): Promise<void> {
  const askOn = async () => {
    while (!isOver()) {
      const { status, errors } = await query(balancer);
      expect([status, errors]).toEqual([200, undefined]);
    }
  };
  await Promise.all(Array.from({ length: clients }, askOn));
}

/** What a gateway says of its readiness once it no longer says this. */
async function readinessAfter(url: string, before: number): Promise<number> {
  for (;;) {
    const { status } = await fetch(`${url}/readyz`, { headers: { connection: 'close' } });
    if (status !== before) return status;
    await pause(20);
  }
}

describe('the fleet', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await startFleet();
  });
  afterAll(async () => {
    fleet.child.kill('SIGINT');
    await fleet.exit;
  });

  async function lookupsOf(url: string) {
    const text = await (await fetch(`${url}/metrics`)).text();
    const counts = [...text.matchAll(/^gateway_lookups_total\{.*\} (\d+)$/gm)];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  }

  test('answers through the balancer, from both gateways', async () => {
    for (let turn = 0; turn < 10; turn++) {
      const { status, data } = await query(fleet.balancer);
      expect([status, data]).toEqual([200, { events: { totalCount: 0 } }]);
    }
    const lookups = await Promise.all(fleet.gateways.map(({ url }) => lookupsOf(url)));
    expect(lookups).toHaveLength(2);
    for (const count of lookups) expect(count).toBeGreaterThan(0);
  });

  test('forwards a subscription', async () => {
    const client = new WebSocket(`${fleet.balancer.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
    try {
      await once(client, 'open');
      client.send(JSON.stringify({ type: 'connection_init', payload: demoHeaders }));
      const [acknowledged] = await once(client, 'message');
      expect(JSON.parse(`${acknowledged}`)).toMatchObject({ type: 'connection_ack' });
      const query = 'subscription { jobProgress(marketId: 3, phase: PUBLISH) { marketId } }';
      client.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }));
      const [first] = await once(client, 'message');
      expect(JSON.parse(`${first}`)).toEqual({
        id: '1',
        type: 'next',
        payload: { data: { jobProgress: { marketId: '3' } } },
      });
    } finally {
      client.terminate();
    }
  });

  test('hides the metrics, however the path is encoded', async () => {
    for (const path of ['/metrics', '/metrics?all', '/%6detrics', '/met%72ics']) {
      expect([path, (await fetch(fleet.balancer + path)).status]).toEqual([path, 404]);
    }
  });

  test('loses no request after a gateway is killed', async () => {
    const [first] = fleet.gateways;
    if (first === undefined) throw new Error('There is no gateway');
    // So that connections stand that lead to both.
    await Promise.all(Array.from({ length: clients }, () => query(fleet.balancer)));
    process.kill(first.pid, 'SIGKILL');
    await until(() => !isAlive(first.pid));
    // A request that the balancer sends before it reads that a kept connection has ended is lost. Its next health check is later than this.
    await until(() => !hasConnectionTo(first.url));
    let turns = 0;
    await askUntil(fleet, () => ++turns > 25 * clients);
  });

  test('loses no request while a gateway shuts down, and stops all processes at SIGINT', async () => {
    const own = await startFleet();
    const [first] = own.gateways;
    try {
      if (first === undefined) throw new Error('There is no gateway');
      const asking = askUntil(own, () => !isAlive(first.pid));
      await pause(200);
      process.kill(first.pid, 'SIGTERM');
      const [readiness] = await Promise.all([readinessAfter(first.url, 200), asking]);
      expect(readiness).toBe(503);
    } finally {
      own.child.kill('SIGINT');
      await own.exit;
    }
    expect(await own.exit).toEqual([0, null]);
    expect(own.gateways.filter(({ pid }) => isAlive(pid))).toEqual([]);
    await expect(fetch(own.balancer)).rejects.toThrow();
  });
});

test('says in one line which tool to install', () => {
  const { status, stderr } = spawnSync(process.execPath, [script], { env: { PATH: '/nowhere' }, encoding: 'utf8' });
  expect([status, stderr]).toEqual([
    1,
    'npm run fleet needs redis-server, which is not on this machine: install redis-server\n',
  ]);
});

describe('the balancer', () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  /** Something in a gateway's place. */
  async function standIn(server: Server): Promise<string> {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    cleanups.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async function balance(one: string, two: string): Promise<string> {
    const address = await standIn(createServer());
    await cleanups.pop()?.();
    const child = spawn('haproxy', ['-db', '-f', 'docs/operations/haproxy.cfg'], {
      env: { PATH, BALANCER: address, GATEWAY_ONE: one, GATEWAY_TWO: two },
      stdio: 'ignore',
    });
    const exit = once(child, 'exit');
    cleanups.push(async () => {
      child.kill('SIGKILL');
      await exit;
    });
    const isReady = () =>
      fetch(`http://${address}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(isReady);
    return address;
  }

  test('forwards a WebSocket with its subprotocol and the address of the client', async () => {
    const server = createServer((_, response) => void response.end());
    const sockets = new WebSocketServer({ server, path: '/graphql' });
    sockets.on('connection', (socket, { headers }) => {
      socket.on('message', text => socket.send(`${headers['x-forwarded-for']}: ${text}`));
    });
    const address = await standIn(server);
    // Whatever a client says of itself.
    const headers = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' };
    const client = new WebSocket(`ws://${await balance(address, address)}/graphql`, 'graphql-transport-ws', {
      headers,
    });
    await once(client, 'open');
    cleanups.push(() => client.terminate());
    expect(client.protocol).toBe('graphql-transport-ws');
    client.send('hello');
    const [answer] = await once(client, 'message');
    expect(`${answer}`).toBe('127.0.0.1: hello');
  });

  test('retries a refused request at another gateway, and never one that may have begun', async () => {
    const seen: string[] = [];
    const closing = await standIn(
      createServer((request, response) => {
        if (request.url === '/readyz') return response.end();
        seen.push(`closing ${request.url}`);
        if (request.url === '/breaks') return request.socket.destroy();
        return response.writeHead(503).end();
      }),
    );
    const well = await standIn(
      createServer((request, response) => {
        seen.push(`well ${request.url}`);
        response.end();
      }),
    );
    const address = await balance(closing, well);
    // As large as a request may be that can still be given to another.
    const body = 'x'.repeat(100_000);
    const post = (path: string) => fetch(`http://${address}${path}`, { method: 'POST', body });
    const statuses = [];
    for (let turn = 0; turn < 4; turn++) statuses.push((await post('/turned-down')).status);
    expect(statuses).toEqual([200, 200, 200, 200]);
    expect(seen).toContain('closing /turned-down');

    seen.length = 0;
    for (let turn = 0; turn < 4; turn++) await post('/breaks').catch(() => {});
    const [broken, answered] = ['closing /breaks', 'well /breaks'].map(
      sight => seen.filter(one => one === sight).length,
    );
    expect(broken).toBeGreaterThan(0);
    expect((broken ?? 0) + (answered ?? 0)).toBe(4);
  });
});
