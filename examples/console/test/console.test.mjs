// Drives the built console in Chromium through what people do with it. `npm run test:console` runs it.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { openConsole } from './support.mjs';

const { on, page, endpoint, check, rows } = await openConsole();
const badge = () => page.locator('header [role=status]');

check('the first load has at most 180 KiB of JavaScript', async t => {
  const sizes = [];
  const onResponse = async response => {
    if (response.request().resourceType() === 'script')
      sizes.push(gzipSync(await response.body(), { level: 9 }).length);
  };
  page.on('response', onResponse);
  await page.goto(on.origin);
  await page.getByRole('heading', { name: 'Welcome' }).waitFor();
  page.off('response', onResponse);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const interactive = await page.evaluate(() => performance.getEntriesByType('navigation')[0].domInteractive);
  t.diagnostic(`${total} bytes of gzip in ${sizes.length} files, interactive after ${Math.round(interactive)} ms`);
  assert.ok(total <= 180 * 1024, `${total} bytes`);
  await on.look('welcome');
  await on.signIn();
  await rows().first().waitFor();
  await on.look('monitor');
});

check('the feed loads more while it is scrolled, and no event stands twice', async () => {
  for (const atLeast of [40, 65]) {
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await page.waitForFunction(count => document.querySelectorAll('ol > li').length >= count, atLeast);
  }
  await page.evaluate(() => scrollTo(0, 0));
});

check('dragging over the histogram filters the list, and so does a cell of the matrix', async () => {
  const box = await page.getByRole('slider').boundingBox();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, box.y + 60, { steps: 5 });
  await page.mouse.up();
  await page.waitForURL(/from=.*to=/);
  await page.getByRole('button', { name: /^Severity 3, likelihood 3: \d+ event/ }).click();
  await page.waitForURL(/severity=3/);
  await page.getByRole('link', { name: 'Clear filters' }).click();
  await page.waitForURL(url => url.search === '');
});

check('twelve events are on a screen of 900 pixels', async () => {
  await rows().nth(11).waitFor();
  const { y, height } = await rows().nth(11).boundingBox();
  assert.ok(y + height <= 900, `${y + height}`);
});

check('the sources of an event arrive in its details', async () => {
  await rows().first().getByRole('button').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('heading', { name: 'Sources' }).waitFor();
  await dialog
    .getByText(/ · \w{3} \d+, \d{2}:\d{2}\./)
    .first()
    .waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.waitForURL(url => url.search === '');
  await page.goBack();
  await dialog.waitFor({ state: 'hidden' });
  assert.ok(!page.url().includes('event='), page.url());
  await page.goForward();
});

check('live updates come', async () => {
  await badge().filter({ hasText: 'Live' }).waitFor();
  await newUpdate();
});

check('without a network for 10 seconds, the page recovers by itself', async () => {
  // Chromium's offline mode does not cut WebSockets.
  on.network.silence();
  await badge().filter({ hasText: 'Reconnecting' }).waitFor();
  await page.waitForTimeout(10_000);
  on.network.restore();
  await badge().filter({ hasText: 'Live' }).waitFor();
  await newUpdate();
  on.complaints.length = 0;
});

