import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chown, lstat, mkdir, open, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import type { TeamKey } from '../src/auth/teams.js';
import { Secret } from '../src/config/values.js';
import { connectForCommand, connectRedis, patient } from '../src/data/redis.js';
import { createSigner } from '../src/data/signer.js';
import { openFileStore } from '../src/domains/exports/file-store.js';
import { type Endpoint, type ExportRecord, type TeamState, teamState } from '../src/domains/exports/model.js';
import { createRedisStore } from '../src/domains/exports/redis-store.js';
import { Registry } from '../src/domains/exports/registry.js';
import {
  earlierExport,
  recentExports,
  withEndpoint,
  withExport,
  withTaken,
} from '../src/domains/exports/team-state.js';
import { createTeamStore, type TeamStore, type TextStore } from '../src/domains/exports/team-store.js';
import { timeNow } from '../src/lib/clock.js';
import { iso } from '../src/lib/time.js';
import { cleanups, forTest, temporaryFolder } from './support/cleanups.js';
import { expectCpuTime } from './support/cpu-time.js';
import { startNetwork } from './support/network.mjs';
import { startRedis } from './support/redis.js';
import { redisPlaces } from './support/redis-cluster.js';
import { silentTelemetry } from './support/silent-telemetry.js';
import { until } from './support/until.js';

// Of its own, because the registry's keys do not expire.
const places = new Map(await Promise.all(redisPlaces.map(async ([name, start]) => [name, await start()] as const)));

afterAll(() => Promise.all([...places.values()].map(place => place.stop())));

const team = 'name:team' as TeamKey;

const endpoint = (name: string): Endpoint => ({
  name,
  registration: 'r',
  revision: 'first',
  url: 'https://crm.example/hook',
  description: 'The CRM',
  headerNames: [],
  sealedHeaders: null,
  sealedSigningSecrets: 'sealed',
  failingSince: null,
});

const hour = 60 * 60 * 1_000;
const record = (change: Partial<ExportRecord> = {}): ExportRecord => ({
  id: randomUUID(),
  startedAt: new Date().toISOString(),
  expiresAt: new Date(Date.now() + hour).toISOString(),
  finishedAt: null,
  by: 'ada@team.example',
  user: null,
  endpoint: 'crm',
  endpointUrl: 'https://crm.example/hook',
  marketId: '1',
  selected: 1,
  sent: 1,
  idempotencyKey: null,
  inputDigest: 'digest',
  retryOf: null,
  repeatable: null,
  attempts: [],
  outcome: null,
  ...change,
});
const failed = { kind: 'FAILED', message: 'It failed.' } as const;
const ended = (change: Partial<ExportRecord> = {}) => record({ outcome: failed, ...change });
const ago = (milliseconds: number) => iso(timeNow() - milliseconds);

async function redisAt(...urls: readonly string[]) {
  const client = forTest(connectRedis(urls, () => {}));
  // Megabytes take long on a busy machine.
  const allowTime = (node: Redis) => Object.assign(node.options, { commandTimeout: 10_000 });
  if (client instanceof Redis) allowTime(client);
  else client.on('+node', allowTime);
  if (client.status !== 'ready') await new Promise(resolve => client.once('ready', resolve));
  return client;
}

const signer = createSigner([new Secret('s'.repeat(32))]);
/** The states of teams in a store, signed. */
const signed = (texts: TextStore, telemetry = silentTelemetry) => createTeamStore(texts, signer, telemetry, false);
const storeAt = async (path: string, telemetry = silentTelemetry) =>
  signed(await openFileStore(path, telemetry), telemetry);

async function storeIn(name: string): Promise<TeamStore> {
  return signed(createRedisStore(await redisAt(...(places.get(name)?.urls ?? [])), silentTelemetry));
}

/** Opens stores that keep one and the same state, as processes of one fleet, or one after the other. */
const kinds: Record<string, () => Promise<() => Promise<TeamStore>>> = {
  'a file': async () => {
    const path = join(await temporaryFolder(), 'made', 'when needed');
    return () => storeAt(path);
  },
  ...Object.fromEntries(redisPlaces.map(([name]) => [name, async () => () => storeIn(name)])),
};

