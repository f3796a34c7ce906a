// What goes wrong on a screen while things change: events that arrive, jobs that run, a network that fails, input that is refused.
import assert from 'node:assert/strict';
import { buildSchema, parse, validate } from 'graphql';
import { openConsole, schemaText } from './support.mjs';

const { on, page, endpoint, check, rows } = await openConsole();
await page.goto(on.origin);
await on.signIn();
const total = async () =>
  Number(/[\d,]+/.exec(await page.getByRole('heading', { name: /^[\d,]+ events?$/ }).innerText())[0].replace(',', ''));
const cell = () => page.getByRole('button', { name: /^Severity 3, likelihood 3: [\d,]+ event/ });
const countIn = async locator => Number(/: ([\d,]+) event/.exec(await locator.getAttribute('aria-label'))[1]);
const post = (title, more = {}) => on.sandbox.publishEvent({ title, ...more });

async function openMonitor(query = '') {
  await page.goto(`${on.origin}/${query}`);
  await rows().first().waitFor();
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  await cell().waitFor();
}

check('a burst of events comes whole, and the plots, the matrix and the total follow it', async () => {
  await openMonitor();
  const [events, inCell] = [await total(), await countIn(cell())];
  const titles = Array.from({ length: 6 }, (_, index) => `Burst number ${index}`);
  for (const title of titles) post(title);
  for (const title of titles) await page.getByRole('button', { name: title, exact: true }).waitFor();
  await page.getByRole('heading', { name: `${events + 6} events` }).waitFor();
  await page.getByRole('button', { name: `Severity 3, likelihood 3: ${inCell + 6} events` }).waitFor();
  const slider = page.getByRole('slider');
  await slider.press('End');
  assert.match(await slider.getAttribute('aria-valuetext'), /: ([6-9]|\d\d) events/);
});

check('what was shown live stays, and nothing is shown twice: 60 random steps', async () => {
  await openMonitor();
  const posted = [];
  for (let step = 0; step < 60; step += 1) {
    const choice = Math.random();
    if (choice < 0.6) {
      const title = `Step ${step} of many`;
      posted.push(title);
      post(title);
    } else if (choice < 0.7) await page.waitForTimeout(Math.random() * 1_500);
    else if (choice < 0.8) on.network.cut(1);
    else if (choice < 0.9) await openMonitor();
    else await openMonitor(Math.random() < 0.5 ? '?severity=3&likelihood=3' : '');
  }
  // The oldest update comes first: with the last one, all are there.
  await page.getByRole('button', { name: posted.at(-1), exact: true }).waitFor();
  for (const title of posted) {
    const found = page.getByRole('button', { name: title, exact: true });
    // The list has 25 events at first, and reads more when it is scrolled.
    for (let tries = 0; tries < 20 && (await found.count()) === 0; tries += 1) {
      await page.mouse.wheel(0, 4_000);
      await page.waitForTimeout(300);
    }
    assert.equal(await found.count(), 1, title);
  }
  on.complaints.length = 0;
});

check('an event that cannot be read is told, and the list goes on behind it', async t => {
  await openMonitor();
  const broken = post('On the second page', { _id: 7 });
  t.after(() => Object.assign(broken, { _id: 'readable-again' }));
  for (let number = 1; number <= 30; number += 1) post(`Before it ${number}`);
  // Once an update has come, the gateway has no list from before it.
  await page.getByRole('button', { name: 'Before it 30', exact: true }).waitFor();
  await openMonitor();
  const alert = page.getByRole('region', { name: 'Events', exact: true }).getByRole('alert');
  for (let tries = 0; tries < 20 && (await rows().count()) < 60; tries += 1) {
    await page.mouse.wheel(0, 4_000);
    await page.waitForTimeout(300);
  }
  assert.ok((await rows().count()) >= 60);
  await alert.first().waitFor();
  on.complaints.length = 0;
});

check('a row that the pointer or the focus is on does not move; an update of a listed event is marked', async () => {
  await openMonitor();
  const { _id } = post('Before the pointer came');
  const row = rows().filter({ hasText: 'Before the pointer came' });
  await row.hover();
  const { y } = await row.boundingBox();
  post('While the pointer is there');
  await page.getByRole('button', { name: '1 new' }).waitFor();
  assert.equal((await row.boundingBox()).y, y);
  await page.getByRole('button', { name: '1 new' }).click();
  await page.getByRole('button', { name: 'While the pointer is there' }).waitFor();
  await openMonitor();
  on.sandbox.touchEvent(_id, { title: 'Before the pointer came, changed' });
  const mark = rows().filter({ hasText: 'changed' }).getByText('updated');
  await mark.waitFor();
  assert.ok(await mark.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth));
});

