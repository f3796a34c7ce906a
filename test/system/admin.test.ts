import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { WebSocket } from 'ws';
import { hashOfKey } from '../../src/auth/credentials.js';
import { startSandbox } from '../../src/sandbox/server.js';
import { cleanups, forTest } from '../support/cleanups.js';
import { addressesOn, postJson } from '../support/gateway.js';
import { counted } from '../support/metrics.js';
import { buildProgram, type Running } from '../support/program.js';
import { get, post, rawConnection } from '../support/raw-http.js';
import { startRedis } from '../support/redis.js';
import { until } from '../support/until.js';

let running: Running | undefined;
const program = await buildProgram();

afterEach(async () => {
  await running?.kill();
  running = undefined;
});

/** Code that a process runs first: at SIGUSR2 its event loop is busy as long as this file is there. */
const busyWhile = (file: string) =>
  `import { existsSync } from 'node:fs'; process.once('SIGUSR2', () => { while (existsSync(${JSON.stringify(file)})); })`;

/** Starts a gateway with a listener for probes. @returns the address of that listener */
async function startWithAdmin(env: Record<string, string> = {}, run = program): Promise<string> {
  running = await run.start({ ADMIN_PORT: '0', ...env });
  const [, address = ''] = /^Probes and metrics: (.*)\/metrics$/m.exec(running.stdout()) ?? [];
  return address.replace('localhost', '127.0.0.1');
}

async function ask(address: string): Promise<{ status: number; text: string }> {
  const response = await fetch(address);
  return { status: response.status, text: await response.text() };
}

test('probes and metrics have a listener of their own, and the metrics leave the port for clients', async () => {
  const admin = await startWithAdmin();
  expect(await ask(`${admin}/healthz`)).toMatchObject({ status: 200, text: '{"status":"ok"}' });
  expect(await ask(`${admin}/readyz`)).toMatchObject({ status: 200, text: '{"status":"ready"}' });
  const metrics = await ask(`${admin}/metrics`);
  expect(metrics.status).toBe(200);
  expect(metrics.text).toMatch(/^gateway_operations_limit 256$/m);
  expect((await ask(`${admin}/graphql`)).status).toBe(404);
  expect((await ask(`${running?.url}/metrics`)).status).toBe(404);
  expect((await ask(`${running?.url}/readyz`)).status).toBe(200);
});

const hasIPv6 = Object.values(networkInterfaces()).some(all => all?.some(({ address }) => address === '::1'));

(hasIPv6 ? test : test.skip)('with HOST=::, probes are answered at addresses of IPv6 and of IPv4', async () => {
  const { port } = new URL(await startWithAdmin({ HOST: '::' }));
  for (const host of ['[::1]', '127.0.0.1'])
    expect(await ask(`http://${host}:${port}/healthz`)).toMatchObject({ status: 200 });
});

