import { expect, test } from '@jest/globals';
import { startSandbox } from '../src/sandbox/server.js';
import { demoHeaders, startGateway } from './support/gateway.js';
import { startNetwork } from './support/network.mjs';
import { startRedis } from './support/redis.js';
import { listenResuming, transports } from './support/resuming-listener.mjs';
import { until } from './support/until.js';

const listeners = 12;
const rounds = 12;

// `npm run faults:streams` does the same with processes, a balancer and hundreds of listeners, for minutes.
test('listeners on every transport whose connections are cut get every update exactly once', async () => {
  const [sandbox, redis] = await Promise.all([startSandbox(), startRedis()]);
  const env = { POLL_INTERVAL_MS: '200', SESSION_SECRET: 's'.repeat(32) };
  const start = () => startGateway({ sandbox, redisUrl: redis.url, env });
  const gateways = [await start(), await start()];
  let turn = 0;
  const network = await startNetwork(() => {
    turn += 1;
    return Number(new URL(gateways[turn % gateways.length]?.url ?? '').port);
  });
  const key = demoHeaders['x-api-key'];
  const all = Array.from({ length: listeners }, (_, index) =>
    listenResuming(network.url, transports[index % transports.length] ?? 'sse', key),
  );
  try {
    await until(() => all.every(({ hasCursor }) => hasCursor));
    const titles: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = all.map(({ connections }) => connections);
      for (let number = 0; number < 3; number += 1) {
        const { title } = sandbox.publishEvent({ title: `${round}.${number}` });
        titles.push(title);
      }
      if (round === 4) await redis.restart();
      if (round === 8) {
        const [first] = gateways.splice(0, 1);
        await first?.close();
        gateways.push(await start());
      }
      const isCut = network.cut(0.5) > 0;
      await until(() => !isCut || all.some(({ connections }, index) => connections > (before[index] ?? 0)));
    }
    await until(() => all.every(listener => titles.every(title => listener.titles.has(title))));
    for (const listener of all) {
      expect([...listener.titles].filter(([, count]) => count !== 1)).toEqual([]);
      expect(listener.gaps).toBe(0);
    }
  } finally {
    for (const { stop } of all) stop();
    await network.close();
    await Promise.all(gateways.map(gateway => gateway.close()));
    await redis.stop();
    await sandbox.close();
  }
});
