import { type Browser, chromium, type Page } from 'playwright-core';
import { hangMs } from './until.js';

/**
 * Starts a headless Chromium (the one that `CHROME_PATH` names, which the global setup sets to Debian's where it is not
 * given) with a temporary profile of its own, that speaks to no one unasked. The test closes it.
 */
export function launchChromium(): Promise<Browser> {
  const executablePath = process.env.CHROME_PATH;
  if (!executablePath) throw new Error('CHROME_PATH is not set: the global setup of Jest did not run');
  return chromium.launch({
    executablePath,
    timeout: hangMs,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** Opens a page in a browser that was never there before. It waits for what it is asked for until that hangs. */
export async function openPage(browser: Browser): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(hangMs);
  return page;
}