check('an open event stays as it is while it is updated, and its link finds it afterwards', async () => {
  await openMonitor();
  const { _id, title } = post('Read while it changes', { summary: 'As it was' });
  await page.getByRole('button', { name: title }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('As it was').waitFor();
  const link = page.url();
  on.sandbox.touchEvent(_id, { title: 'Changed since', summary: 'As it is' });
  await dialog.getByText('There is a newer version of this event.').waitFor();
  for (const text of [title, 'As it was']) await dialog.getByText(text).waitFor();
  await dialog.getByRole('button', { name: 'Show it' }).click();
  await dialog.getByText('As it is').waitFor();
  await dialog.getByRole('heading', { name: 'Changed since' }).waitFor();
  assert.equal(await dialog.getByText('newer version').count(), 0);
  await page.goBack();
  await dialog.waitFor({ state: 'hidden' });
  // An old link of a version, of an event that is not in the list, and one that knows only the event.
  for (const address of [`${link}&search=copper`, `${on.origin}/?event=${_id}&severity=0`]) {
    await page.goto(address);
    await dialog.getByText('As it is').waitFor();
    await dialog.getByRole('heading', { name: 'Changed since' }).waitFor();
  }
});

check('while the service is silent, the page says how old its data is', async t => {
  t.after(() => on.sandbox.forget());
  await openMonitor();
  on.sandbox.tell({ path: /./, status: 503 });
  const old = page.locator('header').getByText(/^Data is over \d+ (s|min) old$/);
  await old.waitFor();
  assert.equal(await page.getByText('Live', { exact: true }).count(), 0);
  // What was read before this page is older than it. A narrow screen says it, too.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(on.origin);
  await old.waitFor();
  assert.equal(await old.evaluate(element => getComputedStyle(element).clipPath), 'none');
  await page.setViewportSize({ width: 1280, height: 900 });
  on.sandbox.forget();
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  on.complaints.length = 0;
});

check('a search that failed while the service was away is tried again by itself', async t => {
  t.after(() => on.sandbox.forget());
  await page.goto(`${on.origin}/markets`);
  on.sandbox.tell({ path: /./, status: 503 });
  await page.getByPlaceholder('A word of its name').fill('bear');
  await page.getByRole('alert').waitFor();
  on.sandbox.forget();
  await page.getByRole('alert').waitFor({ state: 'hidden' });
  on.complaints.length = 0;
});

check(
  'a market that was not opened yet is opened by its number, and a discovery says which number it is for',
  async () => {
    await page.evaluate(() => localStorage.clear());
    await page.goto(`${on.origin}/markets`);
    await page.getByPlaceholder('A word of its name').fill('packaging');
    const field = page.getByLabel(/^Number of Sustainable Packaging/);
    await field.fill('5');
    await field.press('Enter');
    await page.waitForURL(/markets\/5$/);
    await page.getByText(/^Number 5 · /).waitFor();
    await page.getByRole('link', { name: 'Ask a question' }).click();
    await page.getByLabel('Which companies do you look for?').fill('Who folds boxes?');
    await page.getByRole('button', { name: 'Ask' }).click();
    const number = page.getByLabel('Number of the market that gets the companies');
    assert.equal(await number.inputValue(), '5');
    await page.locator('datalist option[label^="5: Sustainable"]').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Start over' }).click();
  },
);

check('what is typed into the search is one step of the history', async () => {
  await openMonitor();
  const box = page.getByRole('searchbox', { name: 'Search events' });
  for (const text of ['co', 'cop', 'copper']) {
    await box.fill(text);
    await page.waitForURL(new RegExp(`search=${text}$`));
  }
  await page.goBack();
  await page.waitForURL(url => url.search === '');
});

check('what is typed while the last text takes effect is not lost, nor the other end of a range', async t => {
  await openMonitor();
  const devtools = await page.context().newCDPSession(page);
  t.after(() => devtools.detach());
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  const box = page.getByRole('searchbox', { name: 'Search events' });
  const letters = [...'acoppermineinthenorth'];
  for (const [index, letter] of letters.entries()) {
    await box.press(letter);
    // A text takes effect 300 ms after it was typed.
    await page.waitForTimeout(230 + 5 * index);
  }
  await page.waitForURL(/search=acoppermineinthenorth$/);
  assert.equal(await box.inputValue(), letters.join(''));
  await page.goto(`${on.origin}/markets/1`);
  await page.locator('tbody tr').first().waitFor();
  await page.getByLabel('Revenue, at least').fill('2M');
  await page.getByLabel('Revenue, at most').fill('900M');
  await page.waitForURL(/min%22%3A2000000%2C%22max%22%3A900000000/);
});

check('each screen has the same edges, its heading above its filters, and titles use the width', async t => {
  t.after(() => page.setViewportSize({ width: 1280, height: 900 }));
  for (const width of [1440, 2400]) {
    await page.setViewportSize({ width, height: 900 });
    const edges = new Set();
    for (const [path, content] of [
      ['/', 'ol.feed'],
      ['/discover', 'form'],
      ['/markets', 'main section'],
      ['/markets/1', 'table'],
      ['/exports', 'main section'],
    ]) {
      await page.goto(on.origin + path);
      await page.locator(content).first().waitFor();
      edges.add(await page.locator('h1').evaluate(element => Math.round(element.getBoundingClientRect().left)));
      edges.add(
        await page
          .locator('header a')
          .first()
          .evaluate(element => Math.round(element.getBoundingClientRect().left)),
      );
    }
    assert.equal(edges.size, 1, [...edges].join());
    await openMonitor();
    const [heading, filters] = [await page.locator('h1').boundingBox(), await page.getByRole('form').boundingBox()];
    assert.ok(heading.y + heading.height <= filters.y);
    const [list, title] = [
      await page.locator('ol.feed').boundingBox(),
      await rows().first().getByRole('button').boundingBox(),
    ];
    const side = await page.getByRole('button', { name: 'Sign out' }).boundingBox();
    assert.equal(Math.round(list.x + list.width), Math.round(side.x + side.width));
    assert.ok(title.x < 200 + list.x);
  }
});

check('times are those of the reader, with the zone in the title, and the year if it is not this one', async () => {
  const storageState = await page.context().storageState();
  const abroad = await page.context().browser().newContext({ timezoneId: 'America/New_York', storageState });
  const tab = await abroad.newPage();
  tab.setDefaultTimeout(120_000);
  await tab.goto(on.origin);
  const time = tab.locator('ol.feed time').first();
  const at = new Date(await time.getAttribute('datetime'));
  const options = { timeZone: 'America/New_York', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
  assert.ok((await time.innerText()).endsWith(new Intl.DateTimeFormat('en', options).format(at)));
  assert.match(await time.getAttribute('title'), /Eastern .*Time, .*Z$/);
  await tab.goto(`${on.origin}/markets/1`);
  await tab.getByText(/created \w+ \d+$/).waitFor();
  await tab.clock.setFixedTime('2027-02-01');
  await tab.reload();
  await tab.getByText(/created \w+ \d+, 2026$/).waitFor();
  await abroad.close();
});

check('the chart names today, and its legend stands beside a range and a description', async t => {
  const wide = { width: 1280, height: 900 };
  t.after(() => page.setViewportSize(wide));
  for (const size of [{ width: 390, height: 844 }, wide]) {
    await page.setViewportSize(size);
    for (const days of [2, 7, 30]) {
      await openMonitor(`?days=${days}`);
      const plot = await page.getByRole('slider').boundingBox();
      const today = await page.getByText('Today', { exact: true }).boundingBox();
      if (days === 7 && size === wide) {
        const labels = page.getByRole('slider').getByText(/^(\w{3} \d+|Today)$/);
        const widths = await labels.evaluateAll(all => all.map(({ offsetWidth }) => offsetWidth));
        assert.equal(widths.filter(width => width > 20).length, 7, widths.join());
      }
      assert.ok(today.x + today.width <= plot.x + plot.width);
      for (const label of await page
        .getByRole('slider')
        .getByText(/^\w{3} \d+$/)
        .all()) {
        const { x, width } = await label.boundingBox();
        assert.ok(x + width + 8 <= today.x, `${days} days on ${size.width} pixels`);
      }
    }
  }
  const slider = page.getByRole('slider');
  await slider.press('End');
  await slider.press('Enter');
  await page.waitForURL(/from=/);
  await slider.press('End');
  const panel = page.getByRole('region', { name: 'Events by time and severity' });
  for (const text of [/ ✕$/, /^Severity\s*3\s*2\s*1\s*0$/, /\(UTC\): \d+ event/])
    await panel.getByText(text).first().waitFor();
});

check(
  'keys search, go through the rows and their details, and are listed; a palette goes to screens, markets and companies',
  async () => {
    await page.goto(`${on.origin}/markets/1`);
    await page.locator('tbody tr').first().waitFor();
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog').getByRole('combobox');
    await palette.fill('Oy');
    const company = page.getByRole('option', { name: /Oy Company$/ }).first();
    const name = (await company.innerText()).replace(/\s*Company$/, '');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('heading', { name, exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await palette.fill('nothing has this name');
    await page.getByText('Nothing has this name.').waitFor();
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Go to' }).click();
    await page.getByRole('option', { name: /^Industrial Components.* Market$/ }).waitFor();
    await on.look('palette');
    await palette.fill('moni');
    await page.keyboard.press('Enter');
    await rows().first().waitFor();

    await page.keyboard.press('/');
    await page.keyboard.type('jk');
    assert.equal(await page.getByRole('searchbox').inputValue(), 'jk');
    await page.getByRole('searchbox').fill('');
    await openMonitor();
    for (const [key, row] of [
      ['j', 0],
      ['j', 1],
      ['j', 2],
      ['k', 1],
    ]) {
      await page.keyboard.press(key);
      const isFocused = await rows()
        .nth(row)
        .getByRole('button')
        .evaluate(element => element === document.activeElement);
      assert.ok(isFocused, `${key} ${row}`);
    }
    const next = await rows().nth(2).getByRole('button').innerText();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Next' }).waitFor();
    await page.keyboard.press('j');
    await page.getByRole('dialog').getByRole('heading', { name: next, exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('Previous row or event').waitFor();
    await on.look('keys');
    await page.keyboard.press('Escape');
  },
);

check('a view is saved with its address, and its link and its query are copied', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  const schema = buildSchema(schemaText());
  for (const [path, filter, ready] of [
    ['/', '?severity=3&search=copper', 'ol.feed li'],
    ['/markets/1', '?search=Oy&sort=SCORE&descending=true', 'tbody tr'],
  ]) {
    await page.goto(on.origin + path + filter);
    await page.locator(ready).first().waitFor();
    const menu = page.getByRole('button', { name: 'Views' });
    await menu.click();
    // The second time, under the same name, changes nothing.
    for (let time = 0; time < 2; time++) {
      await page.getByLabel('Name of this view').fill('What I look at');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.waitForFunction(() => document.querySelector('[popover] [name=name]').value === '');
    }
    await page.getByRole('button', { name: 'Copy link' }).click();
    await page.getByText('Link copied').waitFor();
    assert.equal(await copied(), on.origin + path + filter);
    await page.getByRole('button', { name: 'Copy as GraphQL' }).click();
    await page.getByText('Query copied').waitFor();
    assert.deepEqual(validate(schema, parse(await copied())), []);
    assert.match(await copied(), /search: "(copper|Oy)"/);
    await on.look(`views${path.replaceAll('/', '-')}`);
    await page.goto(on.origin + path);
    await page.locator(ready).first().waitFor();
    await menu.click();
    await page.getByRole('button', { name: 'What I look at', exact: true }).click();
    await page.waitForURL(on.origin + path + filter);
  }
  await page.getByRole('button', { name: 'Remove What I look at' }).click();
  await page.getByRole('button', { name: 'What I look at', exact: true }).waitFor({ state: 'hidden' });
  // The other screen has its own under the same name.
  await openMonitor();
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByRole('button', { name: 'What I look at', exact: true }).waitFor();
});

check('a column gets another width by the pointer and by the keyboard, also after a reload', async () => {
  await page.goto(`${on.origin}/markets/1`);
  await page.locator('tbody tr').first().waitFor();
  const header = page.getByRole('columnheader', { name: /^Countries/ });
  const width = async () => Math.round((await header.boundingBox()).width);
  const cell = async () =>
    Math.round((await page.locator('tbody tr').first().getByRole('cell').nth(5).boundingBox()).width);
  const before = await width();
  const handle = header.getByRole('slider');
  const { x, y } = await handle.boundingBox();
  await page.mouse.move(x + 3, y + 5);
  await page.mouse.down();
  await page.mouse.move(x + 103, y + 5, { steps: 3 });
  await page.mouse.up();
  const wide = await width();
  assert.ok(Math.abs(wide - before - 100) < 10, `${before} ${wide}`);
  assert.equal(await cell(), wide);
  await handle.press('ArrowLeft');
  assert.equal(await width(), wide - 16);
  await page.reload();
  await page.locator('tbody tr').first().waitFor();
  assert.equal(await width(), wide - 16);
  await handle.press('Escape');
  assert.equal(await width(), before);
});

check('a hovered cell of the matrix keeps its color', async () => {
  await openMonitor();
  const color = () => cell().evaluate(element => getComputedStyle(element).backgroundColor);
  await page.mouse.move(0, 0);
  const before = await color();
  await cell().hover();
  assert.equal(await color(), before);
});

check('the histogram can be used with the keyboard, and nothing jumps when a range is chosen', async () => {
  await openMonitor();
  const top = async () => Math.round((await rows().first().boundingBox()).y);
  const before = await top();
  const slider = page.getByRole('slider');
  await slider.press('End');
  await slider.press('Shift+ArrowLeft');
  await slider.press('Shift+ArrowLeft');
  await slider.press('Enter');
  await page.waitForURL(/from=.*to=/);
  await rows().first().waitFor();
  assert.equal(await top(), before);
  await slider.press('Escape');
  await page.waitForURL(url => url.search === '');
});

check('an event has the next and the previous one, and its names are filters', async () => {
  await openMonitor();
  const titles = await rows().getByRole('button').allInnerTexts();
  await rows().first().getByRole('button').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('heading', { name: titles[0] }).waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Previous' }).isDisabled(), true);
  await dialog.getByRole('button', { name: 'Next' }).click();
  await dialog.getByRole('heading', { name: titles[1] }).waitFor();
  const impacts = dialog.getByRole('region', { name: 'Impact' }).getByRole('listitem');
  await impacts.first().waitFor();
  const severities = (await impacts.allInnerTexts()).map(text => Number(/\d/.exec(text)[0]));
  assert.deepEqual(
    severities,
    severities.toSorted((a, b) => b - a),
  );
  await impacts.first().getByRole('link').click();
  await page.waitForURL(/impactedEntities=/);
  await dialog.waitFor({ state: 'hidden' });
});

check(
  'several values of a menu are a filter, and Escape closes menus and dialogs and gives the focus back',
  async () => {
    await openMonitor();
    const menu = page.getByRole('button', { name: /^Alert type/ });
    await menu.press('Enter');
    const boxes = page.getByRole('group', { name: 'Alert type' }).getByRole('checkbox');
    await boxes.nth(0).check();
    await boxes.nth(1).check();
    await page.getByRole('button', { name: 'Alert type (2)' }).waitFor();
    await on.look('menu');
    await page.keyboard.press('Escape');
    await boxes.first().waitFor({ state: 'hidden' });
    assert.equal(await menu.evaluate(element => element === document.activeElement), true);
    const event = rows().first().getByRole('button');
    await event.click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    assert.equal(await event.evaluate(element => element === document.activeElement), true);
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await page.waitForURL(url => url.search === '');
  },
);

check('a range that is upside down keeps the table and marks its field', async () => {
  await page.goto(`${on.origin}/markets/1`);
  await page.locator('tbody tr').first().waitFor();
  await page.getByRole('group', { name: 'Revenue' }).getByText('1.1B').waitFor();
  await page.getByLabel('Revenue, at least').fill('500000000');
  await page.getByLabel('Revenue, at most').fill('1');
  await page.getByRole('alert').waitFor();
  await page.locator('[aria-invalid=true]').waitFor();
  assert.match(await page.locator('[aria-invalid=true]').getAttribute('aria-label'), /^Revenue/);
  // The message names the field, is on a narrow screen, too, and the number is not that of this filter.
  await page.setViewportSize({ width: 390, height: 844 });
  const message = await page
    .getByRole('alert')
    .filter({ hasText: /^Revenue, at (least|most): / })
    .boundingBox();
  await page.setViewportSize({ width: 1280, height: 900 });
  assert.ok(message.x >= 0 && message.x + message.width <= 390, JSON.stringify(message));
  await page.getByRole('heading', { name: 'Companies', exact: true }).waitFor();
  assert.ok((await page.locator('tbody tr').count()) > 5);
  for (const name of ['Export', 'Download CSV'])
    assert.equal(await page.getByRole('button', { name }).isDisabled(), true);
  await page.getByLabel('Revenue, at most').fill('much');
  await page.locator('[aria-invalid=true]').and(page.getByLabel('Revenue, at most')).waitFor();
  await page.getByLabel('Revenue, at most').fill('1.5B');
  await page.waitForURL(/1500000000/);
  // A number of many digits would not be whole in its field.
  assert.equal(await page.getByLabel('Revenue, at most').inputValue(), '1.5B');
  await page.reload();
  await page.locator('tbody tr').first().waitFor();
  assert.equal(await page.getByLabel('Revenue, at most').inputValue(), '1.5B');
  await page.getByLabel('Revenue, at most').fill('');
  await page.getByRole('alert').waitFor({ state: 'hidden' });
  assert.equal(await page.locator('[aria-invalid=true]').count(), 0);
  await page.getByRole('button', { name: 'Clear filters' }).click();
});

check('the arrow of a sorted column is whole', async () => {
  await page.goto(`${on.origin}/markets/1`);
  await page.locator('tbody tr').first().waitFor();
  for (const name of ['Company', 'Score', 'Momentum', 'Revenue']) {
    const header = page.getByRole('columnheader', { name });
    await header.getByRole('button').click();
    await header.and(page.locator('[aria-sort=ascending]')).waitFor();
    assert.ok(await header.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth), name);
  }
});

check('a company opens with its contacts, its ESG data and its events, and all companies can be selected', async () => {
  await page.goto(`${on.origin}/markets/1`);
  await page.locator('tbody tr').first().getByRole('button').click();
  const dialog = page.getByRole('dialog');
  for (const name of ['ESG', /events? in 30 days/]) await dialog.getByRole('heading', { name }).waitFor();
  await dialog.getByRole('link', { name: /^sales@/ }).waitFor();
  await on.look('company');
  const drawer = page.url();
  await dialog.getByRole('listitem').first().getByRole('link').click();
  await page.waitForURL(/event=/);
  await page.getByRole('dialog').getByRole('heading', { name: 'Sources' }).waitFor();
  // Its list has the newest of its events. The monitor has as many as it says.
  await page.goto(drawer);
  await dialog.getByText('These are the newest 20.').waitFor();
  const link = dialog.getByRole('link', { name: /^Show all \d+ in the monitor$/ });
  const [count] = /\d+/.exec(await link.innerText());
  await link.click();
  await page.getByRole('heading', { name: `${count} events`, exact: true }).waitFor();
  await page.getByText(/^with .+, newest first$/).waitFor();
  await page.goto(`${on.origin}/markets/1`);
  await page.getByLabel('Select all').click();
  await page.getByRole('heading', { name: '1,200 companies, 1,200 selected' }).waitFor();
});

check(
  'a selection belongs to the filter that it was made with, and the box of all says when only some are selected',
  async () => {
    await page.goto(`${on.origin}/markets/1`);
    await page.locator('tbody tr').first().waitFor();
    const all = page.getByLabel('Select all');
    for (const row of [0, 1]) await page.locator('tbody input').nth(row).check();
    await heading(/, 2 selected$/);
    assert.equal(await all.evaluate(box => box.indeterminate), true);
    await page.getByLabel('Search companies').fill('Oy');
    await page.waitForURL(/search=Oy/);
    await page.getByRole('heading', { name: /selected/ }).waitFor({ state: 'hidden' });
    assert.equal(await page.getByRole('button', { name: /^Exclude/ }).count(), 0);
    await page.goBack();
    await heading(/, 2 selected$/);
  },
);

check('a row with the focus that the list of the last filter does not have is not missed', async () => {
  await page.goto(`${on.origin}/markets/1?search=Oy`);
  await page.locator('tbody tr').first().waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await heading('1,200 companies');
  await page.locator('table').evaluate(table => table.parentElement.scrollTo(0, 40 * 300));
  await page.locator('tr[aria-rowindex="302"]').getByRole('checkbox').check();
  await page.goBack();
  await heading(/^\d{1,3} companies$/);
});

check('after a review, the company says so without a reload', async () => {
  await page.goto(`${on.origin}/markets/2`);
  const row = page.locator('tbody tr').first();
  const reviewIs = async decision => {
    await row.getByRole('button').click();
    await page.getByRole('dialog').getByRole('definition').filter({ hasText: decision }).waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
  };
  await reviewIs(/^Included$/);
  await row.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Exclude 1 company' }).click();
  await page.getByText('1 company excluded.').waitFor();
  await reviewIs(/^Excluded$/);
});

check(
  'an export says that it has the best 500 of 1,200, all that match come first, and a file offers the same',
  async () => {
    await page.goto(`${on.origin}/markets/1`);
    await page.locator('tbody tr').first().waitFor();
    const choices = page.getByRole('dialog').getByRole('radio');
    await page.getByRole('button', { name: 'Export' }).click();
    await page
      .getByRole('dialog')
      .getByText(/^\s*The best 500 of 1,200 companies of the list/)
      .waitFor();
    assert.equal(await choices.first().isChecked(), true);
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Download CSV' }).click();
    await page
      .getByRole('dialog')
      .getByText(/^\s*1,200 companies of the list/)
      .waitFor();
    assert.equal(await choices.count(), 2);
    await page.getByRole('button', { name: 'Prepare the file' }).click();
    await page.getByRole('link', { name: 'CSV file of 1,200 companies' }).waitFor();
  },
);

check('criteria outlive a reload', async () => {
  await page.goto(`${on.origin}/discover`);
  await page.getByLabel('Which companies do you look for?').fill('Who makes sealed bearings in Germany?');
  await page.getByRole('button', { name: 'Ask' }).click();
  await page.getByRole('button', { name: 'Remove Germany' }).waitFor();
  await page.getByLabel('Add to Not wanted').fill('toys');
  await page.getByLabel('Add to Not wanted').press('Enter');
  const countries = page.getByLabel('Add to Countries');
  for (const name of ['France', 'United Kingdom', 'Serbia']) {
    await countries.fill(name);
    await countries.press('Enter');
  }
  const codes = await page.evaluate(() =>
    JSON.parse(sessionStorage.criteria).locations.map(place => place.countryCode),
  );
  assert.deepEqual(codes, ['DE', 'FR', 'GB', 'RS']);
  await page.reload();
  await page.getByRole('button', { name: 'Remove toys' }).waitFor();
  assert.match(await page.getByLabel('Which companies do you look for?').inputValue(), /sealed bearings/);
});

check(
  'while a market is being published, it offers neither a review nor another publication, also after a reload',
  async () => {
    await page.goto(`${on.origin}/markets/4`);
    await page.getByRole('button', { name: 'Include all 48 companies' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Include all' }).click();
    await page.getByText('All 48 companies included.').waitFor();
    await page.getByRole('button', { name: 'Publish' }).click();
    await page
      .getByRole('dialog')
      .getByText(/48 companies were found.* included.* nobody has reviewed, are left out/)
      .waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
    await page.getByRole('progressbar').first().waitFor();
    await page.reload();
    await page.getByRole('progressbar').first().waitFor();
    for (const name of [/^Publish/, /^Include/]) assert.equal(await page.getByRole('button', { name }).count(), 0);
    await page.getByRole('table', { name: 'Companies' }).waitFor();
  },
);

check('a session that ends asks once to sign in, and what was typed is still there', async t => {
  t.after(() => on.sandbox.forget());
  await page.goto(`${on.origin}/exports`);
  await page.getByRole('button', { name: 'Register' }).waitFor();
  await page.getByRole('link', { name: 'Discover' }).click();
  await page.getByLabel('Which companies do you look for?').fill('Who rents cranes?');
  on.sandbox.tell({ path: /./, status: 401 });
  // Not by the pointer: another refusal may have opened the dialog before.
  await page.getByRole('button', { name: /^Ask/ }).dispatchEvent('click');
  await page.getByRole('dialog').getByRole('heading', { name: 'Your session has ended' }).waitFor();
  assert.equal(await page.getByRole('dialog').count(), 1);
  assert.equal(await page.getByRole('button', { name: 'Sign out' }).count(), 0);
  on.sandbox.forget();
  await on.fillSignIn();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  assert.equal(await page.getByLabel('Which companies do you look for?').inputValue(), 'Who rents cranes?');
  await page.getByRole('button', { name: /^Ask/ }).click();
  await page.getByRole('heading', { name: 'Criteria' }).waitFor();
  // The next session ends before the screen of exports is opened again, and somebody signs in in another tab.
  on.sandbox.tell({ path: /./, status: 401 });
  await page.getByRole('button', { name: /^Ask/ }).dispatchEvent('click');
  const dialog = page.getByRole('dialog').getByRole('heading', { name: 'Your session has ended' });
  await dialog.waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'Exports', level: 1 }).waitFor();
  await page.getByRole('alert').first().waitFor();
  await page.goForward();
  await dialog.waitFor();
  on.sandbox.forget();
  const other = await page.context().newPage();
  await other.goto(on.origin);
  await on.signIn(other);
  await dialog.waitFor({ state: 'hidden' });
  await page.getByRole('heading', { name: 'Criteria' }).waitFor();
  await other.close();
  on.complaints.length = 0;
});

check('"Send again" goes once the export was sent again', async () => {
  await page.goto(`${on.origin}/exports`);
  await page.getByRole('button', { name: 'Register' }).click();
  await page.getByLabel('Name').fill('endpoint');
  await page.getByLabel('Address').fill('http://');
  // Nothing that was typed is lost unasked. Chromium lets no page prevent a second Escape.
  for (const leave of [
    () => page.getByRole('button', { name: 'Close' }).click(),
    () => page.keyboard.press('Escape'),
    () => page.keyboard.press('Escape'),
  ]) {
    page.once('dialog', question => question.dismiss());
    await leave();
  }
  await page.getByLabel('Address').fill(endpoint.url);
  await page.getByLabel('Description').fill('The endpoint of the test');
  await page.getByRole('dialog').getByRole('button', { name: 'Register' }).click();
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Signing secret' }).waitFor();
  await page.mouse.click(5, 5);
  const box = page.getByRole('dialog');
  assert.ok(await box.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth));
  await page.getByRole('button', { name: 'I have stored it' }).click();
  endpoint.answer = { status: 422, body: { title: 'Not now', message: 'Later, please.' } };
  await exportMarket();
  await page.getByRole('dialog').getByText('Rejected').waitFor();
  endpoint.answer = { status: 200, body: { title: 'Thank you', message: 'All is well.', redirectUrl: null } };
  await page.goto(`${on.origin}/exports`);
  await page.locator('summary').getByText('Rejected').click();
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByText('All is well.').waitFor();
  await page.getByText('It was sent again.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Send again' }).count(), 0);
  endpoint.answer = { status: 503, body: {} };
  await exportMarket();
  await page.locator('summary').getByText('After 4 attempts, the endpoint answered 503').waitFor();
  // The advice is the same for each of them.
  assert.equal(await page.getByRole('dialog').getByText('says that it failed').count(), 1);
  assert.equal(await page.getByRole('dialog').getByText('`').count(), 0);
});

check('the list of exports has what was sent since it was read', async () => {
  const count = async () => Number(/^[\d,]+/.exec(await heading(/^\d+ exports?$/))[0]);
  endpoint.answer = { status: 200, body: { title: 'Thank you', message: 'Fine.', redirectUrl: null } };
  await page.goto(`${on.origin}/exports`);
  const before = await count();
  await page.getByRole('link', { name: 'Markets', exact: true }).click();
  await page.getByRole('link', { name: /^Industrial Components/ }).click();
  await sendMarket();
  await page.getByRole('dialog').getByText('Delivered').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('link', { name: 'Exports' }).click();
  await heading(`${before + 1} exports`);
});

check(
  'events of the filter go to an endpoint: the tab renews the watch, begins it again after a sleep, and stops it',
  async () => {
    const tab = await page.context().newPage();
    await tab.clock.install();
    await tab.goto(`${on.origin}/?severity=3`);
    await tab.getByRole('button', { name: 'Watch', exact: true }).click();
    const dialog = tab.getByRole('dialog');
    await dialog.getByText('events with severity 3').waitFor();
    await dialog.getByRole('button', { name: 'Watch', exact: true }).dblclick();
    const watch = dialog.getByRole('listitem').filter({ hasText: 'then renewed' });
    await watch.getByText('Nothing was sent yet').waitFor();
    endpoint.answer = { status: 503, body: {} };
    const titles = ['Watched', 'While the tab slept'].map(title => `${title} ${Date.now()}`);
    post(titles[0]);
    await watch.getByText('Answered 503, sent again').waitFor();
    endpoint.answer = { status: 200, body: {} };
    await endpoint.hasTaken(titles[0]);
    await watch.getByText('Last taken').waitFor();
    const until = await watch.getByRole('time').first().getAttribute('datetime');
    await tab.clock.fastForward('02:00');
    await tab.waitForFunction(last => document.querySelector('dialog time').dateTime > last, until);
    // The tab sleeps until its lease has ended, which another one does here.
    await tab.clock.pauseAt(await tab.evaluate(() => Date.now() + 1_000));
    await page.goto(on.origin);
    await page.getByRole('button', { name: 'Watch', exact: true }).click();
    await page.getByRole('dialog').getByText('Of another tab or program').waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor({ state: 'hidden' });
    post(titles[1]);
    await tab.clock.fastForward('20:00');
    await tab.clock.resume();
    await endpoint.hasTaken(titles[1]);
    await watch.getByText('Last taken').waitFor();
    await watch.getByRole('button', { name: 'Stop', exact: true }).click();
    await watch.waitFor({ state: 'hidden' });
    await tab.close();
  },
);

check('the page of an endpoint opens after five seconds, unless the user or the browser does not want it', async () => {
  endpoint.answer = {
    status: 200,
    body: { title: 'Thank you', message: 'Fine.', redirectUrl: `${on.origin}/icon.svg` },
  };
  const popup = page.waitForEvent('popup');
  await exportMarket();
  await page.getByText(/opens in \d s/).waitFor();
  const opened = await popup;
  assert.match(opened.url(), /icon\.svg$|blank/);
  await opened.close();
  await page.getByRole('link', { name: 'Open it again' }).waitFor();

  await exportMarket();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.waitForTimeout(6_000);
  assert.equal(page.context().pages().length, 1);

  await page.evaluate(() => {
    globalThis.open = () => null;
  });
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Your browser has blocked the window.').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Open it' }).getAttribute('href'), `${on.origin}/icon.svg`);

  // In another list, it does not begin again.
  await page.goto(`${on.origin}/exports`);
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('link', { name: 'endpoint', exact: true }).click();
  await page.getByRole('heading', { name: /exports? to endpoint$/ }).waitFor();
  await page.locator('summary').getByText('Delivered').first().waitFor();
  assert.equal(await page.getByRole('button', { name: 'Cancel' }).count(), 0);
});

