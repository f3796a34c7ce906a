import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import { createConnection } from 'node:net';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Vector } from '../src/data/vector.js';
import { Overloaded, RateLimited } from '../src/errors.js';
import { responseBytes, responseMessage } from '../src/graphql/response-text.js';
import { cacheBytes, heapFlags, heapLimit } from '../src/lib/heap.js';
import { Claim, type MemoryBounds, MemoryBudget } from '../src/lib/memory-budget.js';
import { cleanups, forSuite } from './support/cleanups.js';
import { collectGarbage } from './support/collect-garbage.js';
import { demoHeaders, postJson, startGateway, type TestGateway } from './support/gateway.js';
import { counted } from './support/metrics.js';
import { get, rawConnection, toWebSocket } from './support/raw-http.js';
import { overSse, overWebsocket, rawSocket } from './support/streams.js';
import { reply, startStubService } from './support/stub-service.js';
import { until } from './support/until.js';

const mebibyte = 1024 * 1024;
const esg = { notes: 'n'.repeat(2.5 * mebibyte) };
/** Of market 998. */
const largeEsg = { notes: 'n'.repeat(2.5 * mebibyte), more: 'm'.repeat(2 * mebibyte) };

let gateway: TestGateway;
/** What waits for its answer: companies, and ESG data of market 999. */
let release: (() => void)[] = [];

const service = forSuite(
  await startStubService((request, response) => {
    const found = request.url?.includes('/998/') ? largeEsg : esg;
    const answer = () => reply(response, 200, request.url?.endsWith('/esg') ? found : { data: [] });
    if (request.url?.endsWith('/esg') && !request.url.includes('/999/')) answer();
    else release.push(answer);
  }),
);

afterEach(async () => {
  for (const each of release) each();
  release = [];
  await gateway?.close();
});

const start = async (bytes: MemoryBounds | undefined, streams: object = {}) => {
  gateway = await startGateway({
    env: { UPSTREAM_BASE_URL: service.origin, RESPONSE_CACHE: 'true' },
    seams: { streams, ...(bytes && { memory: bytes }) },
  });
};

const held = () => counted(gateway.url, 'gateway_held_bytes');
const other = { 'x-api-key': 'other' };
const viewer = '{ viewer { authentication } }';
let markets = 0;
const esgAnew = () => `{ market(id: ${++markets}) { esg } }`;

/** Has the service answer a call under the demo key. */
async function beAccepted(): Promise<void> {
  const answered = gateway.query(`{ market(id: ${++markets}) { companies { totalCount } } }`);
  await until(() => release.length > 0);
  release.pop()?.();
  await answered;
}

/** A request that has read 2.5 MB, which take three times as much, and waits for the service. */
async function hold(headers: Record<string, string> = demoHeaders) {
  const aborting = new AbortController();
  const query = `{ market(id: ${++markets}) { esg companies { totalCount } } }`;
  const ended = postJson(`${gateway.url}/graphql`, { query }, headers, aborting.signal).catch(() => {});
  await until(async () => (await held()) > 7 * mebibyte);
  return async () => {
    aborting.abort();
    await ended;
  };
}

describe('A credential that has much in memory', () => {
  const bytes = { total: 100 * mebibyte, perOwner: 9 * mebibyte, perResponse: 9 * mebibyte };

  test('begins nothing new, and others do; as soon as it is gone, it may again', async () => {
    await start(bytes);
    const letGo = await hold();
    const refused = await gateway.query(viewer);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.errors?.[0].extensions).toEqual({ code: 'RATE_LIMITED', retryAfterSeconds: 1, retryable: true });
    expect((await gateway.query(esgAnew(), {}, other)).errors).toBeUndefined();
    for (const listen of [overWebsocket, overSse]) {
      const { ended } = listen(gateway.url, { query: viewer });
      const error = await ended;
      if (listen === overWebsocket) expect(error[0].extensions.code).toBe('RATE_LIMITED');
      else expect(error.response.status).toBe(429);
    }
    await letGo();
    await until(async () => (await held()) === 0);
    expect((await gateway.query(esgAnew())).data.market.esg).toEqual(esg);
  });

  test('is refused what would be too much, before it is parsed', async () => {
    await start({ ...bytes, perOwner: 12 * mebibyte });
    const letGo = await hold();
    const { data, errors } = await gateway.query(esgAnew());
    expect(data).toEqual({ market: { esg: null } });
    expect(errors?.[0].extensions.code).toBe('RATE_LIMITED');
    await letGo();
    await until(async () => (await held()) === 0);
  });
});

