import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fastify } from 'fastify';
import { Client } from 'undici';
import { registerStaticFiles } from '../src/http/static-files.js';
import { forSuite } from './support/cleanups.js';
import { startGateway, type TestGateway } from './support/gateway.js';
import { rawConnection } from './support/raw-http.js';
import { until } from './support/until.js';

const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const script = `
const socket = new WebSocket(location.origin.replace('http', 'ws') + '/graphql', 'graphql-transport-ws');
socket.onopen = () => socket.send('{"type":"connection_init"}');
socket.onmessage = ({ data }) => { document.body.dataset.socket = JSON.parse(data).type; };
fetch('/graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"query":"{ capabilities { exports } }"}' })
  .then(response => response.json())
  .then(({ data }) => { document.body.dataset.query = JSON.stringify(data); });
`;
const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>The front end</title>
<link rel="stylesheet" href="/assets/page-a1b2.css"><link rel="icon" href="data:,">
<script type="module" src="/assets/page-a1b2.js"></script></head>
<body><script>document.body.dataset.inline = 'ran';</script></body></html>`;

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'static-')));
const root = join(folder, 'dist');

const files: Record<string, string | Buffer> = {
  'secret.txt': 'a secret',
  'dist/index.html': page,
  'dist/favicon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'dist/.env': 'a secret',
  'dist/.git/config': 'a secret',
  'dist/assets/page-a1b2.css': 'body { color: black }',
  'dist/assets/linked-c3d4.css': 'body { color: white }',
  'dist/assets/page-a1b2.js': script,
  'dist/assets/page-a1b2.js.gz': gzipSync(script),
  'dist/assets/page-a1b2.js.br': brotliCompressSync(script),
  'dist/assets/linked-e5f6.css': 'body { color: white }',
  'dist/assets/piped-a7b8.css': 'body { color: white }',
  'dist/..2026_11_25.1/mounted.txt': 'from a volume of Kubernetes',
  'dist/graphql': 'not GraphQL',
  'dist/mcp/index.html': 'not MCP',
  'dist/metrics/index.html': 'not the metrics',
};
for (const name of ['dist/.git', 'dist/..2026_11_25.1', 'dist/assets', 'dist/mcp', 'dist/metrics']) {
  mkdirSync(join(folder, name), { recursive: true });
}
for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
symlinkSync('../secret.txt', join(root, 'outside.txt'));
symlinkSync('..', join(root, 'above'));
symlinkSync('../../secret.txt', join(root, 'assets/linked-c3d4.css.gz'));
symlinkSync('favicon.svg', join(root, 'icon.svg'));
symlinkSync('.env', join(root, 'env.txt'));
symlinkSync('../.env', join(root, 'assets/env.css'));
symlinkSync('.git', join(root, 'git'));
symlinkSync('.git/config', join(root, 'config.txt'));
symlinkSync('../.env', join(root, 'assets/linked-e5f6.css.gz'));
execFileSync('mkfifo', [join(root, 'assets/piped-a7b8.css.gz')]);
symlinkSync('..2026_11_25.1', join(root, '..data'));
symlinkSync('..data/mounted.txt', join(root, 'mounted.txt'));
const gateway = forSuite(await startGateway({ env: { STATIC_DIR: root, CORS_ORIGINS: 'https://app.example' } }));
/** Sends what it is told and nothing else: fetch resolves dots in paths, and adds headers of its own. */
const client = forSuite(new Client(gateway.url));

afterAll(() => rmSync(folder, { recursive: true }));

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${gateway.url}${path}`, { headers });
async function statusIfNot(path: string, etag: string): Promise<number> {
  const { statusCode, body } = await client.request({ path, method: 'GET', headers: { 'if-none-match': etag } });
  await body.dump();
  return statusCode;
}
const textOf = async (path: string, headers?: Record<string, string>) => (await get(path, headers)).text();

