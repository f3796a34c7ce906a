import { createHook } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { request } from 'undici';
import { type CachedResponse, represent } from '../src/http/response-cache/store.js';
import { setClock } from '../src/lib/clock.js';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { cleanups, forTest } from './support/cleanups.js';
import { addressesOn, type GraphqlAnswer, signedIn, startGateway, type TestGateway } from './support/gateway.js';
import { begun, hold } from './support/hold.js';
import { market, publishMarket, readMarket, recordCallsOf, startPair } from './support/market-pair.js';
import { counted } from './support/metrics.js';
import { type RedisPlace, redisPlaces } from './support/redis-cluster.js';
import { overSse } from './support/streams.js';
import { reply, startStubService } from './support/stub-service.js';
import { until } from './support/until.js';

const env = { SESSION_SECRET: 'k'.repeat(40), RESPONSE_CACHE: 'true' };
const key = { 'x-api-key': 'demo-key-subscribed' };

const sandbox = await startSandbox();
const places = await Promise.all(redisPlaces.map(([, start]) => start()));
/** One over each place. */
const gateways = await Promise.all(places.map(({ url }) => startGateway({ sandbox, redisUrl: url, env })));
const alone = await startGateway({ sandbox, env });

afterAll(async () => {
  await Promise.all([alone, ...gateways].map(each => each.close()));
  await sandbox.close();
  await Promise.all(places.map(place => place.stop()));
});

beforeEach(() => sandbox.reset());