describe('In a container of 256 MB, an operation', () => {
  const heap = 96 * mebibyte;
  beforeEach(() => start({ total: heap / 4, perOwner: heap / 8, perResponse: heap / 16 }));

  test.each([
    ['a list', '{ market(id: 998) { esg } }'],
    ['lists', '{ market(id: 1001) { esg } other: market(id: 1002) { esg } }'],
  ])('that reads %s beyond its share is told what fits, and not to try again', async (_, query) => {
    const { errors } = await gateway.query(query);
    const limit = 4 * mebibyte;
    expect(errors?.map(({ extensions }) => extensions)).toEqual([
      { code: 'QUERY_TOO_COMPLEX', measure: 'bytes read', value: expect.any(Number), limit },
    ]);
    expect(errors?.[0].extensions.value).toBeGreaterThan(4.5 * mebibyte);
    expect(await counted(gateway.url, 'gateway_shed_total')).toBe(0);
  });

  test('is served what fits', async () => {
    expect((await gateway.query(esgAnew())).errors).toBeUndefined();
  });
});

describe('Of two operations that wait for one answer', () => {
  const bytes = { total: 100 * mebibyte, perOwner: 20 * mebibyte, perResponse: 20 * mebibyte };
  const waits = '{ market(id: 999) { esg } }';

  test('the one that reads too much is refused, and the other reads it for itself', async () => {
    await start(bytes);
    const refused = gateway.query('{ large: market(id: 998) { esg } market(id: 999) { esg } }');
    await until(async () => (await held()) > 13 * mebibyte && release.length > 0);
    const served = gateway.query(waits);
    await until(async () => (await counted(gateway.url, 'gateway_requests_in_flight')) === 2);
    release.pop()?.();
    const { data, errors } = await refused;
    expect(data).toMatchObject({ market: { esg: null } });
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['QUERY_TOO_COMPLEX']);
    await until(() => release.length > 0);
    release.pop()?.();
    expect(await served).toMatchObject({ data: { market: { esg } }, errors: undefined });
  });

  test('the one that stays counts what the other, which left, has asked for', async () => {
    await start(bytes);
    const leaving = new AbortController();
    const left = postJson(`${gateway.url}/graphql`, { query: waits }, demoHeaders, leaving.signal).catch(() => {});
    await until(() => release.length > 0);
    const stays = gateway.query('{ market(id: 999) { esg companies { totalCount } } }');
    await until(() => release.length > 1);
    leaving.abort();
    await left;
    await until(async () => (await counted(gateway.url, 'gateway_requests_in_flight')) === 1);
    release.shift()?.();
    await until(async () => (await held()) > 7 * mebibyte);
    release.pop()?.();
    expect((await stays).data.market.esg).toEqual(esg);
  });
});

test('a process that has much in memory turns everybody away, is not ready, and recovers', async () => {
  await start({ total: 9 * mebibyte, perOwner: 9 * mebibyte, perResponse: 9 * mebibyte });
  const letGo = await hold();
  for (const headers of [demoHeaders, other]) {
    const refused = await gateway.query(viewer, {}, headers);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.errors?.[0].extensions).toEqual({ code: 'RATE_LIMITED', retryAfterSeconds: 1, retryable: true });
  }
  expect((await fetch(`${gateway.url}/readyz`)).status).toBe(503);
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  await letGo();
  await until(async () => (await fetch(`${gateway.url}/readyz`)).status === 200);
  expect((await gateway.query(viewer)).status).toBe(200);
});

test('a response above the size limit is refused by each transport before it is written', async () => {
  await start({ total: 100 * mebibyte, perOwner: 50 * mebibyte, perResponse: 4 * mebibyte });
  const query = `{ market(id: 1) { a: esg b: esg } }`;
  const overHttp = await gateway.query(query);
  expect(overHttp.status).toBe(400);
  expect(overHttp.errors?.[0].extensions).toMatchObject({
    code: 'QUERY_TOO_COMPLEX',
    measure: 'bytes of the response',
    limit: 4 * mebibyte,
  });
  expect((await overWebsocket(gateway.url, { query }).ended)[0].extensions.code).toBe('QUERY_TOO_COMPLEX');
  const { results, ended } = overSse(gateway.url, { query });
  await ended;
  expect(results[0].errors[0].extensions.code).toBe('QUERY_TOO_COMPLEX');
  await until(async () => (await held()) === 0);
});

