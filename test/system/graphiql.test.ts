import { gunzipSync } from 'node:zlib';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { afterAll, expect, test } from '@jest/globals';
import { fastify } from 'fastify';
import { graphql } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { WebSocketServer } from 'ws';
import { registerGraphiql } from '../../src/http/graphiql/graphiql.js';
import { safeHeaders } from '../../src/http/web-safety.js';
import { launchChromium } from '../support/chromium.js';
import { forSuite } from '../support/cleanups.js';
import { openTab, queryEditor, runAndRead, tabsOf, typeQuery, visitPage } from '../support/graphiql-page.js';
import { hangMs, until } from '../support/until.js';

const app = fastify();
let asked: { apiKey: unknown; url: string }[] = [];
const connected: unknown[] = [];

const schema = makeExecutableSchema({
  typeDefs: `
    type Query { greeting(name: String!): String! }
    type Subscription { countdown(from: Int!): Int! }
  `,
  resolvers: {
    Query: { greeting: (_: unknown, { name }: { name: string }) => `Good day, ${name}` },
    Subscription: {
      countdown: {
        async *subscribe(_: unknown, { from }: { from: number }) {
          for (let countdown = from; countdown >= 0; countdown--) yield { countdown };
        },
      },
    },
  },
});

app.addHook('onRequest', async (_, reply) => void reply.headers(safeHeaders));
registerGraphiql(app, {
  tabs: [
    { query: 'query Greet($name: String!) {\n  greeting(name: $name)\n}', variables: '{ "name": "</script>" }' },
    { query: 'subscription Countdown {\n  countdown(from: 3)\n}' },
    {
      query: 'query Farewell {\n  greeting(name: "and good bye")\n}',
      headers: '{ "x-api-key": "another-key" }',
    },
  ],
  headers: { 'x-api-key': 'demo-key' },
});
app.route({
  method: 'GET',
  url: '/graphql',
  handler: async () => ({ data: { from: 'the GraphQL route' } }),
});
app.post<{ Body: { query: string; variables?: Record<string, unknown>; operationName?: string } }>(
  '/graphql',
  async request => {
    asked.push({ apiKey: request.headers['x-api-key'], url: request.url });
    const { query: source, variables: variableValues, operationName } = request.body;
    return graphql({ schema, source, variableValues, operationName });
  },
);
useServer(
  {
    schema,
    onConnect: ({ connectionParams }) => {
      connected.push(connectionParams);
    },
  },
  new WebSocketServer({ server: app.server, path: '/graphql' }),
);
const origin = await app.listen({ host: '127.0.0.1', port: 0 });
const browser = forSuite(await launchChromium());

afterAll(() => app.close());

const visit = (path = '/graphql') => visitPage(browser, `${origin}${path}`);

const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

test('serves the page only to a browser that navigates', async () => {
  const page = await app.inject({ url: '/graphql', headers: { accept: browserAccept } });
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(page.headers.vary).toBe('accept');
  expect(page.body).toContain('<title>Market Intelligence Gateway</title>');

  for (const accept of ['application/json', '*/*', 'application/graphql-response+json, text/html;q=0.5']) {
    const answer = await app.inject({ url: '/graphql', headers: { accept } });
    expect(answer.json()).toEqual({ data: { from: 'the GraphQL route' } });
  }
  const posted = await app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { accept: browserAccept },
    payload: { query: '{ greeting(name: "Ada") }' },
  });
  expect(posted.json()).toEqual({ data: { greeting: 'Good day, Ada' } });
});