check('a discovery runs to its end, and its market is reviewed and published', async () => {
  await page.goto(`${on.origin}/markets`);
  await page.getByPlaceholder('Number of a market').fill('5');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('link', { name: 'Ask a question' }).click();
  await page.getByLabel('Which companies do you look for?').fill('Who makes sealed bearings in Germany?');
  await page.getByRole('button', { name: 'Ask' }).click();
  await page.getByRole('heading', { name: 'Criteria' }).waitFor();
  await on.look('criteria');
  await page.getByRole('button', { name: 'Start the discovery' }).click();
  const bar = page.getByRole('progressbar');
  await bar.waitFor();
  const early = await bar.evaluate(({ value }) => value);
  await page.waitForFunction(value => (document.querySelector('progress')?.value ?? 1) > value, early);
  await on.look('discover');
  await page.getByRole('link', { name: /^Review/ }).click();
  await page.getByRole('button', { name: /^Include all/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Include all' }).click();
  await page.getByText(/^All .* included\./).waitFor();
  await on.look('review');
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('table', { name: 'Companies' }).waitFor();
  await page.goto(`${on.origin}/markets`);
  await page.getByRole('link', { name: 'Sustainable Packaging Start-ups' }).waitFor();
  await page.getByPlaceholder('A word of its name').fill('packaging');
  await page.getByRole('link', { name: 'Sustainable Packaging Start-ups' }).nth(1).waitFor();
  await on.look('markets');
});

check('1,200 companies are sorted and scrolled', async t => {
  await page.goto(`${on.origin}/markets/1`);
  const first = page.locator('tbody tr').first();
  await first.waitFor();
  const before = await first.innerText();
  await page.getByRole('button', { name: 'Revenue' }).click();
  await page.getByRole('columnheader', { name: 'Revenue' }).and(page.locator('[aria-sort=ascending]')).waitFor();
  await page.waitForFunction(text => document.querySelector('tbody tr')?.innerText !== text, before);
  await on.look('market');
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

check('the best companies are exported, and the attempt is shown', async () => {
  await page.getByRole('link', { name: 'Exports' }).click();
  await page.getByRole('button', { name: 'Register' }).click();
  await page.getByLabel('Name').fill('endpoint');
  await page.getByLabel('Address').fill(endpoint.url);
  await page.getByLabel('Description').fill('The endpoint of the test');
  await page.getByRole('dialog').getByRole('button', { name: 'Register' }).click();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('button', { name: 'Test' }).click();
  await page.locator('summary').getByText('Delivered').waitFor();
  await on.look('exports');
  await page.goto(`${on.origin}/markets/1`);
  await page.locator('tbody tr').first().waitFor();
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('dialog').locator('summary').getByText('Delivered').waitFor();
  await page
    .getByRole('dialog')
    .getByText(/^Answered 200/)
    .waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
});

check('signing out in one tab signs out in the others', async () => {
  const other = await page.context().newPage();
  await other.goto(`${on.origin}/exports`);
  await other.getByRole('button', { name: 'Sign out' }).click();
  for (const tab of [other, page]) await tab.getByRole('button', { name: 'Sign in' }).waitFor();
  await other.close();
  await on.signIn();
});

check('what an address has and no screen can read is left out', async () => {
  await page.goto(`${on.origin}/?from=then&to=now&search=2026&alertTypes=one`);
  await rows().first().waitFor();
  await page.goto(`${on.origin}/nowhere`);
  await page.getByRole('heading', { name: 'Not found' }).waitFor();
  await page.getByRole('link', { name: 'Go to the monitor' }).click();
  await rows().first().waitFor();
  assert.match(await page.title(), /^Monitor/);
});

check('on a screen of 390 pixels, nothing lies beside it', async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  for (const path of ['/', '/discover', '/markets', '/markets/1', '/markets/4', '/exports']) {
    await page.goto(on.origin + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForFunction(() => !document.querySelector('[aria-busy=true], .skeleton'));
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${path} is ${width} pixels wide`);
    if (path === '/') {
      await rows().first().waitFor();
      const { y, height } = await rows().first().boundingBox();
      assert.ok(y + height <= 844, `the first event ends at ${y + height}`);
    }
    if (path === '/' || path === '/markets/1') {
      // The filters are one line, which fades out where it goes on.
      const filters = page.getByRole('form', { name: 'Filters' }).locator('.filters');
      assert.ok((await filters.boundingBox()).height < 45);
      const fade = () => filters.evaluate(element => getComputedStyle(element).getPropertyValue('--behind'));
      assert.match(await fade(), /^[1-9]/);
      await filters.evaluate(element => element.scrollTo(9_999, 0));
      await page.waitForFunction(
        element => getComputedStyle(element).getPropertyValue('--behind') === '0px',
        await filters.elementHandle(),
      );
      await filters.evaluate(element => element.scrollTo(0, 0));
      // A menu is below its button and keeps off the edges, also that of a button that is half beside the screen.
      for (const name of [/^Views/, /^(Alert type|Industry)/]) {
        const button = page.getByRole('button', { name });
        await button.press('Enter');
        const { x, y, width } = await page.locator('[popover]:popover-open').boundingBox();
        const above = await button.boundingBox();
        assert.ok(x >= 8 && x + width <= 382, `${name}: ${x} ${width}`);
        assert.ok(y >= above.y + above.height, `${name}: ${y}`);
        await page.keyboard.press('Escape');
      }
    }
    if (path === '/markets/1') {
      const name = page.locator('tbody tr').first().getByRole('cell').nth(1);
      const { x } = await name.boundingBox();
      await page.locator('table').evaluate(table => table.parentElement.scrollTo(300, 0));
      assert.equal((await name.boundingBox()).x, x);
      // The buttons are one line, too, however many there are.
      await page.locator('tbody input').first().check();
      const [one, last] = ['Include 1 company', 'Export'].map(label =>
        page.getByRole('button', { name: label, exact: true }),
      );
      assert.equal((await one.boundingBox()).y, (await last.boundingBox()).y);
    }
    await on.look(`narrow${path.replaceAll('/', '-')}`.replace(/-$/, '-monitor'));
  }
});

check('the browser had nothing to complain about', () => assert.deepEqual(on.complaints, []));

/** An event that the service has now. */
async function newUpdate() {
  // While the pointer or the focus is in the list, no row is added.
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.activeElement?.blur());
  const { title } = on.sandbox.publishEvent({ title: `Something new at ${Date.now()}` });
  await page.getByRole('button', { name: title }).waitFor();
}