const register = (store: TeamStore, team: TeamKey, name: string) =>
  store.change(team, state => ({ value: withEndpoint(state, endpoint(name)), result: name }));
const begin = (store: TeamStore, team: TeamKey, one: ExportRecord) =>
  store.change(team, state => ({ value: withExport(state, one), result: one.id }));
/** Begins an export with an idempotency key. @throws Conflict where one is running */
const beginOnce = (store: TeamStore, team: TeamKey) =>
  store.change(team, state => {
    const one = record({ idempotencyKey: 'key' });
    earlierExport(state, one);
    return { value: withExport(state, one), result: one.id };
  });
const names = async (store: TeamStore, team: TeamKey) => (await store.read(team)).endpoints.map(({ name }) => name);

describe.each(Object.entries(kinds))('the export store in %s', (_, prepare) => {
  async function opened() {
    const open = await prepare();
    return { open, store: await open(), team: `team ${randomUUID()}` as TeamKey };
  }

  test('keeps what a newer gateway has added, at every level, when an older one writes', async () => {
    const { open, store, team } = await opened();
    const added = { added: { in: 'a newer version' } };
    const reference = { title: 't', message: null, url: null, type: 'OK', ...added } as const;
    const rejected = {
      kind: 'REJECTED',
      title: 't',
      message: 'm',
      messageText: 'm',
      references: [reference],
      ...added,
    };
    const newer = {
      endpoints: [{ ...endpoint('old'), ...added }],
      exports: [
        {
          ...record({ id: 'one', outcome: rejected as never }),
          attempts: [{ startedAt: ago(1), status: 400, fault: null, milliseconds: 1, explanation: null, ...added }],
          repeatable: { companies: {}, user: { name: null, email: null, ...added }, ...added },
          ...added,
        },
      ],
      ...added,
    };
    await store.change(team, () => ({ value: newer as never, result: undefined }));
    await register(await open(), team, 'new');
    const { endpoints, ...others } = await store.read(team);
    expect({ ...others, endpoints: endpoints.filter(({ name }) => name === 'old') }).toEqual(newer);
  });

  test('stores at most 8 MB of exports of 24 hours for each team, and drops earlier ones first', async () => {
    const { open, store, team } = await opened();
    const megabyte = { companies: { domains: ['x'.repeat(1024 * 1024)] }, user: { name: null, email: null } };
    const large = (startedAt: string) => ended({ startedAt, repeatable: megabyte });
    const idsOf = async (of: TeamStore) => (await of.read(team)).exports.map(({ id }) => id);
    const earlier = Array.from({ length: 5 }, (_, index) => large(ago(48 * hour - index)));
    for (const one of earlier) await begin(store, team, one);
    const recent = Array.from({ length: 7 }, (_, index) => large(ago(hour - index)));
    for (const one of recent) await begin(store, team, one);
    expect(await idsOf(store)).toEqual(recent.map(({ id }) => id));
    await expect(begin(store, team, large(ago(0)))).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    await begin(store, team, ended());
    await begin(store, `${team} other` as TeamKey, large(ago(0)));
    expect(await idsOf(await open())).toHaveLength(8);
  });
});

test('a state that has not changed is opened once, and never for another team', async () => {
  const path = await temporaryFolder();
  const texts = await openFileStore(path, silentTelemetry);
  const [store, writer] = [signed(texts), signed(texts)];
  await begin(writer, team, ended({ id: 'first' }));
  const read = async () => (await store.read(team)).exports;
  const [first] = await read();
  expect((await read())[0]).toBe(first);
  await begin(writer, team, ended({ id: 'second' }));
  expect((await read()).map(({ id }) => id)).toEqual(['first', 'second']);
  const other = 'name:other' as TeamKey;
  const stolen = await texts.change(team, text => ({ result: text }));
  await texts.change(other, () => ({ value: stolen, result: undefined }));
  await read();
  await expect(store.read(other)).rejects.toMatchObject({ code: 'CONFLICT' });
});

