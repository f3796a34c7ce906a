import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

// `npm run screenshot` writes the pictures of README.md: its query and the answer in GraphiQL, and two screens of the console, from a
// gateway with the sandbox. CHROME_PATH names another Chromium than Debian's.
const fileOf = path => fileURLToPath(new URL(path, import.meta.url));
const [, query] = /<!-- query -->\s*```graphql\n([\s\S]*?)```/.exec(readFileSync(fileOf('../README.md'), 'utf8'));

const gateway = spawn(process.execPath, [fileOf('../examples/console/start.mjs')], {
  env: { PATH: process.env.PATH, PORT: '0' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const exit = once(gateway, 'exit');
const browser = await chromium.launch({
  executablePath: process.env.CHROME_PATH ?? '/usr/bin/chromium',
  args: process.getuid() === 0 ? ['--no-sandbox'] : [],
});
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 800 }, colorScheme: 'light' });
  const address = new URL(await addressOf(gateway.stdout));
  address.searchParams.set('query', query);
  await page.goto(address.href);
  await page.locator('.graphiql-query-editor .view-lines').click();
  // A tab takes the name of its operation with the first edit.
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' ');
  await page.keyboard.press('Backspace');
  await page.locator('.graphiql-tab', { hasText: 'Overview' }).waitFor();
  await page.locator('.graphiql-execute-button').click();
  await page.locator('.result-window').getByText('totalCount').waitFor();
  await page.mouse.move(0, 0);
  await page.waitForTimeout(500);
  await page.screenshot({ path: fileOf('screenshot.png') });

  await page.setViewportSize({ width: 1280, height: 760 });
  await page.goto(address.origin);
  await page.getByRole('listitem').nth(10).waitFor();
  await page.getByRole('button', { name: /^Severity 3, likelihood 3: \d+ event/ }).waitFor();
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  await page.waitForTimeout(500);
  await page.screenshot({ path: fileOf('console-monitor.png') });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.goto(`${address.origin}/markets/1`);
  await page.locator('tbody tr').first().getByRole('button').click();
  await page.getByRole('dialog').getByRole('heading', { name: 'ESG' }).waitFor();
  await page.waitForTimeout(500);
  await page.screenshot({ path: fileOf('console-market.png') });
} finally {
  await browser.close();
  gateway.kill('SIGINT');
  await exit;
}

/** The address that the gateway prints when it listens. */
async function addressOf(output) {
  for await (const line of createInterface({ input: output })) {
    const [address] = /http:\/\/\S+\/graphql/.exec(line) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error('The gateway ended before it listened');
}
