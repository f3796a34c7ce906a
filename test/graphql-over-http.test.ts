/** @jest-environment ./test/support/differing-environment.mjs */
import type { AddressInfo } from 'node:net';
import { ApolloServer, HeaderMap } from '@apollo/server';
import { defineIntegrationTestSuite } from '@apollo/server-integration-testsuite';
import { describe, expect, test } from '@jest/globals';
import { type AuditResult, auditServer } from 'graphql-http';
import { pino } from 'pino';
import { createTrustedDocuments } from '../src/graphql/limits/documents.js';
import { createConnections } from '../src/http/connections.js';
import { createHttpApp } from '../src/http/fastify.js';
import { keepResult, serveApollo } from '../src/http/graphql/route.js';
import { createRequestTelemetry } from '../src/http/request-telemetry.js';
import { createProxyHeaders } from '../src/lib/network.js';
import { forSuite } from './support/cleanups.js';
import { demoHeaders, postJson, startGateway } from './support/gateway.js';
import { silentTelemetry } from './support/silent-telemetry.js';
import { overWebsocket } from './support/streams.js';

/** Tests that the gateway does not pass on purpose, and why. */
const ownDocuments =
  'hashes are resolved before Apollo sees them, by the rules for trusted documents, which all transports share';
const badUserInput = 'an invalid hash is BAD_USER_INPUT with the name of the argument, like all invalid input';
const noStore = 'a response that is not cached is no-store';
Object.assign(globalThis, {
  differences: {
    'apolloServerTests.ts › Persisted Queries › returns error when hash does not match': badUserInput,
    'returns PersistedQueryNotSupported to a GET request if PQs disabled': ownDocuments,
    'returns PersistedQueryNotSupported to a POST request if PQs disabled': ownDocuments,
    'returns PersistedQueryNotFound to a GET request': noStore,
    'returns PersistedQueryNotFound to a POST request': noStore,
    'cache-control › runs when cache-control is disabled': noStore,
    'cache-control not set without any hints with if-cacheable': noStore,
    'when ttlSeconds is set, passes ttl to the apq cache set call': ownDocuments,
    'when ttlSeconds is unset, ttl is not passed to apq cache': ownDocuments,
    'errors when version is not specified': badUserInput,
    'errors when version is unsupported': badUserInput,
    'errors when hash is mismatched': badUserInput,
    'httpServerTests.ts › Persisted Queries › returns PersistedQueryNotFound on the first try': ownDocuments,
    'httpServerTests.ts › Persisted Queries › returns result on the second try': ownDocuments,
    'httpServerTests.ts › Persisted Queries › returns error when hash does not match': badUserInput,
  },
});

