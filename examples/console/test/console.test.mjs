// Drives the built console in Chromium, on a gateway with the sandbox that executes only the console's documents. `npm run test:console` runs it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { createReceiver } from '../../../dist/receiver/server.js';
import { startNetwork } from '../../../test/support/network.mjs';

const here = fileURLToPath(new URL('..', import.meta.url));
const screenshots = join(here, 'screenshots');
const data = mkdtempSync(join(tmpdir(), 'console-'));

let gateway;
let receiver;
let browser;
let page;
let network;
let origin;
/** What the browser complained about. A step that takes the network away expects it. */
const complaints = [];

before(async () => {
  mkdirSync(screenshots, { recursive: true });
  receiver = createReceiver('accept', () => {});
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  const env = {
    ...process.env,
    PORT: '0',
    DATA_DIR: data,
    PERSISTED_DOCUMENTS_MODE: 'only',
    MAX_EVENT_LOOP_DELAY_MS: '60000',
  };
  gateway = spawn(process.execPath, [join(here, 'start.mjs')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await portOf(gateway);
  network = await startNetwork(() => port);
  // As the gateway prints it: the page is then on the site of its cookie.
  origin = network.url.replace('127.0.0.1', 'localhost');
  browser = await chromium.launch({
    executablePath: process.env.CHROME_PATH ?? '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, colorScheme: 'light' });
  page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.on('console', message => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', error => complaints.push(String(error)));
});

after(async () => {
  await browser?.close();
  await network?.close();
  gateway?.kill('SIGTERM');
  receiver?.close();
  rmSync(data, { recursive: true, force: true });
});

afterEach(async t => {
  if (!t.passed) await page?.screenshot({ path: join(screenshots, 'failure.png') });
});

const badge = () => page.locator('header [role=status]');
const rows = () => page.getByRole('region', { name: 'Events' }).getByRole('listitem');

test('the first load has at most 180 KiB of JavaScript', async t => {
  const sizes = [];
  const onResponse = async response => {
    if (response.request().resourceType() === 'script')
      sizes.push(gzipSync(await response.body(), { level: 9 }).length);
  };
  page.on('response', onResponse);
  await page.goto(origin);
  await rows().first().waitFor();
  page.off('response', onResponse);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const interactive = await page.evaluate(() => performance.getEntriesByType('navigation')[0].domInteractive);
  t.diagnostic(`${total} bytes of gzip in ${sizes.length} files, interactive after ${Math.round(interactive)} ms`);
  assert.ok(total <= 180 * 1024, `${total} bytes`);
  await look('monitor');
});

test('the feed loads more while it is scrolled, and no event stands twice', async () => {
  for (const atLeast of [40, 65]) {
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await page.waitForFunction(count => document.querySelectorAll('ol > li').length >= count, atLeast);
  }
  await page.evaluate(() => scrollTo(0, 0));
});

test('dragging over the histogram filters the list, and so do a cell of the matrix and a day', async () => {
  const box = await page.locator('svg[role=img]').boundingBox();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, box.y + 60, { steps: 5 });
  await page.mouse.up();
  await page.waitForURL(/from=.*to=/);
  await page.getByRole('button', { name: /^Severity 3, likelihood 3: \d+ event/ }).click();
  await page.waitForURL(/severity=3/);
  await page.getByRole('link', { name: 'Clear filters' }).click();
  await page.waitForURL(url => url.search === '');
  const today = new Date().toISOString().slice(0, 10);
  await page.getByLabel('Day', { exact: true }).fill(today);
  await page.waitForURL(url => url.searchParams.get('from')?.includes(today));
  await page.getByLabel('Day', { exact: true }).fill('');
  await page.waitForURL(url => url.search === '');
});

test('the sources of an event arrive in its details', async () => {
  await rows().first().getByRole('button').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('heading', { name: 'Sources' }).waitFor();
  await dialog
    .getByText(/\d{4}, \d{2}:\d{2} UTC\./)
    .first()
    .waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.waitForURL(url => url.search === '');
  await page.goBack();
  await dialog.waitFor({ state: 'hidden' });
  assert.ok(!page.url().includes('event='), page.url());
  await page.goForward();
});

test('after signing in, live updates continue', async () => {
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('E-mail address').fill('ada@team.example');
  await page.getByLabel('Password').fill('sandbox-ada');
  await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await badge().filter({ hasText: 'Live' }).waitFor();
  await newUpdate();
});

test('without a network for 10 seconds, the page recovers by itself', async () => {
  // Chromium's offline mode does not cut WebSockets.
  network.silence();
  await badge().filter({ hasText: 'Reconnecting' }).waitFor();
  await page.waitForTimeout(10_000);
  network.restore();
  await badge().filter({ hasText: 'Live' }).waitFor({ timeout: 60_000 });
  await newUpdate();
  complaints.length = 0;
});

test('a discovery runs to its end, and its market is reviewed and published', async () => {
  await page.getByRole('link', { name: 'Discover' }).click();
  await page.getByLabel('Question').fill('Who makes sealed bearings in Germany?');
  await page.getByRole('button', { name: 'Make criteria' }).click();
  await page.getByLabel('Market number').fill('5');
  await look('criteria');
  await page.getByRole('button', { name: 'Start the discovery' }).click();
  const bar = page.getByRole('progressbar');
  await bar.waitFor();
  const early = await bar.evaluate(({ value }) => value);
  await page.waitForFunction(value => (document.querySelector('progress')?.value ?? 1) > value, early);
  await look('discover');
  await page.getByRole('link', { name: /^Review/ }).click({ timeout: 90_000 });
  await page.getByRole('button', { name: 'Include all companies' }).click();
  await page.getByText('The decision is saved.').waitFor();
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('table', { name: 'Companies' }).waitFor({ timeout: 90_000 });
});

test('1,200 companies are sorted and scrolled', async t => {
  await page.goto(`${origin}/markets/1`);
  const first = page.locator('tbody tr').first();
  await first.waitFor();
  const before = await first.innerText();
  await page.getByRole('button', { name: 'Revenue' }).click();
  await page.getByRole('columnheader', { name: 'Revenue' }).and(page.locator('[aria-sort=ascending]')).waitFor();
  await page.waitForFunction(text => document.querySelector('tbody tr')?.innerText !== text, before);
  await look('market');
  const longest = await page.evaluate(async () => {
    const scroller = document.querySelector('table').parentElement;
    let [longest, last] = [0, performance.now()];
    for (let frame = 0; frame < 240; frame += 1) {
      scroller.scrollTop += 120;
      await new Promise(requestAnimationFrame);
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }
    return longest;
  });
  t.diagnostic(`longest frame while scrolling and loading: ${Math.round(longest)} ms`);
});

test('what is visible is exported, and the attempt is shown', async () => {
  await page.getByRole('link', { name: 'Exports' }).click();
  await page.getByRole('button', { name: 'Register' }).click();
  await page.getByLabel('Name').fill('receiver');
  await page.getByLabel('URL').fill(`http://127.0.0.1:${receiver.address().port}/`);
  await page.getByLabel('Description').fill('The receiver of the test');
  await page.getByRole('dialog').getByRole('button', { name: 'Register' }).click();
  await page.getByRole('heading', { name: 'Signing secret' }).waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Test' }).click();
  await page.getByText('Delivered', { exact: true }).waitFor();
  await look('exports');
  await page.goto(`${origin}/markets/1`);
  await page.locator('tbody tr').first().waitFor();
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByRole('button', { name: 'Send' }).click();
  await page
    .getByRole('dialog')
    .getByText(/Delivered/)
    .waitFor();
  await page.getByRole('dialog').getByText(/^200/).waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Cost' }).click();
  await page.getByText('ExportMarket').waitFor();
  await look('cost');
  await page.getByRole('button', { name: 'Close' }).click();
});

test('signing out in one tab signs out in the others', async () => {
  const other = await page.context().newPage();
  await other.goto(`${origin}/exports`);
  await other.getByRole('button', { name: 'Sign out' }).click();
  for (const tab of [other, page]) await tab.getByRole('button', { name: 'Sign in' }).waitFor();
  await other.close();
});

test('what an address has and no screen can read is left out', async () => {
  await page.goto(`${origin}/?from=then&to=now&search=2026&alertTypes=one`);
  await rows().first().waitFor();
  await page.goto(`${origin}/nowhere`);
  await page.getByRole('heading', { name: 'Not found' }).waitFor();
  await page.getByRole('link', { name: 'Go to the monitor' }).click();
  await rows().first().waitFor();
  assert.match(await page.title(), /^Monitor/);
});

test('on a screen of 390 pixels, nothing lies beside it', async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  for (const path of ['/', '/discover', '/markets', '/markets/1', '/exports']) {
    await page.goto(origin + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForFunction(() => !document.querySelector('[aria-busy=true], [class*=skeleton]'));
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${path} is ${width} pixels wide`);
    await look(`narrow${path.replaceAll('/', '-')}`.replace(/-$/, '-monitor'));
  }
});

test('the browser had nothing to complain about', () => assert.deepEqual(complaints, []));

/** An event that is new or has a new version. The sandbox makes one every 20 seconds. */
async function newUpdate() {
  const before = await rows().first().innerText();
  await page.waitForFunction(text => document.querySelector('ol > li')?.innerText !== text, before, {
    timeout: 90_000,
  });
}

/** Takes a screenshot in light and dark, and looks for what a screen reader or a keyboard could not use. */
async function look(name) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(screenshots, `${name}-${colorScheme}.png`) });
    await page.evaluate(readFileSync(join(here, 'node_modules/axe-core/axe.min.js'), 'utf8'));
    const violations = await page.evaluate(async () => {
      const { violations } = await globalThis.axe.run();
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' ')}`);
    });
    assert.deepEqual(violations, [], `${name}, ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** The port that the gateway names when it listens. */
async function portOf({ stdout }) {
  let text = '';
  for await (const chunk of stdout) {
    text += chunk;
    const [, port] = /http:\/\/localhost:(\d+)\/graphql/.exec(text) ?? [];
    if (port) {
      stdout.resume();
      return Number(port);
    }
  }
  throw new Error(`The gateway did not start: ${text}`);
}