test('to read a state takes hardly longer for the URLs in it', () => {
  const withUrls = (redirectUrl: string | null) => {
    const outcome = { kind: 'DELIVERED', title: 'T', message: 'M', messageText: 'M', redirectUrl } as const;
    return { endpoints: [], exports: Array.from({ length: 100 }, () => record({ outcome })) };
  };
  const parsing = (state: object) => () => void teamState.parse(state);
  const [plain, full] = [withUrls(null), withUrls(`https://crm.example/${'q'.repeat(60_000)}`)];
  expectCpuTime(parsing(full), 3, parsing(plain));
});

test('a rotation changes nothing else of an endpoint', async () => {
  const store = await storeAt(await temporaryFolder());
  await register(store, team, 'crm');
  const since = ago(1);
  const seals = {
    openSecrets: async () => [],
    async sealAll() {
      // Meanwhile, an export ends.
      await store.change(team, state => ({ value: withTaken(state, endpoint('crm'), since), result: undefined }));
      return { sealedHeaders: null, sealedSigningSecrets: 'new' };
    },
  };
  const registry = new Registry({ store, seals } as never);
  const { endpoint: rotated } = await registry.rotateSecret(team, 'crm');
  expect(rotated).toMatchObject({ failingSince: since, sealedSigningSecrets: 'new' });
  expect((await store.read(team)).endpoints).toEqual([rotated]);
});

describe('the state of a team', () => {
  const empty = { endpoints: [], exports: [] };

  test('has at most 100 endpoints', () => {
    const full = { ...empty, endpoints: Array.from({ length: 100 }, (_, index) => endpoint(`${index}`)) };
    expect(() => withEndpoint(full, endpoint('one more'))).toThrow('at most 100');
  });

  test('has at most 5 running exports, not counting those that expired or ended', () => {
    const four = { ...empty, exports: [record(), record(), record(), record()] };
    const more = { ...empty, exports: [...four.exports, record({ expiresAt: ago(1) }), ended()] };
    expect(withExport(more, record()).exports).toHaveLength(7);
    expect(() => withExport({ ...more, exports: [...more.exports, record()] }, record())).toThrow('at most 5');
  });

  test('has at most 500 exports within 24 hours', () => {
    const exports = Array.from({ length: 500 }, (_, index) => ended({ startedAt: ago(hour + index) })).reverse();
    expect(() => withExport({ ...empty, exports }, record())).toThrow('at most 500');
    const [, ...rest] = exports;
    expect(
      withExport({ ...empty, exports: [ended({ startedAt: ago(25 * hour) }), ...rest] }, record()).exports,
    ).toHaveLength(500);
  });

  test('keeps the last 100 exports and those of the last 24 hours', () => {
    const old = Array.from({ length: 150 }, (_, index) => ended({ startedAt: ago(48 * hour - index) }));
    expect(withExport({ ...empty, exports: old }, record()).exports).toHaveLength(100);
    const recent = Array.from({ length: 150 }, (_, index) => ended({ startedAt: ago(hour - index) }));
    const kept = withExport({ ...empty, exports: [...old, ...recent] }, record());
    expect(kept.exports).toHaveLength(151);
    expect(recentExports(kept)).toHaveLength(100);
    expect(recentExports(kept)[0]).toBe(kept.exports.at(-1));
  });

  test('lists exports by when they began, also where one that began later was stored first', () => {
    const [first, second, third] = [record({ startedAt: ago(3) }), record({ startedAt: ago(2) }), record()];
    const stored = [first, third, second].reduce<TeamState>((state, one) => withExport(state, one), empty);
    expect(recentExports(stored)).toEqual([third, second, first]);
  });

  test('remembers an idempotency key for 24 hours', () => {
    const asked = { idempotencyKey: 'key', inputDigest: 'digest' };
    const today = ended({ idempotencyKey: 'key', startedAt: ago(23 * hour) });
    expect(earlierExport({ ...empty, exports: [today] }, asked)).toBe(today);
    expect(earlierExport({ ...empty, exports: [{ ...today, startedAt: ago(24 * hour) }] }, asked)).toBeUndefined();
    expect(earlierExport({ ...empty, exports: [ended()] }, { ...asked, idempotencyKey: null })).toBeUndefined();
    expect(() => earlierExport({ ...empty, exports: [today] }, { ...asked, inputDigest: 'other' })).toThrow(
      'different input',
    );
    const running = record({ idempotencyKey: 'key' });
    expect(() => earlierExport({ ...empty, exports: [running] }, asked)).toThrow('still running');
    const unknown = { ...running, expiresAt: ago(1) };
    expect(earlierExport({ ...empty, exports: [unknown] }, asked)).toBe(unknown);
  });
});

