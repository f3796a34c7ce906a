import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { demoHeaders, startGateway, type TestGateway } from './support/gateway.js';
import { counted } from './support/metrics.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { EXPLAIN: 'true' } });
});
afterAll(() => gateway.close());

test('reads are counted by endpoint family and by who answered them', async () => {
  const reads = (family: string, source: string) => counted(gateway.url, 'gateway_lookups_total', { family, source });
  // An explained answer is made anew each time, of what is kept.
  const explained = { ...demoHeaders, 'x-explain': '1' };
  await gateway.query('{ events(first: 3) { totalCount } }', {}, explained);
  expect([await reads('events', 'network'), await reads('events', 'memory')]).toEqual([1, 0]);
  await gateway.query('{ events(first: 3) { totalCount } }', {}, explained);
  expect([await reads('events', 'network'), await reads('events', 'memory')]).toEqual([1, 1]);
  expect(await reads('companies', 'network')).toBe(0);

  gateway.sandbox?.tell({ path: /companies$/, delayMs: 300 });
  const query = '{ market(id: 1) { companies(first: 1) { totalCount } } }';
  await Promise.all([1, 2, 3].map(() => gateway.query(query, {}, explained)));
  expect([await reads('companies', 'network'), await reads('companies', 'flight')]).toEqual([1, 2]);
});

test('calls to the service are counted by family and status', async () => {
  const calls = (labels: Record<string, string>) => counted(gateway.url, 'gateway_upstream_call_seconds_count', labels);
  await gateway.query('{ observation(id: "nobody") { title } }');
  expect(await calls({ family: 'observations', outcome: 'answered', status: '404' })).toBe(1);
});

test('requests that are answered with the answer to an equal one are counted by where it was', async () => {
  const kept = (tier: string) => counted(gateway.url, 'gateway_kept_answers_total', { tier });
  gateway.sandbox?.tell({ path: /events$/, delayMs: 300 });
  const query = '{ events(first: 4) { totalCount } }';
  await Promise.all([1, 2, 3].map(() => gateway.query(query)));
  expect(await kept('flight')).toBe(2);
  await gateway.query(query);
  expect(await kept('memory')).toBe(1);
});