const post = async (at: TestGateway, query: string, headers: Record<string, string> = key) => {
  const {
    statusCode,
    headers: received,
    body,
  } = await request(`${at.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query }),
  });
  return { status: statusCode, headers: received, body: Buffer.from(await body.arrayBuffer()) };
};

const keptBy = async (at: TestGateway): Promise<number> => {
  const text = await (await fetch(`${at.url}/metrics`)).text();
  const counts = [...text.matchAll(/^gateway_response_cache_hits_total\{.*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
};

/** Whether the second of two equal requests was answered with what was kept of the first. */
async function isKept(at: TestGateway, query: string, headers: Record<string, string> = key): Promise<boolean> {
  await post(at, query, headers);
  const before = await keptBy(at);
  await post(at, query, headers);
  return (await keptBy(at)) > before;
}

const sized = 'query Sized($first: Int!) { events(first: $first) { nodes { id } } }';
const persistedQuery = { version: 1, sha256Hash: createHash('sha256').update(sized).digest('hex') };

let size = 5;
/** A query that no one has asked yet. */
const fresh = () => `{ events(first: ${++size}) { totalCount nodes { title summary } } }`;

const freshEmbeddings = () => `{ events(first: ${++size}) { nodes { vectorIndex { embeddings } } } }`;

/** A gateway by the number of its place. */
const over = (index: number): TestGateway => gateways[index] ?? alone;

const responseOf = (body: Buffer): CachedResponse => {
  const head = { headers: [], etag: '"e"', operation: undefined, outcome: 'ok', keepUntil: 0, generations: [] };
  return { ...head, keptMs: 0, body: [body], length: body.length, compressed: {} };
};

test.each(['gzip', 'br'])('a response is compressed with %s once for all clients', async encoding => {
  const response = responseOf(Buffer.alloc(100_000, 'text'));
  const sent = () => represent(response, { 'accept-encoding': encoding }, undefined);
  const together = await Promise.all([sent(), sent()]);
  // Of another encoding meanwhile: it replaces none.
  await represent(response, { 'accept-encoding': encoding === 'br' ? 'gzip' : 'br' }, undefined);
  const later = await sent();
  expect(later.headers).toContain(encoding);
  for (const one of together) expect(one.body[0]).toBe(later.body[0]);
});

test('a few responses are compressed at a time: each that waits would take 250 KB', async () => {
  let compressors = 0;
  const hook = createHook({
    init(_, type) {
      if (type === 'ZLIB') compressors += 1;
    },
  }).enable();
  const sent = Array.from({ length: 100 }, (_, index) => {
    return represent(responseOf(Buffer.alloc(2_000, `${index}`)), { 'accept-encoding': 'gzip' }, undefined);
  });
  await new Promise(process.nextTick);
  // Not a turn of the event loop later, so that none has ended.
  expect(compressors).toBe(4);
  hook.disable();
  for (const { body } of await Promise.all(sent)) expect(gunzipSync(Buffer.concat(body))).toHaveLength(2_000);
});

describe.each([
  ['in memory', () => alone],
  ...redisPlaces.map(([name], index) => [`in memory over ${name}`, () => over(index)] as const),
] as const)('kept %s', (_, at) => {
  test('an answer is given again byte for byte, without any work', async () => {
    const query = fresh();
    const first = await post(at(), query);
    const before = await keptBy(at());
    const second = await post(at(), query);
    expect(await keptBy(at())).toBe(before + 1);
    expect(second.body).toEqual(first.body);
    expect(second.headers['content-type']).toBe(first.headers['content-type']);
    expect(second.headers['referrer-policy']).toBe('no-referrer');
  });

  test('of a mutation is sent whole, whatever its client has', async () => {
    const query = 'mutation { createSearchCriteria(input: { searchInput: "Who?" }) { __typename } }';
    const { headers } = await post(at(), query);
    for (const tag of [String(headers.etag), '*']) {
      const again = await post(at(), query, { ...key, 'if-none-match': tag });
      expect([again.status, again.body.length > 0]).toEqual([200, true]);
    }
  });

  test('who has it already is told so', async () => {
    const query = fresh();
    const { headers } = await post(at(), query);
    // One tag for each encoding must be weak.
    expect(headers.etag).toMatch(/^W\/"[\w-]+"$/);
    expect(headers['cache-control']).toBe('private, no-cache');
    expect(String(headers.vary).split(', ')).toEqual(expect.arrayContaining(['graphql-cost', 'x-explain']));
    const again = await post(at(), query, { ...key, 'if-none-match': String(headers.etag) });
    expect([again.status, again.body.length]).toEqual([304, 0]);
    expect((await post(at(), query, { ...key, 'if-none-match': '*' })).status).toBe(304);
    const other = await post(at(), query, { ...key, 'if-none-match': '"other"' });
    expect(other.status).toBe(200);
  });

  test.each([
    ['short', fresh, 'gzip'],
    ['long', freshEmbeddings, 'br'],
  ])('a %s one is compressed as the client accepts it', async (_, newQuery, preferred) => {
    const query = newQuery();
    const plain = await post(at(), query);
    for (const [accepts, encoding] of [
      ['gzip;q=0, br;q=0.0', undefined],
      ['gzip, deflate, br', preferred],
      ['br, gzip;q=0', 'br'],
      ['gzip;q=0.5', 'gzip'],
      ['gzip, br', preferred],
      ['bread, gzip2', undefined],
    ] as const) {
      const { headers, body } = await post(at(), query, { ...key, 'accept-encoding': accepts });
      expect(headers['content-encoding']).toBe(encoding);
      expect(headers['content-length']).toBe(String(body.length));
      const decode: Record<string, (bytes: Buffer) => Buffer> = {
        br: brotliDecompressSync,
        gzip: gunzipSync,
        none: (bytes: Buffer) => bytes,
      };
      expect(decode[encoding ?? 'none']?.(body).equals(plain.body)).toBe(true);
    }
  });

  test('it is given to no one else', async () => {
    const query = fresh();
    await post(at(), query);
    const { body } = await post(at(), query, { 'x-api-key': 'demo-key-markets-only' });
    expect(JSON.parse(body.toString()).errors[0].extensions.code).toBe('FORBIDDEN');
  });

  test('it is given to no other document, wherever a document speaks of a session id', async () => {
    const get = async (count: number) => {
      const document = `{#?sessionId=%0Aevents(first:${count}){nodes{id}}}`.replace('#', '%23');
      const { body } = await request(`${at().url}/graphql?query=${document}`, {
        headers: { ...key, 'apollo-require-preflight': 'true' },
      });
      return ((await body.json()) as GraphqlAnswer).data.events.nodes.length;
    };
    expect([await get(2), await get(3)]).toEqual([2, 3]);
  });

  /** The answers to 64 equal requests, of which all but one wait for the answer to the first. */
  async function answersTogether<T>(send: () => Promise<T>): Promise<T[]> {
    const before = await keptBy(at());
    const release = hold(sandbox, /events$/);
    const answers = Array.from({ length: 64 }, send);
    await begun(at().url, answers.length);
    release();
    const all = await Promise.all(answers);
    expect(await keptBy(at())).toBe(before + all.length - 1);
    return all;
  }

  test('equal requests of one moment are one execution', async () => {
    const query = fresh();
    const answers = await answersTogether(() => post(at(), query));
    expect(new Set(answers.map(({ body }) => body.toString())).size).toBe(1);
    expect(sandbox.calls.count('/v2/events-monitor/events')).toBe(1);
  });

  test.each([
    ['from Apollo Client', { extensions: { clientLibrary: { name: '@apollo/client', version: '4.2.0' } } }],
    ['that name their document by its hash', { query: undefined, extensions: { persistedQuery } }],
  ])('equal requests of one moment %s are one execution', async (_, more) => {
    const send = async (params: object) => {
      const { body } = await request(`${at().url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...key },
        body: JSON.stringify({ query: sized, ...params }),
      });
      return body.text();
    };
    await send({ variables: { first: ++size }, extensions: { persistedQuery } });
    sandbox.reset();
    const variables = { first: ++size };
    const answers = await answersTogether(() => send({ variables, ...more }));
    expect(new Set(answers).size).toBe(1);
    expect(JSON.parse(answers[0] ?? '').data.events.nodes).toHaveLength(variables.first);
    expect(sandbox.calls.count('/v2/events-monitor/events')).toBe(1);
  });

  test('equal writes of one moment are two, however they are spelled', async () => {
    const review = 'reviewCompanies(input: { marketId: 4, reviewStatus: INCLUDE, target: { all: true } }) { marketId }';
    const bodies = [
      `{"query":"\\u006dutation { ${review} }"}`,
      `{"query":"mutation Q { ${review} } query R { viewer { team } }","operationName":"Q"}`,
    ];
    for (const body of bodies) {
      sandbox.reset();
      const release = hold(sandbox, /reviews$/);
      const send = () =>
        request(`${at().url}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...key },
          body,
        }).then(({ body: received }) => received.json());
      const answers = [send(), send()];
      await until(() => sandbox.calls.count(/reviews$/) === 2);
      release();
      expect(await Promise.all(answers)).toEqual(Array(2).fill({ data: { reviewCompanies: { marketId: '4' } } }));
    }
  });

  test('equal requests join the calls of one whose client leaves', async () => {
    sandbox.reset();
    const release = hold(sandbox, /topics$/);
    const [leaver, inFlight] = [new AbortController(), () => counted(at().url, 'gateway_requests_in_flight')];
    const send = (signal?: AbortSignal) =>
      request(`${at().url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...key },
        body: '{"query":"{ market(id: 1) { name topics { label } } }"}',
        signal,
      }).then(({ body }) => body.json());
    const left = send(leaver.signal).catch(() => 'left');
    await until(() => sandbox.calls.count(/topics$/) === 1);
    const others = [send(), send()];
    await until(async () => (await inFlight()) === 3);
    leaver.abort();
    await until(async () => (await inFlight()) === 2);
    release();
    expect(await left).toBe('left');
    for (const other of others) expect(await other).toMatchObject({ data: { market: { topics: expect.anything() } } });
    expect(sandbox.calls.count(/topics$/)).toBe(1);
  });

  test('a write to a market drops the answers that hold it', async () => {
    const query = '{ market(id: 4) { reviewStatus } }';
    expect(await isKept(at(), query)).toBe(true);
    await post(
      at(),
      'mutation { reviewCompanies(input: { marketId: 4, reviewStatus: INCLUDE, target: { all: true } }) { marketId } }',
    );
    sandbox.calls.clear();
    await post(at(), query);
    expect(sandbox.calls.count(/markets\/4$/)).toBe(1);
  });

  test.each([
    ['errors', () => `{ observation(id: "nobody${++size}") { title } }`],
    ['a mutation', () => 'mutation { signOut { __typename } }'],
    ['nothing that was read', () => '{ viewer { authentication } }'],
  ])('an answer with %s is not kept', async (__, query) => {
    expect(await isKept(at(), query())).toBe(false);
  });

  test('an answer that is stale is not kept', async () => {
    expect(await isKept(at(), '{ market(id: 2) { name } }', { ...key, 'x-explain': '1' })).toBe(false);
  });
});

test.each(redisPlaces.map(([name], index) => ({ name, index })))(
  'what one gateway keeps in $name another gives, and keeps itself',
  async ({ index }) => {
    const other = forTest(await startGateway({ sandbox, redisUrl: places[index]?.url ?? '', env }));
    const query = fresh();
    await post(over(index), query);
    sandbox.calls.clear();
    for (const tier of ['redis', 'memory']) {
      await post(other, query);
      expect(await counted(other.url, 'gateway_response_cache_hits_total', { tier })).toBe(1);
    }
    expect(sandbox.calls.list()).toEqual([]);
  },
);

test.each([{ EVENT_STATISTICS_LIMIT: '100' }, { INTROSPECTION: 'false' }, { EVENTS_SEARCH_PARAM: 'q' }])(
  'a gateway with %j sends no response that one without it has stored',
  async setting => {
    const place = await redisPlaces[0]?.[1]();
    const start = (more: object) =>
      startGateway({ sandbox, redisUrl: place?.url ?? '', env: { ...env, EVENTS_SEARCH_PARAM: 'search', ...more } });
    const [before, same, after] = [await start({}), await start({}), await start(setting)];
    try {
      const query = fresh();
      await post(before, query);
      await until(async () => {
        await post(same, query);
        return (await keptBy(same)) > 0;
      });
      await post(after, query);
      expect(await keptBy(after)).toBe(0);
    } finally {
      await Promise.all([before, same, after].map(each => each.close()));
      await place?.stop();
    }
  },
);

test.each(['*/*', 'text/html, application/json'])('a query by GET that accepts %s is kept too', async accept => {
  const address = `${alone.url}/graphql?query=${encodeURIComponent(fresh())}`;
  const headers = { ...key, accept, 'x-apollo-operation-name': 'x' };
  await fetch(address, { headers });
  const before = await keptBy(alone);
  expect((await fetch(address, { headers })).status).toBe(200);
  expect(await keptBy(alone)).toBe(before + 1);
  // Without the header that keeps foreign pages away.
  expect((await fetch(address, { headers: { ...key, accept } })).status).toBe(400);
});

test('a client is told to ask again for what a write or a poll may change and for what came by a cookie, and to keep no answer to a write', async () => {
  const cachingOf = async (query: string, credential: Record<string, string>) =>
    (await post(alone, query, credential)).headers['cache-control'];
  const suggestions = '{ suggestMarkets(keyword: "industrial") }';
  expect(await cachingOf(suggestions, key)).toMatch(/^private, max-age=\d+$/);
  expect(await cachingOf('{ market(id: 1) { name } }', key)).toBe('private, no-cache');
  expect(await cachingOf(fresh(), key)).toBe('private, no-cache');
  expect(await cachingOf('mutation { createEmbedSession { session { accessToken } } }', key)).toBe('no-store');
  expect(await cachingOf(suggestions, await signedIn(alone))).toBe('private, no-cache');
});

test('a response is not kept for longer because the clock is set back', async () => {
  cleanups.push(() => setClock(Date.now(), performance.now()));
  let times = 0;
  // The gateways over Redis set it, too.
  await until(async () => {
    const query = `{ suggestMarkets(keyword: "k${++times}") }`;
    setClock(Date.now(), performance.now());
    await post(alone, query);
    const before = await keptBy(alone);
    setClock(Date.now() - 3_600_000, performance.now());
    await post(alone, query);
    return (await keptBy(alone)) === before;
  });
});

describe('what a write or a poll has changed', () => {
  const env = { SESSION_SECRET: 's'.repeat(40) };
  const bearerless = { 'x-api-key': 'demo-key-markets-only' };

  let sandbox: Sandbox;
  let one: TestGateway;
  let other: TestGateway;

  beforeAll(async () => {
    sandbox = await startSandbox({ publishMs: 60_000 });
  });

  afterAll(() => sandbox.close());

  beforeEach(() => sandbox.reset());

  const recordCalls = () => recordCallsOf(sandbox);

  describe.each(redisPlaces)('over %s, after a write through one gateway', (_, startPlace) => {
    let place: RedisPlace;
    beforeAll(async () => {
      place = await startPlace();
      [one, other] = await startPair(sandbox, place.url);
    });
    afterAll(async () => {
      await Promise.all([one.close(), other.close()]);
      await place.stop();
    });

    test('the next read through another is fresh, for every credential', async () => {
      for (const gateway of [one, other]) {
        await gateway.query(readMarket);
        await gateway.query(readMarket, {}, bearerless);
      }
      sandbox.calls.clear();
      await one.query(readMarket);
      await other.query(readMarket, {}, bearerless);
      expect(recordCalls()).toBe(0);

      const { data, errors } = await one.query(publishMarket);
      expect(errors).toBeUndefined();
      const ids = data.publishMarket.jobs.map(({ id }: { id: string }) => id);
      for (const headers of [undefined, bearerless]) {
        for (const gateway of [other, one]) {
          const after = await gateway.query(readMarket, {}, headers);
          expect(after.data.market.jobs.map(({ id }: { id: string }) => id)).toEqual(ids);
        }
      }
      expect(recordCalls()).toBe(2);
    });

    test('a read that was under way answers those who asked before, and no one after', async () => {
      await one.query(publishMarket);
      sandbox.calls.clear();
      const release = hold(sandbox, /\/dev\/markets/, 1);
      const early = other.query(`{ market(id: ${market}) { name } }`);
      await until(() => recordCalls() === 1);
      await one.query(
        `mutation { reviewCompanies(input: { marketId: ${market}, reviewStatus: INCLUDE, target: { all: true } }) { marketId } }`,
      );
      sandbox.calls.clear();
      const late = other.query(`{ market(id: ${market}) { name } }`);
      await begun(other.url, 2);
      release();
      for (const { errors } of await Promise.all([early, late])) expect(errors).toBeUndefined();
      expect(recordCalls()).toBe(1);
    });

    test('that ends between two reads of one response, that response is not kept', async () => {
      let [reviewStatus, reviews] = ['exclude', 0];
      const service = forTest(
        await startStubService(async (request, response) => {
          const companies = [{ domain: 'a.example', name: 'A', reviewStatus }];
          if (request.method === 'PATCH') {
            reviewStatus = 'include';
            reviews += 1;
          }
          const isList = request.url?.endsWith('/companies') === true;
          // The list is read before the review, and arrives after it.
          if (isList && reviews === 0)
            await pair[1]?.query(
              'mutation { reviewCompanies(input: { marketId: 7, reviewStatus: INCLUDE, target: { all: true } }) { marketId } }',
            );
          reply(response, 200, isList ? companies : {});
        }),
      );
      const start = () => startGateway({ redisUrl: place.url, env: { ...env, ...addressesOn(service.origin) } });
      const pair = await Promise.all([start(), start()]);
      const statusIn = async (gateway: TestGateway | undefined) => {
        const query = '{ market(id: 7) { companies(first: 1) { nodes { reviewStatus esg } } } }';
        const { data, errors } = (await gateway?.query(query)) ?? {};
        expect(errors).toBeUndefined();
        return data.market.companies.nodes[0].reviewStatus;
      };
      cleanups.push(() => Promise.all(pair.map(gateway => gateway.close())));
      expect(await statusIn(pair[0])).toBe('EXCLUDE');
      for (const gateway of pair) expect(await statusIn(gateway)).toBe('INCLUDE');
      expect(reviews).toBe(1);
    });
  });

  test('when the end of a publication is told, what it changed is to be seen', async () => {
    const quick = forTest(await startSandbox({ publishMs: 800 }));
    const gateway = forTest(await startGateway({ sandbox: quick, env: { ...env, POLL_INTERVAL_MS: '200' } }));
    const companies = '{ market(id: 2) { companies(first: 1) { totalCount nodes { domain } } } }';
    const before = (await gateway.query(companies)).data.market.companies;
    const target = `{ domains: ["${before.nodes[0].domain}"] }`;
    await gateway.query(
      `mutation { reviewCompanies(input: { marketId: 2, reviewStatus: EXCLUDE, target: ${target} }) { marketId }
                    publishMarket(input: { marketId: 2 }) { marketId } }`,
    );
    const heard = overSse(gateway.url, {
      query: 'subscription { jobProgress(marketId: 2, phase: PUBLISH) { finished } }',
    });
    expect((await gateway.query(companies)).data.market.companies).toEqual(before);
    expect(await heard.ended).toBeUndefined();
    expect((await gateway.query(companies)).data.market.companies.totalCount).toBe(before.totalCount - 1);
  });
});
