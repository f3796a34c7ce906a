import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import WebSocket from 'ws';
import { timesFor } from '../../src/data/polling/poll-store.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { demoHeaders } from '../support/gateway.js';
import { buildProgram, type Program, type Running } from '../support/program.js';
import { allRedisPlaces, type RedisPlace } from '../support/redis-cluster.js';
import { overSse, startDiscovery } from '../support/streams.js';
import { until } from '../support/until.js';

const intervalMs = 500;
const { lockMs } = timesFor(intervalMs);
const jobsPath = /\/v2\/discovery\/\d+\/jobs/;
const query = 'subscription($id: ID!) { jobProgress(marketId: $id) { finished jobs { progress } } }';

let sandbox: Sandbox;
/** Where a discovery takes half as long. */
let quick: Sandbox;
let place: RedisPlace;
let program: Program;
let fleet: Running[] = [];

beforeAll(async () => {
  [sandbox, quick, program] = await Promise.all([
    startSandbox({ discoveryMs: 10_000 }),
    startSandbox({ discoveryMs: 5_000 }),
    buildProgram(),
  ]);
});
afterAll(async () => {
  await Promise.all([sandbox?.close(), quick?.close()]);
});
beforeEach(() => {
  sandbox.reset();
  quick.reset();
});
afterEach(async () => {
  for (const listener of listening.splice(0)) listener.leave();
  await stopFleet();
});

async function startFleet(size: number, service = sandbox): Promise<void> {
  fleet = await Promise.all(
    Array.from({ length: size }, () =>
      program.start({
        UPSTREAM_BASE_URL: service.origin,
        REDIS_URL: place.url,
        SESSION_SECRET: 's'.repeat(32),
        POLL_INTERVAL_MS: String(intervalMs),
        SHUTDOWN_NOTICE_MS: '2000',
      }),
    ),
  );
}

async function stopFleet(): Promise<void> {
  for (const one of fleet) one.signal('SIGCONT');
  for (const one of fleet) one.signal('SIGKILL');
  await Promise.all(fleet.map(({ ended }) => ended));
}

const listening: Listener[] = [];

/** One WebSocket that listens, and subscribes again elsewhere when its gateway is gone. */
class Listener {
  /** What it heard, over all its connections. */
  readonly shares: number[] = [];
  finished = false;
  closeCode: number | undefined;
  socket: WebSocket;

  constructor(url: string, marketId: string, next: () => string | undefined) {
    this.socket = this.#connect(url, marketId, next);
    listening.push(this);
  }

  leave(): void {
    this.finished = true;
    this.socket.terminate();
  }

  #connect(url: string, marketId: string, next: () => string | undefined): WebSocket {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
    const send = (message: unknown) => socket.send(JSON.stringify(message));
    socket.on('open', () => send({ type: 'connection_init', payload: demoHeaders }));
    socket.on('message', data => {
      const { type, payload } = JSON.parse(String(data));
      if (type === 'connection_ack')
        send({ id: '1', type: 'subscribe', payload: { query, variables: { id: marketId } } });
      if (type !== 'next') return;
      const { jobs, finished } = payload.data.jobProgress;
      this.shares.push(jobs[0]?.progress ?? 0);
      this.finished = finished;
    });
    socket.on('error', () => {});
    socket.on('close', code => {
      this.closeCode = code;
      const elsewhere = next();
      if (!this.finished && elsewhere !== undefined) this.socket = this.#connect(elsewhere, marketId, next);
    });
    return socket;
  }
}

async function polls(one: Running): Promise<boolean> {
  const text = await (await fetch(`${one.url}/metrics`)).text();
  return / 1$/m.test(text.split('\n').find(line => line.startsWith('gateway_live_pollers')) ?? '');
}

async function pollingOf(candidates: readonly Running[]): Promise<Running> {
  let found: Running | undefined;
  await until(async () => {
    const taken = await Promise.all(candidates.map(polls));
    found = candidates[taken.indexOf(true)];
    return found !== undefined;
  });
  if (found === undefined) throw new Error('No gateway polls');
  return found;
}