test('probes are answered while the event loop of the gateway is busy, and say so', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'busy-'));
  const file = join(folder, 'busy');
  await writeFile(file, '');
  const admin = await startWithAdmin({
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(busyWhile(file))}`,
  });
  await until(async () => /^gateway_ready 1$/m.test((await ask(`${admin}/metrics`)).text));
  running?.signal('SIGUSR2');
  const probe = (path: string) => ask(admin + path);
  await until(async () => (await probe('/readyz')).text === '{"status":"busy"}');
  expect((await probe('/healthz')).status).toBe(200);
  const { text } = await probe('/metrics');
  expect(text).toMatch(/^gateway_operations_limit 256$/m);
  expect(text.match(/^gateway_ready .*$/gm)).toEqual(['gateway_ready 0']);
  expect(Number(/^gateway_silent_seconds (.*)$/m.exec(text)?.[1])).toBeGreaterThan(1.5);
  await rm(folder, { recursive: true });
  await until(async () => (await probe('/readyz')).status === 200);
  expect((await probe('/metrics')).text).toMatch(/^gateway_ready 1$/m);
  // Each reader sees afterwards how long it was: a read does not hide it from the next one.
  for (const _ of [1, 2]) {
    const { text: later } = await probe('/metrics');
    expect(Number(/^nodejs_eventloop_lag_max_seconds (.*)$/m.exec(later)?.[1])).toBeGreaterThan(1.5);
  }
  await until(() => /"silentMs":\d{4}.*"msg":"The event loop was blocked/.test(running?.stderr() ?? ''));
});

test('after SIGTERM the gateway is alive, but not ready', async () => {
  const admin = await startWithAdmin({ SHUTDOWN_NOTICE_MS: '60000' });
  running?.signal('SIGTERM');
  await until(async () => (await ask(`${admin}/readyz`)).text === '{"status":"closing"}');
  expect((await ask(`${admin}/healthz`)).status).toBe(200);
});

const token = 'a token of the operators';
const authorization = `Bearer ${token}`;

/** Sends a request with a body of JSON. */
// biome-ignore lint/suspicious/noExplicitAny: an answer is what the test is about to find out
async function send(address: string, method: string, headers = {}, body?: unknown): Promise<[number, any]> {
  const response = await fetch(address, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  return [response.status, await response.json()];
}

test('the configuration and the level of the log can be seen, and the level changed', async () => {
  const admin = await startWithAdmin({
    ADMIN_TOKEN: token,
    SESSION_SECRET: 'a secret of the operators that is not to be seen',
  });
  const settings = async () => JSON.parse((await ask(`${admin}/config`)).text);
  const level = (value: string, source: string) => ({ name: 'LOG_LEVEL', value, source });
  expect(await settings()).toContainEqual(level('warn', 'default'));
  expect((await ask(`${admin}/config`)).text).not.toMatch(/operators/);
  expect(await settings()).toContainEqual({ name: 'ADMIN_TOKEN', value: '[secret]', source: 'environment' });
  const since = expect.stringMatching(/^\d{4}-.*Z$/);

  const logged = () => /"msg":"Answered"/.test(running?.stderr() ?? '');
  await ask(`${running?.url}/graphql?query={viewer{team}}`);
  expect(await send(`${admin}/log-level`, 'PUT', { authorization }, { level: 'loud' })).toEqual([
    400,
    { status: expect.stringContaining('LOG_LEVEL') },
  ]);
  expect(logged()).toBe(false);
  expect(await send(`${admin}/log-level`, 'PUT', { authorization }, { level: 'info' })).toEqual([
    200,
    { logLevel: 'info' },
  ]);
  expect(await settings()).toContainEqual(level('info', 'admin'));
  await ask(`${running?.url}/graphql?query={viewer{team}}`);
  await until(logged);
  const lines = (running?.stderr() ?? '')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  expect(lines.find(({ msg }) => msg === 'PUT /log-level')).toMatchObject({ level: 'warn', time: since });
});

test('a gateway that is drained serves on without being ready, and can be taken back until it closes', async () => {
  const admin = await startWithAdmin({ ADMIN_TOKEN: token, SHUTDOWN_NOTICE_MS: '30000' });
  const query = () =>
    fetch(`${running?.url}/graphql?query={viewer{team}}`, { headers: { 'apollo-require-preflight': '1' } });
  const readiness = async () => [(await ask(`${admin}/readyz`)).text, (await ask(`${running?.url}/readyz`)).text];
  const both = (status: string) => [`{"status":"${status}"}`, `{"status":"${status}"}`];
  expect(await send(`${admin}/drain`, 'POST', { authorization })).toEqual([200, { isDraining: true }]);
  expect(await readiness()).toEqual(both('draining'));
  const answer = await query();
  expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
  expect(await send(`${admin}/drain`, 'DELETE', { authorization })).toEqual([200, { isDraining: false }]);
  expect(await readiness()).toEqual(both('ready'));
  expect((await query()).headers.get('connection')).toBe('keep-alive');
  running?.signal('SIGTERM');
  await until(async () => (await readiness()).join() === both('closing').join());
  expect(await send(`${admin}/drain`, 'DELETE', { authorization })).toEqual([
    409,
    { status: 'the gateway is closing' },
  ]);
});

test('what changes something needs the token, and there is nothing else', async () => {
  const admin = await startWithAdmin({ ADMIN_TOKEN: token });
  const statusOf = async (...what: Parameters<typeof send>) => (await send(...what))[0];
  for (const headers of [{}, { authorization: token }, { authorization: `${authorization}s` }]) {
    expect(await statusOf(`${admin}/drain`, 'POST', headers)).toBe(401);
    expect(await statusOf(`${admin}/log-level`, 'PUT', headers, { level: 'info' })).toBe(401);
  }
  expect(await statusOf(`${admin}/drain`, 'GET', { authorization })).toBe(405);
  expect(await statusOf(`${admin}/config`, 'PUT', { authorization })).toBe(405);
  expect(await statusOf(`${admin}/constructor`, 'GET')).toBe(404);
  expect(await statusOf(`${admin}/log-level`, 'PUT', { authorization }, 'x'.repeat(5_000))).toBe(413);
  expect((await ask(`${admin}/readyz`)).status).toBe(200);
});

describe('clients', () => {
  const key = (name: string) => `key:${hashOfKey(name)}`;
  const [first, other] = ['demo-key-subscribed', 'demo-key-markets-only'];
  /** What a client gets at a gateway. */
  const query = async (url: string | undefined, name: string) => {
    const response = await postJson(`${url}/graphql`, '{"query":"{ market(id: 3) { name } viewer { team } }"}', {
      'x-api-key': name,
    });
    return { status: response.status, text: await response.text() };
  };
  const view = async (admin: string) => (await send(`${admin}/clients`, 'GET', { authorization }))[1];
  const restrict = (admin: string, id: string, body?: object) =>
    send(`${admin}/clients/${encodeURIComponent(id)}`, body === undefined ? 'DELETE' : 'PUT', { authorization }, body);

  test('are listed by what they use, and blocked or slowed in the whole fleet until that is undone', async () => {
    const redis = forTest(await startRedis());
    const env = { ADMIN_PORT: '0', ADMIN_TOKEN: token, REDIS_URL: redis.url, SESSION_SECRET: 's'.repeat(40) };
    const [one, two] = [await startWithAdmin(env), await program.start(env)];
    const [, second = ''] = /^Probes and metrics: http:\/\/localhost(.*)\/metrics$/m.exec(two.stdout()) ?? [];
    const atTwo = `http://127.0.0.1${second}`;
    cleanups.push(() => two.kill());
    for (const name of [first, other, first]) expect((await query(two.url, name)).status).toBe(200);
    const socket = new WebSocket(`${two.url}/graphql`, 'graphql-transport-ws');
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'connection_init', payload: { 'x-api-key': first } }));
    await once(socket, 'message');
    // Another request waits behind it.
    const stream = rawConnection(
      two.url,
      get('/graphql/stream?query=subscription{eventUpdates{cursor}}', [
        `x-api-key: ${first}`,
        'accept: text/event-stream',
      ]),
    );
    await until(() => stream.statuses().length === 1);
    stream.socket.write(get('/graphql?query={viewer{team}}', ['x-api-key: another']));
    await until(async () => JSON.stringify(await view(atTwo)).includes(key('another')));
    const ofFirst = ({ clients }: { clients: { id: string; requests: number; connections: number }[] }) =>
      clients.find(({ id }) => id === key(first));
    const viewed = await view(atTwo);
    const { clients } = viewed;
    const found = ofFirst(viewed);
    expect(found).toMatchObject({ connections: expect.any(Number), upstreamCalls: 1 });
    expect(found?.connections).toBeGreaterThan(0);
    expect(clients).toContainEqual(expect.objectContaining({ id: 'address:127.0.0.1' }));
    expect(JSON.stringify(clients)).not.toContain(first);

    const block = { requestsPerMinute: 0, minutes: 30, reason: 'Your script loops. Call us' };
    const [status, restriction] = await restrict(one, key(first), block);
    expect([status, restriction]).toEqual([
      200,
      { id: key(first), ...block, minutes: undefined, until: restriction.until },
    ]);
    for (const url of [running?.url, two.url]) await until(async () => (await query(url, first)).status === 429);
    // An alert says that a client floods: not any more of one that is blocked.
    for (const [outcome, some] of [
      ['RATE_LIMITED', false],
      ['RESTRICTED', true],
    ] as const)
      expect((await counted(atTwo, 'gateway_requests_total', { outcome })) > 0).toBe(some);
    const { text } = await query(two.url, first);
    const [error] = JSON.parse(text).errors;
    expect(error).toMatchObject({ extensions: { code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) } });
    expect(error.message).toMatch(/^Your script loops\. Call us \(try again in \d+ seconds\)$/);
    if (socket.readyState !== WebSocket.CLOSED) await once(socket, 'close');
    await Promise.race([stream.ended, stream.closed]);
    stream.socket.destroy();
    expect((await query(two.url, other)).status).toBe(200);
    const blocked = await view(atTwo);
    expect(blocked.restrictions).toEqual([restriction]);
    // A flood that is refused is seen, too.
    expect(ofFirst(blocked)?.requests).toBeGreaterThan(found?.requests ?? 0);

    redis.pause();
    await until(() => two.stderr().includes('Restricted clients: not shared'));
    expect((await query(two.url, first)).status).toBe(429);
    expect((await restrict(one, 'address:127.0.0.1', { ...block, requestsPerMinute: 1_000 }))[0]).toBe(200);
    redis.resume();
    await until(async () => (await view(atTwo)).restrictions.length === 2);

    for (const id of [key(first), 'address:127.0.0.1']) expect((await restrict(atTwo, id))[0]).toBe(200);
    for (const url of [running?.url, two.url]) await until(async () => (await query(url, first)).status === 200);
    await until(async () => (await view(one)).restrictions.length === 0);
    // Also before the other gateway has looked what is new.
    await restrict(one, key(first), block);
    expect((await restrict(atTwo, key(first)))[0]).toBe(200);
    const lines = running?.stderr() ?? '';
    for (const words of ['A client is restricted', 'A client is no longer restricted']) expect(lines).toContain(words);

    const team = `team:${JSON.parse((await query(two.url, other)).text).data.viewer.team}`;
    await restrict(one, team, { ...block, requestsPerMinute: 1 });
    await until(async () => (await view(atTwo)).restrictions.length === 1);
    expect((await query(two.url, other)).status).toBe(200);
    for (const url of [running?.url, two.url]) await until(async () => (await query(url, other)).status === 429);
  });

  test('that are blocked while the body of their request arrives get no stream for long', async () => {
    const admin = await startWithAdmin({ ADMIN_TOKEN: token });
    const whole = post('subscription { eventUpdates { cursor } }', ['accept: text/event-stream']).replace(
      '/graphql',
      '/graphql/stream',
    );
    const stream = rawConnection(running?.url ?? '', whole.slice(0, -1));
    await until(async () => JSON.stringify(await view(admin)).includes(key(first)));
    expect((await restrict(admin, key(first), { requestsPerMinute: 0, minutes: 1, reason: 'r' }))[0]).toBe(200);
    stream.socket.write(whole.slice(-1));
    await Promise.race([stream.ended, stream.closed]);
    expect(stream.statuses()).toEqual([200]);
    stream.socket.destroy();
  });

  test('are restricted by what stands in Redis only if an operator could have given it', async () => {
    const redis = forTest(await startRedis());
    const client = forTest(new Redis(redis.url));
    const valid = { requestsPerMinute: 0, until: Date.now() + 60_000, reason: 'Leaked' };
    const others = [
      { reason: 'r'.repeat(201) },
      { reason: 'r'.repeat(200_000) },
      { reason: 'two\nlines' },
      { requestsPerMinute: 1_000_001 },
      { until: Date.now() + 9 * 24 * 60 * 60_000 },
      { until: 1e300 },
    ];
    const all = [{}, ...others].map((other, index) => [`team:${index}`, JSON.stringify({ ...valid, ...other })]);
    await client.hset('mig:clients', Object.fromEntries(all));
    const env = { ADMIN_TOKEN: token, REDIS_URL: redis.url, SESSION_SECRET: 's'.repeat(40) };
    const admin = await startWithAdmin(env);
    await until(async () => (await client.hkeys('mig:clients')).join() === 'team:0');
    expect((await view(admin)).restrictions).toMatchObject([{ id: 'team:0', reason: valid.reason }]);
  });

  test('are restricted by the token, a known kind of name, a time and a reason only', async () => {
    const admin = await startWithAdmin({ ADMIN_TOKEN: token });
    const order = { requestsPerMinute: 0, minutes: 1, reason: 'r' };
    expect((await send(`${admin}/clients`, 'GET', {}))[0]).toBe(401);
    expect((await send(`${admin}/clients/team:a`, 'PUT', {}, order))[0]).toBe(401);
    expect((await send(`${admin}/clients`, 'PUT', { authorization }, order))[0]).toBe(405);
    const addresses = [
      'address:nowhere',
      'address:10.0.0.256',
      'address:10.0.0.010',
      'address:10.0.0',
      'address:2001:db8::g',
    ];
    for (const id of ['a', 'team:', 'key:demo-key-subscribed', 'scope:a', ...addresses])
      expect((await restrict(admin, id, order))[0]).toBe(400);
    for (const wrong of [
      { minutes: 0 },
      { minutes: 1e9 },
      { requestsPerMinute: -1 },
      { reason: ' ' },
      { reason: undefined },
      { more: 1 },
    ])
      expect((await restrict(admin, 'team:a', { ...order, ...wrong }))[0]).toBe(400);
    expect((await restrict(admin, 'team:a'))[0]).toBe(404);
    expect((await view(admin)).restrictions).toEqual([]);
    for (const id of ['address:2001:db8::1', 'address:2001:db8::', 'address:10.0.0.255', 'member:Ada@team.example'])
      expect((await restrict(admin, id, order))[0]).toBe(200);
    expect((await restrict(admin, 'member:ada@team.example'))[0]).toBe(200);
    const escaped = JSON.stringify({ ...order, reason: '_' }).replace('_', '\\u00fc'.repeat(200));
    const response = await fetch(`${admin}/clients/team:b`, {
      method: 'PUT',
      headers: { authorization },
      body: escaped,
    });
    expect([response.status, await response.json()]).toMatchObject([200, { reason: 'ü'.repeat(200) }]);
  });
});