describe('the file of the export store', () => {
  test('is readable by its owner only, and no temporary file remains', async () => {
    const path = await temporaryFolder();
    await register(await storeAt(path), team, 'a');
    expect((await stat(join(path, 'exports.json'))).mode & 0o777).toBe(0o600);
    expect(await readdir(path)).toEqual(['exports.json']);
  });

  test('that is damaged while the gateway runs is not overwritten, and refuses exports until it is whole', async () => {
    const path = await temporaryFolder();
    const file = join(path, 'exports.json');
    const warnings: string[] = [];
    const store = await storeAt(path, { ...silentTelemetry, stored: (fault = 'it works') => warnings.push(fault) });
    await register(store, team, 'a');
    const whole = await readFile(file, 'utf8');
    await writeFile(file, 'damaged');
    await expect(register(store, team, 'b')).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
    expect(await readFile(file, 'utf8')).toBe('damaged');
    await writeFile(file, whole);
    expect(await names(store, team)).toEqual(['a']);
    expect(warnings).toEqual(['it works', expect.stringMatching(/^exports\.json cannot be read; /), 'it works']);
  });

  test('keeps what a newer gateway has added beside the teams', async () => {
    const path = await temporaryFolder();
    const file = join(path, 'exports.json');
    const read = async () => JSON.parse(await readFile(file, 'utf8'));
    await register(await storeAt(path), team, 'a');
    const added = { added: { in: 'a newer version' } };
    await writeFile(file, JSON.stringify({ ...(await read()), ...added }));
    const store = await storeAt(path);
    await register(store, team, 'b');
    await register(store, team, 'c');
    expect(await read()).toEqual({ version: 1, ...added, teams: { [team]: expect.anything() } });
    expect(await names(await storeAt(path), team)).toEqual(['a', 'b', 'c']);
  });

  test('survives a write that was killed', async () => {
    const path = await temporaryFolder();
    await register(await storeAt(path), team, 'a');
    await writeFile(join(path, 'exports.json.12345.new'), '{"version":1,"tea');
    const folderInPlaceOfFile = (process: number) =>
      mkdir(join(path, `exports.json.${process}.new`, 'a'), { recursive: true });
    await folderInPlaceOfFile(12346);
    const next = await storeAt(path);
    expect(await readdir(path)).toEqual(['exports.json']);
    await folderInPlaceOfFile(process.pid);
    await register(next, team, 'b');
    expect(await names(await storeAt(path), team)).toEqual(['a', 'b']);
  });

  test.each([
    ['is retryable where the new file could not be synced', 1, true, []],
    ['is not retryable where only the folder could not be synced', 2, false, ['a']],
  ])('has a change that %s', async (_, failing, retryable, stored) => {
    const path = await temporaryFolder();
    const store = await storeAt(path);
    const handle = await open(path);
    const sync = jest.spyOn(Object.getPrototypeOf(handle) as typeof handle, 'sync');
    cleanups.push(() => sync.mockRestore());
    await handle.close();
    for (let call = 1; call < failing; call += 1) sync.mockResolvedValueOnce();
    sync.mockRejectedValueOnce(Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fsync' }));
    const unavailable = { extensions: { code: 'UPSTREAM_UNAVAILABLE', retryable } };
    await expect(register(store, team, 'a')).rejects.toMatchObject(unavailable);
    expect(await names(store, team)).toEqual(stored);
  });

  test('is written through no link in its place', async () => {
    const path = await temporaryFolder();
    const [store, other] = [await storeAt(path), join(await temporaryFolder(), 'other')];
    await writeFile(other, 'kept');
    await symlink(other, join(path, `exports.json.${process.pid}.new`));
    await register(store, team, 'a');
    expect(await readFile(other, 'utf8')).toBe('kept');
    expect((await lstat(join(path, 'exports.json'))).isFile()).toBe(true);
  });

  test.each(['a file of 1.5 GB', 'a pipe', 'a device'])('is not read where it is %s', async kind => {
    const path = await temporaryFolder();
    const file = join(path, 'exports.json');
    if (kind === 'a pipe') execFileSync('mkfifo', [file]);
    else if (kind === 'a device') await symlink('/dev/zero', file);
    else await writeFile(file, '').then(() => truncate(file, 1.5 * 2 ** 30));
    const before = process.memoryUsage().rss;
    await expect(storeAt(path)).rejects.toThrow(
      /^Invalid configuration: DATA_DIR: .*(it is larger than 256 MB|it is not a regular file)$/,
    );
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 2 ** 20);
  });
});