test('a response for which there is no memory at the last moment is refused', async () => {
  await start(undefined);
  const { reserveResponse } = Claim.prototype;
  const spy = jest.spyOn(Claim.prototype, 'reserveResponse').mockImplementation(function (this: Claim, bytes) {
    // Before the result is serialized, after it, and when it is sent.
    if (spy.mock.calls.length === 3) throw new Overloaded();
    reserveResponse.call(this, bytes);
  });
  try {
    const { status, errors } = await gateway.query(esgAnew());
    expect([status, errors?.[0].extensions.code]).toEqual([503, 'RATE_LIMITED']);
  } finally {
    spy.mockRestore();
  }
  await until(async () => (await held()) === 0);
});

describe('a response in parts', () => {
  const send = (fields: string) =>
    postJson(
      `${gateway.url}/graphql`,
      { query: `{ market(id: 1) { ${fields} } }` },
      { ...demoHeaders, accept: 'multipart/mixed;incrementalSpec=v0.2,application/json' },
    );
  const isCounted = async () =>
    (await counted(gateway.url, 'gateway_requests_total', { outcome: 'QUERY_TOO_COMPLEX' })) === 1 &&
    (await held()) === 0;
  const tooLarge = expect.objectContaining({ extensions: expect.objectContaining({ code: 'QUERY_TOO_COMPLEX' }) });
  beforeEach(() => start({ total: 100 * mebibyte, perOwner: 50 * mebibyte, perResponse: 4 * mebibyte }));

  test('is refused with a code and a status if its first part is too large', async () => {
    const response = await send('a: esg b: esg ... @defer { id }');
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/json; charset=utf-8']);
    expect(await response.json()).toEqual({ errors: [tooLarge] });
    await until(isCounted);
  });

  test('is too large for ever where it does not fit beside what it is made of', async () => {
    await gateway.close();
    await start({ total: 100 * mebibyte, perOwner: 9 * mebibyte, perResponse: 9 * mebibyte });
    const response = await send('id ... @defer { esg }');
    expect(await response.text()).toContain('"code":"QUERY_TOO_COMPLEX"');
    await until(isCounted);
  });

  test('ends with the error of a later part that is too large, for each fragment that is missing', async () => {
    const response = await send('id ... @defer { a: esg b: esg } ... @defer { c: esg d: esg }');
    const text = await response.text();
    expect(response.status).toBe(200);
    const [first, ...later] = text
      .split(/\r\n---(?:--\r\n|\r\n.*\r\n\r\n)/)
      .filter(part => part !== '')
      .map(part => JSON.parse(part));
    expect(first).toMatchObject({ data: { market: { id: '1' } }, hasNext: true });
    expect(later).toEqual([
      { completed: first.pending.map(({ id }: { id: string }) => ({ id, errors: [tooLarge] })), hasNext: false },
    ]);
    expect(text).toMatch(/\r\n-----\r\n$/);
    await until(isCounted);
  });
});

describe('A response above 10 MB', () => {
  const refused = expect.objectContaining({
    extensions: expect.objectContaining({ code: 'QUERY_TOO_COMPLEX', measure: 'bytes of the response' }),
  });

  test.each<[string, unknown]>([
    ['texts', Array.from({ length: 110 }, () => 'n'.repeat(100_000))],
    ['keys', Array.from({ length: 110 }, () => ({ ['k'.repeat(100_000)]: 1 }))],
    ['numbers', Array.from({ length: 700_000 }, (_, index) => index / 7)],
    ['small objects', Array.from({ length: 1_000_000 }, () => ({ a: 1 }))],
  ])('is refused before it is serialized, however little was read: %s', (_, data) => {
    const toJSON = jest.fn();
    for (const serialize of [responseBytes, responseMessage]) {
      expect(() => serialize({ data, last: { toJSON } })).toThrow(refused);
    }
    expect(toJSON).not.toHaveBeenCalled();
  });

  test.each([
    ['three bytes each', '市'],
    ['an escape each', '\u0001'],
  ])('is refused also where its characters take %s', (_, character) => {
    const data = character.repeat(4_000_000);
    for (const serialize of [responseBytes, responseMessage]) expect(() => serialize({ data })).toThrow(refused);
  });

  test('is served if that is because of its vectors, which are not serialized', () => {
    const vector = new Vector('1,'.repeat(60_000).slice(0, -1));
    const { length } = responseBytes({ data: Array.from({ length: 100 }, () => vector) });
    expect(length).toBeGreaterThan(11 * mebibyte);
  });
});