test('a body that is too large says so to a client that sends all before it reads, and need not be sent', async () => {
  const admin = await startWithAdmin({ ADMIN_TOKEN: token });
  const size = 5_000_000;
  const head = (...lines: string[]) =>
    ['PUT /log-level HTTP/1.1', 'host: a', `content-length: ${size}`, ...lines, '', ''].join('\r\n');
  const waiting = rawConnection(admin, head('expect: 100-continue'));
  await Promise.race([waiting.ended, waiting.closed]);
  expect(waiting.statuses()).toEqual([413]);
  waiting.socket.destroy();
  const sending = rawConnection(admin, head());
  sending.socket.pause();
  await new Promise(resolve => sending.socket.write(Buffer.alloc(size, 'x'), resolve));
  sending.socket.resume();
  await Promise.race([sending.ended, sending.closed]);
  expect(sending.statuses()).toEqual([413]);
  sending.socket.destroy();
});

describe('a gateway with few file descriptors', () => {
  /** On a connection of its own. */
  const probe = async (address: string, headers = {}) => {
    const sent = request(address, { agent: false, headers }).end();
    const [response] = (await once(sent, 'response').catch(() => [])) as [IncomingMessage?];
    return response?.resume().statusCode;
  };
  const metricsAt = async (admin: string) => (await ask(`${admin}/metrics`)).text;
  const warnings = () => running?.stderr() ?? '';

  /** A connection of a client of this address that introduces itself, and stays without an operation. */
  const introduced = (url: string, address: string) => {
    const headers = { 'x-forwarded-for': address };
    const socket = new WebSocket(`${url}/graphql`, 'graphql-transport-ws', { headers });
    return socket.once('open', () => socket.send('{"type":"connection_init"}'));
  };
  const limitedProgram = () => buildProgram(['sh', '-c', 'ulimit -n 512; exec "$@"', 'sh']);

  test.each([
    ['idle connections', ''],
    ['unfinished requests', post('{ viewer { team } }').slice(0, -1)],
  ])('answers probes and clients on its only port while %s take all places: the oldest makes room', async (_, sent) => {
    running = await (await limitedProgram()).start({});
    const { url } = running;
    const idle = Array.from({ length: 300 }, () => rawConnection(url, sent));
    await until(() => /Connections: 70% of at most 320 are open/.test(warnings()));
    await until(() => {
      idle.push(rawConnection(url, sent));
      return idle.some(({ socket }) => socket.readyState !== 'open' && !socket.connecting);
    });
    const asked = '/graphql?query=%7Bviewer%7Bteam%7D%7D';
    for (const path of ['/healthz', '/readyz', asked])
      await until(async () => (await probe(`${url}${path}`, { 'apollo-require-preflight': '1' })) === 200);
    // Most of them are still there, and not too old yet.
    expect(idle.filter(({ socket }) => socket.readyState === 'open').length).toBeGreaterThan(250);
    for (const { socket } of idle) socket.destroy();
  });

  test('keeps those for the service, of which each of its addresses has as many', async () => {
    const services = ['BASE_URL', 'API_URL', 'DEV_URL'].map((name, index) => [
      `UPSTREAM_${name}`,
      `http://127.0.0.1:${index + 1}`,
    ]);
    const admin = await startWithAdmin(Object.fromEntries(services), await limitedProgram());
    // 64 for itself, and three times 128 for the service.
    expect(await metricsAt(admin)).toMatch(/^gateway_connections_limit 64$/m);
  });

  test('keeps some of them for other clients and probes while one client opens streams without end, and counts what it refuses', async () => {
    const admin = await startWithAdmin({ TRUST_PROXY: 'true' }, await limitedProgram());
    const url = running?.url ?? '';
    const idle: WebSocket[] = [];
    const open = (address: string) => {
      const socket = introduced(url, address);
      idle.push(socket);
      const events = ['message', 'unexpected-response', 'close'].map(event => once(socket, event));
      return Promise.race(events).then(([message]) => message instanceof Buffer);
    };
    const flood = await Promise.all(Array.from({ length: 272 }, () => open('192.0.2.1')));
    expect(flood.filter(Boolean)).toHaveLength(240);
    const streamed = await probe(`${url}/graphql/stream?query=subscription{eventUpdates{cursor}}`, {
      'x-forwarded-for': '192.0.2.1',
      accept: 'text/event-stream',
    });
    expect(streamed).toBe(503);
    const inParts = { accept: 'multipart/mixed;subscriptionSpec=1.0', 'content-type': 'application/json' };
    const multipart = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { ...inParts, 'x-forwarded-for': '192.0.2.1' },
      body: JSON.stringify({ query: 'subscription { eventUpdates { cursor } }' }),
    });
    expect(multipart.status).toBe(503);
    await multipart.body?.cancel();
    const metrics = await metricsAt(admin);
    expect(metrics).toMatch(/^gateway_connections\{kind="websocket"\} 240$/m);
    expect(metrics).toMatch(/^gateway_connections_limit 320$/m);
    expect(metrics).toMatch(/^gateway_shed_total\{reason="share"\} 34$/m);
    expect(metrics).toMatch(
      /^gateway_requests_total\{transport="websocket",operation="none",outcome="OVER_SHARE"\} 32$/m,
    );
    expect(warnings()).toMatch(/Connections: 70% of at most 320 are open/);
    expect(await open('192.0.2.2')).toBe(true);

    // Clients that do not read take the rest: what is closed then is counted, too.
    const unread: ReturnType<typeof rawConnection>[] = [];
    await until(() => {
      const raw = rawConnection(url, get('/schema.graphql').repeat(32));
      raw.socket.pause();
      unread.push(raw);
      return /Too much at once: requests are refused \(connections\)/.test(warnings());
    });
    expect(await metricsAt(admin)).toMatch(/^gateway_shed_total\{reason="connections"\} [1-9]/m);
    for (const path of ['/healthz', '/readyz', '/metrics']) expect((await ask(`${admin}${path}`)).status).toBe(200);
    for (const { socket } of unread) socket.destroy();
    for (const socket of idle) socket.terminate();
    await until(async () => /^gateway_connections\{kind="websocket"\} 0$/m.test(await metricsAt(admin)));
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await until(() => /Connections: back to normal/.test(warnings()));
  });

  test('keeps enough of them for the service and for probes, however many connections clients open', async () => {
    const sandbox = forTest(await startSandbox());
    sandbox.tell({ path: /topics/, hang: true });
    const admin = await startWithAdmin(addressesOn(sandbox.origin), await limitedProgram());
    const url = running?.url ?? '';
    const all = Array.from({ length: 128 }, (_, market) =>
      rawConnection(url, post(`{ market(id: ${market + 1}) { topics { id } } }`)),
    );
    await until(() => sandbox.calls.count(/topics/) === 128);
    all.push(...Array.from({ length: 384 }, () => rawConnection(url)));
    await until(async () => (await counted(admin, 'gateway_connections', { kind: 'http' })) > 300);
    for (let probes = 0; probes < 20; probes += 1) expect(await probe(`${admin}/readyz`)).toBe(200);
    for (const { socket } of all) socket.destroy();
  });

  test('shows what each kind of connection takes, and what the client with the most has', async () => {
    const admin = await startWithAdmin({ TRUST_PROXY: 'true' });
    const url = running?.url ?? '';
    const sockets: WebSocket[] = [];
    const open = async () => {
      const address = sockets.length < 2_000 ? '192.0.2.1' : `2001:db8:${sockets.length.toString(16)}::1`;
      const socket = introduced(url, address);
      sockets.push(socket);
      const closed = once(socket, 'close').then(([code]) => Promise.reject(new Error(`closed with ${code}`)));
      await Promise.race([once(socket, 'message'), closed]);
    };
    // In groups: of all at once, some send their first message later than a gateway waits for it.
    while (sockets.length < 3_000) await Promise.all(Array.from({ length: 100 }, open));
    const stream = await fetch(`${url}/graphql/stream?query=subscription{eventUpdates{cursor}}`, {
      headers: { accept: 'text/event-stream', 'x-forwarded-for': '192.0.2.1' },
    });
    let metrics = '';
    // A busy gateway lets its thread say the last ones.
    await until(async () => {
      metrics = await metricsAt(admin);
      return /^gateway_connections\{kind="websocket"\} 3000$/m.test(metrics);
    });
    expect(metrics).toMatch(/^gateway_connections\{kind="sse"\} 1$/m);
    expect(metrics).toMatch(/^gateway_connections_of_top_client 2001$/m);
    await stream.body?.cancel();
    for (const socket of sockets) socket.terminate();
    await until(async () => /^gateway_connections\{kind="websocket"\} 0$/m.test(await metricsAt(admin)));
  });
});

