import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  type GraphQLField,
  getNamedType,
  isLeafType,
  isNonNullType,
  isObjectType,
  parse,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { Redis } from 'ioredis';
import { request } from 'undici';
import { Secret } from '../../src/config/values.js';
import { createSigner } from '../../src/data/signer.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { createSchema } from '../../src/schema.js';
import { fuzz, fuzzMs } from '../support/fuzz.js';
import { addressesOn, ask, demoHeaders, type GraphqlAnswer } from '../support/gateway.js';
import { hostileJson, hostileText, sparseJson } from '../support/hostile-json.js';
import { buildProgram, type Running } from '../support/program.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { type Draw, drawFrom } from '../support/seeded.js';
import { checkedValues, errorLevels, fieldsOf } from '../support/semantic-non-null.js';
import { overSse, searchCriteria } from '../support/streams.js';
import { reply, type StubService, startStubService } from '../support/stub-service.js';
import { until } from '../support/until.js';

let sandbox: Sandbox;
let service: StubService;
let server: RedisServer;
let redis: Redis;
let gateway: Running;
/** Makes each answer of the service hostile; undefined: they pass as they are. */
let spoiling: Draw | undefined;
let spoiledBody = hostileJson;

beforeAll(async () => {
  const program = await buildProgram();
  [sandbox, server] = await Promise.all([startSandbox(), startRedis()]);
  redis = new Redis(server.url);
  service = await startStubService((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', chunk => chunks.push(chunk));
    request.on('end', () => {
      const headers = new Headers();
      for (const name of ['x-api-key', 'cookie', 'content-type']) {
        const value = request.headers[name];
        if (typeof value === 'string') headers.set(name, value);
      }
      const { method = 'GET', url = '/' } = request;
      const body = method === 'GET' ? {} : { body: Buffer.concat(chunks) };
      fetch(`${sandbox.origin}${url}`, { method, headers, ...body })
        .then(async answer => {
          const text = await answer.text();
          const draw = spoiling;
          if (draw === undefined) return reply(response, answer.status, text);
          for (const cookie of answer.headers.getSetCookie()) response.appendHeader('set-cookie', cookie);
          const status = draw.chance(0.05) ? draw.pick([200, 204, 400, 404, 409, 500, 599]) : answer.status;
          reply(response, status, spoiledBody(text, draw));
        })
        .catch(() => response.destroy());
    });
  });
  gateway = await program.start({
    ...addressesOn(service.origin),
    EVENTS_SEARCH_PARAM: 'search',
    KEYWORD_SUGGESTION_PATH: '/v2/discovery/search-criteria/keywords',
    REDIS_URL: server.url,
    SESSION_SECRET: secret,
    POLL_INTERVAL_MS: '300',
    LOG_LEVEL: 'error',
  });
});
afterAll(async () => {
  await gateway?.kill();
  redis.disconnect();
  await Promise.all([service.close(), sandbox.close(), server.stop()]);
});

const secret = 'u'.repeat(32);
const signer = createSigner([new Secret(secret)]);
/** Signs for a fleet with another secret. */
const stranger = createSigner([new Secret('v'.repeat(32))]);
const schema = createSchema();

/** All fields of a type that take no argument, with their own, some levels deep. */
function everythingOf(typeName: string, levels = 5): string {
  const type = schema.getType(typeName);
  if (!isObjectType(type)) throw new Error(`${typeName} is no object type`);
  const fields = Object.values(type.getFields()).filter(field => !isRequired(field) && !skipped.has(field.name));
  const texts = fields.map(field => {
    const its = getNamedType(field.type);
    if (isLeafType(its)) return field.name;
    return isObjectType(its) && levels > 0 ? `${field.name} { ${everythingOf(its.name, levels - 1)} }` : '__typename';
  });
  return texts.join(' ');
}