describe('a front end', () => {
  test.each(['/', '/?sessionId=s1', '/index.html'])('is the page at %s, for every client', async path => {
    for (const accept of [browserAccept, '*/*', 'application/json']) {
      const { status, headers } = await get(path, { accept });
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('cache-control')).toBe('no-cache');
    }
    expect(await textOf(path)).toBe(page);
  });

  test('opens one file at a time for a connection, however many it asks for', async () => {
    const large = join(root, 'large.bin');
    writeFileSync(large, Buffer.alloc(16 * 1024 * 1024));
    const opened = () =>
      readdirSync('/proc/self/fd').filter(each => {
        try {
          return readlinkSync(`/proc/self/fd/${each}`) === large;
        } catch {
          return false;
        }
      });
    const one = 'GET /large.bin HTTP/1.1\r\nhost: gateway\r\n\r\n';
    const raw = rawConnection(gateway.url, one.repeat(20));
    raw.socket.pause();
    await until(() => opened().length > 0);
    for (let turn = 0; turn < 20; turn += 1) {
      await get('/healthz');
      expect(opened()).toHaveLength(1);
    }
    raw.socket.destroy();
    await until(() => opened().length === 0);
  });

  test('may load only files of its own origin, and nothing inline', async () => {
    for (const path of ['/', '/markets/7', '/favicon.svg', '/assets/page-a1b2.js']) {
      const { headers } = await get(path, { accept: browserAccept });
      const policy = headers.get('content-security-policy')?.split('; ');
      expect(policy).toEqual([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
      ]);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    }
  });

  test('has files that browsers keep forever if their names contain a hash, and check by ETag otherwise', async () => {
    const hashed = await get('/assets/page-a1b2.css');
    expect(hashed.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(hashed.headers.get('content-type')).toBe('text/css; charset=utf-8');
    for (const path of ['/', '/favicon.svg', '/assets/page-a1b2.css']) {
      const etag = (await get(path)).headers.get('etag') ?? '';
      expect(etag).not.toBe('');
      expect(await statusIfNot(path, etag)).toBe(304);
      expect(await statusIfNot(path, 'W/"another"')).toBe(200);
    }
    expect((await get('/favicon.svg')).headers.get('cache-control')).toBe('no-cache');
  });

  test.each([
    ['br', 'gzip, deflate, br'],
    ['gzip', 'gzip'],
    [null, 'identity'],
  ])('is sent compressed as it was built: %s', async (encoding, accepted) => {
    const response = await get('/assets/page-a1b2.js', { 'accept-encoding': accepted });
    expect(response.headers.get('content-encoding')).toBe(encoding);
    expect(response.headers.get('vary')).toMatch(/accept-encoding/i);
    expect(response.headers.get('content-type')).toMatch(/javascript/);
    expect(await response.text()).toBe(script);
  });

  test.each(['/markets/7', '/markets/7/', '/exports', '/assets', '/above', '/a%20b'])(
    'gets its page where a browser opens the unknown path %s',
    async path => {
      const response = await get(path, { accept: browserAccept });
      expect(response.status).toBe(200);
      expect(response.headers.get('vary')).toBe('Origin, accept, accept-encoding');
      expect(await response.text()).toBe(page);
    },
  );

  test.each(['/', '/markets/7', '/assets/page-a1b2.js'])('answers HEAD for %s like GET, without a body', async path => {
    const get = await client.request({ path, method: 'GET', headers: { accept: browserAccept } });
    const head = await client.request({ path, method: 'HEAD', headers: { accept: browserAccept } });
    const bytes = (await get.body.arrayBuffer()).byteLength;
    expect((await head.body.arrayBuffer()).byteLength).toBe(0);
    expect(head.statusCode).toBe(200);
    for (const name of ['content-type', 'cache-control', 'etag', 'content-security-policy']) {
      expect(head.headers[name]).toBe(get.headers[name]);
    }
    expect(head.headers['content-length']).toBe(String(bytes));
  });

  test.each([
    ['/markets/7', '*/*'],
    ['/markets/7', 'application/json'],
    ['/assets/page-old.js', browserAccept],
    ['/missing.png', browserAccept],
  ])('gets 404 for %s with Accept: %s', async (path, accept) => {
    const response = await get(path, { accept });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'NOT_FOUND' } }] });
  });

  test('gets 404 for a POST', async () => {
    const response = await fetch(`${gateway.url}/markets/7`, { method: 'POST', headers: { accept: browserAccept } });
    expect(response.status).toBe(404);
  });
});

