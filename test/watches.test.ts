import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Webhook } from 'standardwebhooks';
import { hashOfKey, type Scope } from '../src/auth/credentials.js';
import { createTeams } from '../src/auth/teams.js';
import { Reloadable, Secret } from '../src/config/values.js';
import type { RequestAuth } from '../src/data/upstream/request.js';
import { localWatchStore } from '../src/domains/watches/store.js';
import { Watches } from '../src/domains/watches/watches.js';
import { Conflict, RateLimited, UpstreamUnavailable } from '../src/errors.js';
import { setClock, timeNow } from '../src/lib/clock.js';
import { ResponseMetadata } from '../src/observability/response-metadata.js';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { takeAttemptTimers } from './support/attempt-timers.js';
import { cleanups } from './support/cleanups.js';
import { signedIn, startGateway, type TestGateway } from './support/gateway.js';
import { takeLog } from './support/log.js';
import { counted } from './support/metrics.js';
import { type RedisServer, startRedis } from './support/redis.js';
import { overSse } from './support/streams.js';
import { until, untilLater } from './support/until.js';

const env = { POLL_INTERVAL_MS: '200', SESSION_SECRET: 's'.repeat(32), EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true' };
const admin = { 'x-api-key': 'demo-key-subscribed' };
const member = { 'x-api-key': 'demo-key-markets-only' };
const leaseMs = 15 * 60_000;

let sandbox: Sandbox;
let redis: RedisServer;
/** One over Redis, and one alone. */
let gateway: TestGateway;
let alone: TestGateway;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
const secrets = new Map<TestGateway, string>();
let folder: string;
let filters = 0;

beforeAll(async () => {
  sandbox = await startSandbox();
  redis = await startRedis();
  folder = await mkdtemp(join(tmpdir(), 'watches-'));
  [gateway, alone] = await Promise.all([start(), startGateway({ sandbox, env: { ...env, DATA_DIR: folder } })]);
  receiver = await startReceiver();
  for (const each of [gateway, alone]) secrets.set(each, await register(each, 'hook'));
});
afterEach(async () => {
  receiver.status = 200;
  for (const each of [gateway, alone]) {
    for (const { id } of await watches(each)) await each.query(stop, { input: { watch: id } }, admin);
  }
  receiver.received.splice(0);
  receiver.taken.splice(0);
});
afterAll(async () => {
  await Promise.all([gateway, alone].map(each => each.close()));
  receiver.server.close();
  await redis.stop();
  await sandbox.close();
  await rm(folder, { recursive: true });
});

const start = () => startGateway({ sandbox, redisUrl: redis.url, env });

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what arrives is what the test is about to find out
  readonly body: any;
}

async function startReceiver() {
  const received: Received[] = [];
  const taken: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const call = { headers: request.headers, text: body, body: JSON.parse(body) };
    received.push(call);
    await state.meanwhile();
    if (state.status === 0) return;
    if (state.status < 300) taken.push(call);
    response.writeHead(state.status).end();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const state = {
    /** 0: it does not answer. */
    status: 200,
    /** Before it answers. */
    meanwhile: (): Promise<unknown> => Promise.resolve(),
    received,
    taken,
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
  };
  return state;
}

async function register(on: TestGateway, name: string, headers: Record<string, string> = admin): Promise<string> {
  const document = `mutation ($input: RegisterExportEndpointInput!) { registerExportEndpoint(input: $input) { signingSecret } }`;
  const input = { name, url: receiver.url, description: 'D', headers: [{ name: 'X-Token', value: 't' }] };
  return (await on.query(document, { input }, headers)).data.registerExportEndpoint.signingSecret;
}

const fields = '{ id until cursor endpoint { name failingSince } lastDelivery { at status } }';
const begin = `mutation ($input: WatchEventsInput!) { watchEvents(input: $input) { watch ${fields} } }`;
const beginJob = `mutation ($input: WatchJobInput!) { watchJob(input: $input) { watch ${fields} } }`;
const renew = `mutation ($input: RenewWatchInput!) { renewWatch(input: $input) { watch ${fields} } }`;
const stop = `mutation ($input: StopWatchingInput!) { stopWatching(input: $input) { watch ${fields} } }`;
const remove = (name: string) =>
  `mutation { deleteExportEndpoint(input: { endpoint: "${name}" }) { endpoint { name } } }`;
const watches = async (on: TestGateway, headers: Record<string, string> = admin) =>
  (await on.query(`{ watches ${fields} }`, {}, headers)).data.watches;

/** A filter of its own, which finds what the sandbox publishes. */
const filter = () => ({ impactedEntities: ['Hot-Rolled Steel', `Watch ${++filters}`] });
async function watch(on: TestGateway, input: object = {}) {
  const { data } = await on.query(begin, { input: { endpoint: 'hook', filter: filter(), ...input } }, admin);
  const { id } = data.watchEvents.watch;
  // It knows where it begins.
  if (!('after' in input))
    await until(async () =>
      (await watches(on)).some((each: { id: string; cursor: string }) => each.id === id && each.cursor),
    );
  return id;
}
const titles = (calls = receiver.received) =>
  calls.flatMap(({ body }) => body.changes.map((change: { event: { title: string } }) => change.event.title));
const fault = ({ errors }: { errors: { extensions: { code: string; argument?: string } }[] | undefined }) =>
  errors?.map(({ extensions: { code, argument } }) => [code, argument].filter(Boolean).join(' ')).join();