/** Ways that lead back, and what is asked for elsewhere. */
const skipped = new Set(['edges', 'market', 'companies', 'events']);
const isRequired = ({ args }: GraphQLField<unknown, unknown>) =>
  args.some(({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined);

const criteria = JSON.stringify({
  ...searchCriteria,
  count: 5,
}).replaceAll(/"(\w+)":/g, '$1:');

/** Together they read and write every endpoint family. */
const documents: readonly ((id: number) => string)[] = [
  id =>
    `{ events(first: 10, filter: { from: "2020-01-0${id}", severity: null, likelihood: null }) { ${everythingOf('EventConnection')} } }`,
  id => `{ eventStatistics(filter: { from: "2020-01-0${id}", severity: null, likelihood: null }) { total } observations(ids: ["o-${id}", "o-1"]) { title }
    markets(ids: [${id}, 2]) { ${everythingOf('Market')} } exportEndpoints { name } exports { totalCount } }`,
  id =>
    `{ market(id: ${id}) { ${everythingOf('Market')} companies(first: 20) {
      ${everythingOf('CompanyConnection')} nodes { events(first: 2) { totalCount } } } } }`,
  id => `{ observation(id: "o-${id}") { ${everythingOf('Observation')} } suggestMarkets(keyword: "steel ${id}")
    suggestKeywords(input: { searchCriteria: ${criteria} }) { keywords } }`,
  id => `{ event(id: "e-${id}") { title } eventChanges(filter: { alertTypes: ["a${id}"] }) { cursor nodes { kind } } }`,
  id => `mutation { a: publishMarket(input: { marketId: ${id} }) { __typename }
    b: createSearchCriteria(input: { searchInput: "steel" }) { searchCriteria { ${everythingOf('SearchCriteria')} } }
    d: startDiscovery(input: { marketId: ${id}, searchCriteria: ${criteria} }) {
      ... on RunningDiscovery { jobs { id } } ... on DiscoveryStarted { jobs { id } } ... on DiscoveryAlreadyRunning { jobs { id } } }
    e: exportMarketCsv(input: { marketId: ${id}, companies: { domains: ["a.example"] } }) { __typename }
    f: createEmbedSession { __typename }
    h: reviewCompanies(input: { marketId: ${id}, reviewStatus: INCLUDE, target: { all: true } }) { companies { domain } }
    i: signOut { __typename }
    g: signIn(input: { email: "${'ada@team.example'}", password: "x" }) { __typename } }`,
];

/** How often each field that is null only together with an error was null. */
const nulls: Record<string, number> = {};

async function read(document: string): Promise<GraphqlAnswer> {
  const answer = await ask(`${gateway.url}/graphql`, document, {}, demoHeaders);
  for (const { coordinate, what } of checkedValues(schema, document, answer)) {
    if (what !== 'value') nulls[coordinate] = (nulls[coordinate] ?? 0) + 1;
    expect({ coordinate, what }).not.toMatchObject({ what: 'null without an error' });
  }
  return answer;
}

const query = (draw: Draw): Promise<GraphqlAnswer> => read(draw.pick(documents)(1 + draw.below(8)));

function holdsNoFaultOfOurs({ errors }: { errors?: GraphqlAnswer['errors'] }): void {
  const ours = errors?.filter(({ extensions }) => extensions?.code === 'INTERNAL_SERVER_ERROR') ?? [];
  expect(ours).toEqual([]);
}

async function isWell(): Promise<void> {
  // A connection of its own: one that was idle for long may be closed while it is used again.
  const { statusCode, body } = await request(`${gateway.url}/healthz`, { reset: true });
  await body.dump();
  expect(statusCode).toBe(200);
  expect(gateway.stderr()).toBe('');
}

test('The documents are valid, and reach every endpoint family', async () => {
  spoiling = undefined;
  for (const document of documents) {
    const { errors } = await ask(`${gateway.url}/graphql`, document(1));
    const refused = errors?.filter(({ extensions }) => /VALIDATION|PARSE|COMPLEX/.test(extensions.code));
    expect(refused ?? []).toEqual([]);
  }
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const families = new Set(
    [...text.matchAll(/gateway_upstream_call_seconds_count\{family="([^"]+)"/g)].map(([, name]) => name),
  );
  const declared = readdirSync('src/domains', { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('client.ts'))
    .flatMap(file => [...readFileSync(`src/domains/${file}`, 'utf8').matchAll(/\bfamily: '([^']+)'/g)]);
  expect([...families].sort()).toEqual([...new Set(declared.map(([, name]) => name))].sort());
});

test('The documents have each field that is null only together with an error, except those that read no answer of the service', () => {
  const selected = new Set<string>();
  for (const document of documents) {
    const types = new TypeInfo(schema);
    visit(
      parse(document(1)),
      visitWithTypeInfo(types, {
        Field: ({ name }) => void selected.add(`${types.getParentType()}.${name.value}`),
      }),
    );
  }
  const missing = fieldsOf(schema).filter(
    ([coordinate, field]) => errorLevels(schema, field).length > 0 && !selected.has(coordinate),
  );
  // Types prove that their resolvers return no null.
  expect(
    missing
      .map(([coordinate]) => coordinate)
      .filter(
        one => !/^Subscription|^Mutation.*Export(Endpoint)?$|ExportEndpoint|ToEndpoint|^Mutation.*[wW]atch/.test(one),
      ),
  ).toEqual([]);
});

test('A field that is null only together with an error is so while members are missing, null or empty', async () => {
  spoiledBody = (text, draw) => (text === '' ? text : sparseJson(text, draw, 0.1));
  for (const id of [1, 2, 3, 4, 5]) {
    spoiling = drawFrom(`sparse ${id}`);
    await redis.flushdb();
    for (const document of documents) holdsNoFaultOfOurs(await read(document(id)));
  }
  expect(Object.keys(nulls).length).toBeGreaterThan(10);
  spoiledBody = hostileJson;
});

test('Whatever the service answers is data, an upstream error, or left out', async () => {
  await fuzz(async draw => {
    spoiling = draw;
    await redis.flushdb();
    const answers = await Promise.all(Array.from({ length: 8 }, () => query(draw)));
    for (const answer of answers) holdsNoFaultOfOurs(answer);
    await isWell();
  }, fuzzMs / 3);
});

test('Whatever stands in Redis is used, replaced, or not there', async () => {
  spoiling = undefined;
  await fuzz(async draw => {
    const repeated = String(draw.below(1e9));
    holdsNoFaultOfOurs(await query(drawFrom(repeated)));
    for (const key of await redis.keys('*')) {
      if (draw.chance(0.5)) await spoil(key, draw);
    }
    holdsNoFaultOfOurs(await query(drawFrom(repeated)));
    holdsNoFaultOfOurs(await query(draw));
    await isWell();
  }, fuzzMs / 3);
});

test('Whatever is published is a message or nothing', async () => {
  spoiling = undefined;
  await redis.flushdb();
  const channels = async () => (await redis.pubsub('CHANNELS', '*')) as string[];
  const listeners = [
    'subscription { jobProgress(marketId: 5) { finished observedAt jobs { id progress status startTime endTime } } }',
    `subscription { eventUpdates { event { ${everythingOf('Event', 2)} } } }`,
  ].map(listenAgainAndAgain);
  let seq = 0;
  await fuzz(async draw => {
    await until(async () => (await channels()).length === listeners.length);
    for (const channel of await channels()) {
      const found = await redis.get(channel.replace(/messages$/, 'message'));
      const kept = JSON.parse((found && signer.open(channel, found)) ?? '{"state":{}}');
      // Later than all that was heard, so that it is not ignored for that.
      seq += 1;
      const word = JSON.stringify({ kind: 'state', observedAt: Date.now(), ...kept, fence: 9e15, seq });
      const hostile = draw.chance(0.1) ? hostileText(draw) : hostileJson(word, draw);
      const signature = draw.pick(['', signer.sign(channel, word), stranger.sign(channel, hostile)]);
      await redis.publish(channel, signature + hostile);
    }
    for (const { heard } of listeners) for (const result of heard.splice(0)) holdsNoFaultOfOurs(result);
    await isWell();
  }, fuzzMs / 3);
  for (const { leave } of listeners) leave();
});

/** Listens, and does so again when the stream has ended: a message may say that. */
function listenAgainAndAgain(text: string) {
  const heard: GraphqlAnswer[] = [];
  let hasLeft = false;
  let stop = () => {};
  const listen = () => {
    const stream = overSse(gateway.url, { query: text });
    stream.results.push = (...results) => heard.push(...results);
    stop = stream.stop;
    void stream.ended.then(() => hasLeft || setTimeout(listen, 5));
  };
  listen();
  return {
    heard,
    leave() {
      hasLeft = true;
      stop();
    },
  };
}

/** Replaces what stands under a key by something that no gateway wrote there, now and then of another type. */
async function spoil(key: string, draw: Draw): Promise<void> {
  const found = await redis.getBuffer(key).catch(() => null);
  switch (draw.below(5)) {
    case 0: {
      if (found === null || found.length === 0) break;
      found[draw.below(found.length)] = draw.below(256);
      await redis.set(key, found, 'KEEPTTL');
      break;
    }
    case 1:
      await redis.set(key, hostileJson(String(found ?? '{}'), draw), 'EX', 60);
      break;
    case 2: {
      const other = await redis.randomkey();
      const its = other === null ? null : await redis.getBuffer(other).catch(() => null);
      if (its !== null) await redis.set(key, its, 'EX', 60);
      break;
    }
    case 3:
      await redis.del(key);
      await redis.lpush(key, hostileText(draw));
      break;
    default:
      await redis.set(key, hostileText(draw), 'EX', 60);
  }
}