describe('no file hides a path of the gateway', () => {
  test.each([
    ['/graphql', 'text/html', /GraphiQL/],
    ['/graphql?query={capabilities{exports}}', 'application/json', /"exports":true/],
    ['/schema.graphql', 'text/html', /type Query/],
    ['/healthz', 'text/html', /"ok"/],
    ['/readyz', 'text/html', /"ready"/],
    ['/metrics', 'text/html', /# HELP/],
  ])('%s', async (path, accept, expected) => {
    expect(await textOf(path, { accept, 'apollo-require-preflight': '1' })).toMatch(expected);
  });

  test.each(['/graphql/', '/graphql/nothing', '/mcp/', '/mcp/index.html', '/metrics/index.html', '/healthz/a'])(
    '%s is 404, not a file',
    async path => {
      expect((await get(path, { accept: browserAccept })).status).toBe(404);
    },
  );

  test.each([
    ['/%6detrics', 200],
    ['/%68ealthz', 200],
    ['/%6dcp', 405],
    ['/%6dcp/index.html', 404],
    ['/%67raphql/', 404],
    ['/%256detrics', 404],
  ])('%s is another spelling of it, and no file', async (path, status) => {
    expect((await get(path, { accept: '*/*' })).status).toBe(status);
  });

  test('/mcp is for POST only', async () => {
    expect((await get('/mcp', { accept: browserAccept })).status).toBe(405);
  });

  test('/graphql/stream still wants to send events', async () => {
    expect((await get('/graphql/stream?query={capabilities{exports}}', { accept: browserAccept })).status).toBe(406);
  });
});

describe('a file outside of the folder, a hidden one, or a pipe', () => {
  test.each([
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/assets/..%2f..%2fsecret.txt',
    '/assets/%2e%2e/%2e%2e/secret.txt',
    '/..%5csecret.txt',
    '//secret.txt',
    '/above/secret.txt',
    '/outside.txt',
    '/env.txt',
    '/assets/env.css',
    '/git/config',
    '/config.txt',
    '/..data/mounted.txt',
    '/..2026_11_25.1/mounted.txt',
    '/.env',
    '/%2eenv',
    '/.git/config',
    '/assets/../.env',
    '/secret.txt%00.css',
    '/assets/page-a1b2.css%00',
  ])('is never sent: %s', async path => {
    const response = await client.request({ path, method: 'GET' });
    expect([400, 404]).toContain(response.statusCode);
    expect(await response.body.text()).not.toMatch(/a secret|volume/);
  });

  test.each(['linked-c3d4', 'linked-e5f6', 'piped-a7b8'])(
    'is not sent as the compressed form of another: %s',
    async name => {
      const response = await get(`/assets/${name}.css`, { 'accept-encoding': 'gzip' });
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'NOT_FOUND' } }] });
    },
  );

  test('a link to a file inside is that file', async () => {
    expect(await textOf('/icon.svg')).toBe(await textOf('/favicon.svg'));
    expect(await textOf('/mounted.txt')).toBe('from a volume of Kubernetes');
  });
});

test.each(['nowhere', 'dist/assets', 'secret.txt'])(
  'a STATIC_DIR is an error of the configuration without an index.html: %s',
  async name => {
    const dir = join(folder, name);
    await expect(registerStaticFiles(fastify(), dir)).rejects.toThrow(
      `Invalid configuration: STATIC_DIR: ${dir} must be a folder with an index.html`,
    );
  },
);

describe('without STATIC_DIR', () => {
  let bare: TestGateway;
  beforeAll(async () => {
    bare = await startGateway();
  });
  afterAll(() => bare.close());
  const open = (path: string, accept: string) =>
    fetch(`${bare.url}${path}`, { headers: { accept }, redirect: 'manual' });

  test.each(['/index.html', '/markets/7'])('there is no file: %s', async path => {
    expect((await open(path, browserAccept)).status).toBe(404);
  });

  test('a browser that opens / gets GraphiQL', async () => {
    const { status, headers } = await open('/?sessionId=s1', browserAccept);
    expect([status, headers.get('location'), headers.get('vary')]).toEqual([302, '/graphql', 'accept']);
    const page = await fetch(bare.url, { headers: { accept: browserAccept } });
    expect(await page.text()).toContain('GraphiQL');
  });

  test.each(['application/json', '*/*'])('/ is 404 for a client that accepts %s', async accept => {
    expect((await open('/', accept)).status).toBe(404);
  });
});
