// What a gateway keeps of documents, what it does with those that the operator trusts, and what it refuses of others.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { buildSchema, type DocumentNode, parse } from 'graphql';
import { buildApp } from '../src/app.js';
import { createTeams } from '../src/auth/teams.js';
import { readConfig } from '../src/config/config.js';
import { Reloadable } from '../src/config/values.js';
import { createPlanExecutor } from '../src/graphql/executor/execute.js';
import { bytesOfDocument } from '../src/graphql/limits/bounds.js';
import { createDocumentChecks } from '../src/graphql/limits/document-checks.js';
import {
  createDocumentStore,
  createTrustedDocuments,
  type Manifest,
  maxDocumentText,
  prepareTrustedDocuments,
} from '../src/graphql/limits/documents.js';
import { createUntrustedReport } from '../src/http/request-telemetry.js';
import { Claim } from '../src/lib/memory-budget.js';
import { newOperationInfo } from '../src/observability/operation-info.js';
import { startSandbox } from '../src/sandbox/server.js';
import { createSchema } from '../src/schema.js';
import { cleanups, forSuite, forTest } from './support/cleanups.js';
import { demoHeaders, startGateway, type TestGateway } from './support/gateway.js';
import { takeLog } from './support/log.js';
import { counted } from './support/metrics.js';
import { rawSocket } from './support/streams.js';
import { until } from './support/until.js';

const hashOf = (text: string, algorithm = 'sha256') => createHash(algorithm).update(text).digest('hex');
const manifestOf = (texts: readonly string[]) => new Map(texts.map(text => [hashOf(text), text]));
const folder = mkdtempSync(join(tmpdir(), 'documents-'));
afterAll(() => rmSync(folder, { recursive: true }));

function checksOver(schema = createSchema(), documentText = createTrustedDocuments('off', { current: new Map() })) {
  const teams = { current: createTeams(undefined) };
  return createDocumentChecks({
    schema,
    documentText,
    introspection: true,
    callLimit: 2_000,
    teams,
    statisticsLimit: 1,
  });
}

/** From now on each piece of work seems to take more than its share of a turn. */
async function makeWorkLong() {
  // Nothing is left of an earlier turn.
  for (const _ of [1, 2]) await new Promise(setImmediate);
  let now = performance.now();
  jest.spyOn(performance, 'now').mockImplementation(() => {
    now += 20;
    return now;
  });
}
afterEach(() => {
  jest.restoreAllMocks();
});

describe('the document store', () => {
  const store = () => {
    const created = createDocumentStore();
    const { get } = created;
    const set = (text: string, document: DocumentNode) => created.set(text, document, true);
    const setTwice = (text: string) => [1, 2].map(() => set(text, parse('{ a }')));
    return { get, set, setTwice };
  };

  test('caches a document from its second use on', () => {
    const { get, set } = store();
    const document = parse('{ a }');
    set('a', document);
    expect(get('a')).toBeUndefined();
    set('a', document);
    expect(get('a')).toBe(document);
  });

  test('does not evict a document for others that are used once', () => {
    const { get, set, setTwice } = store();
    setTwice('a');
    for (let number = 1; number <= 20_000; number += 1) set(`b ${number}`, parse('{ a }'));
    expect(get('a')).toBeDefined();
  });

  test('limits the total text of its documents', () => {
    const { get, setTwice } = store();
    const text = (number: number) => String(number).padStart(60);
    const count = maxDocumentText / 60;
    for (let number = 0; number <= count; number += 1) setTwice(text(number));
    expect(get(text(0))).toBeUndefined();
    expect(get(text(Math.floor(count)))).toBeDefined();
  });
});

test('a document that is too deep for the parser is refused as one with a wrong syntax', async () => {
  const { read } = checksOver();
  const errors = [{ extensions: { code: 'GRAPHQL_PARSE_FAILED' } }];
  for (const _ of [1, 2]) await expect(async () => read('a', '{ a '.repeat(2_450))).rejects.toMatchObject({ errors });
});