for (const [how, fail, mend] of [
  ['refuses', () => page.route('**/*', route => route.abort()), () => page.unroute('**/*')],
  ['swallows', () => on.network.silence(), () => on.network.restore()],
])
  check(`a screen that is opened first while the network ${how} everything opens when it is back`, async () => {
    await page.goto(on.origin);
    await rows().first().waitFor();
    await fail();
    await page.getByRole('link', { name: 'Exports' }).click();
    await page.waitForTimeout(4_000);
    await mend();
    await page.getByRole('heading', { name: 'Exports', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Register' }).waitFor();
    on.complaints.length = 0;
  });

check('nothing moves while a slow service answers', async t => {
  t.after(() => on.sandbox.forget());
  on.sandbox.tell({ path: /./, delayMs: 400 });
  for (const path of ['/?days=30', '/discover', '/markets', '/markets/1?search=Oy', '/exports', '/markets/5']) {
    await page.goto(on.origin + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForTimeout(300);
    await page.waitForFunction(() => !document.querySelector('[aria-busy=true], .skeleton'));
    await page.waitForTimeout(300);
    const shift = await page.evaluate(() => globalThis.shift);
    assert.ok(shift < 0.05, `${path}: ${shift}`);
  }
});

check('a failed screen says what to do, in words of the domain', async t => {
  t.after(() => on.sandbox.forget());
  on.sandbox.tell({ path: /events|companies|markets/, status: 500 });
  for (const [path, name] of [
    ['/?days=2&severity=1', 'failed-monitor'],
    ['/markets/3', 'failed-market'],
  ]) {
    await page.goto(on.origin + path);
    await page.getByRole('alert').first().waitFor();
    const text = await page.getByRole('alert').first().innerText();
    assert.match(text, /Try again in a moment/);
    assert.doesNotMatch(text, /[0-9a-f]{8}-|HTTP|filter\./);
    await on.look(name);
  }
  on.complaints.length = 0;
});

check('the browser had nothing to complain about', async () => assert.deepEqual(on.complaints, []));

async function heading(name) {
  const found = page.getByRole('heading', { name });
  await found.waitFor();
  return found.innerText();
}

/** Sends the companies of market 1 to the endpoint. */
async function exportMarket() {
  await page.goto(`${on.origin}/markets/1`);
  await sendMarket();
}

/** The same, of the market that is open. */
async function sendMarket() {
  await page.locator('tbody tr').first().waitFor();
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByRole('button', { name: 'Send' }).click();
}
