import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { cleanups, forSuite } from '../support/cleanups.js';
import { freeAddress } from '../support/free-address.js';
import { ask } from '../support/gateway.js';
import { counted } from '../support/metrics.js';
import { buildProgram } from '../support/program.js';
import { overWebsocket, rawSocket } from '../support/streams.js';
import { noEvents, reply, startStubService } from '../support/stub-service.js';
import { until } from '../support/until.js';

/** A gateway with a fault: it breaks over one address. */
const faulty = `
  const { test } = RegExp.prototype;
  RegExp.prototype.test = function (text) {
    if (text === 'https://fault.example/') throw new TypeError('a fault at ' + text);
    return test.call(this, text);
  };
`;

const sent: IncomingHttpHeaders[] = [];

const service = forSuite(
  await startStubService(({ headers }, response) => {
    sent.push(headers);
    reply(response, 200, noEvents);
  }),
);
const data = await mkdtemp(join(tmpdir(), 'logs-'));
const program = await buildProgram();
const running = forSuite(
  await program.start({
    UPSTREAM_BASE_URL: service.origin,
    LOG_LEVEL: 'info',
    TRUST_PROXY: '127.0.0.1',
    DATA_DIR: data,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(faulty)}`,
  }),
);

afterAll(() => rm(data, { recursive: true }));
beforeEach(() => {
  sent.length = 0;
});

const key = 'key-that-nobody-may-see';
const query = 'query Newest($first: Int) { events(first: $first) { totalCount } }';
/** The team that the key is by itself. */
const team = expect.stringMatching(/^API key [\da-f]{8}$/);
let size = 0;
/** Asks what no one has asked yet. */
const askAnew = (headers: Record<string, string> = {}) =>
  ask(`${running.url}/graphql`, query, { first: ++size }, { 'x-api-key': key, ...headers });

const lines = () =>
  running
    .stderr()
    .split('\n')
    .filter(line => line.endsWith('}'))
    .map(line => JSON.parse(line));
/** The lines about a request, once there is one. */
async function linesOf(requestId: string | null) {
  await until(() => lines().some(line => line.requestId === requestId));
  return lines().filter(line => line.requestId === requestId);
}

test('a request has one id for the client, the service and its log line', async () => {
  const { headers } = await askAnew();
  const id = headers.get('x-request-id');
  expect(id).toMatch(/^[\da-f-]{36}$/);
  expect(sent.map(each => each['x-request-id'])).toEqual([id]);
  expect(await linesOf(id)).toEqual([
    expect.objectContaining({
      level: 'info',
      method: 'POST',
      path: '/graphql',
      address: '127.0.0.1',
      team,
      status: 200,
      operation: 'Newest',
      outcome: 'ok',
      milliseconds: expect.any(Number),
    }),
  ]);
});

test('a log line has the address that a trusted proxy names, and no team without a credential', async () => {
  const headers = { 'x-request-id': 'through-a-proxy', 'x-forwarded-for': '192.0.2.7' };
  await ask(`${running.url}/graphql`, '{ __typename }', {}, headers);
  const [line] = await linesOf('through-a-proxy');
  expect(line).toMatchObject({ address: '192.0.2.7', status: 200 });
  expect(line).not.toHaveProperty('team');
});

test('requests of probes have no log line', async () => {
  for (const path of ['healthz', 'readyz', 'readyz?verbose', 'metrics']) await fetch(`${running.url}/${path}`);
  await fetch(`${running.url}/nowhere`, { headers: { 'x-request-id': 'after-probes' } });
  await linesOf('after-probes');
  expect(lines().filter(({ path }) => /healthz|readyz|metrics/.test(path))).toEqual([]);
});

test('a log line has the name of its operation, even after many other names', async () => {
  const send = (name: string, id: string) =>
    ask(`${running.url}/graphql`, `query ${name} { __typename }`, {}, { 'x-api-key': 'anybody', 'x-request-id': id });
  for (let number = 0; number < 110; number += 1) await send(`Name${number}`, `named-${number}`);
  expect(await linesOf('named-109')).toMatchObject([{ operation: 'Name109', outcome: 'ok' }]);
  await send(`A${'b'.repeat(120)}`, 'long-name');
  expect(await linesOf('long-name')).toMatchObject([{ operation: `A${'b'.repeat(99)}` }]);
});

test('a client can choose the request id', async () => {
  const { headers } = await askAnew({ 'x-request-id': 'of-my-own:1' });
  expect(headers.get('x-request-id')).toBe('of-my-own:1');
  expect(sent.map(each => each['x-request-id'])).toEqual(['of-my-own:1']);
  expect(await linesOf('of-my-own:1')).toHaveLength(1);
});

test.each(['', 'two words', '"quoted"', '<tag>', 'x'.repeat(129)])('refuses the request id %j', async id => {
  const { headers } = await askAnew({ 'x-request-id': id });
  expect(headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
});

test('a cached response has a request id and a log line of its own', async () => {
  await askAnew({ 'x-request-id': 'first' });
  size -= 1;
  const { headers } = await askAnew({ 'x-request-id': 'second' });
  expect(headers.get('x-request-id')).toBe('second');
  expect(sent).toHaveLength(1);
  expect(await linesOf('second')).toMatchObject([{ operation: 'Newest', outcome: 'ok', status: 200, team }]);
});

test('a refused request and one without an operation have an id and a log line', async () => {
  const headers = { 'x-request-id': 'refused', 'content-type': 'application/json' };
  await fetch(`${running.url}/graphql`, { method: 'POST', headers, body: '{' });
  expect(await linesOf('refused')).toMatchObject([{ path: '/graphql', status: 400, outcome: 'BAD_REQUEST' }]);
  await fetch(`${running.url}/schema.graphql`, { headers: { 'x-request-id': 'schema' } });
  expect(await linesOf('schema')).toMatchObject([
    { method: 'GET', path: '/schema.graphql', status: 200, outcome: 'ok' },
  ]);
});

test('a WebSocket has one id and one log line at its end, and each operation its own', async () => {
  const raw = rawSocket(running.url, { headers: { 'x-request-id': 'socket' } });
  const upgraded = new Promise<IncomingMessage>(resolve => raw.socket.once('upgrade', resolve));
  await raw.introduce({ 'x-api-key': key });
  expect((await upgraded).headers['x-request-id']).toBe('socket');
  for (const id of ['a', 'b']) {
    raw.send({ id, type: 'subscribe', payload: { query, variables: { first: ++size } } });
    await until(() => raw.messages.some(message => message.id === id && message.type === 'complete'));
  }
  expect(sent.map(each => each['x-request-id'])).toEqual(['socket/1', 'socket/2']);
  for (const id of ['socket/1', 'socket/2']) {
    const client = { address: '127.0.0.1', team };
    expect(await linesOf(id)).toMatchObject([
      { transport: 'websocket', ...client, operation: 'Newest', outcome: 'ok' },
    ]);
  }
  expect(lines().some(line => line.requestId === 'socket')).toBe(false);
  raw.socket.close(4999);
  expect(await linesOf('socket')).toEqual([
    expect.objectContaining({
      msg: 'Closed',
      method: 'GET',
      path: '/graphql',
      address: '127.0.0.1',
      team,
      status: 101,
      code: 4999,
      operations: 2,
      milliseconds: expect.any(Number),
    }),
  ]);
});

test('a WebSocket without an id gets one', async () => {
  const { ended } = overWebsocket(
    running.url,
    { query, variables: { first: ++size } },
    { params: { 'x-api-key': key } },
  );
  await ended;
  const [id = ''] = sent.map(each => String(each['x-request-id']));
  expect(id).toMatch(/^[\da-f-]{36}\/1$/);
  expect(await linesOf(id.replace('/1', ''))).toMatchObject([{ status: 101, operations: 1 }]);
});

test('a refused WebSocket gets its id and a log line', async () => {
  const raw = rawSocket(running.url, { headers: { 'x-request-id': 'refused-socket' }, protocol: 'other' });
  const [response] = (await once(raw.socket, 'upgrade')) as [IncomingMessage];
  expect([response.statusCode, response.headers['x-request-id']]).toEqual([101, 'refused-socket']);
  expect(await once(raw.socket, 'close')).toMatchObject([4406, expect.anything()]);
  expect(await linesOf('refused-socket')).toMatchObject([{ path: '/graphql', status: 101, operations: 0 }]);
});

test.each(['http', 'websocket'])(
  'a fault of the gateway over %s is logged with the id of its request, and not shown to the client',
  async transport => {
    const id = `fault-over-${transport}`;
    const mutation = `mutation {
    registerExportEndpoint(input: { name: "a", url: "https://fault.example/", description: "d", headers: [] }) { endpoint { name } } }`;
    const told = await errorsOver(transport, id, mutation);
    expect(told).toMatchObject([{ message: 'Internal server error', extensions: { code: 'INTERNAL_SERVER_ERROR' } }]);
    expect(JSON.stringify(told)).not.toContain('a fault');
    const requestId = transport === 'http' ? id : `${id}/1`;
    await until(() => lines().filter(line => line.requestId === requestId).length === 2);
    expect(lines().filter(line => line.requestId === requestId)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          level: 'error',
          msg: 'Unexpected',
          err: expect.objectContaining({ type: 'TypeError', message: 'a fault at https://fault.example/' }),
        }),
        expect.objectContaining({ level: 'info', outcome: 'INTERNAL_SERVER_ERROR' }),
      ]),
    );
  },
);

async function errorsOver(transport: string, id: string, document: string): Promise<unknown> {
  const headers = { 'x-request-id': id, 'x-api-key': key };
  if (transport === 'http') return (await ask(`${running.url}/graphql`, document, {}, headers)).errors;
  const { ended, results } = overWebsocket(running.url, { query: document }, { headers, params: {} });
  await ended;
  return results[0].errors;
}

describe('output that nobody reads', () => {
  /** A pipe that takes no more. */
  async function startFullPipe() {
    const folder = await mkdtemp(join(tmpdir(), 'pipe-'));
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const descriptor = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    cleanups.push(() => rm(folder, { recursive: true }));
    cleanups.push(() => closeSync(descriptor));
    const once = (run: () => void) => {
      try {
        run();
        return true;
      } catch (error) {
        expect((error as NodeJS.ErrnoException).code).toBe('EAGAIN');
        return false;
      }
    };
    for (const filler of ['filler\n'.repeat(512), '\n']) while (once(() => void writeSync(descriptor, filler)));
    const chunk = Buffer.alloc(65_536);
    let text = '';
    return {
      path,
      /** What can be read now, with what was read before. */
      read() {
        while (once(() => (text += chunk.toString('utf8', 0, readSync(descriptor, chunk)))));
        return text;
      },
    };
  }

  async function startUnread(script?: string, args: (port: string) => readonly string[] = () => []) {
    const [out, err] = [await startFullPipe(), await startFullPipe()];
    const program = await buildProgram(['sh', '-c', `exec "$@" >>${out.path} 2>>${err.path}`, 'sh']);
    const [, port = ''] = (await freeAddress()).split(':');
    const env = { PATH: process.env.PATH ?? '', PORT: port, LOG_LEVEL: 'info', UPSTREAM_BASE_URL: service.origin };
    const launched = program.launch(env, script, args(port));
    cleanups.push(() => launched.signal('SIGKILL'));
    const url = `http://127.0.0.1:${port}`;
    await until(() =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    );
    return { ...launched, url, err };
  }

  /** Sends requests whose lines are as long as a path may be, many times over what a pipe holds. */
  async function fill(url: string) {
    const statuses = await Promise.all(
      Array.from({ length: 300 }, async () => (await fetch(`${url}/${'x'.repeat(8_000)}`)).status),
    );
    expect([...new Set(statuses)]).toEqual([404]);
  }

  test('stops no request and no SIGTERM; what is lost is counted, and said once somebody reads', async () => {
    const { url, err, signal, ended } = await startUnread();
    const lost = () => counted(url, 'gateway_log_lines_lost_total');
    expect(await lost()).toBe(0);
    for (let times = 0; times < 3; times += 1) await fill(url);
    expect(await lost()).toBeGreaterThan(0);
    await until(() => err.read().includes('Lines were lost'));
    const lines = err
      .read()
      .split('\n')
      .slice(0, -1)
      .filter(line => line !== '' && line !== 'filler')
      .map(line => JSON.parse(line));
    const said = lines.filter(({ msg }) => msg.startsWith('Lines were lost'));
    expect(said.reduce((sum, { times }) => sum + times, 0)).toBe(await lost());
    for (let times = 0; times < 3; times += 1) await fill(url);
    signal('SIGTERM');
    expect((await ended).code).toBe(0);
  });

  test.each([['sandbox/main.js'], ['receiver/main.js']])('stops no SIGTERM of %s', async script => {
    const { signal, ended } = await startUnread(script, port => ['--port', port]);
    signal('SIGTERM');
    expect((await ended).code).toBe(0);
  });

  test('is that of a paused terminal, too', async () => {
    const terminal = `
import os, pty, sys
child, reader = pty.fork()
if child == 0: os.execvp(sys.argv[1], sys.argv[1:])
print(child, flush=True)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))`;
    const program = await buildProgram(['python3', '-c', terminal]);
    const [, port = ''] = (await freeAddress()).split(':');
    const env = { PATH: process.env.PATH ?? '', PORT: port, LOG_LEVEL: 'info', UPSTREAM_BASE_URL: service.origin };
    const { stdout, ended } = program.launch(env);
    const url = `http://127.0.0.1:${port}`;
    await until(() =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    );
    cleanups.push(() => ended);
    await fill(url);
    process.kill(Number(stdout()), 'SIGTERM');
    expect((await ended).code).toBe(0);
  });
});
