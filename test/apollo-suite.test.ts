/** @jest-environment ./test/support/differing-environment.mjs */
import type { AddressInfo } from 'node:net';
import { ApolloServer } from '@apollo/server';
import { defineIntegrationTestSuite } from '@apollo/server-integration-testsuite';
import { buildSchema } from 'graphql';
import { pino } from 'pino';
import { createAdmission } from '../src/graphql/limits/admission.js';
import { createTrustedDocuments } from '../src/graphql/limits/trusted-documents.js';
import { createConnections } from '../src/http/connections.js';
import { createHttpApp } from '../src/http/fastify.js';
import { serveApollo } from '../src/http/graphql/apollo.js';
import { createRequestTelemetry } from '../src/http/request-telemetry.js';
import { createProxyHeaders } from '../src/lib/network.js';
import { silentTelemetry } from './support/silent-telemetry.js';

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

const schema = buildSchema('type Query { unused: ID }');

// Apollo's own suite for adapters between its server and an HTTP framework, run against the gateway's adapter.
defineIntegrationTestSuite(async (config, options) => {
  const apollo = new ApolloServer(config);
  await apollo.start();
  const log = pino({ level: 'silent' });
  const connections = createConnections();
  const proxyHeaders = createProxyHeaders(false);
  const requestTelemetry = createRequestTelemetry({
    log,
    telemetry: silentTelemetry,
    tracing: undefined,
    names: { labelOf: ({ name = 'none' }) => name, clientLabelOf: () => 'none' },
    connections,
    teamOf: () => undefined,
    proxyHeaders,
    slowOperationMs: 0,
  });
  const app = await createHttpApp({
    log,
    connections,
    proxyHeaders,
    origins: [],
    stages: requestTelemetry.stage,
  });
  const documents = createTrustedDocuments('off', { current: new Map() });
  serveApollo(app, '/', {
    apollo,
    admission: createAdmission({ schema, documents, introspection: true, callLimit: 1, statisticsLimit: 2_000 }),
    createContext: async () => (await options?.context?.()) ?? {},
    send: (_, body) => body,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { server: apollo, url: `http://127.0.0.1:${port}`, extraCleanup: () => app.close() };
});
