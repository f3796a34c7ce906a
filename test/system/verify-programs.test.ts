import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { expect, jest, test } from '@jest/globals';
import { newSigningSecret, signatureHeaders } from '../../src/domains/exports/signing.js';
import { startSandbox } from '../../src/sandbox/server.js';
import { cleanups, listening } from '../support/cleanups.js';
import { freeAddress } from '../support/free-address.js';
import { addressesOn, startGateway } from '../support/gateway.js';
import { buildProgram } from '../support/program.js';
import { drawFrom } from '../support/seeded.js';
import { until } from '../support/until.js';

jest.setTimeout(300_000);

test('the programs of docs/partners.md verify the signature of an export', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'verify-'));
  cleanups.push(() => rm(folder, { recursive: true }));
  for (const name of ['verify.py', 'verify.ts']) await copyFile(join('examples/partners', name), join(folder, name));
  const secret = newSigningSecret();
  const body = JSON.stringify({ data: [{ name: 'Käse' }], meta: { totalItems: 1 } });
  const signed = signatureHeaders([{ secret, validUntil: null }], { id: 'one', body }, new Date());
  const python =
    'import json, sys; from verify import is_signed; a = json.load(sys.stdin); print(is_signed(a[0], a[1], a[2].encode()))';
  const inPython = (headers: object, text: string) =>
    execFileSync('python3', ['-c', python], {
      cwd: folder,
      input: JSON.stringify([secret.reveal(), headers, text]),
    }).toString();
  const { isSigned } = await import(pathToFileURL(join(folder, 'verify.ts')).href);
  const inScript = (headers: object, text: string) => isSigned(secret.reveal(), headers, Buffer.from(text));
  expect([inPython(signed, body), inPython(signed, `${body} `)]).toEqual(['True\n', 'False\n']);
  expect([inScript(signed, body), inScript(signed, `${body} `)]).toEqual([true, false]);
  for (const change of [
    { 'webhook-signature': `v1,${'é'.repeat(44)}` },
    { 'webhook-signature': undefined },
    { 'webhook-timestamp': 'now' },
    { 'webhook-timestamp': undefined },
    { 'webhook-id': undefined },
  ]) {
    const headers = { ...signed, ...change };
    expect([inPython(headers, body), inScript(headers, body)]).toEqual(['False\n', false]);
  }
});

/** A folder with mirror.py. */
async function mirrorFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'mirror-'));
  cleanups.push(() => rm(folder, { recursive: true }));
  await copyFile('examples/partners/mirror.py', join(folder, 'mirror.py'));
  return folder;
}

/** The titles in the copy of mirror.py, by id. */
function copyIn(folder: string): Record<string, string> {
  const python = `import json, sqlite3; print(json.dumps(dict(
    (e["id"], e["title"]) for e in (json.loads(row[0]) for row in sqlite3.connect("mirror.sqlite").execute("select event from events")))))`;
  return JSON.parse(execFileSync('python3', ['-c', python], { cwd: folder }).toString());
}