/** How long each lock of the fleet still lasts, in milliseconds. */
async function locks(): Promise<number[]> {
  const nodes = place.urls.map(url => new Redis(url));
  try {
    const timesOn = async (node: Redis) =>
      Promise.all((await node.keys('mig:live:*:lock')).map(each => node.pttl(each)));
    return (await Promise.all(nodes.map(timesOn))).flat();
  } finally {
    for (const node of nodes) node.disconnect();
  }
}

const inOrder = (shares: readonly number[]) => shares.every((share, index) => share >= (shares[index - 1] ?? 0));

describe.each(allRedisPlaces)('over %s', (_, startPlace) => {
  beforeAll(async () => {
    place = await startPlace();
  });
  afterAll(() => place?.stop());

  test('one gateway of a steady fleet polls, and another one soon after it was killed', async () => {
    await startFleet(3);
    const listeners = fleet.map(({ url }) => new Listener(url, '6', () => undefined));
    await until(() => listeners.every(({ shares }) => shares.length > 0));
    const count = () => sandbox.calls.count(jobsPath);
    // Where a busy machine has paused it for longer than its lock lasts, two poll for a moment.
    let [steadySince, before] = [count(), ''];
    await until(async () => {
      const now = (await Promise.all(fleet.map(polls))).join();
      if (now !== before || now.split('true').length !== 2) [steadySince, before] = [count(), now];
      return count() >= steadySince + 6;
    });

    const polling = await pollingOf(fleet);
    polling.signal('SIGKILL');
    await polling.ended;
    for (const leftMs of await locks()) expect(leftMs).toBeLessThanOrEqual(lockMs);
    const asked = count();
    await until(() => count() > asked);
  });

  test('streams stay open and continue while Redis restarts with no data', async () => {
    await startFleet(2, quick);
    const market = '5';
    await startDiscovery(quick.origin, market);
    const listeners = fleet.flatMap(({ url }) =>
      Array.from({ length: 50 }, () => new Listener(url, market, () => undefined)),
    );
    await until(() => listeners.every(({ shares }) => shares.length > 0));
    await Promise.all(place.nodes.map(node => node.restart()));
    await until(() => listeners.every(({ finished }) => finished));
    expect(listeners.filter(({ shares }) => !inOrder(shares)).map(({ shares }) => shares)).toEqual([]);
    for (const { closeCode } of listeners) expect(closeCode).toBeUndefined();
  });

  test('a gateway that shuts down is not ready, finishes running requests, closes its streams and gives its claims back', async () => {
    await startFleet(1);
    const [leaver] = fleet;
    if (leaver === undefined) throw new Error('No gateway');
    let release = () => {};
    sandbox.tell({ path: '/v2/discovery/3/jobs', until: new Promise<void>(resolve => (release = resolve)) });
    const listeners = Array.from({ length: 60 }, () => new Listener(leaver.url, '6', () => undefined));
    const stream = overSse(leaver.url, { query, variables: { id: '6' } });
    await until(() => listeners.every(({ shares }) => shares.length > 0) && stream.results.length > 0);
    const running = fetch(`${leaver.url}/graphql`, {
      method: 'POST',
      headers: { ...demoHeaders, 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ market(id: 3) { jobs { id } } }' }),
    });
    await until(() => sandbox.calls.count('/v2/discovery/3/jobs') === 1);

    leaver.signal('SIGTERM');
    const closings = new Set<number>();
    for (const { socket } of listeners) socket.on('close', () => closings.add(Math.round(performance.now() / 100)));
    await until(async () => (await fetch(`${leaver.url}/readyz`).catch(() => undefined))?.status === 503);
    await until(() => listeners.every(({ closeCode }) => closeCode !== undefined));
    release();
    const answer = await running;
    expect(await answer.json()).toMatchObject({ data: { market: { jobs: expect.any(Array) } } });
    const { code } = await leaver.ended;
    expect(code).toBe(0);
    expect(listeners.map(({ closeCode }) => closeCode)).toEqual(listeners.map(() => 1001));
    expect(closings.size).toBeGreaterThan(3);
    // The stream ended without its last word, so that a client comes back.
    expect((await stream.ended).message).toBe('Connection closed while having active streams');
    expect(stream.results.at(-1).data.jobProgress.finished).toBe(false);
    expect(await locks()).toEqual([]);
  });
});