// Apollo's own suite for adapters between its server and an HTTP framework, run against the gateway's adapter.
defineIntegrationTestSuite(async (config, options) => {
  const apollo = new ApolloServer(config);
  await apollo.start();
  const log = pino({ level: 'silent' });
  const connections = createConnections(silentTelemetry);
  const proxyHeaders = createProxyHeaders(false);
  const requestTelemetry = createRequestTelemetry({
    log,
    telemetry: silentTelemetry,
    tracing: undefined,
    names: { labelOf: ({ name = 'none' }) => name, clientLabelOf: () => 'none' },
    teamOf: () => undefined,
    proxyHeaders,
    slowOperationMs: 0,
  });
  const app = await createHttpApp({
    log,
    connections,
    origins: [],
    stages: requestTelemetry.stage,
  });
  serveApollo(app, '/', {
    apollo,
    documentText: createTrustedDocuments('off', { current: new Map() }),
    createContext: async () => (await options?.context?.()) ?? {},
    send: (_, body) => body,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { server: apollo, url: `http://127.0.0.1:${port}`, extraCleanup: () => app.close() };
});

const gateway = forSuite(await startGateway());

test('the gateway passes every audit of GraphQL over HTTP', async () => {
  const results = await auditServer({ url: `${gateway.url}/graphql` });
  const not = (status: AuditResult['status']) => results.filter(result => result.status === status);
  expect(results.length).toBeGreaterThan(50);
  expect(not('error').map(({ name }) => name)).toEqual([]);
  expect(not('warn').map(({ name }) => name)).toEqual([]);
  // A browser can be made to send a plain GET by any page, so it is refused without a header that no page can make it send.
  expect(not('notice').map(({ name }) => name)).toEqual([
    'MAY accept application/x-www-form-urlencoded formatted GET requests',
    'MAY allow URL-encoded JSON string {variables} parameter in GETs when accepting application/graphql-response+json',
    'MAY allow URL-encoded JSON string {variables} parameter in GETs when accepting application/json',
  ]);
});

test.each(['/graphql', '/graphql/stream'])('an empty or null parameter of a GET is as good as none: %s', async path => {
  const none = `${gateway.url}${path}?query=%7B__typename%7D`;
  const read = async (url: string) => {
    const headers = { ...demoHeaders, accept: 'application/json, text/event-stream', 'apollo-require-preflight': '1' };
    return (await fetch(url, { headers })).text();
  };
  const answer = await read(none);
  expect(answer).toContain('{"data":{"__typename":"Query"}}');
  expect(await read(`${none}&operationName=&variables=&extensions=`)).toBe(answer);
  expect(await read(`${none}&variables=null&extensions=null`)).toBe(answer);
});

test.each(['/graphql', '/graphql/stream'])('an empty name of an operation is as good as none: %s', async path => {
  const read = async (more: object) => {
    const headers = {
      ...demoHeaders,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const body = JSON.stringify({ query: '{ __typename }', ...more });
    return (await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body })).text();
  };
  const answer = await read({});
  expect(answer).toContain('{"data":{"__typename":"Query"}}');
  expect(await read({ operationName: '' })).toBe(answer);
});

test('HEAD opens no stream', async () => {
  const headers = { ...demoHeaders, accept: 'text/event-stream' };
  const { status } = await fetch(`${gateway.url}/graphql/stream?query=%7B__typename%7D`, { method: 'HEAD', headers });
  expect(status).toBe(405);
});

test.each(['/graphql', '/graphql/stream', '/mcp'])('a body that is not UTF-8 is refused: %s', async path => {
  const body = Buffer.from('{"query":"{ __typename } # für"}', 'latin1');
  const headers = { ...demoHeaders, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const answer = await fetch(gateway.url + path, { method: 'POST', headers, body });
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('The body must be UTF-8')]);
});

describe('a document that cannot be run', () => {
  const send = async (query: string, accept: string, headers: Record<string, string> = demoHeaders) => {
    const { status, headers: received } = await gateway.query(query, {}, { ...headers, accept });
    return [status, received.get('content-type')?.split(';')[0]];
  };
  const json = 'application/json';
  const ofGraphql = 'application/graphql-response+json';

  test.each([
    '{',
    '{ nothing }',
    'query ($id: ID!) { observation(id: $id) { title } }',
    'query A { __typename } query B { __typename }',
  ])(
    'is answered with 200 to a client that names application/json, and with 400 to every other client: %s',
    async query => {
      expect(await send(query, json)).toEqual([200, json]);
      expect(await send(query, '*/*')).toEqual([400, json]);
      expect(await send(query, ofGraphql)).toEqual([400, ofGraphql]);
      expect(await send(query, `${ofGraphql}, ${json};q=0.9`)).toEqual([400, ofGraphql]);
    },
  );

  test('is not confused with a request that is refused for another reason', async () => {
    const twoCredentials = { ...demoHeaders, authorization: 'Bearer token' };
    expect(await send('{ viewer { email } }', json, twoCredentials)).toEqual([400, json]);
    expect(await send('', json)).toEqual([400, json]);
  });
});