describe('the documents of clients', () => {
  const schema = buildSchema('type Query { a(b: Int): Int }');
  const documentChecks = checksOver(schema);
  const executePlanned = createPlanExecutor(schema);
  const planned = (client: string, document: DocumentNode) =>
    executePlanned({ client, document, operationName: undefined, variables: {}, context: {} });
  const checked = (scope: string, document: DocumentNode) =>
    documentChecks.checkOperation({ scope, credential: undefined }, { document }, newOperationInfo());
  const textOf = (alias: string) => `{ ${alias}: a }`;
  beforeEach(makeWorkLong);

  test.each<[string, (client: string, alias: string) => unknown]>([
    ['read and validated', (client, alias) => documentChecks.read(client, textOf(alias))],
    [
      'refused',
      (client, alias) => expect(async () => documentChecks.read(client, `{ ${alias}: no }`)).rejects.toThrow(),
    ],
    ['estimated', (client, alias) => checked(client, parse(textOf(alias)))],
    ['planned', (client, alias) => planned(client, parse(textOf(alias)))],
  ])('are %s one in a turn of the event loop, and clients take turns', async (_, step) => {
    let turn = 0;
    let ticker = setImmediate(function tick() {
      turn += 1;
      ticker = setImmediate(tick);
    });
    const order: string[] = [];
    const turns = new Set<number>();
    const ask = async (alias: string) => {
      await step(alias.startsWith('x') ? 'a' : 'b', alias);
      order.push(alias);
      turns.add(turn);
    };
    await Promise.all(['x0', 'x1', 'x2', 'x3', 'y0'].map(ask));
    clearImmediate(ticker);
    expect(order).toEqual(['x0', 'x1', 'y0', 'x2', 'x3']);
    expect(turns.size).toBe(order.length);
  });

  test('are read at most twice, also where they are refused', async () => {
    const refused = async () => documentChecks.read('a', '{ nothing }');
    const errors: unknown[] = [];
    for (const _ of [1, 2, 3]) await refused().catch(error => errors.push(error));
    expect(errors).toHaveLength(3);
    expect(errors[2]).toBe(errors[1]);
  });

  test('wait for nothing once they are known', async () => {
    const text = textOf('known');
    for (const _ of [1, 2]) await documentChecks.read('a', text);
    const document = await documentChecks.read('a', text);
    await checked('a', document);
    await planned('a', document);
    const others = ['z0', 'z1', 'z2'].map(alias => documentChecks.read('b', textOf(alias)));
    expect(documentChecks.read('a', text)).toBe(document);
    expect(checked('a', document)).toBe(document.definitions[0]);
    expect(planned('a', document)).toEqual({ data: { known: null } });
    expect(others.filter(other => other instanceof Promise).length).toBeGreaterThan(0);
    await Promise.all(others);
  });
});

/** Longer together than the store of clients' documents. */
const manyTexts = Array.from(
  { length: 300 },
  (_, number) => `query Page${number} { market(id: ${number}) { name } } # ${'x'.repeat(4_000)}`,
);

