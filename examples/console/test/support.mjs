import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { startSandbox } from '../../../dist/sandbox/server.js';
import { startNetwork } from '../../../test/support/network.mjs';

const here = fileURLToPath(new URL('..', import.meta.url));
const screenshots = join(here, 'screenshots');
/** Read when it is wanted: in a new clone, `build.mjs` installs it first. */
const axe = () => readFileSync(join(here, 'node_modules/axe-core/axe.min.js'), 'utf8');

/** The schema of the gateway. */
export const schemaText = () => readFileSync(join(here, '../../docs/schema.released.graphql'), 'utf8');

/**
 * What the tests of one file share: the console, an endpoint, and `check`, which declares a test. After them, all is closed; if one has failed, `failure.png`
 * shows the page.
 */
export async function openConsole() {
  const on = await startConsole();
  const endpoint = await startEndpoint();
  const { page } = on;
  let hasFailed = false;
  after(async () => {
    endpoint.close();
    await on.close(!hasFailed);
  });
  const check = (name, run) =>
    test(name, { timeout: 300_000 }, async t => {
      try {
        await run(t);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    });
  const rows = () => page.getByRole('region', { name: 'Events', exact: true }).getByRole('listitem');
  return { on, page, endpoint, check, rows };
}

/**
 * The built console in Chromium, on a gateway that executes only the console's documents. Between them is a network that can fail; behind the
 * gateway is a sandbox that obeys the test. No one is signed in.
 */
async function startConsole() {
  mkdirSync(screenshots, { recursive: true });
  const data = mkdtempSync(join(tmpdir(), 'console-'));
  const sandbox = await startSandbox();
  const { addresses, demo } = sandbox;
  const teams = join(data, 'teams.json');
  const emails = demo.users.map(({ email }) => email);
  writeFileSync(teams, JSON.stringify([{ name: 'team', emails, admins: emails }]));
  const env = {
    ...process.env,
    PORT: '0',
    DATA_DIR: data,
    TEAMS_FILE: teams,
    UPSTREAM_BASE_URL: addresses.base,
    UPSTREAM_API_URL: addresses.api,
    UPSTREAM_DEV_URL: addresses.dev,
    EVENTS_SEARCH_PARAM: sandbox.eventsSearchParam,
    KEYWORD_SUGGESTION_PATH: sandbox.keywordSuggestionPath,
    EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true',
    POLL_INTERVAL_MS: '1000',
    PERSISTED_DOCUMENTS_MODE: 'only',
    MAX_EVENT_LOOP_DELAY_MS: '60000',
  };
  const gateway = spawn(process.execPath, [join(here, 'start.mjs')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await portOf(gateway);
  const network = await startNetwork(() => port);
  const browser = await chromium.launch({
    executablePath: process.env.CHROME_PATH ?? '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
  // What takes longer hangs, on any machine.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  // What the browser complained about. A step that takes the network away expects it.
  const complaints = [];
  page.on('console', message => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', error => complaints.push(String(error)));
  await page.addInitScript(() => {
    globalThis.shift = 0;
    new PerformanceObserver(list => {
      for (const { hadRecentInput, value } of list.getEntries()) if (!hadRecentInput) globalThis.shift += value;
    }).observe({ type: 'layout-shift', buffered: true });
  });
  return {
    sandbox,
    network,
    page,
    complaints,
    // As the gateway prints it: the page is then on the site of its cookie.
    origin: network.url.replace('127.0.0.1', 'localhost'),
    async signIn(tab = page) {
      await tab.getByRole('button', { name: 'Sign in' }).click();
      await this.fillSignIn(tab);
    },
    async fillSignIn(tab = page) {
      await tab.getByLabel('E-mail address').fill('ada@team.example');
      await tab.getByLabel('Password').fill('sandbox-ada');
      await tab.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
      await tab.getByRole('button', { name: 'Sign out' }).waitFor();
    },
    look: name => look(page, name),
    async close(passed) {
      if (!passed) await page.screenshot({ path: join(screenshots, 'failure.png') });
      await browser.close();
      await network.close();
      gateway.kill('SIGTERM');
      await sandbox.close();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Takes a screenshot in light and dark, and looks for what a screen reader or a keyboard could not use. */
async function look(page, name) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(screenshots, `${name}-${colorScheme}.png`) });
    await page.evaluate(axe());
    const violations = await page.evaluate(async () => {
      const { violations } = await globalThis.axe.run();
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' ')}`);
    });
    assert.deepEqual(violations, [], `${name}, ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** An endpoint that answers each export with what the test has left in `answer`. */
async function startEndpoint() {
  const taken = [];
  const endpoint = {
    answer: { status: 200, body: {} },
    /** Waits until it has taken an event with this title. */
    async hasTaken(title) {
      while (!taken.some(({ changes = [] }) => changes.some(({ event }) => event.title === title)))
        await setTimeout(100);
    },
  };
  const server = createServer(async (request, response) => {
    const sent = await json(request);
    const { status, body } = endpoint.answer;
    if (status === 200) taken.push(sent);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return Object.assign(endpoint, { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() });
}

/** The port that the gateway names when it listens. */
async function portOf({ stdout }) {
  let output = '';
  for await (const chunk of stdout) {
    output += chunk;
    const [, port] = /http:\/\/localhost:(\d+)\/graphql/.exec(output) ?? [];
    if (port) {
      stdout.resume();
      return Number(port);
    }
  }
  throw new Error(`The gateway did not start: ${output}`);
}