test.each([
  ['application/graphql+json', 'application/json'],
  ['text/plain', 'application/json'],
  ['application/json;q=0', 'application/json'],
  ['application/json; charset=utf-8; q=0', 'application/json'],
  ['application/json; charset=ascii', 'application/json'],
  ['application/json; charset=utf-8; q=x, application/json', 'application/json'],
  ['*/*, application/json; q=0, application/graphql-response+json; q=0', 'application/json'],
  ['application/json; callbackSpec=1.0', 'application/json'],
  [',', 'application/json'],
  ['*/*', 'application/json'],
  ['application/json; q=0.5, application/*; Q=0.9', 'application/graphql-response+json'],
  [
    'text/html, application/graphql-response+json; charset=utf-8, application/json; q=0.001',
    'application/graphql-response+json',
  ],
])('the result of a mutation is sent, whatever the client accepts: %s', async (accept, type) => {
  const mutation = 'mutation { createEmbedSession { session { accessToken } } }';
  const { status, headers, data } = await gateway.query(mutation, {}, { ...demoHeaders, accept });
  expect([status, headers.get('content-type')]).toEqual([200, `${type}; charset=utf-8`]);
  expect(data.createEmbedSession.session.accessToken).toEqual(expect.any(String));
});

test.each([
  ['a result', '{ word }', { data: { word: 'hello' } }],
  ['errors of a document', '{ nothing }', { errors: [expect.objectContaining({ message: expect.any(String) })] }],
])('Apollo keeps %s in the body as the object that stringifyResult returned', async (_, query, expected) => {
  const apollo = new ApolloServer({
    typeDefs: 'type Query { word: String }',
    resolvers: { Query: { word: () => 'hello' } },
    stringifyResult: keepResult,
  });
  await apollo.start();
  const { body } = await apollo.executeHTTPGraphQLRequest({
    httpGraphQLRequest: {
      method: 'POST',
      headers: new HeaderMap([['content-type', 'application/json']]),
      search: '',
      body: { query },
    },
    context: async () => ({}),
  });
  await apollo.stop();
  expect(body.kind === 'complete' && body.string).toEqual(expected);
});

describe('onError', () => {
  const query = '{ viewer { authentication } }';
  const firstOf = ([error]: { extensions: object; message: string }[]) => ({
    ...error?.extensions,
    message: error?.message,
  });
  const refused = expect.objectContaining({
    code: 'BAD_USER_INPUT',
    argument: 'onError',
    message: expect.stringContaining('must be PROPAGATE'),
  });
  const post = (body: object, accept = '*/*') =>
    postJson(`${gateway.url}/graphql`, { query, ...body }, { ...demoHeaders, accept });
  const get = (path: string, onError: string) =>
    fetch(`${gateway.url}${path}?${new URLSearchParams({ query, onError })}`, {
      headers: {
        ...demoHeaders,
        accept: path === '/graphql' ? '*/*' : 'text/event-stream',
        'apollo-require-preflight': '1',
      },
    });

  test.each([[{ onError: 'PROPAGATE' }], [{ onError: null }], [{}]])('is done: %j', async body => {
    const answer = await post(body);
    expect([answer.status, await answer.json()]).toEqual([200, { data: { viewer: { authentication: 'API_KEY' } } }]);
  });

  test.each(['NULL', 'HALT', 'propagate', '', 1, {}])('is refused by POST: %j', async onError => {
    for (const body of [{ onError }, { onError, query: 'subscription { jobProgress(marketId: 3) { finished } }' }]) {
      const answer = await post(body, 'multipart/mixed;subscriptionSpec=1.0, application/json');
      expect(answer.status).toBe(400);
      expect(firstOf(JSON.parse(await answer.text()).errors)).toEqual(refused);
    }
  });

  test('is done or refused by GET, over Server-Sent Events and over WebSocket', async () => {
    expect((await get('/graphql', 'PROPAGATE')).status).toBe(200);
    const answer = await get('/graphql', 'NULL');
    expect(answer.status).toBe(400);
    expect(firstOf(JSON.parse(await answer.text()).errors)).toEqual(refused);
    expect(await (await get('/graphql/stream', 'PROPAGATE')).text()).toContain('"API_KEY"');
    expect(await (await get('/graphql/stream', 'NULL')).text()).toContain('"argument":"onError"');
    const payload = { query, onError: 'HALT' };
    expect(firstOf(await overWebsocket(gateway.url, payload).ended)).toEqual(refused);
  });
});