test('operations of one connection wait for their turn, are given up while they wait, and are answered in their order', async () => {
  await start(undefined, { executions: 2 });
  const raw = rawSocket(gateway.url);
  await raw.introduce();
  const ids = ['a', 'b', 'c', 'd', 'e'];
  const before = service.calls.length;
  for (const id of ids) {
    const query = `{ market(id: ${++markets}) { companies { totalCount } } }`;
    raw.send({ id, type: 'subscribe', payload: { query } });
  }
  await service.arrived(before + 2);
  // Each comes over a connection of its own, so the second may be the first to arrive.
  const [first = 0, second = 0] = service.calls.slice(before).map(call => Number(/\d+(?=\/companies)/.exec(call)?.[0]));
  if (first > second) release.reverse();
  raw.send({ id: 'c', type: 'complete' });
  raw.send({ type: 'ping' });
  await until(() => raw.messages.some(({ type }) => type === 'pong'));
  expect(service.calls.length).toBe(before + 2);
  for (let answered = 0; answered < 4; answered += 1) {
    await until(() => release.length > 0);
    release.shift()?.();
    await until(() => raw.messages.filter(({ type }) => type === 'complete').length > answered);
  }
  expect(raw.messages.filter(({ type }) => type === 'complete').map(({ id }) => id)).toEqual(['a', 'b', 'd', 'e']);
  expect(service.calls.length).toBe(before + 4);
  raw.socket.close();
});