test('a page of the web that lets its name resolve to this address reads no configuration', async () => {
  const admin = await startWithAdmin({ ADMIN_TOKEN: token });
  const { port } = new URL(admin);
  const statusOf = async (host: string, path: string, method = 'GET') => {
    const sent = request(`${admin}${path}`, { method, headers: { host, authorization } }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  for (const host of ['evil.example', `evil.example.:${port}`, `127.0.0.1.evil.example:${port}`]) {
    expect(await statusOf(host, '/config')).toBe(403);
    expect(await statusOf(host, '/drain', 'DELETE')).toBe(403);
  }
  for (const host of [
    `127.0.0.1:${port}`,
    `[::1]:${port}`,
    `[::ffff:127.0.0.1]:${port}`,
    'localhost',
    'gateway-1:9090',
  ])
    expect(await statusOf(host, '/config')).toBe(200);
  // Prometheus and probes may use any name.
  for (const path of ['/metrics', '/readyz', '/healthz']) {
    expect(await statusOf('gateway.market-intelligence.svc:9090', path)).toBe(200);
  }
});

test('without a token nothing can be changed', async () => {
  const admin = await startWithAdmin();
  const words = { status: 'ADMIN_TOKEN is not set: nothing can be changed here' };
  for (const value of ['Bearer ', 'Bearer undefined']) {
    expect(await send(`${admin}/drain`, 'POST', { authorization: value })).toEqual([403, words]);
  }
});

test('SHUTDOWN_GRACE_MS after the notice, what still runs is cut off', async () => {
  const service = createServer(() => {}).listen(0, '127.0.0.1');
  await until(async () => service.listening);
  const { port } = service.address() as AddressInfo;
  running = await program.start({ UPSTREAM_BASE_URL: `http://127.0.0.1:${port}`, SHUTDOWN_GRACE_MS: '700' });
  const headers = { 'x-api-key': 'key', 'apollo-require-preflight': '1' };
  const lost = fetch(`${running.url}/graphql?query={events{totalCount}}`, { headers }).catch(() => 'lost');
  await until(() => new Promise(resolve => service.getConnections((_, count) => resolve(count > 0))));
  running.signal('SIGTERM');
  const { code, stderr } = await running.ended;
  expect([code, await lost]).toEqual([1, 'lost']);
  expect(stderr).toContain('Not closed within 0.7 seconds: what was still running is cut off');
  service.closeAllConnections();
  service.close();
});

test('a port that is taken is one clear line', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await until(async () => other.listening);
  const { port } = other.address() as AddressInfo;
  const { code, stderr } = await program.run({ PORT: '0', ADMIN_PORT: String(port) });
  other.close();
  expect(code).toBe(1);
  // Clients have not reached it: it would have warned of the sandbox.
  expect(stderr).toMatch(/^.*ADMIN_PORT: cannot listen at 127.0.0.1, port \d+: .*EADDRINUSE.*\n$/);
});