test('the page runs only its own files, cannot be framed and sends no referrer', async () => {
  const { headers, body } = await app.inject({ url: '/graphql', headers: { accept: browserAccept } });
  const policy = Object.fromEntries(
    String(headers['content-security-policy'])
      .split('; ')
      .map(directive => [directive.split(' ')[0], directive.split(' ').slice(1).join(' ')]),
  );
  expect(policy).toEqual({
    'default-src': "'none'",
    'script-src': "'self'",
    'worker-src': "'self'",
    'style-src': "'self' 'unsafe-inline'",
    'img-src': 'data:',
    'font-src': 'data:',
    'connect-src': "'self'",
    'frame-ancestors': "'none'",
    'base-uri': "'none'",
    'form-action': "'none'",
  });
  expect(headers).toMatchObject({
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  expect(body).not.toMatch(/<script(?![^>]* (src|type="application\/json"))/);
});

test('serves files of the page with long caching and compression', async () => {
  const page = await app.inject({ url: '/graphql', headers: { accept: browserAccept } });
  const urls = page.body.match(/\/graphql\/assets\/[\w.-]+/g) ?? [];
  expect(urls).toHaveLength(7);
  for (const url of urls) {
    const plain = await app.inject({ url });
    expect(plain.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': url.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    });
    expect(plain.headers).not.toHaveProperty('content-encoding');
    const compressed = await app.inject({ url, headers: { 'accept-encoding': 'gzip, br' } });
    expect(compressed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(compressed.rawPayload).equals(plain.rawPayload)).toBe(true);
  }
  expect((await app.inject({ url: '/graphql/assets/graphiql.js' })).statusCode).toBe(404);
});

test('an example with headers of its own is sent with them', async () => {
  const { page } = await visit();
  await openTab(page, 'Farewell');
  asked = [];
  await runAndRead(page, '"Good day, and good bye"');
  expect(asked.at(-1)).toEqual({ apiKey: 'another-key', url: '/graphql' });
  await page.close();
});

test('opens the query of the address and keeps the rest of the address', async () => {
  const { page } = await visit(`/graphql?sessionId=s1&query=${encodeURIComponent('{ greeting(name: "Bo") }')}`);
  await runAndRead(page, '"Good day, Bo"');
  await typeQuery(page, '{ greeting(name: "Cy")');
  await runAndRead(page, '"Good day, Cy"');
  // The address follows the editor with a delay.
  await page.waitForURL(url => url.searchParams.get('query')?.includes('Cy') ?? false);
  await page.reload();
  await page.locator(queryEditor).waitFor();
  await runAndRead(page, '"Good day, Cy"');
  expect(new URL(page.url()).searchParams.get('sessionId')).toBe('s1');
  await page.close();
});

test.each(['Greet', 'Countdown', 'Farewell'])(
  'after a reload the same tabs are there, and %s is still open',
  async name => {
    const { page } = await visit();
    const others = ['Greet', 'Countdown', 'Farewell'];
    const expected = others.map(each => (each === name ? `${each}*` : each));
    // Greet is open in a fresh profile, where nothing has been edited.
    if (name !== 'Greet') await openTab(page, name);
    expect(await tabsOf(page)).toEqual(expected);
    // GraphiQL stores its tabs with a delay.
    await until(() =>
      page.evaluate<boolean>(
        `JSON.parse(localStorage.getItem('graphiql:tabState'))?.activeTabIndex === ${others.indexOf(name)}`,
      ),
    );
    for (const _ of ['once', 'twice']) {
      await page.reload();
      await page.locator(queryEditor).waitFor();
      expect(await tabsOf(page)).toEqual(expected);
      expect(await page.locator(queryEditor).innerText()).toMatch(name);
    }
    if (name === 'Greet') await runAndRead(page, '"Good day, </script>"');
    await page.close();
  },
);

test('a link to another query opens it in a tab of its own, once', async () => {
  const { page } = await visit();
  await until(() => page.evaluate<boolean>(`localStorage.getItem('graphiql:tabState') !== null`));
  await page.goto(`${origin}/graphql?query=${encodeURIComponent('query Linked { greeting(name: "Di") }')}`);
  for (const _ of ['at first', 'reloaded']) {
    await page.locator('.graphiql-tab-active', { hasText: 'Linked' }).waitFor();
    expect(await tabsOf(page)).toEqual(['Greet', 'Countdown', 'Farewell', 'Linked*']);
    await until(() =>
      page.evaluate<boolean>(`JSON.parse(localStorage.getItem('graphiql:tabState'))?.tabs.length === 4`),
    );
    await page.reload();
    await page.locator(queryEditor).waitFor();
  }
  await runAndRead(page, '"Good day, Di"');
  await page.close();
});

test.each(['{', '"tabs"', '{"tabs":1}'])('opens where the browser has %s in place of its tabs', async stored => {
  const { page } = await visit();
  await page.addInitScript(`localStorage.setItem('graphiql:tabState', ${JSON.stringify(stored)})`);
  await page.reload();
  await page.locator(queryEditor).waitFor();
  await page.close();
});

test('stores no key in the browser', async () => {
  const { page } = await visit();
  await openTab(page, 'Farewell');
  await runAndRead(page, '"Good day, and good bye"');
  const stored = () => page.evaluate<string>('JSON.stringify(localStorage)');
  await until(async () => (await stored()).includes('Farewell'));
  expect(await stored()).not.toMatch(/-key/);
  await page.close();
});

test('on a telephone, the page is as wide as the screen, and its panes are above each other', async () => {
  const viewport = { width: 390, height: 844 };
  const context = await browser.newContext({ viewport, isMobile: true, hasTouch: true });
  const page = await context.newPage();
  page.setDefaultTimeout(hangMs);
  await page.goto(`${origin}/graphql`);
  await page.locator(queryEditor).waitFor();
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(390);
  const [editor, answer] = await Promise.all(
    ['.graphiql-query-editor', '.result-window'].map(pane => page.locator(pane).boundingBox()),
  );
  for (const pane of [editor, answer]) expect(pane?.width).toBeGreaterThan(280);
  expect((editor?.y ?? 0) + (editor?.height ?? 0)).toBeLessThanOrEqual(answer?.y ?? 0);
  await runAndRead(page, '"Good day, </script>"');
  await context.close();
});
