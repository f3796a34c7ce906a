import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { launchChromium, openPage } from '../support/chromium.js';
import { cleanups, forTest } from '../support/cleanups.js';
import { type GraphqlAnswer, startGateway } from '../support/gateway.js';
import { counted } from '../support/metrics.js';
import { until } from '../support/until.js';

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

test('a browser shows no one what it kept for another credential', async () => {
  const gateway = forTest(await startGateway({ env: { SESSION_SECRET: 'k'.repeat(40), RESPONSE_CACHE: 'true' } }));
  const page = await openPage(browser);
  await page.goto(`${gateway.url}/graphql`);
  const events = await gateway.query('{ events(first: 1) { nodes { references { id } } } }');
  const [{ id }] = events.data.events.nodes[0].references;
  const path = `/graphql?query=${encodeURIComponent(`{ observation(id: "${id}") { title content } }`)}`;
  const askAs = (apiKey: string) =>
    page.evaluate(
      async ([address, credential]) => {
        const headers = { 'x-api-key': credential, 'x-apollo-operation-name': 'x' };
        const answer = await fetch(address, { headers });
        const { data, errors } = (await answer.json()) as GraphqlAnswer;
        return errors === undefined ? data.observation.title : errors[0].extensions.code;
      },
      [path, apiKey] as const,
    );
  const asked = () => counted(gateway.url, 'gateway_requests_total', { transport: 'http' });
  expect(await askAs('demo-key-subscribed')).toEqual(expect.any(String));
  const before = await asked();
  expect(await askAs('demo-key-subscribed')).toEqual(expect.any(String));
  // The second was the browser's own.
  expect(await asked()).toBe(before);
  expect(await askAs('demo-key-markets-only')).toBe('FORBIDDEN');
  await page.close();
});

test('a browser loads a front end of STATIC_DIR, which reaches the gateway, and runs no inline script', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'static-'));
  writeFileSync(
    join(folder, 'page-a1b2.js'),
    `const socket = new WebSocket(location.origin.replace('http', 'ws') + '/graphql', 'graphql-transport-ws');
    socket.onopen = () => socket.send('{"type":"connection_init"}');
    socket.onmessage = ({ data }) => { document.body.dataset.socket = JSON.parse(data).type; };
    fetch('/graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"query":"{ capabilities { exports } }"}' })
      .then(response => response.json())
      .then(({ data }) => { document.body.dataset.query = JSON.stringify(data); });`,
  );
  writeFileSync(
    join(folder, 'index.html'),
    `<!doctype html>
    <html lang="en"><head><meta charset="utf-8"><title>The front end</title><link rel="icon" href="data:,">
    <script type="module" src="/page-a1b2.js"></script></head>
    <body><script>document.body.dataset.inline = 'ran';</script></body></html>`,
  );
  const gateway = await startGateway({ env: { STATIC_DIR: folder } });
  cleanups.push(() => rmSync(folder, { recursive: true }));
  cleanups.push(() => gateway.close());
  const page = await openPage(browser);
  const complaints: string[] = [];
  page.on('console', message => complaints.push(message.text()));
  await page.goto(`${gateway.url}/markets/7`);
  const read = () => page.evaluate<Record<string, string>>('({ ...document.body.dataset })');
  await until(async () => Object.keys(await read()).length >= 2);
  expect(await read()).toEqual({ socket: 'connection_ack', query: '{"capabilities":{"exports":true}}' });
  expect(complaints).toEqual([expect.stringMatching(/inline script.*Content Security Policy/)]);
  await page.close();
});