test('an answer that many wait for and do not take is in memory once, and counted once', async () => {
  await start(undefined);
  // More than the network holds.
  const query = '{ market(id: 999) { a: esg b: esg c: esg } }';
  const body = JSON.stringify({ query });
  const head = `POST /graphql HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${demoHeaders['x-api-key']}\r\nContent-Type: application/json\r\n`;
  const port = Number(new URL(gateway.url).port);
  const sockets = Array.from({ length: 10 }, () => createConnection(port, '127.0.0.1'));
  for (const socket of sockets) {
    await once(socket, 'connect');
    socket.pause();
    socket.write(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }
  await until(() => release.length === 1);
  await gateway.query(viewer);
  release.pop()?.();
  await until(async () => (await counted(gateway.url, 'gateway_response_cache_hits_total', { tier: 'flight' })) === 9);
  const bytes = await held();
  expect(bytes).toBeGreaterThan(7 * mebibyte);
  expect(bytes).toBeLessThan(8 * mebibyte);
  for (const socket of sockets) socket.destroy();
  await until(async () => (await held()) === 0);
});

test('the SDL and the files of GraphiQL are sent to every client from the same bytes', async () => {
  await start(undefined);
  const page = await (await fetch(`${gateway.url}/graphql`, { headers: { accept: 'text/html' } })).text();
  const files = page.match(/\/graphql\/assets\/[\w.-]+/g) ?? [];
  expect(files).toHaveLength(7);
  const end = jest.spyOn(ServerResponse.prototype, 'end');
  cleanups.push(() => end.mockRestore());
  for (const path of ['/schema.graphql', ...files]) {
    end.mockClear();
    for (const _ of [1, 2])
      await (await fetch(`${gateway.url}${path}`, { headers: { 'accept-encoding': 'identity' } })).arrayBuffer();
    const [one, other] = end.mock.calls.map(([body]) => body as unknown);
    expect([path, Buffer.isBuffer(one), one === other]).toEqual([path, true, true]);
  }
});

test('many networks together fill what is theirs, and each is told that it has too much', () => {
  const onFull = jest.fn();
  const total = 4 * mebibyte;
  const budget = new MemoryBudget({ total, perOwner: total, perResponse: total }, onFull, () => 0);
  const hold = (index: number, bytes: number) => budget.claim({ address: `10.0.0.${index}` }).reserve(bytes);
  for (let index = 0; index < 10; index += 1) hold(index, total / 2 / 2 ** (index + 1));
  expect(() => hold(10, total / 2 / 2 ** 9)).toThrow(RateLimited);
  expect(onFull).not.toHaveBeenCalled();
  expect(() => budget.claim({ scope: 'key' }).reserve(total + 1)).toThrow(Overloaded);
  expect(onFull).toHaveBeenCalledTimes(1);
});

describe('What clients send', () => {
  const bytes = { total: 20 * mebibyte, perOwner: 5 * mebibyte, perResponse: 5 * mebibyte };
  const head = (key: number) =>
    `POST /graphql HTTP/1.1\r\nhost: gateway\r\nx-api-key: key-${key}\r\ncontent-type: application/json\r\ncontent-length: 1000001\r\n\r\n`;

  test('counts by address while it arrives, whatever key comes with it, and large bodies beyond the bound are refused', async () => {
    await start(bytes);
    const clients = Array.from({ length: 10 }, (_, key) =>
      rawConnection(gateway.url, head(key) + ' '.repeat(1_000_000)),
    );
    await until(() => clients.filter(client => client.statuses()[0] === 429).length === 5);
    await until(async () => (await held()) === 5_000_000);
    const refused = clients.find(client => client.statuses().length > 0);
    expect(refused?.received()).toMatch(
      /\r\nretry-after: 1\r\n[\s\S]*Too many large requests are being sent from this address/,
    );
    expect((await gateway.query(viewer)).status).toBe(200);
    for (const { socket } of clients) socket.resetAndDestroy();
    await until(async () => (await held()) === 0);
  });

  test('and does not finish, from however many networks, turns away no accepted client and no other network', async () => {
    gateway = await startGateway({
      env: { UPSTREAM_BASE_URL: service.origin, TRUST_PROXY: '127.0.0.1' },
      seams: { memory: { ...bytes, perOwner: 10 * mebibyte } },
    });
    await beAccepted();
    const from = (address: string) => ({ 'x-forwarded-for': address });
    const stalled = ['2001:db8:0:1::1', '2001:db8:0:2::1'].flatMap(address =>
      Array.from({ length: 20 }, (_, key) => {
        const headOf = head(key).replace('\r\n\r\n', `\r\nx-forwarded-for: ${address}\r\n\r\n`);
        return rawConnection(gateway.url, headOf + ' '.repeat(1_000_000));
      }),
    );
    // Each is refused, or holds what it has sent.
    await until(async () => {
      const refused = stalled.filter(client => client.statuses()[0] === 429).length;
      return (await held()) === (stalled.length - refused) * 1_000_000;
    });
    expect(await held()).toBeLessThanOrEqual(10 * mebibyte);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    const large = `${viewer}${' '.repeat(20_000)}`;
    const ask = async (query: string, headers: Record<string, string>) =>
      (await gateway.query(query, {}, headers)).status;
    expect(await ask(esgAnew(), { ...demoHeaders, ...from('2001:db8:0:1::1') })).toBe(200);
    expect(await ask(large, { ...demoHeaders, ...from('2001:db8:0:1::1') })).toBe(200);
    expect(await ask(large, { ...other, ...from('2001:db8:0:3::1') })).toBe(200);
    for (const { socket } of stalled) socket.resetAndDestroy();
    await until(async () => (await held()) === 0);
  });

  test('counts for an accepted credential by itself, at whatever address', async () => {
    await start(bytes);
    await beAccepted();
    const accepted = head(0).replace('key-0', demoHeaders['x-api-key']);
    const clients = Array.from({ length: 10 }, () => rawConnection(gateway.url, accepted + ' '.repeat(20_000)));
    await until(async () => (await held()) === 200_000);
    for (const { socket } of clients) socket.write(' '.repeat(980_000));
    await until(() => clients.filter(client => client.statuses()[0] === 429).length === 5);
    const refused = clients.find(client => client.statuses().length > 0);
    expect(refused?.received()).toMatch(/Too many large requests are being sent with this credential/);
    const before = await held();
    const stranger = rawConnection(gateway.url, head(1) + ' '.repeat(1_000_000));
    await until(async () => (await held()) === before + 1_000_000);
    for (const { socket } of [...clients, stranger]) socket.resetAndDestroy();
    await until(async () => (await held()) === 0);
  });

  test('takes little more memory than its bytes where it comes in very many small chunks', async () => {
    await start(bytes);
    const small = head(0).replace('content-length: 1000001', 'transfer-encoding: chunked');
    const heap = () => counted(gateway.url, 'nodejs_heap_size_used_bytes');
    const before = await heap();
    const client = rawConnection(gateway.url, small + '1\r\n \r\n'.repeat(20_000));
    await until(async () => (await held()) === 20_000);
    collectGarbage();
    expect((await heap()) - before).toBeLessThan(32 * mebibyte);
    client.socket.resetAndDestroy();
    await until(async () => (await held()) === 0);
  });

  test('counts for a WebSocket until the message is whole', async () => {
    await start(bytes);
    const raw = rawSocket(gateway.url, { headers: demoHeaders });
    await raw.opened();
    const ofHead = await held();
    raw.socket.send(`{"type":"connection_init","payload":{"a":"${'a'.repeat(50_000)}`, { fin: false });
    await until(async () => (await held()) > 50_000);
    raw.socket.send('"}}', { fin: true });
    await until(() => raw.messages.length === 1);
    expect(await held()).toBe(ofHead);
    // A client may send a large message in buffers of 4 KB.
    const texts = [90_000, 90_000, 70_000].map(length => 'a'.repeat(length));
    const large = JSON.stringify({ type: 'ping', payload: { ...texts } });
    for (let at = 0; at < large.length; at += 4_096) {
      raw.socket.send(large.slice(at, at + 4_096), { fin: at + 4_096 >= large.length });
    }
    await until(() => raw.messages.length === 2);
    raw.socket.terminate();
    await until(async () => (await held()) === 0);
  });

  test('ends a WebSocket on which pongs keep a message from becoming whole', async () => {
    await start(bytes);
    const raw = rawSocket(gateway.url, { headers: demoHeaders });
    await raw.opened();
    raw.socket.send('a', { fin: false });
    for (let sent = 0; sent < 10_000; sent += 1) raw.socket.pong('p'.repeat(125));
    expect(await raw.closed).toEqual({ code: 1009, reason: 'Message too big' });
    await until(async () => (await held()) === 0);
  });

  test('ends a WebSocket that sends a message in very many fragments', async () => {
    await start(bytes);
    const raw = rawSocket(gateway.url, { headers: demoHeaders });
    await raw.opened();
    for (let part = 0; part < 100; part += 1) raw.socket.send(' ', { fin: false });
    expect((await raw.closed).code).toBe(1008);
  });
});

describe('the heap', () => {
  /** The size in the flag, in MiB, for a container of `memory` MiB in which V8 chooses a heap of `chosen` MiB. */
  const heapOf = (memory: number, chosen: number) => {
    const [flag] = heapFlags(memory * mebibyte, chosen * mebibyte);
    return flag === undefined ? undefined : Number(/^--max-heap-size=(\d+)$/.exec(flag)?.[1]);
  };

  test('the heap leaves room in a small container for what is outside of it', () => {
    expect(heapOf(256, 259)).toBe(96);
    expect(heapOf(400, 259)).toBe(182);
  });

  test('the heap is never larger than V8 or the operator chose, nor too small for the program', () => {
    expect(heapOf(1024, 524)).toBeUndefined();
    expect(heapOf(256, 64)).toBeUndefined();
    expect(heapOf(128, 259)).toBe(96);
  });

  test('this process has a heap, and caches that fit into it', () => {
    expect(heapLimit).toBeGreaterThan(96 * mebibyte);
    expect(cacheBytes).toBeLessThanOrEqual(heapLimit / 16);
    expect(heapFlags(256 * mebibyte)).toHaveLength(1);
  });
});

describe('What outlives its request counts for as long as it lives', () => {
  type Send = (payloads: readonly object[]) => Promise<void>;
  const open: (() => void)[] = [];
  afterEach(() => {
    for (const close of open.splice(0)) close();
  });
  let key: (index: number) => string = () => 'one';

  /** Over HTTP, each with a connection of its own. */
  const overHttp =
    (path: string, accept: string): Send =>
    async payloads => {
      for (const [index, payload] of payloads.entries()) {
        const { socket } = rawConnection(gateway.url, postOf(path, accept, key(index), JSON.stringify(payload)));
        open.push(() => socket.destroy());
      }
    };
  const postOf = (path: string, accept: string, apiKey: string, body: string) =>
    `POST ${path} HTTP/1.1\r\nhost: gateway\r\nx-api-key: ${apiKey}\r\naccept: ${accept}\r\ncontent-type: application/json\r\n` +
    `content-length: ${body.length}\r\n\r\n${body}`;

  /** On WebSockets, ten on each. */
  const onWebSockets: Send = async payloads => {
    for (let at = 0; at < payloads.length; at += 10) {
      const raw = rawSocket(gateway.url);
      open.push(() => raw.socket.terminate());
      await raw.introduce({ 'x-api-key': key(at) });
      for (const [index, payload] of payloads.slice(at, at + 10).entries()) {
        raw.send({ id: `${index}`, type: 'subscribe', payload });
      }
    }
  };
  const multipart = 'multipart/mixed;subscriptionSpec=1.0';
  const streams: [string, Send][] = [
    ['Server-Sent Events', overHttp('/graphql/stream', 'text/event-stream')],
    ['multipart responses', overHttp('/graphql', multipart)],
    ['WebSockets', onWebSockets],
  ];
  const plain = overHttp('/graphql', 'application/json');

  /** Opens `count` of them. @returns how much is counted, and by how much memory has grown by now, in bytes; with what waits at the service, if it `calls` that often */
  async function growth(send: Send, count: number, make: () => object, calls = count) {
    const used = async () => {
      await held();
      collectGarbage();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    await used();
    const before = await used();
    const arrived = service.calls.length + calls;
    await send(Array.from({ length: count }, make));
    await service.arrived(arrived);
    return { counted: await held(), grownNow: async () => (await used()) - before };
  }
  const count = 20;
  /** What a stream takes itself, with its client and its call to the service, which are in this process too. */
  const othersBytes = count * 100 * 1024;
  /** Waits until what is counted covers what memory has grown by: the client is in this process too, and its last writes and freed buffers go a moment later. */
  const covers = (counted: number, grownNow: () => Promise<number>) =>
    until(async () => counted > (await grownNow()) - othersBytes);
  const idle = () => `jobProgress(marketId: ${++markets})`;
  /** The text that takes the most memory for its length. */
  const nested = () => `subscription { ${idle()} { ${'...{'.repeat(900)}finished${'}'.repeat(900)} } }`;
  const webSocket = toWebSocket('graphql-transport-ws');
  const simple = ['apollo-require-preflight: 1'];
  const unused = { texts: Array.from({ length: 9 }, () => 't'.repeat(90_000)) };

  test.each(streams)('the documents of subscriptions over %s', async (_, send) => {
    await start(undefined);
    const { grownNow, counted: bytes } = await growth(send, count, () => ({ query: nested() }));
    await covers(bytes, grownNow);
    expect(await grownNow()).toBeGreaterThan(10 * mebibyte);
    for (const close of open) close();
    await until(async () => (await held()) === 0);
  });

  test.each(streams)('but not what no operation reads, over %s, which is dropped', async (_, send) => {
    await start(undefined);
    const make = () => ({
      query: `subscription { ${idle()} { finished } }`,
      variables: unused,
      extensions: { ...unused, texts: [] },
    });
    const { grownNow, counted: bytes } = await growth(send, count, make);
    await until(async () => (await grownNow()) < 6 * mebibyte);
    expect(bytes).toBeLessThan(mebibyte);
  });

  test('nor the key under which a response would have been cached', async () => {
    await start(undefined);
    const query = `subscription { ${idle()} { finished } }`;
    let texts = 0;
    const make = () => ({ query, variables: { text: `${++texts}`.padEnd(60_000) } });
    const { grownNow } = await growth(overHttp('/graphql', multipart), 200, make, 1);
    await until(async () => (await counted(gateway.url, 'gateway_live_listeners', { transport: 'multipart' })) === 200);
    // With its client, a stream takes about 40 KB.
    await until(async () => (await grownNow()) < 12 * mebibyte);
  });

  test.each<[string, object]>([
    ['long texts', unused],
    ['small values', { values: Array.from({ length: 9_000 }, () => ({})) }],
  ])('requests that wait for their turn or for the service, with %s', async (_, variables) => {
    await start(undefined, { executions: 1 });
    const query = 'query ($id: ID!) { market(id: $id) { companies { totalCount } } }';
    const make = () => JSON.parse(JSON.stringify({ query, variables: { id: `${++markets}`, ...variables } }));
    for (const [send, calls] of [
      [onWebSockets, 2],
      [plain, count],
    ] as const) {
      const { grownNow, counted: bytes } = await growth(send, count, make, calls);
      await covers(bytes, grownNow);
      expect(bytes).toBeGreaterThan(5 * mebibyte);
      for (const close of open.splice(0)) close();
      await until(async () => (await held()) === 0);
    }
  });

  test('each listener of one subscription, of which there are no more than fit', async () => {
    await start({ total: mebibyte, perOwner: 100_000, perResponse: mebibyte });
    const listeners = () => counted(gateway.url, 'gateway_live_listeners');
    const raw = rawSocket(gateway.url);
    open.push(() => raw.socket.terminate());
    await raw.introduce({ 'x-api-key': 'one' });
    const payload = { query: `subscription { ${idle()} { finished } }` };
    // The first message for which there is no memory is refused, or, where it cannot even wait to be read, closes the connection.
    const isRefused = () =>
      raw.socket.readyState !== raw.socket.OPEN || raw.messages.some(({ type }) => type === 'error');
    let bytes = 0;
    let fit = 0;
    for (; fit < 100 && !isRefused(); fit += 1) {
      bytes = await held();
      raw.send({ id: `${fit}`.padEnd(256, 'i'), type: 'subscribe', payload });
      await until(async () => isRefused() || (await listeners()) === fit + 1);
    }
    expect(fit).toBeGreaterThan(50);
    expect(fit).toBeLessThan(75);
    expect(bytes).toBeGreaterThan((fit - 1) * 1_400);
    for (const close of open.splice(0)) close();
    await until(async () => (await held()) === 0);
    expect(await listeners()).toBe(0);
  });

  test.each([
    ['its address', get(`/graphql?sessionId=abcdefghijklmnop&pad=${'p'.repeat(15_000)}`, webSocket)],
    ['a header', get('/graphql', [...webSocket, `x-api-key: ${'k'.repeat(15_000)}`])],
  ])('the request of a WebSocket, with much in %s', async (_, bytes) => {
    await start(undefined, { initMs: 60_000 });
    const sockets = Array.from({ length: count }, () => rawConnection(gateway.url, bytes));
    for (const { socket } of sockets) open.push(() => socket.destroy());
    await until(() => sockets.every(raw => raw.statuses()[0] === 101));
    expect(await held()).toBeGreaterThan(count * 15_000);
    for (const close of open.splice(0)) close();
    await until(async () => (await held()) === 0);
  });

  test.each([
    ['its address', 'p', get('/graphql?query={__typename}&sessionId=abcdefghijklmnop&pad=PADDING', simple)],
    ['a header', ' ', get('/graphql?query={__typename}', [...simple, 'authorization: Bearer PADDINGabcdefghijklmnop'])],
  ])('but an idle connection keeps only the credential, with much in %s', async (_, character, bytes) => {
    await start(undefined);
    const ask = (padding: number) => async (requests: readonly object[]) => {
      const sent = bytes.replace('PADDING', character.repeat(padding));
      const all = requests.map(() => rawConnection(gateway.url, sent));
      for (const { socket } of all) open.push(() => socket.destroy());
      await until(() => all.every(raw => raw.statuses()[0] === 200));
    };
    await growth(ask(1), count, () => ({}), 0);
    const { grownNow } = await growth(ask(14_000), 10 * count, () => ({}), 0);
    await until(async () => (await grownNow()) < 10 * count * 14_000);
    expect(await counted(gateway.url, 'gateway_connections', { kind: 'http' })).toBeGreaterThan(10 * count);
  });

  test.each(streams)('for the network of who made up keys, over %s, and another client is served', async (_, send) => {
    await start({ total: 40 * mebibyte, perOwner: 5 * mebibyte, perResponse: 5 * mebibyte });
    await beAccepted();
    key = index => `made-up-${index}`;
    await send(Array.from({ length: count }, () => ({ query: nested() })));
    await until(async () => (await held()) > 3 * mebibyte);
    expect((await gateway.query(viewer)).errors).toBeUndefined();
    expect(await held()).toBeLessThanOrEqual(5 * mebibyte);
    key = () => 'one';
  });
});
