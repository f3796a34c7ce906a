import { afterEach, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { createConnections } from '../src/http/connections.js';
import { createHttpApp } from '../src/http/fastify.js';
import type { Handler, Stage } from '../src/http/request-state.js';
import { createRequestTelemetry } from '../src/http/request-telemetry.js';
import { createProxyHeaders } from '../src/lib/network.js';
import { silentTelemetry } from './support/silent-telemetry.js';

let app: FastifyInstance;
let logged: Record<string, unknown>[];
afterEach(() => app.close());

/** The address of a server whose pipeline has this stage. */
async function serve(stage: Stage): Promise<string> {
  logged = [];
  const log = pino({ level: 'error' }, { write: line => void logged.push(JSON.parse(line)) });
  const connections = createConnections();
  const proxyHeaders = createProxyHeaders(false);
  const requestTelemetry = createRequestTelemetry({
    log,
    telemetry: silentTelemetry,
    tracing: undefined,
    names: { labelOf: () => 'none', clientLabelOf: () => 'none' },
    connections,
    teamOf: () => undefined,
    proxyHeaders,
    slowOperationMs: 0,
  });
  const stages = (fastify: Handler) => requestTelemetry.stage(stage(fastify));
  app = await createHttpApp({ log, connections, proxyHeaders, origins: [], stages });
  app.addHook('onClose', async () => connections.close());
  app.get('/', async () => 'served');
  return app.listen({ host: '127.0.0.1', port: 0 });
}

const fault = new Error('a fault of the stage');

test.each<[string, Stage]>([
  [
    'throws',
    () => () => {
      throw fault;
    },
  ],
  ['rejects', () => () => Promise.reject(fault)],
  [
    'rejects after a while',
    () => async () => {
      await new Promise(setImmediate);
      throw fault;
    },
  ],
])('a request is answered with 500, and the error is logged, when a stage %s', async (_, stage) => {
  const url = await serve(stage);
  const response = await fetch(url, { headers: { 'x-request-id': 'failed-request' } });
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({
    errors: [{ message: 'Internal server error', extensions: { code: 'INTERNAL_SERVER_ERROR' } }],
  });
  expect(response.headers.get('x-request-id')).toBe('failed-request');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(logged).toMatchObject([{ msg: 'Unexpected', requestId: 'failed-request', err: { message: fault.message } }]);
});

test('the connection is closed when a stage fails after it has started a response', async () => {
  const url = await serve(() => async ({ response }) => {
    response.writeHead(200, { 'content-length': '10' });
    response.write('part');
    throw fault;
  });
  await expect(fetch(url).then(response => response.text())).rejects.toThrow();
  expect(logged).toHaveLength(1);
});

test('a request passes the stages in their order, and then reaches Fastify', async () => {
  const passed: string[] = [];
  const stage =
    (name: string): Stage =>
    next =>
    state => {
      passed.push(name);
      return next(state);
    };
  const url = await serve(next => stage('one')(stage('two')(next)));
  const response = await fetch(url);
  expect(await response.text()).toBe('served');
  expect(passed).toEqual(['one', 'two']);
  expect(logged).toEqual([]);
});