describe.each(redisPlaces)('the export store in %s', name => {
  test('keeps changes of several processes atomic', async () => {
    const stores = await Promise.all([1, 2, 3].map(() => storeIn(name)));
    const team = `team ${randomUUID()}` as TeamKey;
    const wanted = Array.from({ length: 30 }, (_, index) => `endpoint ${index}`);
    const register = (name: string, index: number) =>
      stores[index % 3]?.change(team, state => ({ value: withEndpoint(state, endpoint(name)), result: null }));
    await Promise.all(wanted.map(register));
    const [store] = stores;
    expect(store && (await names(store, team))).toEqual([...wanted].sort());
    const results = await Promise.allSettled(stores.map(each => beginOnce(each, team)));
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
  });

  test('replaces a set of teams of another type', async () => {
    const client = await redisAt(...(places.get(name)?.urls ?? []));
    await client.unlink('mig:exports:with-seals');
    await client.set('mig:exports:with-seals', 'x');
    const [store, team] = [await storeIn(name), `team ${randomUUID()}` as TeamKey];
    await register(store, team, 'crm');
    expect(await names(store, team)).toEqual(['crm']);
  });
});

test('4 MB of exports of a team can be read, changed and made smaller over a link on which that takes longer than other commands may', async () => {
  const server = forTest(await startRedis());
  const link = forTest(await startNetwork(() => server.port, 8_000_000));
  const url = link.url.replace('http:', 'redis:');
  const redis = forTest(connectRedis([url], () => {}, patient));
  await until(() => redis.status === 'ready');
  const store = createRedisStore(redis, silentTelemetry);
  const name = store.nameOf(team);
  const large = JSON.stringify('x'.repeat(4_000_000));
  await store.change(name, () => ({ value: large, result: undefined }));
  // As `npm run sign-exports` does.
  const ofOperator = createRedisStore(forTest(await connectForCommand([new Secret(url)], 'none')), silentTelemetry);
  expect(await ofOperator.change(name, text => ({ result: text?.length }))).toBe(large.length);
  expect(await store.change(name, text => ({ value: '"small"', result: text?.length }))).toBe(large.length);
  expect(await store.change(name, text => ({ result: text }))).toBe('"small"');
});

