import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { startSandbox } from '../../src/sandbox/server.js';
import { postJson } from '../support/gateway.js';
import { buildProgram, type Running } from '../support/program.js';
import { allRedisPlaces, type RedisPlace } from '../support/redis-cluster.js';
import { overSse, rawSocket } from '../support/streams.js';
import { until } from '../support/until.js';

const query = 'subscription { jobProgress(marketId: 6) { finished jobs { progress } } }';

let leaver: Running | undefined;

const [sandbox, program] = await Promise.all([startSandbox(), buildProgram()]);

afterEach(() => leaver?.kill());
afterAll(() => sandbox.close());

describe.each(allRedisPlaces)('over %s', (_, startPlace) => {
  let place: RedisPlace;
  beforeAll(async () => {
    place = await startPlace();
  });
  afterAll(() => place?.stop());

  /** The locks that the fleet holds. */
  async function locks(): Promise<string[]> {
    const nodes = place.urls.map(url => new Redis(url));
    const found = await Promise.all(nodes.map(node => node.keys('mig:live:*:lock')));
    for (const node of nodes) node.disconnect();
    return found.flat();
  }

  test('a gateway that shuts down is not ready, finishes running requests, closes its streams and gives its claims back', async () => {
    leaver = await program.start({
      UPSTREAM_BASE_URL: sandbox.origin,
      REDIS_URL: place.url,
      SESSION_SECRET: 's'.repeat(32),
      POLL_INTERVAL_MS: '500',
      SHUTDOWN_NOTICE_MS: '2000',
    });
    const { url } = leaver;
    let release = () => {};
    sandbox.tell({ path: '/v2/discovery/3/jobs', until: new Promise<void>(resolve => (release = resolve)) });
    const listeners = Array.from({ length: 60 }, () => rawSocket(url));
    for (const raw of listeners) {
      await raw.introduce();
      raw.send({ id: '1', type: 'subscribe', payload: { query } });
    }
    const stream = overSse(url, { query });
    await until(() => listeners.every(({ messages }) => messages.length > 1) && stream.results.length > 0);
    expect(await locks()).toHaveLength(1);
    const running = postJson(`${url}/graphql`, { query: '{ market(id: 3) { jobs { id } } }' });
    await until(() => sandbox.calls.count('/v2/discovery/3/jobs') === 1);

    leaver.signal('SIGTERM');
    const closings = new Set<number>();
    for (const { socket } of listeners) socket.on('close', () => closings.add(Math.round(performance.now() / 100)));
    await until(async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 503);
    const closed = await Promise.all(listeners.map(raw => raw.closed));
    release();
    const answer = await running;
    expect(await answer.json()).toMatchObject({ data: { market: { jobs: expect.any(Array) } } });
    const { code } = await leaver.ended;
    expect(code).toBe(0);
    expect(closed.map(({ code }) => code)).toEqual(listeners.map(() => 1001));
    expect(closings.size).toBeGreaterThan(3);
    // The stream ended without its last word, so that a client comes back.
    expect((await stream.ended).message).toBe('Connection closed while having active streams');
    expect(stream.results.at(-1).data.jobProgress.finished).toBe(false);
    expect(await locks()).toEqual([]);
  });
});