describe('the documents of the operator', () => {
  const schema = createSchema();

  /** What a gateway has of known documents. */
  function prepared(texts: () => readonly string[]) {
    const manifest = new Reloadable<Manifest>(() => manifestOf(texts()));
    const documentChecks = checksOver(schema, createTrustedDocuments('only', manifest));
    const parsed = jest.spyOn(documentChecks, 'parse');
    const isPrepared = prepareTrustedDocuments(manifest, documentChecks, () => {});
    return { manifest, read: (text: string) => documentChecks.read('client', text), parsed, isPrepared };
  }

  test('are read, and stay known, whatever their size', async () => {
    const { read, isPrepared, parsed } = prepared(() => manyTexts);
    await until(() => isPrepared());
    for (const text of manyTexts) {
      // A document that is not known would be a promise, or another object each time.
      const document = read(text);
      expect(document).toHaveProperty('kind', 'Document');
      expect(read(text)).toBe(document);
    }
    expect(parsed).toHaveBeenCalledTimes(manyTexts.length);
  });

  test('are prepared in pieces, between which other work is done', async () => {
    await makeWorkLong();
    const { isPrepared, parsed } = prepared(() => manyTexts);
    let turns = 0;
    for (; !isPrepared(); turns += 1) {
      expect(parsed.mock.calls.length).toBeLessThanOrEqual(turns + 1);
      await new Promise(setImmediate);
    }
    expect(turns).toBeGreaterThanOrEqual(manyTexts.length - 1);
  });

  test('that stay after a reload are not read again, and those that go are not kept', async () => {
    const [stays, goes, comes] = ['A', 'B', 'C'].map(name => `query ${name} { viewer { team } }`) as [
      string,
      string,
      string,
    ];
    let texts = [stays, goes];
    const { manifest, read, isPrepared, parsed } = prepared(() => texts);
    await until(() => isPrepared());
    const [kept, gone] = [read(stays), read(goes)];
    texts = [stays, comes];
    parsed.mockClear();
    manifest.reload();
    await until(() => parsed.mock.calls.length > 0);
    expect(parsed.mock.calls).toEqual([[comes]]);
    expect(read(stays)).toBe(kept);
    expect(await read(goes)).not.toBe(gone);
  });

  test('make a gateway ready once they are known, and one line says which does not fit the schema', async () => {
    const texts = [...manyTexts, 'query Removed { market(id: 1) { noSuchField } }', 'query Broken {'];
    const file = join(folder, 'known.json');
    writeFileSync(file, JSON.stringify(Object.fromEntries(manifestOf(texts))));
    const log = takeLog();
    const env = { PERSISTED_DOCUMENTS: file, PERSISTED_DOCUMENTS_MODE: 'only', LOG_LEVEL: 'warn' };
    const gateway = forTest(await startGateway({ env, seams: { log } }));
    await until(async () => {
      const answer = await fetch(`${gateway.url}/readyz`);
      const { status } = JSON.parse(await answer.text());
      expect([answer.status, status]).toEqual(status === 'ready' ? [200, 'ready'] : [503, 'starting']);
      return status === 'ready';
    });
    const [removed, broken, ...more] = log.lines.filter(line => line.includes('is refused'));
    expect(removed).toContain('PERSISTED_DOCUMENTS: the operation Removed (');
    expect(broken).toContain('PERSISTED_DOCUMENTS: the operation Broken (');
    expect(more).toEqual([]);
    const send = async (text = '') => answerOf(await gateway.send({ documentId: hashOf(text) }));
    for (const _ of [1, 2]) {
      expect(await send(texts.at(-2))).toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' });
      expect(await send(texts.at(-1))).toMatchObject({ code: 'GRAPHQL_PARSE_FAILED' });
    }
    expect((await send(texts[1])).data.market.name).toEqual(expect.any(String));
  });
});

const trusted = 'query Trusted($first: Int = 1) { events(first: $first) { totalCount } }';
const trustedToo = 'mutation TrustedToo { signOut { __typename } }';
const foreign = 'query Foreign { market(id: 1) { id } }';
/** The client preset hashes with SHA-1 by default. */
const manifest = { [hashOf(trusted)]: trusted, [hashOf(trustedToo, 'sha1')]: trustedToo };
const file = join(folder, 'persisted-documents.json');
writeFileSync(file, JSON.stringify(manifest));

const sandbox = forSuite(await startSandbox());
const start = (mode: string) =>
  startGateway({ sandbox, env: { PERSISTED_DOCUMENTS: file, PERSISTED_DOCUMENTS_MODE: mode } });
const [off, allow, only] = await Promise.all([start('off'), start('allow'), start('only')]);
const gateways = { off, allow, only };

afterAll(() => Promise.all(Object.values(gateways).map(gateway => gateway.close())));

const post = async (gateway: TestGateway, body: unknown) => answerOf(await gateway.send(body));

async function get(gateway: TestGateway, params: Record<string, unknown>) {
  const texts = Object.entries(params).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  const address = `${gateway.url}/graphql?${new URLSearchParams(texts)}`;
  const response = await fetch(address, { headers: { 'apollo-require-preflight': '1', ...demoHeaders } });
  return answerOf({ status: response.status, ...JSON.parse(await response.text()) });
}

const answerOf = ({
  status,
  data,
  errors,
}: Pick<Awaited<ReturnType<TestGateway['send']>>, 'status' | 'data' | 'errors'>) => ({
  status,
  data,
  code: errors?.[0].extensions.code,
});

const persisted = (sha256Hash: unknown, version: unknown = 1) => ({ persistedQuery: { version, sha256Hash } });
const notFound = { code: 'PERSISTED_QUERY_NOT_FOUND', data: undefined };

