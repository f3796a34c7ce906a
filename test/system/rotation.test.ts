import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createReceiver } from '../../src/receiver/server.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { ask, demoHeaders, type GraphqlAnswer, startGateway, type TestGateway } from '../support/gateway.js';
import { counted } from '../support/metrics.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { until } from '../support/until.js';

const [old, next] = ['o'.repeat(40), 'n'.repeat(40)];
const keyOfEndpoint = 'a-key-of-the-endpoint';

let sandbox: Sandbox;
let redis: RedisServer;
const arrived: string[] = [];
const receiver = createReceiver('accept', lines => arrived.push(lines));
let receiverUrl: string;

beforeAll(async () => {
  [sandbox, redis] = await Promise.all([startSandbox(), startRedis()]);
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
});
afterAll(async () => {
  receiver.close();
  await Promise.all([sandbox.close(), redis.stop()]);
});

const start = (secrets: string) =>
  startGateway({
    sandbox,
    redisUrl: redis.url,
    env: { SESSION_SECRET: secrets, EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true' },
  });

/** A fleet behind a balancer that sends nothing to a gateway that is about to be replaced. */
function createFleet(first: readonly TestGateway[]) {
  const gateways = [...first];
  const busy = new Map<TestGateway, number>(gateways.map(gateway => [gateway, 0]));
  let turn = 0;
  return {
    gateways,
    async send<T>(run: (at: TestGateway) => Promise<T>): Promise<T> {
      const open = gateways.filter(gateway => busy.has(gateway));
      const at = open[turn++ % open.length] as TestGateway;
      busy.set(at, (busy.get(at) ?? 0) + 1);
      try {
        return await run(at);
      } finally {
        left(at);
      }
    },
    async replace(index: number, secrets: string) {
      const going = gateways[index] as TestGateway;
      const inFlight = () => leaving.get(going) ?? 0;
      leaving.set(going, busy.get(going) ?? 0);
      busy.delete(going);
      await until(() => inFlight() === 0);
      await going.close();
      const coming = await start(secrets);
      gateways[index] = coming;
      busy.set(coming, 0);
    },
  };

  function left(at: TestGateway) {
    const counts = busy.has(at) ? busy : leaving;
    counts.set(at, (counts.get(at) ?? 1) - 1);
  }
}
const leaving = new Map<TestGateway, number>();

test('rotating SESSION_SECRET in three phases under load keeps all sessions and all endpoints', async () => {
  const fleet = createFleet(await Promise.all([start(old), start(old)]));
  const failures: unknown[] = [];
  let rounds = 0;
  let goesOn = true;

  /** A service that a busy machine does not reach in time is no matter of secrets. */
  const note = (errors: GraphqlAnswer['errors']) =>
    failures.push(...(errors ?? []).filter(({ extensions }) => extensions.retryable !== true));

  async function user() {
    const input = { email: 'ada@team.example', password: 'sandbox-ada' };
    const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { viewer { email } } }';
    let cookie = '';
    const send = (document: string, variables = {}) =>
      fleet.send(async at => {
        const answer = await ask(`${at.url}/graphql`, document, variables, cookie === '' ? {} : { cookie });
        const set = answer.headers.getSetCookie()[0]?.split(';')[0];
        if (set !== undefined) cookie = set;
        note(answer.errors);
      });
    await send(signIn, { input });
    for (let size = 1; goesOn; size = (size % 50) + 1) {
      await send(`{ viewer { email } events(first: ${size}) { totalCount } }`);
      rounds += 1;
    }
  }

  const asAdmin = (document: string, input: object) =>
    fleet.send(async at => {
      const { data, errors } = await at.query(document, { input }, demoHeaders);
      note(errors);
      return data;
    });
  const isExported = async (endpoint: string) => {
    const document =
      'mutation ($input: ExportMarketToEndpointInput!) { exportMarketToEndpoint(input: $input) { __typename } }';
    const data = await asAdmin(document, { marketId: '1', endpoint, companies: { matching: {} } });
    return data?.exportMarketToEndpoint?.__typename === 'ExportDelivered';
  };
  for (const name of ['busy', 'idle']) {
    const document =
      'mutation ($input: RegisterExportEndpointInput!) { registerExportEndpoint(input: $input) { endpoint { name } } }';
    const headers = [{ name: 'x-endpoint-key', value: keyOfEndpoint }];
    await asAdmin(document, { name, url: receiverUrl, description: 'a test', headers });
  }

  const exportTo = (endpoint: string) => until(async () => failures.length > 0 || (await isExported(endpoint)));

  const load = [user(), user(), user()];
  const moreLoad = async () => {
    const before = rounds;
    await until(() => rounds > before + 30 || failures.length > 0);
    await exportTo('busy');
  };
  const phase = async (secrets: string) => {
    for (const index of [0, 1]) {
      await fleet.replace(index, secrets);
      await moreLoad();
    }
  };
  const underOld = (kind: string) =>
    Promise.all(fleet.gateways.map(({ url }) => counted(url, 'gateway_sealed_under_old_secret', { kind })));

  await moreLoad();
  await phase(`${old},${next}`);
  await phase(`${next},${old}`);
  // What was used is sealed again; the headers and the signing secret of the other endpoint are still counted.
  await until(async () => (await underOld('endpoint')).every(count => count === 2));
  await exportTo('idle');
  await until(async () => (await underOld('endpoint')).every(count => count === 0));
  await phase(next);
  await exportTo('idle');
  goesOn = false;
  await Promise.all(load);

  expect(failures).toEqual([]);
  expect(await underOld('session')).toEqual([0, 0]);
  expect(arrived.every(lines => lines.includes(keyOfEndpoint))).toBe(true);
  expect(arrived).toHaveLength(9);
  await Promise.all(fleet.gateways.map(gateway => gateway.close()));
});
