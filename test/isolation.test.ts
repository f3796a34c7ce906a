import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { forTest } from './support/cleanups.js';
import { ask, type GraphqlAnswer, signedIn, startGateway, type TestGateway } from './support/gateway.js';
import { sendMcp, toolCall } from './support/mcp.js';
import { counted } from './support/metrics.js';
import { redisPlaces } from './support/redis-cluster.js';
import { eventPage, type FakeWire, fakeWire, type WireCall, type WireReply } from './support/wire.js';

const secretOfAll = { SESSION_SECRET: 'one secret for all gateways of these tests' };

const places = await Promise.all(redisPlaces.map(([, start]) => start()));
/** A client of each server of each place. */
const stores = places.flatMap(({ urls }) => urls.map(url => new Redis(url)));

afterAll(async () => {
  for (const store of stores) store.disconnect();
  await Promise.all(places.map(place => place.stop()));
});
beforeEach(forgetAll);

async function forgetAll(): Promise<void> {
  await Promise.all(stores.map(store => store.flushall()));
}

/** The places by their index, and memory alone. */
const sharedTiers = redisPlaces.map(([name], index) => [name, index] as const);
const tiers = [['memory', undefined] as const, ...sharedTiers];

const urlOf = (tier: number) => places[tier]?.url ?? '';
/** For a gateway that keeps in this tier. */
const over = (tier: number | undefined) => (tier === undefined ? {} : { redisUrl: urlOf(tier) });

/** Every read there is. */
const everyRead = `{
  events(first: 3) {
    totalCount
    nodes { id title vectorIndex { embeddings } references { observation { title textEmbedding } } }
  }
  observation(id: "o-1") { title content }
  suggestMarkets(keyword: "a")
  market(id: 1) {
    name description topics { label } esg
    companies { nodes { name esg events(first: 2) { totalCount nodes { title } } } }
    jobs { workflowName } publish: jobs(phase: PUBLISH) { workflowName }
    searchCriteria { userPrompt } searchCriteriaHistory { userPrompt }
  }
}`;

/** The same as a tool for agents, which never get vectors. */
const readTool = `# Every read there is.\nquery everyRead ${everyRead.replace('vectorIndex { embeddings }', 'vectorIndex { anchorText }').replace('textEmbedding', 'content')}`;