describe.each(['allow', 'only'] as const)('in mode %s', mode => {
  test.each([
    ['documentId with its algorithm', { documentId: `sha256:${hashOf(trusted)}` }],
    ['documentId as in the manifest', { documentId: hashOf(trusted) }],
    ['persistedQuery', { extensions: persisted(hashOf(trusted)) }],
  ])('a trusted document is executed by its %s, over POST and GET', async (_, params) => {
    const posted = await post(gateways[mode], { ...params, variables: { first: 2 } });
    expect(posted.code).toBeUndefined();
    expect(posted.data.events.totalCount).toBeGreaterThan(0);
    expect(await get(gateways[mode], { ...params, variables: { first: 2 } })).toEqual(posted);
  });

  test('the manifest may use another hash algorithm, and a mutation is not executed over GET', async () => {
    const documentId = hashOf(trustedToo, 'sha1');
    expect((await post(gateways[mode], { documentId })).data).toEqual({ signOut: { __typename: 'SignOutPayload' } });
    expect((await get(gateways[mode], { documentId })).status).toBe(405);
  });

  test('the hash takes precedence over a text', async () => {
    const { data } = await post(gateways[mode], { query: foreign, extensions: persisted(hashOf(trusted)) });
    expect(Object.keys(data)).toEqual(['events']);
    const other = await get(gateways[mode], { query: foreign, documentId: hashOf(trusted) });
    expect(Object.keys(other.data)).toEqual(['events']);
  });

  test.each(['toString', '__proto__', 'constructor', '', 'sha256:', '0'.repeat(64)])(
    'the unknown hash %p is PERSISTED_QUERY_NOT_FOUND',
    async documentId => {
      expect(await post(gateways[mode], { documentId })).toMatchObject(notFound);
    },
  );
});

describe('in mode only', () => {
  test('a text is refused, even that of a trusted document', async () => {
    for (const query of [foreign, trusted, '{ __typename }']) {
      const refused = { status: 403, code: 'FORBIDDEN', data: undefined };
      expect(await post(gateways.only, { query })).toEqual(refused);
      expect(await get(gateways.only, { query })).toEqual(refused);
    }
  });

  test('clients cannot register documents', async () => {
    const extensions = persisted(hashOf(foreign));
    expect((await post(gateways.only, { query: foreign, extensions })).code).toBe('FORBIDDEN');
    expect(await post(gateways.only, { extensions })).toMatchObject(notFound);
  });

  test('random requests never lead to a text that is not in the manifest', () => {
    const documentText = createTrustedDocuments('only', { current: new Map(Object.entries(manifest)) });
    const hash = fc.constantFrom(...Object.keys(manifest), hashOf(foreign), '__proto__');
    const anything = fc.anything({ withNullPrototype: true });
    const extensions = fc.oneof(
      hash.map(text => persisted(text)),
      anything.map(persisted),
      anything,
    );
    const documentId = fc.oneof(
      hash,
      hash.map(text => `sha256:${text}`),
      anything,
    );
    const params = fc.record(
      { query: fc.oneof(fc.constant(foreign), anything), documentId, extensions },
      { requiredKeys: [] },
    );
    const check = fc.property(params, sent => {
      try {
        expect(Object.values(manifest)).toContain(documentText(sent));
      } catch (error) {
        expect((error as Error).name).toMatch(/^(Forbidden|BadUserInput|GraphQLError)$/);
      }
    });
    fc.assert(check, { numRuns: 2_000 });
  });
});

/** Sends one request over a transport for subscriptions. Returns the response, or the first message with a result. */
const transports = {
  async 'Server-Sent Events'({ url }: TestGateway, payload: unknown): Promise<string> {
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream', ...demoHeaders };
    return (await fetch(`${url}/graphql/stream`, { method: 'POST', headers, body: JSON.stringify(payload) })).text();
  },
  async WebSocket({ url }: TestGateway, payload: unknown): Promise<string> {
    const { introduce, send, messages, socket } = rawSocket(url);
    await introduce();
    send({ type: 'subscribe', id: '1', payload });
    const answer = () => messages.find(({ type }) => type === 'next' || type === 'error');
    await until(() => answer() !== undefined);
    socket.close();
    return JSON.stringify(answer());
  },
};

