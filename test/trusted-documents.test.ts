import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { WebSocket } from 'ws';
import { buildApp } from '../src/app.js';
import { readConfig } from '../src/config/config.js';
import { createTrustedDocuments } from '../src/graphql/limits/documents.js';
import { createUntrustedReport } from '../src/http/request-telemetry.js';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { demoHeaders, startGateway, type TestGateway } from './support/gateway.js';
import { takeLog } from './support/log.js';
import { counted } from './support/metrics.js';
import { until } from './support/until.js';

const hashOf = (text: string, algorithm = 'sha256') => createHash(algorithm).update(text).digest('hex');

const trusted = 'query Trusted($first: Int = 1) { events(first: $first) { totalCount } }';
const trustedToo = 'mutation TrustedToo { signOut { __typename } }';
const foreign = 'query Foreign { market(id: 1) { id } }';
/** The client preset hashes with SHA-1 by default. */
const manifest = { [hashOf(trusted)]: trusted, [hashOf(trustedToo, 'sha1')]: trustedToo };

const directory = mkdtempSync(join(tmpdir(), 'documents-'));
const file = join(directory, 'persisted-documents.json');
writeFileSync(file, JSON.stringify(manifest));

let sandbox: Sandbox;
let gateways: Record<'off' | 'allow' | 'only', TestGateway>;
beforeAll(async () => {
  sandbox = await startSandbox();
  const start = (mode: string) =>
    startGateway({ sandbox, env: { PERSISTED_DOCUMENTS: file, PERSISTED_DOCUMENTS_MODE: mode } });
  const [off, allow, only] = await Promise.all([start('off'), start('allow'), start('only')]);
  gateways = { off, allow, only };
});
afterAll(async () => {
  await Promise.all(Object.values(gateways).map(gateway => gateway.close()));
  await sandbox.close();
  rmSync(directory, { recursive: true });
});

async function post(gateway: TestGateway, body: unknown) {
  const response = await fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...demoHeaders },
    body: JSON.stringify(body),
  });
  return answerOf(response);
}

async function get(gateway: TestGateway, params: Record<string, string>) {
  const address = `${gateway.url}/graphql?${new URLSearchParams(params)}`;
  return answerOf(await fetch(address, { headers: { 'apollo-require-preflight': '1', ...demoHeaders } }));
}

async function answerOf(response: Response) {
  const { data, errors } = JSON.parse(await response.text());
  return { status: response.status, data, code: errors?.[0].extensions.code };
}

const persisted = (sha256Hash: unknown, version: unknown = 1) => ({ persistedQuery: { version, sha256Hash } });