describe('over a service that returns different data to each client', () => {
  interface Client {
    readonly name: string;
    readonly headers: Readonly<Record<string, string>>;
    /** Behind the gateway's address. */
    readonly search: string;
    /** What goes upstream. */
    readonly secret: string;
    /** The number that the service puts into all that it answers this client. */
    readonly mark: string;
  }

  const markOf = (kind: string, secret: string) => {
    const digits = createHash('sha256').update(`${kind} ${secret}`).digest().readUInt32BE();
    return String(1e10 + digits);
  };

  let service: FakeWire;
  let clients: readonly Client[];
  let gateways: TestGateway[] = [];
  /** What a client has who is alone: so many different calls, and so many marks in the response. */
  let alone = { calls: 0, marks: 0 };
  const operations = mkdtempSync(join(tmpdir(), 'operations-'));
  afterAll(() => rmSync(operations, { recursive: true }));

  beforeAll(async () => {
    writeFileSync(join(operations, 'everyRead.graphql'), readTool);
    service = fakeWire(answer);
    const gateway = await startGateway({ wire: service.wire, env: secretOfAll });
    // The values are the same for every kind: a key is not a token of the same letters.
    const values = ['alpha-7f3a9c', 'bravo-1d5e8b'];
    const explicit = values.flatMap(secret => [
      { name: 'apiKey', headers: { 'x-api-key': secret }, search: '', secret },
      { name: 'bearer', headers: { authorization: `Bearer ${secret}` }, search: '', secret },
      { name: 'sessionId', headers: {}, search: `?sessionId=${secret}`, secret },
    ]);
    const withCookies = values.map(async secret => {
      const headers = await signedIn(gateway, { email: `${secret}@team.example`, password: 'p' });
      return { name: 'cookie', headers, search: '', secret: `svc=${secret}` };
    });
    clients = [...explicit, ...(await Promise.all(withCookies))].map(client => ({
      ...client,
      mark: markOf(client.name, client.secret),
    }));
    expect(new Set(clients.map(({ mark }) => mark)).size).toBe(8);
    service.calls.length = 0;
    const { data } = await requestAs(gateway, clients[0] as Client);
    const calls = new Set(service.calls.map(({ method, url, body }) => `${method} ${url} ${body}`));
    alone = { calls: calls.size, marks: marksIn(data).length };
    await gateway.close();
  });
  beforeEach(() => {
    service.calls.length = 0;
  });
  afterEach(async () => {
    await Promise.all(gateways.map(gateway => gateway.close()));
    gateways = [];
  });

  function credentialOf({ headers, url }: WireCall): [string, string] {
    const found: [string, string | null | undefined][] = [
      ['apiKey', headers['x-api-key']],
      ['bearer', headers.authorization?.replace('Bearer ', '')],
      ['sessionId', url.searchParams.get('sessionId')],
      ['cookie', headers.cookie],
    ];
    const [only, another] = found.filter(([, value]) => value != null);
    if (only === undefined || another !== undefined) throw new Error('Not one credential');
    return [only[0], only[1] ?? ''];
  }

  function answer(call: WireCall): WireReply {
    const { pathname } = call.url;
    if (pathname.endsWith('/auth/sign-in')) {
      const [name] = JSON.parse(call.body).email.split('@');
      return { body: {}, headers: { 'set-cookie': `svc=${name}; Path=/; HttpOnly` } };
    }
    const mark = markOf(...credentialOf(call));
    const vector = [Number(mark), 0.5];
    if (pathname.endsWith('/events')) {
      const impact = { likelihood: 3, severity: 3, rationale: mark };
      return eventPage([
        {
          _id: 'e-1',
          title: mark,
          vectorIndex: { anchorText: mark, embeddings: vector },
          references: [{ _id: 'o-1', title: mark }],
          taxonomicMatches: { impactedEntities: [{ name: mark, impact }] },
        },
      ]);
    }
    if (pathname.includes('/observation/')) {
      return { body: { _id: 'o-1', title: mark, content: [mark], textEmbedding: vector } };
    }
    if (pathname.endsWith('/suggest')) return { body: { suggested: [mark] } };
    if (pathname.includes('/dev/')) return { body: { id: pathname.split('/').at(-1), name: mark, description: mark } };
    if (pathname.endsWith('/topics')) return { body: { data: [{ topicId: 1, label: mark, groups: [] }] } };
    if (pathname.endsWith('/companies')) return { body: { data: [{ domain: 'a.example', name: mark }] } };
    if (pathname.endsWith('/esg')) return { body: { data: [{ domain: 'a.example', note: mark }] } };
    if (pathname.endsWith('/jobs')) return { body: { data: [{ jobId: 1, workflowName: mark }] } };
    if (pathname.endsWith('/history')) return { body: { data: [{ userPrompt: mark }] } };
    return { body: { searchCriteria: { userPrompt: mark } } };
  }

  /** A gateway whose tier is at work: before its Redis is connected it keeps nothing about markets. */
  async function start(tier: number | undefined, { wire, calls } = service): Promise<TestGateway> {
    const gateway = await startGateway({ wire, env: { ...secretOfAll, MCP_OPERATIONS: operations }, ...over(tier) });
    gateways.push(gateway);
    do {
      calls.length = 0;
      await gateway.query('{ market(id: 9) { name } }', {}, { 'x-api-key': 'first' });
      calls.length = 0;
      await gateway.query('{ market(id: 9) { name } }', {}, { 'x-api-key': 'first' });
    } while (calls.length > 0);
    return gateway;
  }

  const requestAs = (gateway: TestGateway, { headers, search }: Client) =>
    ask(`${gateway.url}/graphql${search}`, everyRead, {}, { ...headers, 'x-explain': '1' });

  const marksIn = (data: unknown) => JSON.stringify(data).match(/\d{11}/g) ?? [];

  /** The answer is whole, and everything in it is the client's own. */
  function expectOwn({ data, errors }: Pick<GraphqlAnswer, 'data' | 'errors'>, client: Client): void {
    expect(errors).toBeUndefined();
    const marks = marksIn(data);
    expect(marks.length).toBe(alone.marks);
    expect([client.name, ...new Set(marks)]).toEqual([client.name, client.mark]);
    expect(JSON.stringify(data)).not.toContain(':null');
  }

  /** Works with a gateway over an empty tier, and again where a command to Redis failed meanwhile: then the gateway reads more, as it should. */
  async function withStarted(tier: number | undefined, work: (gateway: TestGateway) => Promise<void>): Promise<void> {
    await forgetAll();
    const gateway = await start(tier);
    try {
      await work(gateway);
    } catch (error) {
      if ((await counted(gateway.url, 'gateway_redis_faults_total')) === 0) throw error;
      await withStarted(tier, work);
    }
  }

  describe.each(tiers)('with %s', (_, tier) => {
    test('no client sees the response of another, in any order', async () => {
      for (let first = 0; first < clients.length; first += 3) {
        const order = [...clients.slice(first), ...clients.slice(0, first)];
        await withStarted(tier, async gateway => {
          for (const client of order) expectOwn(await requestAs(gateway, client), client);
          expect(service.calls).toHaveLength(alone.calls * clients.length);
          for (const client of order.toReversed()) expectOwn(await requestAs(gateway, client), client);
          expect(service.calls).toHaveLength(alone.calls * clients.length);
        });
      }
    });

    test('no client sees the response of another through a tool, in any order', async () => {
      const order = [...clients, ...clients.toReversed()];
      await withStarted(tier, async gateway => {
        for (const client of order) {
          const response = await sendMcp(gateway.url, toolCall('everyRead'), client.headers, client.search);
          const { result } = JSON.parse(await response.text());
          expectOwn(result.structuredContent, client);
        }
        expect(service.calls).toHaveLength(alone.calls * clients.length);
      });
    });

    test('no client joins a load of another if all send requests at once', async () => {
      const slow = fakeWire(answer, 250);
      const gateway = await start(tier, slow);
      const crowd = Array.from({ length: 5 }, () => clients).flat();
      const answers = await Promise.all(crowd.map(client => requestAs(gateway, client)));
      for (const [index, answer] of answers.entries()) expectOwn(answer, crowd[index] as Client);
      // Of one client, a request that comes late can call again.
      const made = new Set(
        slow.calls.map(call => JSON.stringify({ ...call, headers: { ...call.headers, 'x-request-id': '' } })),
      );
      expect(made.size).toBe(alone.calls * clients.length);
      const sources = answers.flatMap(({ extensions }) =>
        extensions.explain.map((line: { source: string }) => line.source),
      );
      expect(sources).toContain('flight');
    });

    test('no client gets a cached response of another when the service fails', async () => {
      const failing = fakeWire(call =>
        call.headers['x-api-key'] === 'bravo-1d5e8b' ? { status: 500, body: {} } : answer(call),
      );
      const gateway = await startGateway({ wire: failing.wire, ...over(tier) });
      gateways.push(gateway);
      const [alpha, , , bravo] = clients as [Client, Client, Client, Client];
      expectOwn(await requestAs(gateway, alpha), alpha);
      const { data, errors } = await requestAs(gateway, bravo);
      expect(JSON.stringify(data)).not.toMatch(/\d{11}/);
      expect(new Set(errors?.map(({ extensions }) => extensions.code))).toEqual(new Set(['UPSTREAM_UNAVAILABLE']));
    });
  });

  test.each(sharedTiers)(
    'through %s a second gateway gives each client what is theirs, without a call',
    async (_, tier) => {
      const one = await start(tier);
      for (const client of clients) expectOwn(await requestAs(one, client), client);
      await untilStill();
      const two = await start(tier);
      const answers = await Promise.all(clients.map(client => requestAs(two, client)));
      for (const [index, answer] of answers.entries()) expectOwn(answer, clients[index] as Client);
      expect(service.calls).toEqual([]);
    },
  );

  test.each(sharedTiers)('a gateway with another secret finds nothing in the same %s', async (_, tier) => {
    const [client] = clients as [Client];
    expectOwn(await requestAs(await start(tier), client), client);
    await untilStill();
    service.calls.length = 0;
    const other = await startGateway({ wire: service.wire, ...over(tier) });
    gateways.push(other);
    expectOwn(await requestAs(other, client), client);
    expect(service.calls).toHaveLength(alone.calls);
  });

  /** No one waits for writes to Redis. */
  async function untilStill(): Promise<void> {
    const sizeNow = async () =>
      (await Promise.all(stores.map(store => store.dbsize()))).reduce((sum, size) => sum + size, 0);
    let before = -1;
    for (let size = await sizeNow(); size !== before; size = await sizeNow()) {
      before = size;
      await new Promise(resolve => setTimeout(resolve, 100));
    }
  }
});