describe.each(Object.entries(transports))('over %s', (_, send) => {
  test('mode only executes trusted documents and refuses others', async () => {
    for (const payload of [{ documentId: hashOf(trusted) }, { extensions: persisted(hashOf(trusted)) }])
      expect(await send(gateways.only, payload)).toContain('"totalCount"');
    for (const query of [foreign, trusted, 'subscription { eventUpdates { event { id } } }'])
      expect(await send(gateways.only, { query })).toContain('"FORBIDDEN"');
    expect(await send(gateways.only, { documentId: hashOf(foreign) })).toContain('"PERSISTED_QUERY_NOT_FOUND"');
  });

  test('the limits on documents and their cost apply', async () => {
    const deep = `${'{ a '.repeat(21)}${'}'.repeat(21)}`;
    const costly =
      '{ market(id: 1) { companies(first: 100) { nodes { events(first: 100) { nodes { references { observation { id } } } } } } } }';
    for (const query of [deep, costly]) expect(await send(gateways.off, { query })).toContain('"QUERY_TOO_COMPLEX"');
    expect(await send(gateways.off, { query: foreign })).toContain('"market"');
    expect(await send(gateways.off, {})).toContain('"BAD_USER_INPUT"');
  });
});

test('in mode allow other documents are executed as well', async () => {
  expect((await post(gateways.allow, { query: foreign })).data).toEqual({ market: { id: '1' } });
});

describe('in mode log', () => {
  test('everything is executed, and what mode only would refuse is counted and logged once a minute, without its text', async () => {
    const log = takeLog();
    const env = { PERSISTED_DOCUMENTS: file, PERSISTED_DOCUMENTS_MODE: 'log', LOG_LEVEL: 'warn' };
    const gateway = forTest(await startGateway({ sandbox, env, seams: { log } }));
    const untrusted = () => counted(gateway.url, 'gateway_untrusted_documents_total');
    expect(await untrusted()).toBe(0);
    const send = async (body: object) =>
      expect((await gateway.send(body, { ...demoHeaders, 'graphql-client-name': 'console' })).errors).toBeUndefined();
    await send({ documentId: hashOf(trusted) });
    await send({ extensions: persisted(hashOf(trusted)), query: foreign });
    const literal = 'query Literal { events(filter: { impactedEntities: ["a confidential name"] }) { totalCount } }';
    // The later ones are answered from the response cache.
    for (const query of [literal, literal, literal, trusted]) await send({ query });
    for (const transport of Object.values(transports)) {
      expect(await transport(gateway, { query: foreign })).toContain('"market"');
      expect(await transport(gateway, { documentId: hashOf(trusted) })).toContain('"totalCount"');
    }
    await until(async () => (await untrusted()) === 6);
    expect(log.lines.map(line => JSON.parse(line))).toMatchObject([
      { document: hashOf(literal), operation: 'Literal', client: 'console' },
      { document: hashOf(trusted), operation: 'Trusted', client: 'console' },
      { document: hashOf(foreign), operation: 'Foreign' },
    ]);
    expect(log.lines.join('')).not.toContain('confidential');
  });

  test('many different documents make a bounded number of lines a minute', () => {
    jest.useFakeTimers();
    // At 0, the cache would take the time for none.
    jest.advanceTimersByTime(1);
    const [warn, untrustedDocument] = [jest.fn(), jest.fn()];
    const report = createUntrustedReport({ warn }, { untrustedDocument });
    const reportAll = () => {
      for (let index = 0; index < 1_000; index += 1)
        report({ app: undefined, untrusted: String(index), name: 'unnamed' });
      return [warn, untrustedDocument].map(({ mock }) => mock.calls.length);
    };
    cleanups.push(() => jest.useRealTimers());
    expect(reportAll()).toEqual([100, 1_000]);
    expect(reportAll()).toEqual([100, 2_000]);
    jest.advanceTimersByTime(61_000);
    expect(reportAll()).toEqual([200, 3_000]);
  });
});

test('a document stays known to an accepted client, whatever is sent with keys that are made up', async () => {
  const reserved = jest.spyOn(Claim.prototype, 'reserveMore');
  let id = 0;
  const isReadAnew = async (headers = demoHeaders) => {
    const query = `query Known($id: ID!) { market(id: $id) { name } } # of ${headers['x-api-key']}`;
    reserved.mockClear();
    await off.send({ query, variables: { id: ++id } }, headers);
    return reserved.mock.calls.some(([bytes]) => bytes === bytesOfDocument(query));
  };
  const madeUp = { 'x-api-key': 'made-up' };
  for (const headers of [demoHeaders, madeUp])
    for (const isNew of [true, true, false]) expect(await isReadAnew(headers)).toBe(isNew);
  for (let number = 0; number < 10; number += 1) {
    for (const text of ['}', '{ __typename }'])
      for (const _ of [1, 2]) await off.send({ query: `${text} # ${number}${'x'.repeat(99_000)}` }, madeUp);
  }
  expect(await isReadAnew()).toBe(false);
});

