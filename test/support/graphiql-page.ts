import type { Browser, Page } from 'playwright-core';
import { openPage } from './chromium.js';

/** A page that was opened, and what it did. */
export interface Visit {
  page: Page;
  /** Every address that the page asked for, WebSockets included. */
  addresses: string[];
  /** What the console showed, refusals of the content security policy among it, and uncaught errors. */
  complaints: string[];
}

export const queryEditor = '.graphiql-query-editor .view-lines';

/** Opens the page in a browser that was never there before, and waits for its editors. */
export async function visitPage(browser: Browser, address: string): Promise<Visit> {
  const page = await openPage(browser);
  const addresses: string[] = [];
  const complaints: string[] = [];
  page.on('request', request => addresses.push(request.url()));
  page.on('websocket', socket => addresses.push(socket.url()));
  page.on('console', message => complaints.push(message.text()));
  page.on('pageerror', error => complaints.push(error.message));
  await page.goto(address);
  await page.locator(queryEditor).waitFor();
  return { page, addresses, complaints };
}

/** Brings a tab to the front with one click, by the name of its operation. */
export async function openTab(page: Page, name: string): Promise<void> {
  await page.locator('.graphiql-tab', { hasText: name }).click();
  await page.locator('.graphiql-tab-active', { hasText: name }).waitFor();
}

/** The names of the tabs, with a star after the one that is open. */
export const tabsOf = (page: Page): Promise<string[]> =>
  page
    .locator('.graphiql-tab')
    .evaluateAll(tabs =>
      tabs.map(
        tab =>
          tab.querySelector('.graphiql-tab-button')?.textContent + (tab.matches('.graphiql-tab-active') ? '*' : ''),
      ),
    );

/** Replaces what stands in the query editor. The editor closes brackets by itself. */
export async function typeQuery(page: Page, query: string): Promise<void> {
  await page.locator(queryEditor).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.type(query);
  // What it suggests may lie over the button that runs the query.
  await page.keyboard.press('Escape');
}

/** Runs what stands in the query editor until the answer shows `expected`. Each attempt waits twice as long as the one before, because a click also ends a query that still runs. */
export async function runAndRead(page: Page, expected: string): Promise<void> {
  const answers = page.locator('.result-window');
  // GraphiQL reads the name of the operation a moment after a change, and until then asks for the former one.
  for (let attempt = 1; attempt <= 7; attempt++) {
    await page.locator('.graphiql-execute-button').click();
    const shown = answers.getByText(expected).waitFor({ timeout: 1_000 * 2 ** (attempt - 1) });
    if (await shown.then(() => true).catch(() => false)) return;
  }
  throw new Error(`${expected} is not in the answer: ${await answers.innerText()}`);
}