test.each(['newest', 'oldest'] as const)(
  'the copy of mirror.py equals a service that lists the %s first, after updates, kills of the program and a restart of the gateway',
  async eventOrder => {
    const folder = await mirrorFolder();
    const sandbox = await startSandbox();
    sandbox.vary({ eventOrder });
    const program = await buildProgram();
    const port = (await freeAddress()).split(':').at(-1) ?? '';
    const startGateway = () => program.start({ ...addressesOn(sandbox.origin), PORT: port });
    let gateway = await startGateway();
    const draw = drawFrom('mirror');
    const ids = Array.from({ length: 250 }, (_, index) => sandbox.publishEvent({ title: `Before ${index}` })._id);
    let updates = 0;
    function publish() {
      updates += 1;
      if (updates % 3 === 0) ids.push(sandbox.publishEvent({ title: `New ${updates}` })._id);
      else sandbox.touchEvent(draw.pick(ids), { title: `Updated ${updates}` });
    }
    const updating = setInterval(publish, 100);
    const env = { ...process.env, GATEWAY: gateway.url, API_KEY: 'demo-key-subscribed' };
    const mirror = (...args: string[]) => spawn('python3', ['mirror.py', ...args], { cwd: folder, env });
    cleanups.push(() => sandbox.close());
    cleanups.push(() => gateway.kill());
    cleanups.push(() => clearInterval(updating));
    for (let kill = 0; kill < 3; kill += 1) {
      const running = mirror('0.05');
      let lines = 0;
      running.stdout.on('data', chunk => (lines += String(chunk).split('\n').length - 1));
      // The first dies while it reads the list, or shortly after.
      await until(() => kill === 0 || lines > 2);
      const before = updates;
      await until(() => updates > before + 5);
      if (kill === 1) {
        await gateway.kill();
        gateway = await startGateway();
        const known = lines;
        await until(() => lines > known);
      }
      running.kill('SIGKILL');
      await once(running, 'close');
    }
    clearInterval(updating);
    // A text of the later time would come before that of the earlier one.
    const [time] = new Date(Date.now() - 1_000).toISOString().split('.');
    const { _id } = sandbox.publishEvent({ title: 'Earlier', lastUpdated: `${time}Z` });
    await once(mirror(), 'close');
    sandbox.touchEvent(_id, { title: 'Later', lastUpdated: `${time}.5Z` });
    const expectCopy = async () => {
      const last = mirror();
      let errors = '';
      last.stderr.on('data', chunk => (errors += chunk));
      const [code] = await once(last, 'close');
      expect({ code, errors }).toEqual({ code: 0, errors: '' });
      const since = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10);
      // Without an impacted entity, an event has no score, and the service takes it for none that matches.
      const all = sandbox.data.events.filter(
        ({ lastUpdated, taxonomicMatches }) => lastUpdated >= since && taxonomicMatches.impactedEntities.length > 0,
      );
      expect(copyIn(folder)).toEqual(Object.fromEntries(all.map(({ _id, title }) => [_id, title])));
    };
    await expectCopy();
    expect(updates).toBeGreaterThan(15);
    // More than it may miss, and one that is gone, which only the list shows.
    for (let missed = 0; missed <= 2_000; missed += 1) sandbox.publishEvent({ title: `Missed ${missed}` });
    const events = sandbox.data.events as (typeof sandbox.data.events)[number][];
    events.splice(
      events.findIndex(event => event._id === _id),
      1,
    );
    await expectCopy();
  },
);

test('mirror.py reads on behind any number of events that cannot be read, and keeps what it has of events that cannot be read any more', async () => {
  const folder = await mirrorFolder();
  const sandbox = await startSandbox();
  const gateway = await startGateway({ sandbox });
  cleanups.push(() => sandbox.close());
  cleanups.push(() => gateway.close());
  const now = Date.now();
  // The newest first: 60 that cannot be read, 10 that can, and 60 that cannot.
  for (let index = 0; index < 130; index += 1) {
    const isReadable = index >= 60 && index < 70;
    const lastUpdated = new Date(now - index * 1_000).toISOString();
    sandbox.publishEvent({ title: `${index}`, lastUpdated, ...(!isReadable && { _id: index as never }) });
  }
  const since = new Date(now - 30 * 86_400_000).toISOString().slice(0, 10);
  const readable = () =>
    sandbox.data.events.filter(
      ({ _id, lastUpdated, taxonomicMatches }) =>
        typeof _id === 'string' && lastUpdated >= since && taxonomicMatches.impactedEntities.length > 0,
    );
  async function mirror() {
    const env = { ...process.env, GATEWAY: gateway.url, API_KEY: 'demo-key-subscribed' };
    const running = spawn('python3', ['mirror.py'], { cwd: folder, env, timeout: 60_000 });
    const [code] = await once(running, 'close');
    expect(code).toBe(0);
  }
  await mirror();
  const titles = Object.fromEntries(readable().map(({ _id, title }) => [_id, title]));
  expect(copyIn(folder)).toEqual(titles);
  expect(Object.keys(titles).length).toBeGreaterThan(100);

  // More than it may miss, so that it reads the list again.
  for (let missed = 0; missed <= 2_000; missed += 1) sandbox.publishEvent({ title: `Missed ${missed}` });
  const events = sandbox.data.events as (typeof sandbox.data.events)[number][];
  const unreadable = events.findIndex(({ title }) => title === '65');
  events[unreadable] = { ...events[unreadable], _id: 65 } as never;
  await mirror();
  const later = Object.fromEntries(readable().map(({ _id, title }) => [_id, title]));
  expect(copyIn(folder)).toEqual({ ...titles, ...later });
});