describe.each(['over Redis', 'alone'])('a gateway %s', place => {
  const on = () => (place === 'alone' ? alone : gateway);

  test('sends what is new in order, signed, with the headers of the endpoint and a cursor that continues', async () => {
    const id = await watch(on());
    for (const title of ['A', 'B', 'C']) {
      sandbox.publishEvent({ title });
      await untilLater();
    }
    await until(() => titles().length === 3);
    expect(titles()).toEqual(['A', 'B', 'C']);
    const { headers, text, body } = receiver.received[0] as Received;
    const [first] = body.changes;
    expect(headers).toMatchObject({ 'x-token': 't', 'content-type': 'application/json' });
    const signed = new Webhook(secrets.get(on()) ?? '');
    expect(signed.verify(text, headers as Record<string, string>)).toEqual(body);
    expect(body).toMatchObject({ watch: id, gap: false });
    expect(first).toMatchObject({ kind: 'NEW', event: { title: 'A', severity: 3 } });
    const { cursor } = (receiver.received.at(-1) as Received).body;
    await until(async () => (await watches(on()))[0].cursor === cursor);
    expect((await watches(on()))[0]).toMatchObject({ id, endpoint: { name: 'hook' }, lastDelivery: { status: 200 } });
    expect(await watches(on(), member)).toEqual([]);
  });

  test('sends again what was not taken, with the same identifier, before anything else', async () => {
    const id = await watch(on());
    const failingSince = async () => (await watches(on()))[0].endpoint.failingSince;
    receiver.status = 503;
    sandbox.publishEvent({ title: 'Refused' });
    await until(() => receiver.received.length >= 2);
    expect((await watches(on()))[0].lastDelivery).toMatchObject({ status: 503 });
    await until(async () => (await failingSince()) !== null);
    expect(await counted(on().url, 'gateway_endpoint_failing_seconds')).toBeGreaterThan(0);
    sandbox.publishEvent({ title: 'Later' });
    receiver.status = 204;
    await until(() => titles().includes('Later'));
    await until(async () => (await failingSince()) === null);
    const sent = receiver.received.filter(({ body }) => body.changes[0].event.title === 'Refused');
    expect(new Set(sent.map(({ text }) => text)).size).toBe(1);
    expect(new Set(sent.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(titles(receiver.taken)).toEqual(['Refused', 'Later']);
    expect(receiver.received.every(({ body }) => body.watch === id)).toBe(true);
  });

  test('continues a renewed watch behind the cursor that its client has stored, or where it is', async () => {
    const id = await watch(on());
    for (const title of ['A', 'B']) sandbox.publishEvent({ title });
    await until(() => titles().length === 2);
    const { cursor } = (receiver.received.at(-1) as Received).body;
    await until(async () => (await watches(on()))[0].cursor === cursor);
    const [{ until: before }] = await watches(on());
    const { data } = await on().query(renew, { input: { watch: id } }, admin);
    expect(Date.parse(data.renewWatch.watch.until)).toBeGreaterThanOrEqual(Date.parse(before));
    sandbox.publishEvent({ title: 'C' });
    await until(() => titles().length === 3);
    await on().query(renew, { input: { watch: id, after: cursor } }, admin);
    sandbox.publishEvent({ title: 'D' });
    await until(() => titles().includes('D'));
    // A renewal behind a cursor sends again, what was taken after it.
    expect(titles()[2]).toBe('C');
    expect(new Set(titles())).toEqual(new Set(['A', 'B', 'C', 'D']));
  });

  test('sends what comes again behind an earlier cursor with the webhook-id that it had, however it came before', async () => {
    const id = await watch(on());
    const [{ cursor }] = await watches(on());
    sandbox.publishEvent({ title: 'A' });
    await until(() => titles().length === 1);
    for (const title of ['B', 'C']) {
      await untilLater();
      sandbox.publishEvent({ title });
    }
    await until(() => titles().length === 3);
    await on().query(renew, { input: { watch: id, after: cursor } }, admin);
    await until(() => titles().length >= 6);
    const kept = new Map(receiver.received.map(call => [call.headers['webhook-id'], titles([call]).join()]));
    expect([...kept.values()]).toEqual(['A', 'B', 'C']);
  });

  test('tells a state of jobs that comes back from one that is sent again', async () => {
    const state = (progress: number) => ({
      data: [{ jobId: 1, workflowName: 'w', jobProgress: progress, status: 'running' }],
    });
    const progresses = () => receiver.received.map(({ body }) => body.changes[0].jobs[0].progress);
    let forget = () => {};
    const tell = (progress: number) => {
      forget();
      forget = sandbox.tell({ path: '/v2/discovery/2/jobs', body: JSON.stringify(state(progress)) });
    };
    tell(10);
    const { data } = await on().query(beginJob, { input: { endpoint: 'hook', marketId: '2' } }, admin);
    for (const [index, progress] of [20, 10].entries()) {
      await until(() => progresses().length === index + 1);
      tell(progress);
    }
    await until(() => progresses().length === 3);
    const { cursor } = (receiver.received[1] as Received).body;
    await on().query(renew, { input: { watch: data.watchJob.watch.id, after: cursor } }, admin);
    await until(() => progresses().length === 4);
    // Another state would be sent into the next test.
    await on().query(stop, { input: { watch: data.watchJob.watch.id } }, admin);
    forget();
    expect(progresses()).toEqual([10, 20, 10, 10]);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect([new Set(ids).size, ids[3]]).toEqual([3, ids[2]]);
  });

  test('sends a state of jobs once, however its times are written', async () => {
    let forget = () => {};
    const tell = (startTime: string, jobProgress: number) => {
      forget();
      const body = JSON.stringify({
        data: [{ jobId: 1, workflowName: 'w', jobProgress, status: 'running', startTime }],
      });
      forget = sandbox.tell({ path: '/v2/discovery/3/jobs', body });
    };
    tell('2026-01-01T00:00:00Z', 10);
    const { data } = await on().query(beginJob, { input: { endpoint: 'hook', marketId: '3' } }, admin);
    const { id } = data.watchJob.watch;
    await until(() => receiver.received.length === 1);
    tell('2026-01-01T00:00:00+00:00', 10);
    const calls = sandbox.calls.count('/v2/discovery/3/jobs');
    await until(() => sandbox.calls.count('/v2/discovery/3/jobs') > calls + 1);
    await on().query(renew, { input: { watch: id } }, admin);
    await until(() => sandbox.calls.count('/v2/discovery/3/jobs') > calls + 3);
    tell('2026-01-01T00:00:00+00:00', 20);
    await until(() => receiver.received.some(({ body }) => body.changes[0].jobs[0].progress === 20));
    await on().query(stop, { input: { watch: id } }, admin);
    forget();
    expect(receiver.received.map(({ body }) => body.changes[0].jobs[0].progress)).toEqual([10, 20]);
  });

  test('begins behind a cursor of eventUpdates, and without one from now on', async () => {
    const input = { filter: filter() };
    const id = await watch(on(), input);
    const [{ cursor }] = await watches(on());
    await on().query(stop, { input: { watch: id } }, admin);
    sandbox.publishEvent({ title: 'Missed' });
    await until(() => titles().length === 0);
    await watch(on(), { ...input, after: cursor });
    await until(() => titles().length === 1);
    expect(titles()).toEqual(['Missed']);
  });

  test('sends each state of the jobs of a market, until they have ended', async () => {
    const market = sandbox.data.markets.find(({ record }) => record.review_status === 'published')?.record.id;
    const input = { endpoint: 'hook', marketId: String(market), phase: 'PUBLISH' };
    const { data } = await on().query(beginJob, { input }, admin);
    await until(() => receiver.received.length > 0);
    const { body } = receiver.received.at(-1) as Received;
    expect(body).toMatchObject({
      watch: data.watchJob.watch.id,
      gap: false,
      changes: [{ marketId: String(market), unlisted: [] }],
    });
  });

  test('ends a watch whose client stops it, whose endpoint is deleted, or whose credential the service refuses', async () => {
    const id = await watch(on());
    expect((await on().query(stop, { input: { watch: id } }, admin)).data.stopWatching.watch.id).toBe(id);
    expect(await watches(on())).toEqual([]);
    await register(on(), 'short');
    await watch(on(), { endpoint: 'short' });
    await on().query(remove('short'), {}, admin);
    sandbox.publishEvent({ title: 'Unsent' });
    await until(async () => (await watches(on())).length === 0);
    await watch(on());
    sandbox.revoke(admin['x-api-key']);
    await until(async () => (await watches(on())).length === 0);
    sandbox.reset();
    expect(receiver.received).toEqual([]);
  });

  test('raises no alert for an endpoint that is deleted while it is called', async () => {
    await register(on(), 'short');
    await watch(on(), { endpoint: 'short' });
    receiver.status = 503;
    receiver.meanwhile = () => on().query(remove('short'), {}, admin);
    sandbox.publishEvent({ title: 'Refused' });
    await until(async () => (await watches(on())).length === 0);
    receiver.meanwhile = () => Promise.resolve();
    expect(receiver.received).toHaveLength(1);
    expect(await counted(on().url, 'gateway_endpoint_failing_seconds')).toBe(0);
  });

  test('a watch that is stopped while it is renewed does not come back', async () => {
    for (let round = 0; round < 5; round += 1) {
      const input = { watch: await watch(on()) };
      const renewals = [1, 2].map(() => on().query(renew, { input }, admin));
      await Promise.all([on().query(stop, { input }, admin), ...renewals]);
      expect(await watches(on())).toEqual([]);
    }
  });

  test('of two renewals at once, both hold', async () => {
    const input = { watch: await watch(on()) };
    const renewed = await Promise.all([1, 2].map(() => on().query(renew, { input }, admin)));
    expect(renewed.map(fault)).toEqual([undefined, undefined]);
  });

  test('a watch belongs to the endpoint that it was made for: it follows that one, and not another under its name', async () => {
    await register(on(), 'moving');
    await watch(on(), { endpoint: 'moving' });
    const move =
      'mutation ($input: UpdateExportEndpointInput!) { updateExportEndpoint(input: $input) { endpoint { url } } }';
    await on().query(move, { input: { endpoint: 'moving', url: `${receiver.url}moved`, headers: [] } }, admin);
    sandbox.publishEvent({ title: 'Moved' });
    await until(() => titles().length === 1);
    await on().query(remove('moving'), {}, admin);
    await register(on(), 'moving');
    expect((await watches(on())).map(({ endpoint }: { endpoint: unknown }) => endpoint)).toEqual([null]);
    sandbox.publishEvent({ title: 'Unsent' });
    await until(async () => (await watches(on())).length === 0);
    await on().query(remove('moving'), {}, admin);
    expect(titles()).toEqual(['Moved']);
  });

  test('shows its endpoint as an earlier mutation of the same operation has left it', async () => {
    await register(on(), 'changing');
    const variables = { watch: await watch(on(), { endpoint: 'changing' }) };
    const shown = 'watch { endpoint { description } }';
    const { data } = await on().query(
      `mutation ($watch: ID!) {
        before: renewWatch(input: { watch: $watch }) { ${shown} }
        updateExportEndpoint(input: { endpoint: "changing", description: "Changed" }) { endpoint { description } }
        after: renewWatch(input: { watch: $watch }) { ${shown} }
      }`,
      variables,
      admin,
    );
    expect(data.before.watch.endpoint.description).not.toBe('Changed');
    expect(data.after.watch.endpoint).toEqual(data.updateExportEndpoint.endpoint);
    expect(data.after.watch.endpoint.description).toBe('Changed');
    await on().query(remove('changing'), {}, admin);
  });

  test('refuses what is wrong before anything is sent', async () => {
    const id = await watch(on());
    const [{ cursor }] = await watches(on());
    const refusals = [
      [begin, { endpoint: 'hook', filter: filter(), after: cursor }, 'BAD_USER_INPUT input.after'],
      [begin, { endpoint: 'hook', filter: filter(), after: '' }, 'BAD_USER_INPUT input.after'],
      [begin, { endpoint: 'hook', filter: { from: '2026-01-01' } }, 'BAD_USER_INPUT input.filter.from'],
      [begin, { endpoint: 'none', filter: filter() }, 'NOT_FOUND input.endpoint'],
      [begin, { endpoint: '' }, 'BAD_USER_INPUT input.endpoint'],
      [beginJob, { endpoint: 'hook', marketId: 'x' }, 'BAD_USER_INPUT input.marketId'],
      [beginJob, { endpoint: 'x'.repeat(300), marketId: '1' }, 'BAD_USER_INPUT input.endpoint'],
      [beginJob, { endpoint: 'none', marketId: '1' }, 'NOT_FOUND input.endpoint'],
      [renew, { watch: id, after: 'nonsense' }, 'BAD_USER_INPUT input.after'],
      [renew, { watch: 'none' }, 'NOT_FOUND input.watch'],
      [stop, { watch: 'none' }, 'NOT_FOUND input.watch'],
    ] as const;
    for (const [document, input, code] of refusals) {
      expect([input, fault(await on().query(document, { input }, admin))]).toEqual([input, code]);
    }
    // The endpoint and the watch of another team.
    expect(fault(await on().query(begin, { input: { endpoint: 'hook' } }, member))).toBe('NOT_FOUND input.endpoint');
    expect(fault(await on().query(renew, { input: { watch: id } }, member))).toBe('NOT_FOUND input.watch');
    expect(fault(await on().query('{ watches { id } }', {}, { authorization: 'Bearer t' }))).toBe('FORBIDDEN');
    expect(await watches(on())).toHaveLength(1);
    expect(receiver.received).toEqual([]);
  });

  test('refuses a search where the operator has not set its parameter', async () => {
    const own = await startGateway({ sandbox, redisUrl: redis.url, env: { ...env, EVENTS_SEARCH_PARAM: '' } });
    cleanups.push(own.close);
    const input = { endpoint: 'hook', filter: { search: 'fire' } };
    expect(fault(await own.query(begin, { input }, admin))).toBe('NOT_CONFIGURED');
  });

  test('lets a team have 20 watches at a time', async () => {
    const begun = await Promise.all(
      Array.from({ length: 22 }, () => on().query(begin, { input: { endpoint: 'hook', filter: filter() } }, admin)),
    );
    expect(begun.filter(answer => fault(answer) === 'RATE_LIMITED').length).toBeGreaterThanOrEqual(2);
    expect((await watches(on())).length).toBeLessThanOrEqual(20);
  });
});

test('whoever follows a filter is warned of a name that no event has: by pull, on a stream, with a watch and of a company', async () => {
  const names = '{ alertTypes: ["Supply Disruption", "Fire"] }';
  const read = (document: string, input = {}) => alone.query(document, { input }, admin);
  expect((await read('{ eventStatistics { counted } }')).errors).toBeUndefined();
  const queries = [
    `{ eventStatistics(filter: ${names}) { counted } }`,
    `{ eventChanges(filter: ${names}) { cursor } }`,
    `{ market(id: 3) { companies(first: 5) { nodes { events(filter: ${names}) { totalCount } } } } }`,
  ];
  const answers = await Promise.all(queries.map(query => read(query)));
  answers.push(await read(begin, { endpoint: 'hook', filter: { alertTypes: ['Supply Disruption', 'Fire'] } }));
  const heard = overSse(alone.url, { query: `subscription { eventUpdates(filter: ${names}) { cursor } }` }, admin);
  await until(() => heard.results.length === 1);
  heard.stop();
  const warned = [...answers, ...heard.results].map(({ errors, extensions }) => [
    errors,
    extensions.warnings.length,
    extensions.warnings[0].argument,
  ]);
  const ofFilter = [undefined, 1, 'filter.alertTypes.1'];
  expect(warned).toEqual([ofFilter, ofFilter, ofFilter, [undefined, 1, 'input.filter.alertTypes.1'], ofFilter]);
});

test('an endpoint that takes nothing keeps no other from catching up, and memory of none', async () => {
  const begins = Array.from({ length: 9 }, () => ({ filter: filter() }));
  const changes = 'query ($filter: EventFilter) { eventChanges(filter: $filter) { cursor } }';
  const cursors = await Promise.all(
    begins.map(async ({ filter }) => (await alone.query(changes, { filter }, admin)).data.eventChanges.cursor),
  );
  for (let count = 0; count < 20; count += 1) sandbox.publishEvent({ title: `Missed ${count}` });
  receiver.status = 503;
  for (const [index, input] of begins.entries()) await watch(alone, { ...input, after: cursors[index] });
  await until(() => new Set(receiver.received.map(({ body }) => body.watch)).size === begins.length);
  await until(async () => (await counted(alone.url, 'gateway_held_bytes')) < 100_000);
  receiver.status = 200;
  await until(() => titles(receiver.taken).length === 20 * begins.length);
  const [{ watch: some } = { watch: '' }] = receiver.taken.map(({ body }) => body);
  const ofOne = receiver.taken.filter(({ body }) => body.watch === some);
  expect(new Set(titles(ofOne)).size).toBe(20);
});

test('endpoints that have not answered yet keep no stream of their credential from catching up', async () => {
  // None ends by itself.
  const { restore } = takeAttemptTimers();
  const begins = Array.from({ length: 8 }, () => ({ filter: filter() }));
  const changes = 'query ($filter: EventFilter) { eventChanges(filter: $filter) { cursor } }';
  const cursors = await Promise.all(
    begins.map(async ({ filter }) => (await alone.query(changes, { filter }, admin)).data.eventChanges.cursor),
  );
  sandbox.publishEvent({ title: 'Missed' });
  receiver.status = 0;
  for (const [index, input] of begins.entries()) await watch(alone, { ...input, after: cursors[index] });
  await until(() => receiver.received.length === begins.length);
  const query = `subscription ($filter: EventFilter, $after: String) {
    eventUpdates(filter: $filter, after: $after) { event { title } } }`;
  const heard = overSse(alone.url, { query, variables: { ...begins[0], after: cursors[0] } }, admin);
  await until(() => heard.results.length > 0);
  expect(heard.results[0].data.eventUpdates).toEqual({ event: { title: 'Missed' } });
  heard.stop();
  receiver.server.closeAllConnections();
  restore();
});

test('a gateway that closes does not wait for an endpoint that does not answer', async () => {
  // None ends by itself.
  const { restore } = takeAttemptTimers();
  const own = await startGateway({
    sandbox,
    env: { ...env, DATA_DIR: await mkdtemp(join(folder, 'own-')) },
  });
  await register(own, 'hook');
  await watch(own);
  receiver.status = 0;
  sandbox.publishEvent({ title: 'Unanswered' });
  await until(() => receiver.received.length > 0);
  await own.close();
  receiver.server.closeAllConnections();
  restore();
});

/** What watches follow is up to each test; they send to an endpoint that takes all. No gateway serves them but this one. */
function watchesWith(parts: Partial<ConstructorParameters<typeof Watches>[0]>, isBlocked = () => false) {
  const credential = { kind: 'apiKey', secret: new Secret('key') } as const;
  const scope = 'scope' as Scope;
  const auth = { credential, scope, cancellation: new AbortController(), metadata: new ResponseMetadata() };
  const all = new Watches({
    store: localWatchStore(),
    teams: new Reloadable(() => createTeams(undefined)),
    scopeOf: () => scope,
    hasEnded: async () => false,
    follow: () => nothingUntilEnd,
    prepare: async () => ({ registration: 'r', send: async () => ({ status: 200, isTaken: true }) }),
    report() {},
    ...parts,
  });
  all.start(isBlocked);
  cleanups.push(() => all.close());
  return {
    credential,
    all,
    list: () => all.list(auth),
    stop: (id: string) => all.stop(auth, id),
    begin: (name = 'first') => all.begin(auth, { kind: 'events', query: { name } }, 'hook', null),
  };
}

/** As a feed ends. */
async function* nothingUntilEnd({ cancellation: { signal } }: Pick<RequestAuth, 'cancellation'>) {
  await once(signal, 'abort');
  yield* [];
}

test('a watch that cannot be read keeps no other from being served, and those who come at once share a look', async () => {
  const local = localWatchStore();
  const looks: string[] = [];
  const followed: string[] = [];
  let unreadable: string | undefined;
  const { all, begin, credential } = watchesWith({
    store: {
      ...local,
      leases() {
        looks.push('look');
        return local.leases();
      },
      async lock(id) {
        unreadable ??= id;
        if (id === unreadable) throw new Error('It cannot be read');
        return true;
      },
    },
    follow: subject => auth => {
      followed.push(JSON.stringify(subject));
      return nothingUntilEnd(auth);
    },
  });
  for (const name of ['first', 'second']) await begin(name);
  expect(followed).toEqual(['{"kind":"events","query":{"name":"second"}}']);
  looks.splice(0);
  await Promise.all(Array.from({ length: 10 }, () => all.endOf(credential)));
  // Each finds out which are its own.
  expect(looks.length).toBeLessThanOrEqual(10 + 2);
});

/** Follows one change. */
const oneChange = async function* (auth: RequestAuth) {
  yield { key: 'key', cursor: 'cursor', gap: false, change: {} };
  yield* nothingUntilEnd(auth);
};

test('a watch waits while its credential follows too many other things, and then goes on', async () => {
  let isFull = true;
  const refusedAt: number[] = [];
  const { begin, list } = watchesWith({
    follow: () =>
      async function* (auth) {
        if (isFull) {
          refusedAt.push(performance.now());
          throw new RateLimited('More than 1000 different subscriptions with this credential');
        }
        yield* oneChange(auth);
      },
  });
  await begin();
  await until(() => refusedAt.length === 3);
  isFull = false;
  const [, second = 0, third = 0] = refusedAt;
  // Longer each time.
  expect(third - second).toBeGreaterThan(1_900);
  await until(async () => (await list())[0]?.lastDelivery?.status === 200);
});

test.each(['its client was blocked', 'its client signed out', 'it was stopped'])(
  'a delivery does not begin if %s while it was prepared',
  async how => {
    let isPrepared = false;
    let sent = 0;
    const prepared = {
      registration: 'r',
      async send() {
        sent += 1;
        return { status: 200, isTaken: true };
      },
    };
    const { all, begin, list, stop } = watchesWith(
      {
        follow: () => oneChange,
        async prepare(_team, _endpoint, by) {
          isPrepared = by === 'registration';
          if (isPrepared && how === 'it was stopped') await stop((await list())[0]?.id ?? '');
          return prepared;
        },
        hasEnded: async () => isPrepared && how === 'its client signed out',
      },
      () => isPrepared && how === 'its client was blocked',
    );
    await begin();
    await until(async () => (await list()).length === 0);
    await all.close();
    expect(sent).toBe(0);
  },
);

test('a watch goes on if the store fails while its gateway leaves it to others, because it knows no secret of the endpoint', async () => {
  let isUnsigned = true;
  const { begin, list } = watchesWith({
    store: {
      ...localWatchStore(),
      async release() {
        isUnsigned = false;
        throw new UpstreamUnavailable('The store of watches is not available');
      },
    },
    follow: () => oneChange,
    async prepare(_team, _endpoint, by) {
      if (by === 'registration' && isUnsigned) throw new Conflict('Signed with another secret');
      return { registration: 'r', send: async () => ({ status: 200, isTaken: true }) };
    },
  });
  await begin();
  await until(async () => (await list())[0]?.lastDelivery?.status === 200);
  expect(isUnsigned).toBe(false);
});

test('a watch of which its client learns nothing, because the store failed, does not go on, even if the store fails longer', async () => {
  const local = localWatchStore();
  let followed = 0;
  const failing = new Set(['the list', 'the removal']);
  const unlessFailing = <T>(what: string, then: T): T => {
    if (failing.delete(what)) throw new UpstreamUnavailable(`Not available: ${what}`);
    return then;
  };
  const { begin, list } = watchesWith({
    store: {
      ...local,
      leases: async () => unlessFailing('the list', local).leases(),
      remove: async (...watch) => unlessFailing('the removal', local).remove(...watch),
    },
    follow: () => auth => {
      followed += 1;
      return nothingUntilEnd(auth);
    },
  });
  await expect(begin()).rejects.toThrow('Not available: the list');
  await until(async () => (await list()).length === 0);
  expect({ followed, failing: [...failing] }).toEqual({ followed: 0, failing: [] });
});

test('the other watches are served while one that has begun for nobody cannot be removed', async () => {
  const local = localWatchStore();
  const locked: string[] = [];
  let isFull = false;
  const { begin, list } = watchesWith({
    store: {
      ...local,
      async leases() {
        if (isFull) throw new UpstreamUnavailable('Not available: the list');
        return local.leases();
      },
      async remove() {
        throw new UpstreamUnavailable('Not available: the removal');
      },
      async lock(id) {
        locked.push(id);
        return local.lock(id);
      },
    },
    follow: () => nothingUntilEnd,
  });
  const { id } = await begin();
  isFull = true;
  await expect(begin('second')).rejects.toThrow('Not available: the list');
  isFull = false;
  locked.length = 0;
  await until(() => locked.length >= 2);
  expect(await list()).toHaveLength(2);
  expect(new Set(locked)).toEqual(new Set([id]));
});

test('a watch goes on whose lease another gateway has renewed before the one that this gateway knows has ended', async () => {
  const store = localWatchStore();
  const reported: unknown[] = [];
  const { begin, list } = watchesWith({
    store,
    follow: () => oneChange,
    async prepare(_team, _endpoint, by) {
      const [[id = ''] = []] = await store.leases();
      const before = await store.get(id);
      if (by === 'registration' && before !== undefined && reported.length === 0) {
        await store.put({ ...before, lease: 'renewed', until: before.until + leaseMs }, before.lease);
        setClock(before.until + 1, performance.now());
      }
      return { registration: 'r', send: async () => ({ status: 200, isTaken: true }) };
    },
    report: error => reported.push(error),
  });
  await begin();
  await until(() => reported.length === 1);
  setClock(Date.now(), performance.now());
  expect(await list()).toHaveLength(1);
  await until(async () => (await list())[0]?.lastDelivery?.status === 200);
});

test('a watch whose renewal the store has taken only in part is not begun again and again', async () => {
  const local = localWatchStore();
  const leases = async () =>
    new Map([...(await local.leases())].map(([id, watch]) => [id, { ...watch, lease: 'former' }]));
  const followed: string[] = [];
  const { begin } = watchesWith({
    store: { ...local, leases },
    follow: subject => auth => {
      followed.push(JSON.stringify(subject));
      return nothingUntilEnd(auth);
    },
  });
  // Each looks at all.
  for (const name of ['first', 'second', 'third']) await begin(name);
  expect(new Set(followed).size).toBe(followed.length);
});

test('a watch outlives a new secret of the gateways, and one whose clock is ahead', async () => {
  const rotated = await startGateway({
    sandbox,
    redisUrl: redis.url,
    env: { ...env, SESSION_SECRET: `${'n'.repeat(32)},${env.SESSION_SECRET}` },
  });
  await register(gateway, 'Caf\u00e9');
  const id = await watch(gateway, { endpoint: 'Cafe\u0301' });
  await until(async () => {
    setClock(timeNow() + leaseMs + 1, performance.now());
    return (await watches(gateway)).length === 0;
  });
  setClock(Date.now(), performance.now());
  expect(await watches(gateway)).toMatchObject([{ id, endpoint: { name: 'Caf\u00e9' } }]);
  const input = { watch: id };
  expect((await rotated.query(renew, { input }, admin)).data.renewWatch.watch.id).toBe(id);
  expect((await rotated.query(stop, { input }, admin)).data.stopWatching.watch.id).toBe(id);
  await rotated.close();
});

test('a lease that has ended reads and sends nothing more, and cannot be renewed', async () => {
  const id = await watch(alone);
  const job = { jobId: 1, workflowName: 'w', jobProgress: 10, status: 'running' };
  const forget = sandbox.tell({ path: '/v2/discovery/2/jobs', body: JSON.stringify({ data: [job] }) });
  await alone.query(beginJob, { input: { endpoint: 'hook', marketId: '2' } }, admin);
  await until(() => receiver.taken.length === 1);
  const cursor = (await watches(alone)).find((each: { id: string }) => each.id === id).cursor;
  const calls = () => sandbox.calls.count(/^\/v2/);
  const before = calls();
  await until(() => calls() > before);
  const aheadMs = timeNow() - Date.now() + leaseMs + 1;
  const goAhead = () => setClock(Date.now() + aheadMs, performance.now());
  goAhead();
  // The gateways over Redis set the clock of the process, too, every few seconds.
  const stayingAhead = setInterval(goAhead, 1);
  const read = calls();
  sandbox.publishEvent({ title: 'Late' });
  await until(async () => (await counted(alone.url, 'gateway_live_pollers')) === 0);
  // One of each may have been on its way.
  expect(calls() - read).toBeLessThanOrEqual(2);
  expect(await watches(alone)).toEqual([]);
  expect(fault(await alone.query(renew, { input: { watch: id, after: cursor } }, admin))).toBe('NOT_FOUND input.watch');
  expect(receiver.received).toHaveLength(1);
  forget();
  clearInterval(stayingAhead);
  setClock(Date.now(), performance.now());
});

test('a gateway that closes leaves its watches to the others, and what it has sealed shows no credential', async () => {
  const first = await start();
  const input = { filter: filter() };
  const id = await watch(first, input);
  const client = new Redis(redis.url);
  const keys = await client.keys('mig:watch*');
  const texts = await Promise.all(
    keys.map(async key =>
      JSON.stringify(await client.call((await client.type(key)) === 'hash' ? 'HGETALL' : 'GET', key)),
    ),
  );
  const lasting = await Promise.all(keys.filter(key => key.includes(id)).map(key => client.pttl(key)));
  client.disconnect();
  expect(texts.join()).not.toContain(admin['x-api-key']);
  expect(lasting.every(ms => ms > 0 && ms <= leaseMs)).toBe(true);
  sandbox.publishEvent({ title: 'Before' });
  await until(() => titles().includes('Before'));
  await first.close();
  sandbox.publishEvent({ title: 'After' });
  await until(() => titles().includes('After'));
  expect(titles()).toEqual(['Before', 'After']);
  expect((await watches(gateway)).map((each: { id: string }) => each.id)).toEqual([id]);
});

test('a watch whose gateway ended before it knew where the watch begins says that something may be missing', async () => {
  const first = await start();
  const forget = sandbox.tell({ path: /\/events$/, status: 503 });
  const { data } = await first.query(begin, { input: { endpoint: 'hook', filter: filter() } }, admin);
  sandbox.publishEvent({ title: 'Between' });
  await first.close();
  forget();
  await until(() => receiver.taken.length === 1);
  expect(receiver.taken[0]?.body).toMatchObject({ watch: data.watchEvents.watch.id, gap: true, changes: [] });
  sandbox.publishEvent({ title: 'After' });
  await until(() => receiver.taken.length === 2);
  expect(receiver.taken[1]?.body).toMatchObject({ gap: false, changes: [{ event: { title: 'After' } }] });
});

test('another gateway goes on with what a killed one has left, and sends it under the same identifier', async () => {
  receiver.status = 503;
  const id = await watch(gateway);
  sandbox.publishEvent({ title: 'Refused' });
  await until(() => receiver.received.length > 0);
  // The lock of a process that is no more.
  const client = new Redis(redis.url);
  const [lock = ''] = await client.keys(`mig:watch:*${id}:lock`);
  const holder = await client.get(lock);
  await client.set(lock, 'killed', 'PX', 3_000);
  sandbox.publishEvent({ title: 'Missed' });
  await until(async () => (await client.get(lock)) === holder);
  client.disconnect();
  receiver.status = 200;
  await until(() => titles(receiver.taken).includes('Missed'));
  expect(titles(receiver.taken)).toEqual(['Refused', 'Missed']);
  const refused = receiver.received.filter(({ body }) => body.changes[0].event.title === 'Refused');
  expect(new Set(refused.map(({ headers, text }) => `${headers['webhook-id']} ${text}`)).size).toBe(1);
});

test('a watch waits while its gateway knows no secret that signed the endpoint: another one may', async () => {
  await watch(gateway);
  const client = new Redis(redis.url);
  cleanups.push(() => client.disconnect());
  const [key = ''] = (await client.keys('mig:exports:*')).filter(name => !name.endsWith('with-seals'));
  const signed = await client.hgetall(key);
  const unsigned = Object.entries(signed).map(([name, text]) => [name, text.replace(/"}$/, 'x"}')]);
  const malformed = () => counted(gateway.url, 'gateway_redis_malformed_total', { what: 'exports' });
  const before = await malformed();
  await client.hset(key, Object.fromEntries(unsigned));
  sandbox.publishEvent({ title: 'Unsigned' });
  await until(async () => (await malformed()) > before);
  await client.hset(key, signed);
  await until(() => titles(receiver.taken).includes('Unsigned'));
});

test('a watch waits while its gateway finds its client in no team: another one may have a newer TEAMS_FILE', async () => {
  const lone = await startRedis();
  cleanups.push(() => lone.stop());
  const file = (name: string) => join(folder, `${name}.json`);
  const member = hashOfKey(admin['x-api-key']);
  await writeFile(file('newer'), JSON.stringify([{ name: 'T', keys: [member], admins: [member] }]));
  await writeFile(file('older'), JSON.stringify([{ name: 'Other', emails: ['nobody@team.example'] }]));
  const startWith = async (name: string) => {
    const own = await startGateway({ sandbox, redisUrl: lone.url, env: { ...env, TEAMS_FILE: file(name) } });
    cleanups.push(() => own.close());
    return own;
  };
  const newer = await startWith('newer');
  await register(newer, 'hook');
  await watch(newer);
  await startWith('older');
  await newer.close();
  sandbox.publishEvent({ title: 'Missed' });
  const calls = sandbox.calls.count('/v2/events-monitor/events');
  await until(() => sandbox.calls.count('/v2/events-monitor/events') > calls);
  expect(titles()).toEqual([]);
  await startWith('newer');
  await until(() => titles(receiver.taken).includes('Missed'));
});

test('the log names each watch that ends before its lease, its endpoint, and why', async () => {
  const log = takeLog();
  const lone = await startRedis();
  cleanups.push(() => lone.stop());
  const [{ email = '', password = '' } = {}] = sandbox.demo.users;
  const keys = [hashOfKey(admin['x-api-key'])];
  await writeFile(
    join(folder, 'logged.json'),
    JSON.stringify([{ name: 'T', emails: [email], keys, admins: [email, ...keys] }]),
  );
  const own = await startGateway({
    sandbox,
    redisUrl: lone.url,
    env: { ...env, TEAMS_FILE: join(folder, 'logged.json'), LOG_LEVEL: 'warn' },
    seams: { log },
  });
  cleanups.push(() => own.close());
  const session = await signedIn(own, { email, password });
  await register(own, 'hook');
  await register(own, 'short');
  const beginBy = async (headers: Record<string, string>, endpoint: string) => {
    const { data } = await own.query(begin, { input: { endpoint, filter: filter() } }, headers);
    const { id } = data.watchEvents.watch;
    await until(async () => (await watches(own, headers)).find((each: { id: string }) => each.id === id)?.cursor);
    return id;
  };
  const ended = () =>
    log.lines.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'A watch ended before its lease');
  const logged = async (id: string, endpoint: string, reason: RegExp) => {
    await until(() => ended().length > 0);
    expect(ended()).toMatchObject([{ watch: id, endpoint, err: { message: expect.stringMatching(reason) } }]);
    log.lines.splice(0);
  };

  const deleted = await beginBy(admin, 'short');
  await own.query(remove('short'), {}, admin);
  sandbox.publishEvent({ title: 'Unsent' });
  await logged(deleted, 'short', /no endpoint/);

  const signedOut = await beginBy(session, 'hook');
  await own.query('mutation { signOut { viewer { email } } }', {}, session);
  await logged(signedOut, 'hook', /session has ended/);

  const blocked = await beginBy(admin, 'hook');
  const client = new Redis(lone.url);
  cleanups.push(() => client.disconnect());
  const block = { requestsPerMinute: 0, until: timeNow() + 60_000, reason: 'Leaked' };
  await client.hset('mig:clients', `key:${hashOfKey(admin['x-api-key'])}`, JSON.stringify(block));
  await logged(blocked, 'hook', /operator has blocked/);
  await client.del('mig:clients');
  await until(async () => fault(await own.query('{ viewer { team } }', {}, admin)) === undefined);

  const revoked = await beginBy(admin, 'hook');
  sandbox.revoke(admin['x-api-key']);
  await logged(revoked, 'hook', /does not accept/);
  sandbox.reset();

  const stopped = await beginBy(admin, 'hook');
  await own.query(stop, { input: { watch: stopped } }, admin);
  expect(ended()).toEqual([]);
});

test('a watch ends once an operator has blocked its client in the fleet', async () => {
  await watch(gateway);
  const client = new Redis(redis.url);
  const block = { requestsPerMinute: 0, until: timeNow() + 60_000, reason: 'Leaked' };
  const name = `key:${hashOfKey(admin['x-api-key'])}`;
  const isRefused = async () => fault(await gateway.query('{ viewer { team } }', {}, admin)) === 'RATE_LIMITED';
  await client.hset('mig:clients', name, JSON.stringify(block));
  await until(isRefused);
  await until(async () => (await client.keys('mig:watches:*')).length === 0);
  sandbox.publishEvent({ title: 'Unsent' });
  await client.hdel('mig:clients', name);
  client.disconnect();
  await until(async () => !(await isRefused()));
  expect([await watches(gateway), receiver.received]).toEqual([[], []]);
});

test('a watch ends when its client signs out on another gateway', async () => {
  const [{ email = '', password = '' } = {}] = sandbox.demo.users.filter(user =>
    sandbox.demo.team.emails.includes(user.email),
  );
  const team = {
    name: 'Demo Team',
    emails: [email],
    keys: [`sha256:${createHash('sha256').update(admin['x-api-key']).digest('hex')}`],
  };
  await writeFile(join(folder, 'teams.json'), JSON.stringify([{ ...team, admins: [email] }]));
  const listed = { ...env, TEAMS_FILE: join(folder, 'teams.json') };
  const [one, two] = await Promise.all([1, 2].map(() => startGateway({ sandbox, redisUrl: redis.url, env: listed })));
  cleanups.push(() => Promise.all([one, two].map(each => each?.close())));
  const signIn = () => signedIn(one as TestGateway, { email, password });
  const signOut = (session: Record<string, string>) =>
    (two as TestGateway).query('mutation { signOut { viewer { email } } }', {}, session);
  const beginOn = (session: Record<string, string>) =>
    (one as TestGateway).query(begin, { input: { endpoint: 'hook', filter: filter() } }, session);
  const session = await signIn();
  await register(one as TestGateway, 'hook', session);
  expect(fault(await beginOn(session))).toBeUndefined();
  await until(async () => (await watches(one as TestGateway, session))[0]?.cursor);
  const client = new Redis(redis.url);
  cleanups.push(() => client.disconnect());
  const stored = async () => (await client.keys('mig:watch*')).filter(key => !key.endsWith(':lock'));
  const kept = await Promise.all((await stored()).map(async key => [key, await client.hgetall(key)] as const));
  expect((await signOut(session)).errors).toBeUndefined();
  // Also one that begins meanwhile.
  for (let round = 0; round < 5; round += 1) {
    const other = await signIn();
    const [, ...begun] = await Promise.all([signOut(other), beginOn(other), beginOn(other)]);
    expect(begun.map(fault).filter(code => code !== undefined && code !== 'UNAUTHENTICATED')).toEqual([]);
  }
  await until(async () => (await stored()).length === 0);
  // Someone who can write to Redis puts it back.
  for (const [key, values] of kept) await client.hset(key, values);
  sandbox.publishEvent({ title: 'Unsent' });
  await until(async () => (await stored()).length === 0);
  expect([kept.length, receiver.received]).toEqual([2, []]);
});
