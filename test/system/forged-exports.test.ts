import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { hashOfKey } from '../../src/auth/credentials.js';
import { startSandbox } from '../../src/sandbox/server.js';
import { forSuite, forTest, listening, temporaryFolder } from '../support/cleanups.js';
import { startGateway, type TestGateway } from '../support/gateway.js';
import { counted } from '../support/metrics.js';
import { buildProgram, type Ended } from '../support/program.js';
import { startRedis } from '../support/redis.js';

/** The secrets of a rotation, and one that no gateway has. */
const [old, next, foreign] = ['o', 'n', 'f'].map(letter => letter.repeat(40)) as [string, string, string];
const headersOf = (name: string) => ({ 'x-api-key': `demo-key-${name}` });
const [ours, theirs] = [headersOf('subscribed'), headersOf('markets-only')];

const [program, sandbox, redisServer] = await Promise.all([buildProgram(), startSandbox(), startRedis()]);
const redis = forSuite(new Redis(redisServer.url));

afterAll(async () => {
  await sandbox.close();
  await redisServer.stop();
});

// biome-ignore lint/suspicious/noExplicitAny: what a forger may write
type Stored = any;

/** Where a registry is, as someone who can write there sees it: the JSON of each team. */
interface Place {
  readonly env: Record<string, string>;
  read(): Promise<Record<string, Stored>>;
  write(teams: Record<string, Stored>): Promise<unknown>;
  /** What `npm run sign-exports` prints where the state of one of two teams cannot be read. */
  readonly unreadable: RegExp;
}

const places: Record<string, () => Promise<Place>> = {
  async 'a file'() {
    const folder = await temporaryFolder();
    const file = join(folder, 'exports.json');
    return {
      env: { DATA_DIR: folder },
      read: async () => JSON.parse(await readFile(file, 'utf8')).teams,
      write: teams => writeFile(file, JSON.stringify({ version: 1, teams })),
      unreadable: /^Invalid configuration: DATA_DIR: .*exports\.json cannot be read and was not changed.*\n$/,
    };
  },
  async Redis() {
    await redis.flushall();
    return {
      env: { REDIS_URL: redisServer.url },
      async read() {
        const keys = (await redis.keys('mig:exports:*')).filter(key => !key.endsWith('with-seals'));
        const states = keys.map(async key => [key, JSON.parse((await redis.hget(key, 'state')) ?? '')]);
        return Object.fromEntries(await Promise.all(states));
      },
      async write(teams) {
        for (const [key, state] of Object.entries(teams)) await redis.hset(key, 'state', JSON.stringify(state));
      },
      unreadable:
        /^.* 1 of 2 teams\.\nThe others have no valid signature, and are refused: \["mig:exports:[\w-]+"\]\. .*\n$/,
    };
  },
};

const registerMutation = `mutation ($input: RegisterExportEndpointInput!) {
  registerExportEndpoint(input: $input) { endpoint { name } } }`;
const exportMutation = `mutation ($endpoint: String!) {
  exportMarketToEndpoint(input: { marketId: 1, endpoint: $endpoint, companies: { matching: {} } }) { __typename } }`;
const rotateMutation = `mutation ($name: String!) {
  rotateExportEndpointSecret(input: { endpoint: $name }) { endpoint { name } } }`;
const listQuery = '{ exportEndpoints { name url } }';
const historyQuery = '{ exports { nodes { id outcome } } }';