describe('over the sandbox', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(async () => {
    await sandbox.close();
  });
  beforeEach(() => sandbox.reset());

  const anEvent = () => sandbox.data.events[0]?.references[0]?._id ?? '';
  const document = () => everyRead.replace('o-1', anEvent());
  const codesByPath = ({ errors = [] }: GraphqlAnswer) =>
    Object.fromEntries(errors.map(({ path, extensions }) => [path.join('.'), extensions.code]));

  test.each(tiers)('a key without the subscription or the permission is refused with %s warm', async (_, tier) => {
    const gateway = forTest(await startGateway({ sandbox, ...over(tier) }));
    const warm = await gateway.query(document());
    expect(warm.errors).toBeUndefined();

    const marketsOnly = await gateway.query(document(), {}, { 'x-api-key': 'demo-key-markets-only' });
    expect(marketsOnly.data).toMatchObject({
      events: null,
      observation: null,
      market: { name: warm.data.market.name },
    });
    expect(new Set(Object.values(codesByPath(marketsOnly)))).toEqual(new Set(['FORBIDDEN']));
    expect(codesByPath(marketsOnly)).toMatchObject({
      events: 'FORBIDDEN',
      'market.companies.nodes.0.events': 'FORBIDDEN',
    });
    expect(JSON.stringify(marketsOnly.data)).not.toContain(warm.data.events.nodes[0].title);

    const noMarkets = await gateway.query(document(), {}, { 'x-api-key': 'demo-key-no-markets' });
    expect(noMarkets.data).toMatchObject({ events: warm.data.events, suggestMarkets: [] });
    expect(Object.values(noMarkets.data.market).filter(value => value !== null)).toEqual([]);
    expect(new Set(Object.values(codesByPath(noMarkets)))).toEqual(new Set(['FORBIDDEN']));

    const unknown = await gateway.query(document(), {}, { 'x-api-key': 'demo-key-subscribed '.trim().toUpperCase() });
    expect(unknown.data.events).toBeNull();
    expect(new Set(Object.values(codesByPath(unknown)))).toEqual(new Set(['UNAUTHENTICATED']));
  });
});