describe.each(['allow', 'only'] as const)('in mode %s', mode => {
  test.each([
    ['documentId with its algorithm', { documentId: `sha256:${hashOf(trusted)}` }],
    ['documentId as in the manifest', { documentId: hashOf(trusted) }],
    ['persistedQuery', { extensions: persisted(hashOf(trusted)) }],
  ])('a trusted document is executed by its %s, over POST and GET', async (_, params) => {
    const gateway = gateways[mode];
    const posted = await post(gateway, { ...params, variables: { first: 2 } });
    expect(posted.code).toBeUndefined();
    expect(posted.data.events.totalCount).toBeGreaterThan(0);
    const inAddress = Object.fromEntries(
      Object.entries(params).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
    );
    expect(await get(gateway, { ...inAddress, variables: '{"first":2}' })).toEqual(posted);
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
    async hash => {
      const { code, data } = await post(gateways[mode], { documentId: hash });
      expect({ code, data }).toEqual({ code: 'PERSISTED_QUERY_NOT_FOUND', data: undefined });
    },
  );
});

describe('in mode only', () => {
  test('a text is refused, even that of a trusted document', async () => {
    for (const query of [foreign, trusted, '{ __typename }']) {
      const { status, code, data } = await post(gateways.only, { query });
      expect({ status, code, data }).toEqual({ status: 403, code: 'FORBIDDEN', data: undefined });
      expect((await get(gateways.only, { query })).code).toBe('FORBIDDEN');
    }
  });

  test('clients cannot register documents', async () => {
    const extensions = persisted(hashOf(foreign));
    expect((await post(gateways.only, { query: foreign, extensions })).code).toBe('FORBIDDEN');
    expect((await post(gateways.only, { extensions })).code).toBe('PERSISTED_QUERY_NOT_FOUND');
  });

  test('random requests never lead to a text that is not in the manifest', () => {
    const documentText = createTrustedDocuments('only', { current: new Map(Object.entries(manifest)) });
    const hash = fc.constantFrom(...Object.keys(manifest), hashOf(foreign), '__proto__');
    const anything = fc.anything({ withNullPrototype: true });
    const params = fc.record(
      {
        query: fc.oneof(fc.constant(foreign), anything),
        documentId: fc.oneof(
          hash,
          hash.map(text => `sha256:${text}`),
          anything,
        ),
        extensions: fc.oneof(
          hash.map(text => persisted(text)),
          anything.map(persisted),
          anything,
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(params, sent => {
        try {
          expect(Object.values(manifest)).toContain(documentText(sent));
        } catch (error) {
          expect((error as Error).name).toMatch(/^(Forbidden|BadUserInput|GraphQLError)$/);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

/** Sends one request over a transport for subscriptions. Returns the response, or the first message with a result. */
const transports = {
  async 'Server-Sent Events'({ url }: TestGateway, payload: unknown): Promise<string> {
    const response = await fetch(`${url}/graphql/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...demoHeaders },
      body: JSON.stringify(payload),
    });
    return response.text();
  },
  WebSocket({ url }: TestGateway, payload: unknown): Promise<string> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', {
      headers: demoHeaders,
    });
    return new Promise((resolve, reject) => {
      socket.on('open', () => socket.send('{"type":"connection_init"}'));
      socket.on('message', data => {
        const { type } = JSON.parse(String(data));
        if (type === 'connection_ack') return socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload }));
        if (type !== 'next' && type !== 'error') return;
        resolve(String(data));
        socket.close();
      });
      socket.on('error', reject);
    });
  },
};

describe.each(['Server-Sent Events', 'WebSocket'] as const)('over %s', transport => {
  const send = transports[transport];

  test('mode only executes trusted documents and refuses others', async () => {
    for (const payload of [{ documentId: hashOf(trusted) }, { extensions: persisted(hashOf(trusted)) }]) {
      expect(await send(gateways.only, payload)).toContain('"totalCount"');
    }
    for (const query of [foreign, trusted, 'subscription { eventUpdates { event { id } } }']) {
      expect(await send(gateways.only, { query })).toContain('"FORBIDDEN"');
    }
    expect(await send(gateways.only, { documentId: hashOf(foreign) })).toContain('"PERSISTED_QUERY_NOT_FOUND"');
  });

  test('the limits on documents and their cost apply', async () => {
    const deep = `${'{ a '.repeat(21)}${'}'.repeat(21)}`;
    const costly =
      '{ market(id: 1) { companies(first: 100) { nodes { events(first: 100) { nodes { references { observation { id } } } } } } } }';
    for (const query of [deep, costly]) {
      expect(await send(gateways.off, { query })).toContain('"QUERY_TOO_COMPLEX"');
    }
    expect(await send(gateways.off, { query: foreign })).toContain('"market"');
    expect(await send(gateways.off, {})).toContain('"BAD_USER_INPUT"');
  });
});

describe('in mode off', () => {
  test('a warning says at the start that the manifest has no effect', async () => {
    const log = takeLog();
    const env = { PERSISTED_DOCUMENTS: file, LOG_LEVEL: 'warn' };
    await (await startGateway({ sandbox, env, seams: { log } })).close();
    expect(log.lines.map(line => JSON.parse(line).msg)).toEqual([
      'PERSISTED_DOCUMENTS has no effect: every document is executed, because PERSISTED_DOCUMENTS_MODE is off',
    ]);
  });
});

describe('in mode allow', () => {
  test('other documents are executed as well', async () => {
    expect((await post(gateways.allow, { query: foreign })).data).toEqual({ market: { id: '1' } });
  });
});

describe('in mode log', () => {
  test('everything is executed, and what mode only would refuse is counted and logged once a minute, without its text', async () => {
    const log = takeLog();
    const gateway = await startGateway({
      sandbox,
      env: { PERSISTED_DOCUMENTS: file, PERSISTED_DOCUMENTS_MODE: 'log', LOG_LEVEL: 'warn' },
      seams: { log },
    });
    try {
      const untrusted = () => counted(gateway.url, 'gateway_untrusted_documents_total');
      expect(await untrusted()).toBe(0);
      const client = { ...demoHeaders, 'graphql-client-name': 'console' };
      const send = async (body: object) => {
        const response = await fetch(`${gateway.url}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...client },
          body: JSON.stringify(body),
        });
        expect(((await response.json()) as { errors?: unknown }).errors).toBeUndefined();
      };
      await send({ documentId: hashOf(trusted) });
      await send({ extensions: persisted(hashOf(trusted)), query: foreign });
      const literal = 'query Literal { events(filter: { impactedEntities: ["a confidential name"] }) { totalCount } }';
      // The later ones are answered from the response cache.
      for (let times = 0; times < 3; times += 1) await send({ query: literal });
      await send({ query: trusted });
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
    } finally {
      await gateway.close();
    }
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
    try {
      expect(reportAll()).toEqual([100, 1_000]);
      expect(reportAll()).toEqual([100, 2_000]);
      jest.advanceTimersByTime(61_000);
      expect(reportAll()).toEqual([200, 3_000]);
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('in mode off', () => {
  test('the manifest is ignored', async () => {
    expect((await post(gateways.off, { documentId: hashOf(trusted) })).code).toBe('PERSISTED_QUERY_NOT_FOUND');
    expect((await post(gateways.off, { query: foreign })).data).toEqual({ market: { id: '1' } });
  });

  test('a client registers a document by its hash once, and then sends only the hash', async () => {
    const extensions = persisted(hashOf(foreign));
    const unknown = await post(gateways.off, { extensions });
    expect(unknown).toEqual({ status: 200, data: undefined, code: 'PERSISTED_QUERY_NOT_FOUND' });
    const answer = { status: 200, data: { market: { id: '1' } }, code: undefined };
    expect(await post(gateways.off, { query: foreign, extensions })).toEqual(answer);
    expect(await post(gateways.off, { extensions })).toEqual(answer);
    expect(await get(gateways.off, { extensions: JSON.stringify(extensions) })).toEqual(answer);
  });

  test.each([
    ['the hash of another text', { query: foreign, extensions: persisted(hashOf(trusted)) }],
    ['a malformed hash', { query: foreign, extensions: persisted('abc') }],
    ['a hash that is not a string', { extensions: persisted({ length: 64 }) }],
    ['an unknown version', { query: foreign, extensions: persisted(hashOf(foreign), 2) }],
    ['a persistedQuery that is not an object', { query: foreign, extensions: { persistedQuery: true } }],
    ['a documentId that is not a string', { documentId: 7 }],
  ])('%s is refused', async (_, body) => {
    const { status, code } = await post(gateways.off, body);
    expect({ status, code }).toEqual({ status: 400, code: 'BAD_USER_INPUT' });
  });

  test('the size of registered documents is limited, and the oldest are evicted', () => {
    const documentText = createTrustedDocuments('off', { current: new Map() });
    const text = (index: number) => `{ a${index} } #${'a'.repeat(1_000_000)}`;
    const register = (query: string) => documentText({ query, extensions: persisted(hashOf(query)) });
    for (let index = 0; index < 20; index += 1) register(text(index));
    const kept = Array.from({ length: 20 }, (_, index) => index).filter(index => {
      try {
        return documentText({ extensions: persisted(hashOf(text(index))) }) === text(index);
      } catch {
        return false;
      }
    });
    expect(kept).toEqual([12, 13, 14, 15, 16, 17, 18, 19]);
  });
});

describe('when the gateway starts', () => {
  test('a mode without a manifest and an unknown mode are reported', () => {
    for (const mode of ['allow', 'log', 'only']) {
      expect(() => readConfig({ PERSISTED_DOCUMENTS_MODE: mode })).toThrow(/PERSISTED_DOCUMENTS: must be set/);
    }
    expect(() => readConfig({ PERSISTED_DOCUMENTS_MODE: 'most' })).toThrow(
      /PERSISTED_DOCUMENTS_MODE: must be one of off, allow, log, only/,
    );
  });

  test.each(['[]', '{"a": 1}', 'no JSON'])('the manifest %s is refused', async text => {
    const broken = join(directory, 'broken.json');
    writeFileSync(broken, text);
    const config = readConfig({ UPSTREAM_BASE_URL: sandbox.origin, PERSISTED_DOCUMENTS: broken });
    await expect(buildApp(config)).rejects.toThrow(/^Invalid configuration: PERSISTED_DOCUMENTS: /);
  });
});

test('an unknown hash is counted by the code of its error', async () => {
  const gateway = await startGateway();
  try {
    const response = await fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: { ...demoHeaders, 'content-type': 'application/json' },
      body: JSON.stringify({ extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } } }),
    });
    const { errors } = (await response.json()) as { errors: [{ extensions: { code: string } }] };
    const outcome = errors[0].extensions.code;
    expect(outcome).toMatch(/^PERSISTED_QUERY_/);
    await until(async () => (await counted(gateway.url, 'gateway_requests_total', { outcome })) === 1);
  } finally {
    await gateway.close();
  }
});