describe('the state of a team in Redis', () => {
  async function startStores() {
    const client = await redisAt(forTest(await startRedis()).url);
    const store = signed(createRedisStore(client, silentTelemetry));
    const other = signed(createRedisStore(client, silentTelemetry));
    await register(other, team, 'first');
    const [hmget, open] = [jest.spyOn(client, 'hmget'), jest.spyOn(signer, 'open')];
    cleanups.push(() => open.mockRestore());
    /** How often the whole of it was read, and opened, in this time. */
    const counted = async (run: () => Promise<unknown>) => {
      for (const spy of [hmget, open]) spy.mockClear();
      await run();
      return [hmget.mock.calls.filter(command => command.includes('state')).length, open.mock.calls.length];
    };
    return { store, other, counted };
  }

  test('is opened once for each change of another gateway and never after an own one, and read once for all who ask meanwhile', async () => {
    const { store, other, counted } = await startStores();
    const read = () => Promise.all(Array.from({ length: 20 }, () => store.read(team)));
    expect(await counted(read)).toEqual([1, 1]);
    expect(await counted(() => Promise.all([read(), nextTurn().then(read)]))).toEqual([2, 0]);
    await register(other, team, 'second');
    expect(await counted(read)).toEqual([1, 1]);
    expect(await counted(() => register(store, team, 'third'))).toEqual([1, 0]);
    expect(await counted(read)).toEqual([1, 0]);
    expect(await names(store, team)).toEqual(['first', 'second', 'third']);
  });
});

describe('a change whose reply was lost on its way from Redis', () => {
  const changed = "redis.call('HSET'";
  async function startWay() {
    const redis = forTest(await startRedis());
    const way = forTest(await startNetwork(() => redis.port));
    const client = await redisAt(way.url.replace('http', 'redis'));
    const store = signed(createRedisStore(client, silentTelemetry));
    const other = signed(createRedisStore(await redisAt(redis.url), silentTelemetry));
    await register(store, team, 'first');
    return { way, client, store, other };
  }

  test('has succeeded', async () => {
    const { way, store } = await startWay();
    way.loseReplyTo(changed);
    expect(await register(store, team, 'second')).toBe('second');
    expect(await names(store, team)).toEqual(['first', 'second']);
  });

  test('has succeeded, also where another gateway has changed the team since', async () => {
    const { way, client, store, other } = await startWay();
    const hget = client.hget.bind(client);
    jest.spyOn(client, 'hget').mockImplementationOnce(async (...command) => {
      await register(other, team, 'third');
      return hget(...command);
    });
    way.loseReplyTo(changed);
    expect(await register(store, team, 'second')).toBe('second');
    expect(await names(store, team)).toEqual(['first', 'second', 'third']);
  });

  test('has succeeded, also where a Cluster sends it again after another change', async () => {
    const { client, store, other } = await startWay();
    const evaluate = client.eval.bind(client) as (...command: unknown[]) => Promise<unknown>;
    jest.spyOn(client, 'eval').mockImplementationOnce(async (...command: unknown[]) => {
      await evaluate(...command);
      await register(other, team, 'third');
      return evaluate(...command);
    });
    expect(await register(store, team, 'second')).toBe('second');
    expect(await names(store, team)).toEqual(['first', 'second', 'third']);
  });

  test('is not retryable where Redis does not say what it has', async () => {
    const { way, store } = await startWay();
    way.loseReplyTo(changed);
    way.refuse();
    const unavailable = { extensions: { code: 'UPSTREAM_UNAVAILABLE', retryable: false } };
    await expect(register(store, team, 'second')).rejects.toMatchObject(unavailable);
  });
});

(process.getuid?.() === 0 ? test : test.skip)('a file that root writes is of the owner of its folder', async () => {
  const folder = await temporaryFolder();
  await chown(folder, 1_000, 1_001);
  const texts = await openFileStore(folder, silentTelemetry);
  await texts.change('team', () => ({ value: '{}', result: undefined }));
  const { uid, gid } = await stat(join(folder, 'exports.json'));
  expect([uid, gid]).toEqual([1_000, 1_001]);

  // Whoever may write there places a link before root has finished.
  const other = join(await temporaryFolder(), 'other');
  await writeFile(other, '');
  const handle = await open(folder);
  await handle.close();
  const sync = jest.spyOn(Object.getPrototypeOf(handle) as typeof handle, 'sync').mockImplementationOnce(async () => {
    const [newFile = ''] = (await readdir(folder)).filter(name => name.endsWith('.new'));
    await rm(join(folder, newFile));
    await symlink(other, join(folder, newFile));
  });
  cleanups.push(() => sync.mockRestore());
  await texts.change('team', () => ({ value: '{}', result: undefined }));
  expect((await stat(other)).uid).toBe(0);
});