describe.each(Object.entries(places))('the registry of exports in %s', (_, open) => {
  let place: Place;
  let received: { url: string | undefined; signature: unknown; token: unknown }[];
  let endpointUrl: string;
  let teamsFile: string;
  beforeEach(async () => {
    place = await open();
    const folder = await temporaryFolder();
    teamsFile = join(folder, 'teams.json');
    const teams = [ours, theirs].map(headers => [hashOfKey(headers['x-api-key'])]);
    await writeFile(
      teamsFile,
      JSON.stringify(teams.map((keys, index) => ({ name: `team ${index}`, keys, admins: keys }))),
    );
    received = [];
    const server = createServer(async (request, response) => {
      await text(request);
      received.push({
        url: request.url,
        signature: request.headers['webhook-signature'],
        token: request.headers['x-token'],
      });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"title":"T","message":"M"}');
    });
    endpointUrl = `http://127.0.0.1:${await listening(server)}`;
  });

  /** Both teams are those of one API key each. */
  async function start(secrets: string): Promise<TestGateway> {
    const env = {
      ...place.env,
      SESSION_SECRET: secrets,
      EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true',
      TEAMS_FILE: teamsFile,
    };
    const gateway = forTest(await startGateway({ sandbox, env }));
    return gateway;
  }
  const register = (on: TestGateway, headers: Record<string, string>, name = 'crm', change: object = {}) =>
    on.query(
      registerMutation,
      {
        input: {
          name,
          url: `${endpointUrl}/${name}`,
          description: 'D',
          headers: [{ name: 'X-Token', value: 'secret' }],
          ...change,
        },
      },
      headers,
    );
  const send = (on: TestGateway, headers: Record<string, string>, endpoint = 'crm') =>
    on.query(exportMutation, { endpoint }, headers);
  const codeOf = ({ errors }: { errors: { extensions: { code: string } }[] | undefined }) =>
    errors?.[0]?.extensions.code;
  const teamOf = async (headers: Record<string, string>) => {
    const team = `name:team ${headers === ours ? 0 : 1}`;
    const all = await place.read();
    // In Redis the names are hashes; the endpoint tells whose it is.
    return Object.keys(all).find(key => key === team || all[key].endpoints[0]?.description === team) ?? '';
  };

  async function twoTeams(secrets = old) {
    const gateway = await start(secrets);
    for (const headers of [ours, theirs]) {
      const description = `name:team ${headers === ours ? 0 : 1}`;
      expect((await register(gateway, headers, 'crm', { description })).errors).toBeUndefined();
      expect((await send(gateway, headers)).data.exportMarketToEndpoint.__typename).toBe('ExportDelivered');
    }
    received.length = 0;
    return gateway;
  }

  const forgeries: Record<string, (state: Stored, another: Stored) => Stored> = {
    'another URL without seals': state => {
      Object.assign(state.endpoints[0], {
        url: `${endpointUrl}/forged`,
        headerNames: [],
        sealedHeaders: null,
        sealedSigningSecrets: null,
      });
      return state;
    },
    'no signature': ({ signature: _, ...state }) => state,
    'an empty signature': state => ({ ...state, signature: '' }),
    'another URL, and no signature': ({ signature: _, ...state }) => ({
      ...state,
      endpoints: state.endpoints.map((endpoint: Stored) => ({ ...endpoint, url: `${endpointUrl}/forged` })),
    }),
    'the state of another team': (_, another) => another,
    'a forgotten export': state => ({ ...state, exports: [] }),
    'another outcome': state => {
      state.exports[0].outcome = { kind: 'FAILED', message: 'forged' };
      return state;
    },
    'one letter of the signature': state => ({
      ...state,
      signature: state.signature.replace(/.{2}$/, (end: string) => (end.startsWith('A') ? 'BA' : 'AA')),
    }),
  };

  test('is refused, counted and left as it is if someone wrote to it', async () => {
    const gateway = await twoTeams();
    const all = await place.read();
    const [team, other] = [await teamOf(ours), await teamOf(theirs)];
    const refusedBy = async (on: TestGateway) => {
      const before = await counted(on.url, 'gateway_redis_malformed_total', { what: 'exports' });
      const answers = [
        await send(on, ours),
        await on.query(listQuery, {}, ours),
        await on.query(historyQuery, {}, ours),
        await on.query(rotateMutation, { name: 'crm' }, ours),
        await register(on, ours, 'another'),
      ];
      expect(answers.map(({ errors }) => errors?.[0].message)).toEqual(
        answers.map(() => expect.stringContaining('ask the operator')),
      );
      const counts = (await counted(on.url, 'gateway_redis_malformed_total', { what: 'exports' })) - before;
      return [counts, ...answers.map(codeOf)];
    };
    const conflicts = [5, ...Array(5).fill('CONFLICT')];
    for (const [name, forge] of Object.entries(forgeries)) {
      const forged = { ...all, [team]: forge(structuredClone(all[team]), all[other]) };
      await place.write(forged);
      expect([name, await refusedBy(gateway)]).toEqual([name, conflicts]);
      expect(await place.read()).toEqual(forged);
      // The other team goes on, and its changes leave the forged state as it is.
      expect((await send(gateway, theirs)).data.exportMarketToEndpoint.__typename).toBe('ExportDelivered');
      expect((await place.read())[team]).toEqual(forged[team]);
    }
    expect(await refusedBy(await start(old))).toEqual(conflicts);
    expect(received.map(({ url }) => url)).toEqual(Object.keys(forgeries).map(() => '/crm'));
    await place.write(all);
    expect((await send(gateway, ours)).data.exportMarketToEndpoint.__typename).toBe('ExportDelivered');
  });

  const run = (secrets: string, ...args: string[]): Promise<Ended> =>
    program.run(
      { PATH: process.env.PATH ?? '', ...place.env, SESSION_SECRET: secrets },
      'domains/exports/sign-command.js',
      args,
    );

  describe('and npm run sign-exports', () => {
    test.each(Object.entries(forgeries))(
      'leave as it is what has no valid signature, name it, and sign the other team: %s',
      async (_, forge) => {
        await twoTeams();
        const all = await place.read();
        const [team, other] = [await teamOf(ours), await teamOf(theirs)];
        const forged = { ...all, [team]: forge(structuredClone(all[team]), all[other]) };
        await place.write(forged);
        const { code, stdout, stderr } = await run(`${next},${old}`);
        expect([code, stdout]).toEqual([1, expect.stringMatching(/ 1 of 2 teams\.\n$/)]);
        expect(stderr).toMatch(/^[ -~]+\n$/);
        expect(stderr).toContain(`are refused: ["${team}"]. See `);
        const after = await place.read();
        expect(after[team]).toEqual(forged[team]);
        expect(codeOf(await send(await start(next), theirs))).toBeUndefined();
      },
    );

    test('say what cannot be read, and in Redis sign the other teams', async () => {
      await twoTeams();
      const teams = await place.read();
      const [broken = ''] = Object.keys(teams);
      await place.write({ ...teams, [broken]: { endpoints: 1 } });
      const { code, stdout, stderr } = await run(old);
      expect([code, stdout + stderr]).toEqual([1, expect.stringMatching(place.unreadable)]);
    });

    test.each([
      ['without a secret', '', []],
      ['with an unknown option', old, ['--take-over', 'digest']],
    ])('end with one line %s', async (_, secret, args) => {
      const { code, stderr } = await run(secret, ...args);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/^[^\n]+\n$/)]);
    });

    test('leave no team behind that does nothing while SESSION_SECRET is rotated', async () => {
      const underOld = ({ url }: TestGateway) => counted(url, 'gateway_sealed_under_old_secret', { kind: 'endpoint' });
      const first = await twoTeams();
      expect(await underOld(first)).toBe(0);
      await start(`${old},${next}`);
      const second = await start(`${next},${old}`);
      // The headers, the signing secret and the signature of each team.
      expect(await underOld(second)).toBe(6);
      expect((await send(second, ours)).errors).toBeUndefined();
      expect(await run(`${next},${old}`)).toMatchObject({ code: 0, stderr: '' });
      const third = await start(next);
      expect(await underOld(third)).toBe(0);
      for (const headers of [ours, theirs]) {
        expect((await third.query(listQuery, {}, headers)).data.exportEndpoints).toHaveLength(1);
        expect((await send(third, headers)).data.exportMarketToEndpoint.__typename).toBe('ExportDelivered');
      }
      expect(received.every(({ token }) => token === 'secret')).toBe(true);
      expect(await counted(third.url, 'gateway_redis_malformed_total')).toBe(0);
      expect(codeOf(await send(await start(foreign), ours))).toBe('CONFLICT');
    });
  });
});

test('without SESSION_SECRET, a gateway forgets what a file has from an earlier start, and sends nothing to it', async () => {
  const DATA_DIR = await temporaryFolder();
  const input = { name: 'crm', url: 'http://127.0.0.1:9/', description: 'D' };
  for (let starts = 0; starts < 2; starts += 1) {
    const gateway = await startGateway({ sandbox, env: { DATA_DIR, EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true' } });
    try {
      expect((await gateway.query(listQuery, {}, ours)).data.exportEndpoints).toEqual([]);
      const { errors } = await gateway.query(exportMutation, { endpoint: 'crm' }, ours);
      expect(errors?.[0].extensions.code).toBe('NOT_FOUND');
      expect((await gateway.query(registerMutation, { input }, ours)).errors).toBeUndefined();
      expect((await gateway.query(listQuery, {}, ours)).data.exportEndpoints).toHaveLength(1);
      expect(await counted(gateway.url, 'gateway_redis_malformed_total', { what: 'exports' })).toBe(starts * 3);
    } finally {
      await gateway.close();
    }
  }
});
