import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { ask } from '../support/gateway.js';
import { buildProgram, type Running } from '../support/program.js';
import { startRedis } from '../support/redis.js';
import { reply, startStubService } from '../support/stub-service.js';
import { until } from '../support/until.js';

let gateway: Running;

const [program, server, service] = await Promise.all([
  buildProgram(),
  startRedis(),
  startStubService((_, response) => reply(response, 200)),
]);

afterEach(() => gateway?.kill());
afterAll(() => Promise.all([server.stop(), service.close()]));

/** A gateway that forgets a promise at SIGUSR2, and throws where nothing catches it at SIGHUP. */
async function faultyGateway(): Promise<Running> {
  const faults = join(program.folder, 'faults.mjs');
  await writeFile(
    faults,
    `process.on('SIGUSR2', () => void Promise.reject(new Error('a forgotten rejection')));
     process.on('SIGHUP', () => { throw new Error('an uncaught exception'); });`,
  );
  gateway = await program.start({
    UPSTREAM_BASE_URL: service.origin,
    REDIS_URL: server.url,
    NODE_OPTIONS: `--import=${faults}`,
  });
  return gateway;
}

const lives = async ({ url }: Running) => (await fetch(`${url}/healthz`)).status === 200;

test('a rejection that nothing handles is logged, and the gateway goes on', async () => {
  const faulty = await faultyGateway();
  faulty.signal('SIGUSR2');
  await until(() => faulty.stderr().includes('a forgotten rejection'));
  expect(await lives(faulty)).toBe(true);
  expect((await faulty.stop()).code).toBe(0);
});

test('an exception that nothing catches is logged, and the gateway closes and ends with 1', async () => {
  const faulty = await faultyGateway();
  faulty.signal('SIGHUP');
  const { code, stderr } = await faulty.ended;
  expect(stderr).toContain('an uncaught exception');
  expect(code).toBe(1);
});

test('a body nested 6,000 deep is refused, and the gateway goes on', async () => {
  gateway = await faultyGateway();
  service.handle = (_, response) => reply(response, 200, `${'{"a":'.repeat(6_000)}1${'}'.repeat(6_000)}`);
  for (let index = 0; index < 3; index += 1) {
    const { errors } = await ask(`${gateway.url}/graphql`, '{ market(id: 1) { esg } }');
    expect(errors).toMatchObject([{ extensions: { code: 'UPSTREAM_INVALID_RESPONSE' } }]);
  }
  expect(await lives(gateway)).toBe(true);
  const lines = gateway
    .stderr()
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
    .filter(({ msg }) => !/^Node /.test(msg));
  expect(lines).toMatchObject([
    { level: 'warn', msg: 'UPSTREAM_BASE_URL: The response of the service is too large; requests that need it fail' },
  ]);
});