describe('in mode off', () => {
  test('a warning says at the start that the manifest has no effect', async () => {
    const log = takeLog();
    await (
      await startGateway({ sandbox, env: { PERSISTED_DOCUMENTS: file, LOG_LEVEL: 'warn' }, seams: { log } })
    ).close();
    expect(log.lines.map(line => JSON.parse(line).msg)).toEqual([
      'PERSISTED_DOCUMENTS has no effect: every document is executed, because PERSISTED_DOCUMENTS_MODE is off',
    ]);
  });

  test('the manifest is ignored, and an unknown hash is counted by the code of its error', async () => {
    const missed = () => counted(gateways.off.url, 'gateway_requests_total', { outcome: 'PERSISTED_QUERY_NOT_FOUND' });
    const before = await missed();
    expect(await post(gateways.off, { documentId: hashOf(trusted) })).toMatchObject(notFound);
    await until(async () => (await missed()) === before + 1);
    expect((await post(gateways.off, { query: foreign })).data).toEqual({ market: { id: '1' } });
  });

  test('a client registers a document by its hash once, and then sends only the hash', async () => {
    const extensions = persisted(hashOf(foreign));
    expect(await post(gateways.off, { extensions })).toEqual({ status: 200, ...notFound });
    const answer = { status: 200, data: { market: { id: '1' } }, code: undefined };
    expect(await post(gateways.off, { query: foreign, extensions })).toEqual(answer);
    expect(await post(gateways.off, { extensions })).toEqual(answer);
    expect(await get(gateways.off, { extensions })).toEqual(answer);
  });

  test.each([
    ['the hash of another text', { query: foreign, extensions: persisted(hashOf(trusted)) }],
    ['a malformed hash', { query: foreign, extensions: persisted('abc') }],
    ['a hash that is not a string', { extensions: persisted({ length: 64 }) }],
    ['an unknown version', { query: foreign, extensions: persisted(hashOf(foreign), 2) }],
    ['a persistedQuery that is not an object', { query: foreign, extensions: { persistedQuery: true } }],
    ['a documentId that is not a string', { documentId: 7 }],
  ])('%s is refused', async (_, body) => {
    expect(await post(gateways.off, body)).toMatchObject({ status: 400, code: 'BAD_USER_INPUT' });
  });

  test('the size of registered documents is limited, and the oldest are evicted', () => {
    const documentText = createTrustedDocuments('off', { current: new Map() });
    const texts = Array.from({ length: 20 }, (_, index) => `{ a${index} } #${'a'.repeat(1_000_000)}`);
    for (const query of texts) documentText({ query, extensions: persisted(hashOf(query)) });
    const isKept = (text: string) => {
      try {
        return documentText({ extensions: persisted(hashOf(text)) }) === text;
      } catch {
        return false;
      }
    };
    expect(texts.filter(isKept)).toEqual(texts.slice(12));
  });
});

describe('when the gateway starts', () => {
  test('a mode without a manifest and an unknown mode are reported', () => {
    for (const mode of ['allow', 'log', 'only'])
      expect(() => readConfig({ PERSISTED_DOCUMENTS_MODE: mode })).toThrow(/PERSISTED_DOCUMENTS: must be set/);
    expect(() => readConfig({ PERSISTED_DOCUMENTS_MODE: 'most' })).toThrow(
      /PERSISTED_DOCUMENTS_MODE: must be one of off, allow, log, only/,
    );
  });

  test.each(['[]', '{"a": 1}', 'no JSON'])('the manifest %s is refused', async text => {
    const broken = join(folder, 'broken.json');
    writeFileSync(broken, text);
    const config = readConfig({ UPSTREAM_BASE_URL: sandbox.origin, PERSISTED_DOCUMENTS: broken });
    await expect(buildApp(config)).rejects.toThrow(/^Invalid configuration: PERSISTED_DOCUMENTS: /);
  });
});
