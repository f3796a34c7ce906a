import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { fuzz } from '../support/fuzz.js';
import { postJson } from '../support/gateway.js';
import { esgOf, type LargeClient, startLargeService, transports } from '../support/large-answers.js';
import { counted } from '../support/metrics.js';
import { buildProgram, type Program, type Running } from '../support/program.js';
import type { StubService } from '../support/stub-service.js';
import { until } from '../support/until.js';

/** What an operator of a small container would be killed for. */
const maxResident = 1_000_000_000;
let program: Program;
let service: StubService;
let gateway: Running;

beforeAll(async () => {
  program = await buildProgram();
});
beforeEach(async () => {
  service = await startLargeService();
  gateway = await program.start({
    NODE_OPTIONS: '--max-old-space-size=512',
    UPSTREAM_BASE_URL: service.origin,
    SESSION_SECRET: 'm'.repeat(32),
    DATA_DIR: '/tmp',
    // A machine with much to do is no fault of the service.
    UPSTREAM_TIMEOUT_MS: '60000',
  });
});
afterEach(async () => {
  await gateway.kill();
  await service.close();
});

const metric = (name: string) => counted(gateway.url, name);

/** Until it has done what it can: those who read have been answered, and nothing is worked on for those who do not. */
async function settled(clients: readonly LargeClient[]): Promise<string[]> {
  const outcomes = await Promise.all(clients.map(({ outcome }) => outcome));
  let last = '';
  let calm = 0;
  await until(async () => {
    const now = `${service.calls.length} ${await metric('gateway_held_bytes')}`;
    calm = now === last ? calm + 1 : 0;
    last = now;
    return calm === 20;
  });
  return outcomes.flat();
}

/** Lets some ask for much, and go. What came of it, and the most bytes that the process was resident with. */
async function ask(clients: readonly LargeClient[]): Promise<{ outcomes: readonly string[]; resident: number }> {
  let resident = 0;
  const look = async () => {
    resident = Math.max(resident, await metric('process_resident_memory_bytes'));
  };
  const watch = setInterval(() => void look().catch(() => {}), 50);
  try {
    const died = gateway.ended.then(({ stderr }) => {
      throw new Error(`The process died: ${stderr.slice(-2_000)}`);
    });
    const outcomes = await Promise.race([settled(clients), died]);
    await look();
    return { outcomes, resident };
  } finally {
    clearInterval(watch);
    for (const each of clients) each.leave();
  }
}

let markets = 0;
const fresh = () => ++markets;
const times = (count: number, market: () => number) => Array.from({ length: count }, market);

/** No memory is held any more, and a new request is answered. */
async function recovered(): Promise<void> {
  await until(async () => (await metric('gateway_held_bytes')) === 0);
  const response = await postJson(`${gateway.url}/graphql`, { query: esgOf(fresh()) }, { 'x-api-key': 'good' });
  const text = await response.text();
  if (text.length < 7_000_000) throw new Error(`Answered with ${response.status} ${text}`);
}

const known = new Set(['whole', 'refused']);

async function holds(clients: readonly LargeClient[]): Promise<readonly string[]> {
  const { outcomes, resident } = await ask(clients);
  expect(outcomes.filter(outcome => !known.has(outcome))).toEqual([]);
  expect(resident).toBeLessThan(maxResident);
  await recovered();
  return outcomes;
}

test('a socket that does not read and asks for a hundred answers of 8 MB', async () => {
  const market = fresh();
  await holds([
    transports.WebSocket(
      gateway.url,
      'key',
      times(100, () => market),
      false,
    ),
  ]);
});

test('a socket that reads and asks for sixty answers of 8 MB', async () => {
  const market = fresh();
  const outcomes = await holds([
    transports.WebSocket(
      gateway.url,
      'key',
      times(60, () => market),
      true,
    ),
  ]);
  expect(outcomes).toHaveLength(60);
  expect(outcomes).toContain('whole');
});

test('sixty streams that are not read, of 8 MB each', async () => {
  const market = fresh();
  await holds([
    transports.SSE(
      gateway.url,
      'key',
      times(60, () => market),
      false,
    ),
  ]);
});

test('refuses bodies of the service that arrive at once beyond what the heap allows', async () => {
  service.handle = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(Buffer.alloc(8_000_000, ' '));
  };
  const requests = times(30, fresh).map(market => transports.HTTP(gateway.url, 'key', [market], true));
  expect(await Promise.race(requests.map(({ outcome }) => outcome))).toEqual(['refused']);
  for (const request of requests) request.leave();
  await until(async () => (await metric('gateway_held_bytes')) === 0);
});

test('the process stays within its memory, and refuses what is too much, however many clients request 8 MB over any transport', async () => {
  await fuzz(async draw => {
    const clients = Object.values(transports).flatMap(transport =>
      [true, false].flatMap(reads => {
        const one = fresh();
        const asked = times(5 + draw.below(15), draw.chance(0.5) ? fresh : () => one);
        const keys = draw.chance(0.5) ? ['one'] : ['one', 'two', 'three'];
        return keys.map(key => transport(gateway.url, key, asked, reads));
      }),
    );
    await holds(clients);
  });
});