test('mirror.py keeps events of which the list has an older version, or one without a time', async () => {
  const folder = await mirrorFolder();
  const event = (id: string, title: string, lastUpdated: string | null) => ({ id, title, lastUpdated });
  const [first, second] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];
  const later = [event('1', 'later', second), event('2', 'later', second)];
  const lists = [
    [event('1', 'first', first), event('2', 'first', first)],
    [event('1', 'first', first), event('2', 'first', null)],
  ];
  const changes = [
    { nodes: later.map(each => ({ event: each })), cursor: '1', hasMore: true, gap: false },
    { gap: true },
    { nodes: [], cursor: '2', hasMore: false, gap: false },
  ];
  const server = createServer(async (request, response) => {
    const isList = (await text(request)).includes('query List');
    const edges = isList ? lists.shift()?.map(node => ({ node, cursor: node.id })) : [];
    const events = { edges, pageInfo: { hasNextPage: false, endCursor: '2' }, updatesCursor: '0' };
    response.end(JSON.stringify({ data: isList ? { events } : { eventChanges: changes.shift() } }));
  });
  const env = { ...process.env, GATEWAY: `http://127.0.0.1:${await listening(server)}`, API_KEY: 'key' };
  const [code] = await once(spawn('python3', ['mirror.py'], { cwd: folder, env, timeout: 60_000 }), 'close');
  expect([code, lists, copyIn(folder)]).toEqual([0, [], { 1: 'later', 2: 'later' }]);
});

test('mirror.py without an interval ends if the gateway is away for minutes', async () => {
  const folder = await mirrorFolder();
  // A clock that only the pauses move.
  const python = `import runpy, time
now = [0]
time.monotonic = lambda: now[0]
time.sleep = lambda seconds: now.__setitem__(0, now[0] + seconds)
try:
    runpy.run_path("mirror.py", run_name="__main__")
finally:
    print(now[0])`;
  const env = { ...process.env, GATEWAY: `http://${await freeAddress()}`, API_KEY: 'key' };
  const running = spawn('python3', ['-c', python], { cwd: folder, env, timeout: 60_000 });
  let printed = '';
  running.stdout.on('data', chunk => (printed += chunk));
  const [code] = await once(running, 'close');
  expect([code, Number(printed)]).toEqual([1, expect.closeTo(300, -1)]);
});

test('companies.py asks again after a connection that broke, after an error that may pass, and where Retry-After is a date', async () => {
  let asked = 0;
  const companies = { totalCount: 1, nodes: [{ domain: 'one.example' }], pageInfo: { hasNextPage: false } };
  const server = createServer((request, response) => {
    asked += 1;
    if (asked === 1) {
      request.socket.destroy();
      return;
    }
    if (asked === 3) response.writeHead(503, { 'retry-after': new Date().toUTCString() });
    const extensions = { code: 'RATE_LIMITED', retryable: true, retryAfterSeconds: 0 };
    const busy = { data: { market: null }, errors: [{ message: 'Busy', extensions }] };
    response.end(JSON.stringify(asked === 2 ? busy : { data: { market: { companies } } }));
  });
  const env = { ...process.env, GATEWAY: `http://127.0.0.1:${await listening(server)}`, API_KEY: 'key', MARKET: '3' };
  const running = spawn('python3', ['examples/partners/companies.py'], { env, timeout: 60_000 });
  let printed = '';
  running.stdout.on('data', chunk => (printed += chunk));
  const [code] = await once(running, 'close');
  expect([code, printed, asked]).toEqual([0, 'all companies read\n', 4]);
});
