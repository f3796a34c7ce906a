// What a screen says and does when an answer is late, is missing, has only a part, or is a refusal.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { openConsole } from './support.mjs';

const { on, page, check, rows } = await openConsole();
/** What the page gets in the place of a message of the gateway's WebSocket. */
let relay;
const keepMessages = () => {
  relay = message => message;
};
/** @param change gets the data of a message, and returns other data, or undefined to keep it. */
const changeData = change => {
  relay = message => {
    const frame = JSON.parse(message);
    const data = change(frame.payload?.data ?? {});
    return data ? JSON.stringify({ ...frame, payload: { data } }) : message;
  };
};
keepMessages();
let socket;
await page.routeWebSocket(/\/graphql$/, opened => {
  socket = opened;
  opened.connectToServer().onMessage(message => opened.send(relay(message)));
});
/** In the place of the next message of a kind, its subscription gets an error, which may pass if no other is given. */
const refuseOnce = (isOne, extensions = { code: 'RATE_LIMITED', retryAfterSeconds: 1, retryable: true }) => {
  relay = message => {
    const frame = JSON.parse(message);
    if (!isOne(frame)) return message;
    keepMessages();
    return JSON.stringify({ id: frame.id, type: 'error', payload: [{ message: 'Too much', extensions }] });
  };
};
await page.goto(on.origin);
await on.signIn();

const post = title => on.sandbox.publishEvent({ title });
const cell = () => page.getByRole('button', { name: /^Severity 3, likelihood 3: [\d,]+ event/ });

async function openMonitor(query = '') {
  await page.goto(`${on.origin}/${query}`);
  // No row is added under the pointer.
  await page.mouse.move(0, 0);
  await rows().first().waitFor();
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  await cell().waitFor();
}

async function openMarket(query = '') {
  await page.goto(`${on.origin}/markets/1${query}`);
  await page.locator('tbody tr').first().getByRole('checkbox').waitFor();
}

/**
 * Changes the responses to an operation until the test ends.
 * @param change gets a response with the variables, and returns what the page gets in its place: an object, or `status`, `contentType` and `body`. It may wait.
 */
async function answer(t, operation, change) {
  const onRoute = async route => {
    const { operationName, variables } = route.request().postDataJSON() ?? {};
    if (operationName !== operation) return route.fallback();
    const response = await route.fetch();
    const changed = await change(await response.json(), variables);
    const fulfilled = changed.status ? changed : { contentType: 'application/json', body: JSON.stringify(changed) };
    // The page may not wait for it any more.
    await route.fulfill(fulfilled).catch(() => {});
  };
  await page.route('**/graphql', onRoute);
  t.after(() => page.unroute('**/graphql', onRoute));
}

/** A promise that the test ends, if not before. */
function held(t) {
  let release;
  const promise = new Promise(resolve => {
    release = resolve;
  });
  t.after(release);
  return { promise, release };
}

const unavailable = { message: 'Down', extensions: { code: 'UPSTREAM_UNAVAILABLE', retryable: true } };

check('a review of all that match decides nothing if a page of them cannot be read, and says why', async t => {
  const sent = [];
  const onRequest = request => sent.push(request.postDataJSON()?.operationName);
  page.on('request', onRequest);
  t.after(() => page.off('request', onRequest));
  let later = 0;
  await answer(t, 'Companies', (result, { after }) => {
    if (after) later += 1;
    if (later <= 5) return result;
    return { data: { market: { ...result.data.market, companies: null } }, errors: [unavailable] };
  });
  await openMarket(`?overallMomentum=${encodeURIComponent('{"min":-1000}')}`);
  await page.getByLabel('Select all').check();
  await page.getByRole('button', { name: /^Exclude all \d/ }).click();
  const exclude = page.getByRole('dialog').getByRole('button', { name: /^Exclude all \d/ });
  await exclude.click();
  await page
    .getByRole('alert')
    .getByText(/does not respond/)
    .waitFor();
  assert.equal(await page.getByText(/excluded\.$/).count(), 0);
  assert.ok(!sent.includes('Review'));
  later = Number.NEGATIVE_INFINITY;
  await page.getByRole('button', { name: /^Exclude all \d/ }).click();
  await exclude.click();
  await page.getByText(/^[\d,]{3,} companies excluded\.$/).waitFor();
});

check('companies of the last filter are neither selected, reviewed nor exported', async t => {
  await openMarket();
  const isOff = async () => {
    for (const box of [page.getByLabel('Select all'), page.locator('tbody input').first()])
      assert.equal(await box.isDisabled(), true);
    for (const name of ['Export', 'Download CSV'])
      assert.equal(await page.getByRole('button', { name, exact: true }).isDisabled(), true);
    assert.equal(await page.getByRole('button', { name: /^Exclude/ }).count(), 0);
    await page.getByRole('heading', { name: 'Companies', exact: true }).waitFor();
  };
  await page.getByLabel('Revenue, at least').fill('500M');
  await page.waitForURL(/500000000/);
  await page.getByRole('heading', { name: /^[\d,]+ companies$/ }).waitFor();
  await page.getByLabel('Revenue, at most').fill('1');
  await page.getByRole('alert').waitFor();
  await isOff();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('heading', { name: '1,200 companies', exact: true }).waitFor();
  const { promise, release } = held(t);
  await answer(t, 'Companies', result => promise.then(() => result));
  await page.getByLabel('Search companies').fill('Oy');
  await page.waitForURL(/search=Oy/);
  await isOff();
  release();
  await page.getByLabel('Select all').check();
});

check('rows that are not read yet are not offered for an export', async t => {
  const { promise } = held(t);
  await answer(t, 'Companies', (result, { after }) => (after ? promise.then(() => result) : result));
  await openMarket();
  await page.locator('table').evaluate(table => table.parentElement.scrollTo(0, 1e6));
  await page.locator('tr[aria-rowindex="1201"]').waitFor();
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  await page.getByRole('dialog').getByText('of the list').waitFor();
  assert.equal(await page.getByRole('dialog').getByText('on the screen').count(), 0);
});

check('plots of the newest events say how many they are, and a bar before them that it was not counted', async t => {
  let counted = 5_999;
  await answer(t, 'Plots', ({ data: { histogram, cells, list } }) => ({
    data: {
      histogram: { ...histogram, total: 6_000, counted, buckets: histogram.buckets.slice(-2) },
      cells: { ...cells, total: 6_000, counted },
      list,
    },
  }));
  const slider = page.getByRole('slider');
  const notes = page.getByText('of 6,000 events are counted');
  await openMonitor('?days=30');
  await slider.press('Home');
  assert.match(await slider.getAttribute('aria-valuetext'), /: 0 events$/);
  // One cannot be read: the plots are of all the others.
  assert.equal(await notes.count(), 0);
  counted = 1_998;
  await openMonitor('?days=30');
  await slider.press('Home');
  assert.match(await slider.getAttribute('aria-valuetext'), /: not counted$/);
  await slider.press('End');
  assert.match(await slider.getAttribute('aria-valuetext'), /: \d+ events?/);
  assert.match((await notes.allInnerTexts()).join(), /1,998 .*1,998 /s);
});

check('a range up to now gets what comes in it', async () => {
  // Just after midnight, it has nothing else.
  post('Today');
  await openMonitor('?days=30');
  const slider = page.getByRole('slider');
  await slider.press('End');
  await slider.press('Enter');
  await page.waitForURL(/from=.*to=/);
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  await rows().first().waitFor();
  const { title } = post(`In this range ${Date.now()}`);
  await page.getByRole('button', { name: title }).waitFor();
});

check('an update of an event that is on no page yet is no new event', async () => {
  await openMonitor();
  const { _id, title } = post('Soon on another page');
  await page.getByRole('button', { name: title }).waitFor();
  for (let number = 1; number <= 70; number += 1) post(`Above it ${number}`);
  await page.getByRole('button', { name: 'Above it 70', exact: true }).waitFor();
  // A second tab follows the list while this one is loaded again.
  const other = await page.context().newPage();
  await other.goto(on.origin);
  await other.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  await openMonitor();
  assert.equal(await page.getByRole('button', { name: title }).count(), 0);
  await page.getByRole('button', { name: 'Pause' }).click();
  on.sandbox.touchEvent(_id, { title: 'Changed on another page' });
  await page.getByRole('button', { name: '1 new or updated' }).click();
  await rows().filter({ hasText: 'Changed on another page' }).getByText('updated').waitFor();
  await other.close();
});

check('after a gap, the list is as it was read then', async t => {
  await openMonitor();
  const { _id, title } = post('Before the gap');
  await page.getByRole('button', { name: title }).waitFor();
  on.sandbox.touchEvent(_id, { title: 'Still before the gap' });
  await page.getByRole('button', { name: 'Still before the gap' }).waitFor();
  t.after(keepMessages);
  changeData(({ eventUpdates }) => {
    if (!eventUpdates?.event) return undefined;
    keepMessages();
    return { eventUpdates: { ...eventUpdates, kind: null, event: null, gap: true } };
  });
  on.sandbox.touchEvent(_id, { title: 'Lost in the gap' });
  await page.getByRole('button', { name: 'Lost in the gap' }).waitFor();
});

check('a next page that cannot be read is no sign that the list is old', async t => {
  for (let number = 1; number <= 30; number += 1) post(`For two pages ${number}`);
  await answer(t, 'Events', (result, { after }) =>
    after ? { data: { events: null }, errors: [unavailable] } : result,
  );
  await openMonitor('?days=30');
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  const alert = page.getByRole('region', { name: 'Events', exact: true }).getByRole('alert');
  await alert.getByText('does not respond').waitFor();
  assert.equal(await page.getByText(/^Data is over/).count(), 0);
});

check('opening a company does not read the list again', async t => {
  await openMarket();
  let reads = 0;
  await answer(t, 'Companies', (result, { after }) => {
    if (!after) reads += 1;
    return result;
  });
  await page.locator('tbody tr').first().getByRole('button').click();
  await page.getByRole('dialog').getByText('Industries', { exact: true }).waitFor();
  await page.waitForTimeout(500);
  assert.equal(reads, 0);
});

check('only what is read is said to be tried again by itself', async t => {
  await page.goto(`${on.origin}/discover`);
  await page.getByLabel('Which companies do you look for?').fill('Who rents cranes?');
  await answer(t, 'CreateCriteria', () => ({ status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' }));
  await page.getByRole('button', { name: 'Ask' }).click();
  await page.getByRole('alert').getByText('Try again in a moment.').waitFor();
});

check('a live message of which a part failed is shown', async t => {
  await openMonitor();
  t.after(keepMessages);
  relay = message => {
    const frame = JSON.parse(message);
    if (frame.type !== 'next') return message;
    return JSON.stringify({ ...frame, payload: { ...frame.payload, errors: [unavailable] } });
  };
  const { title } = post('With a part that failed');
  await page.getByRole('button', { name: title }).waitFor();
});

check('the number of events is not that of the last filter', async t => {
  await openMonitor();
  const { promise } = held(t);
  await answer(t, 'Plots', result => promise.then(() => result));
  const list = page.waitForResponse(
    response => response.request().postDataJSON?.()?.operationName === 'Events' && response.ok(),
  );
  await page.getByRole('button', { name: /^Severity 3, likelihood 2: [\d,]+ event/ }).click();
  const { totalCount } = (await (await list).json()).data.events;
  await page.getByRole('heading', { name: new RegExp(`^${totalCount} events?$`) }).waitFor();
});

check('a refusal of the gateway says why, and only the page of a proxy that there is no connection', async t => {
  const refusal = {
    errors: [{ message: 'Blocked for a test', extensions: { code: 'RATE_LIMITED', retryable: true } }],
  };
  let body = JSON.stringify(refusal);
  await answer(t, 'Exports', () => ({ status: 429, contentType: 'application/json', body }));
  const alert = page.getByRole('region', { name: 'Exports', exact: true }).getByRole('alert');
  await page.goto(`${on.origin}/exports`);
  await alert.getByText('Blocked for a test.', { exact: true }).waitFor();
  body = '<h1>Too many requests</h1>';
  await alert.getByRole('button', { name: 'Try again' }).click();
  await alert.getByText('There is no connection').waitFor();
});

check('a subscription begins again after an error that may pass, and says meanwhile that it is not live', async t => {
  t.after(keepMessages);
  const badge = page.locator('header [role=status]');
  await openMonitor();
  refuseOnce(({ payload }) => payload?.data?.eventUpdates);
  const { title } = post(`Refused at first ${Date.now()}`);
  await badge.filter({ hasText: 'Reconnecting' }).waitFor();
  await page.getByRole('button', { name: title }).waitFor();
  await badge.filter({ hasText: 'Live' }).waitFor();
  // A gateway that ends closes cleanly. The badge stays.
  const shown = await badge.elementHandle();
  await socket.close({ code: 1013 });
  await badge.filter({ hasText: 'Reconnecting' }).waitFor();
  await badge.filter({ hasText: 'Live' }).waitFor();
  assert.ok(await shown.evaluate(({ isConnected }) => isConnected));
  // A bug of the gateway, after which graphql-ws gives up.
  await socket.close({ code: 4500 });
  const later = post(`After a bug ${Date.now()}`);
  await page.getByRole('button', { name: later.title }).waitFor();

  refuseOnce(({ payload }) => payload?.data?.jobProgress);
  await page.goto(`${on.origin}/markets/4`);
  await badge.filter({ hasText: 'Reconnecting' }).waitFor();
  await page.getByRole('heading', { name: /^Review of / }).waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
  await badge.filter({ hasText: 'Live' }).waitFor();
});

check('an export whose progress is refused at first is followed to its end', async t => {
  const running = { ...unknownExport(), outcome: 'RUNNING', result: null };
  await answerExports(t, running);
  t.after(keepMessages);
  const ended = { ...running, outcome: 'FAILED', result: { __typename: 'ExportFailed', message: 'It is over' } };
  const isItsEnd = ({ type }) => type === 'error';
  refuseOnce(isItsEnd);
  await page.goto(`${on.origin}/exports`);
  await page.locator('header [role=status]').filter({ hasText: 'Reconnecting' }).waitFor();
  // The gateway does not know it: in the place of what it says of that comes the end.
  relay = message => {
    const frame = JSON.parse(message);
    if (!isItsEnd(frame)) return message;
    return JSON.stringify({ id: frame.id, type: 'next', payload: { data: { exportProgress: ended } } });
  };
  await page.locator('summary').getByText('It is over').waitFor();
});

check('a market whose number of companies is unknown can be reviewed and published', async t => {
  await answer(t, 'Market', ({ data: { market } }) => ({ data: { market: { ...market, companyCount: null } } }));
  await page.goto(`${on.origin}/markets/4`);
  await page.getByRole('heading', { name: 'Review of – companies' }).waitFor();
  await page.getByText(/ · – companies · created/).waitFor();
  for (const name of ['Include all – companies', 'Publish'])
    assert.equal(await page.getByRole('button', { name, exact: true }).isEnabled(), true);
});

/** An export of which only the gateway of the test knows. */
function unknownExport() {
  const startedAt = new Date().toISOString();
  return {
    __typename: 'Export',
    id: 'test',
    startedAt,
    endpointName: 'test',
    isTest: false,
    retryOf: null,
    retriedBy: null,
    market: null,
    selected: 1,
    sent: 1,
    outcome: 'UNKNOWN',
    attempts: [
      { __typename: 'ExportAttempt', startedAt, status: null, fault: null, milliseconds: null, explanation: null },
    ],
    result: { __typename: 'ExportFailed', message: 'The gateway was ended' },
  };
}

const answerExports = (t, node) =>
  answer(t, 'Exports', ({ data: { exports } }) => ({
    data: { exports: { ...exports, totalCount: 1, edges: [{ __typename: 'ExportEdge', node }] } },
  }));

check('a market that may not be read hides only its name', async t => {
  const forbidden = { message: 'Not yours', extensions: { code: 'FORBIDDEN', retryable: false } };
  await answer(t, 'Exports', result => ({ ...result, errors: [forbidden] }));
  await page.goto(`${on.origin}/exports`);
  await page.getByRole('alert').getByText('Your account has no access').waitFor();
  await page.getByRole('button', { name: 'Register' }).waitFor();
});

check('an export whose response is not known does not wait for it', async t => {
  await answerExports(t, unknownExport());
  await page.goto(`${on.origin}/exports`);
  await page.locator('summary').getByText('Possibly delivered').click();
  await page.getByText('Whether it was answered is not known').waitFor();
});

function jobOfNoTime(status) {
  const [startTime, endTime] = Array(2).fill(new Date().toISOString());
  const known = { __typename: 'Job', nodeId: 'test', id: 'test', workflowName: 'scrape', completion: 1 };
  return { ...known, status, startTime, endTime };
}

check('a job that ended at once took 0 s', async t => {
  const job = jobOfNoTime(null);
  t.after(keepMessages);
  changeData(({ jobProgress }) => jobProgress && { jobProgress: { ...jobProgress, finished: false, jobs: [job] } });
  await page.goto(`${on.origin}/markets/4`);
  await page.getByText('100 % · 0 s').waitFor();
});

check('jobs that the service does not list yet are followed, too', async t => {
  t.after(keepMessages);
  changeData(
    ({ jobProgress }) => jobProgress && { jobProgress: { ...jobProgress, finished: false, jobs: [], unlisted: ['7'] } },
  );
  await page.goto(`${on.origin}/markets/4`);
  await page.getByRole('region', { name: 'Progress' }).getByText('Estimating the time').waitFor();
  await page.goto(`${on.origin}/discover?market=4`);
  // The gateway has ended this subscription: its jobs are over.
  await page.getByText(/^(Estimating the time|Reconnecting)$/).waitFor();
  assert.equal(await page.getByText('No discovery has run').count(), 0);
});

check('after a sign-in, no update from before hides a newer version', async t => {
  t.after(() => on.sandbox.forget());
  await openMonitor();
  const { _id } = post('The first version');
  await page.getByRole('button', { name: 'The first version' }).waitFor();
  on.sandbox.touchEvent(_id, { title: 'The second version' });
  await page.getByRole('button', { name: 'The second version' }).waitFor();
  on.sandbox.tell({ path: /./, status: 401 });
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  on.sandbox.touchEvent(_id, { title: 'The third version' });
  on.sandbox.forget();
  await on.fillSignIn();
  await page.getByRole('button', { name: 'The third version' }).waitFor();
});

const withEndpoint = t =>
  answer(t, 'Endpoints', ({ data }) => ({
    data: {
      viewer: { ...data.viewer, canManageExportEndpoints: true },
      exportEndpoints: [
        {
          __typename: 'ExportEndpoint',
          nodeId: 'test',
          name: 'test',
          url: 'https://test',
          description: '',
          headerNames: [],
        },
      ],
    },
  }));

check('a secret is made once, and no way leads past it unasked', async t => {
  await withEndpoint(t);
  const { promise, release } = held(t);
  await answer(t, 'RotateSecret', () =>
    promise.then(() => ({
      data: { rotateExportEndpointSecret: { __typename: 'ExportEndpointSecret', signingSecret: 'whsec_test' } },
    })),
  );
  await page.goto(`${on.origin}/markets`);
  await page.getByRole('link', { name: 'Exports' }).click();
  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'New secret' }).click();
  for (const name of ['New secret', 'Delete', 'Register'])
    assert.equal(await page.getByRole('button', { name }).isDisabled(), true);
  const stay = async leave => {
    const asked = page.waitForEvent('dialog').then(question => question.dismiss());
    await leave();
    await asked;
    await page.waitForTimeout(300);
  };
  const goBack = () => page.evaluate(() => history.back());
  const goToMonitor = async () => {
    await page.keyboard.press('Control+k');
    await page.getByRole('option', { name: /^Monitor/ }).click();
  };
  await stay(goBack);
  release();
  const secret = page.getByText('whsec_test');
  await secret.waitFor();
  for (const leave of [goBack, goToMonitor]) {
    await stay(leave);
    assert.equal(await secret.count(), 1);
  }
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('link', { name: 'Markets', exact: true }).click();
  await page.getByRole('heading', { name: 'Markets', level: 1 }).waitFor();
});

check('"Send again" is sent once, and its failure neither hides the last result nor outlives the next', async t => {
  await withEndpoint(t);
  await answerExports(t, unknownExport());
  const ending = { __typename: 'ExportFailed', exportId: 'test' };
  await answer(t, 'TestEndpoint', () => ({ data: { testExportEndpoint: ending } }));
  const { promise, release } = held(t);
  await answer(t, 'Retry', () => promise.then(() => ({ data: { retryExport: null }, errors: [unavailable] })));
  await page.goto(`${on.origin}/exports`);
  const test = page.getByRole('button', { name: 'Test', exact: true });
  await test.click();
  const again = page.getByRole('button', { name: 'Send again' });
  await again.click();
  assert.equal(await again.isDisabled(), true);
  release();
  const alert = page.getByRole('alert').getByText('does not respond');
  await alert.waitFor();
  assert.equal(await again.isVisible(), true);
  await test.click();
  await alert.waitFor({ state: 'hidden' });
});

check('a market whose publication has begun offers it no second time', async t => {
  t.after(keepMessages);
  await page.goto(`${on.origin}/markets/4`);
  const publish = page.getByRole('button', { name: 'Publish' });
  await publish.click();
  // What the service says of its jobs is late.
  relay = message => (JSON.parse(message).payload?.data?.jobProgress ? '{"type":"pong"}' : message);
  const published = page.waitForResponse(
    response => response.request().postDataJSON?.()?.operationName === 'Publish' && response.ok(),
  );
  await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
  await published;
  await page.waitForTimeout(300);
  await page.getByRole('heading', { name: 'The market is being published' }).waitFor();
  assert.equal(await publish.count(), 0);
});

check('the palette offers no company of another text, and says that there is nothing only once it knows', async t => {
  const { promise, release } = held(t);
  await answer(t, 'FindCompanies', (result, { search }) =>
    search === 'Oy' ? promise.then(() => result) : { data: { market: null }, errors: [unavailable] },
  );
  await openMarket();
  await page.keyboard.press('Control+k');
  const dialog = page.getByRole('dialog');
  const nothing = dialog.getByText('Nothing has this name.');
  const asked = page.waitForRequest(request => request.postDataJSON?.()?.operationName === 'FindCompanies');
  await dialog.getByRole('combobox').fill('Oy');
  await asked;
  assert.equal(await nothing.count(), 0);
  release();
  const company = page.getByRole('option', { name: /Company$/ }).first();
  await company.waitFor();
  await dialog.getByRole('combobox').fill('Oy that fails');
  assert.equal(await company.count(), 0);
  await dialog.getByRole('alert').getByText('does not respond').waitFor();
  assert.equal(await nothing.count(), 0);
});

check('numbers of companies and plots of events that cannot be read are told', async t => {
  const failed = { message: 'Failed', extensions: { code: 'INTERNAL_SERVER_ERROR', retryable: false } };
  await answer(t, 'CompanyFacets', () => ({ errors: [failed] }));
  await openMarket();
  await page.getByRole('form', { name: 'Filters' }).getByRole('alert').waitFor();
  await openMonitor();
  await answer(t, 'Plots', () => ({ errors: [failed] }));
  await cell().click();
  await page.getByRole('region', { name: 'Events by time and severity' }).getByRole('alert').waitFor();
});

check('a view that another tab has saved is not lost', async () => {
  await openMonitor();
  const other = await page.context().newPage();
  await other.goto(on.origin);
  for (const [tab, name] of [
    [other, 'Of the other tab'],
    [page, 'Of this tab'],
  ]) {
    await tab.getByRole('button', { name: 'Views' }).click();
    await tab.getByLabel('Name of this view').fill(name);
    await tab.getByRole('button', { name: 'Save' }).click();
  }
  for (const name of ['Of this tab', 'Of the other tab'])
    await page.getByRole('button', { name: `Remove ${name}` }).click();
  await other.getByRole('button', { name: 'Of this tab', exact: true }).waitFor({ state: 'hidden' });
  await other.close();
});

check('behind the last event that is read comes the next one', async () => {
  await openMonitor('?days=30');
  const dialog = page.getByRole('dialog');
  // Not by the pointer: the page would scroll to it.
  await rows()
    .last()
    .getByRole('button')
    .evaluate(button => button.click());
  await dialog.getByRole('button', { name: 'Next' }).and(page.locator(':enabled')).click();
  await page.waitForURL(/event=/);
});

check('an open event that is on no page yet is offered in the newer version that waits', async () => {
  await openMonitor();
  const { _id } = post('Open while it changes');
  for (let number = 1; number <= 70; number += 1) post(`Newer than it ${number}`);
  await page.getByRole('button', { name: 'Newer than it 70', exact: true }).waitFor();
  await openMonitor(`?event=${_id}`);
  await page.getByText('Pause', { exact: true }).dispatchEvent('click');
  on.sandbox.touchEvent(_id, { title: 'Changed while it was open' });
  await page.getByRole('dialog').getByText('There is a newer version of this event.').waitFor();
});

check('at midnight, the list stays paused and keeps what waits', async () => {
  const tab = await page.context().newPage();
  await tab.clock.install();
  await tab.goto(on.origin);
  await tab.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  await tab.getByRole('button', { name: 'Pause' }).click();
  await tab.clock.fastForward('24:00:00');
  await tab.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  post('On the next day');
  await tab.getByRole('button', { name: '1 new' }).waitFor();
  await tab.getByRole('button', { name: 'Resume' }).waitFor();
  await tab.close();
});

check('a sign-out that fails is told', async t => {
  const fail = route =>
    route.request().postDataJSON()?.operationName === 'SignOut' ? route.abort() : route.fallback();
  await page.route('**/graphql', fail);
  t.after(() => page.unroute('**/graphql', fail));
  await openMonitor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.locator('header').getByRole('alert').getByText('There is no connection').waitFor();
});

check('the same export has the same key, and another one another', async t => {
  const keys = [];
  await answer(t, 'EndpointNames', () => ({
    data: { exportEndpoints: [{ __typename: 'ExportEndpoint', nodeId: 'test', name: 'test' }] },
  }));
  await answer(t, 'ExportMarket', (_, { input }) => {
    keys.push(input.idempotencyKey);
    return { data: { exportMarketToEndpoint: null }, errors: [unavailable] };
  });
  await openMarket();
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  const send = page.getByRole('button', { name: 'Send', exact: true }).and(page.locator(':enabled'));
  await send.click();
  await send.click();
  await page.getByRole('dialog').getByText('on the screen').click();
  await send.click();
  await send.waitFor();
  assert.equal(keys[1], keys[0]);
  assert.equal(new Set(keys).size, 2);
});

check('a question from another screen stands above older criteria, until it is asked', async () => {
  const question = page.getByLabel('Which companies do you look for?');
  const ask = page.getByRole('button', { name: /^Ask/ });
  await page.goto(`${on.origin}/discover`);
  await question.fill('Who rents cranes?');
  await ask.click();
  await page.getByRole('heading', { name: 'Criteria' }).waitFor();
  await page.goto(`${on.origin}/discover?question=bearings`);
  assert.equal(await question.inputValue(), 'bearings');
  await ask.click();
  await page.waitForURL(`${on.origin}/discover`);
  const countries = page.getByLabel('Add to Countries');
  await countries.fill('Atlantis');
  await countries.press('Enter');
  assert.equal(await countries.evaluate(({ validationMessage }) => validationMessage), 'Choose one of the list.');
  await countries.fill('');
  await page.getByRole('button', { name: 'Start over' }).click();
});

check('a company that is closed is no step of the history, and a typed range is one', async () => {
  await openMarket();
  await page.locator('tbody tr').first().getByRole('button').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  await page.getByLabel('Revenue, at least').fill('500M');
  await page.waitForURL(/500000000/);
  await page.goBack();
  await page.waitForURL(url => url.search === '');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page.goBack();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
});

check('a review says that it goes on', async t => {
  const { promise, release } = held(t);
  await answer(t, 'Review', result => promise.then(() => result));
  await openMarket();
  await page.locator('tbody input').first().check();
  await page.getByRole('button', { name: 'Include 1 company' }).click();
  await page.getByText('Deciding', { exact: true }).waitFor();
  release();
  await page.getByText('1 company included.').waitFor();
});

check('a browser without a clipboard says so, and only the first button of the pointer selects a time', async () => {
  await openMonitor();
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByText('This browser does not copy it').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('slider').click({ button: 'right' });
  await page.getByRole('slider').press('Escape');
  const steps = () => page.evaluate(() => history.length);
  const before = await steps();
  await page.waitForTimeout(300);
  assert.equal(new URL(page.url()).search, '');
  assert.equal(await steps(), before);
});

const answered = operation =>
  page.waitForResponse(response => response.request().postDataJSON?.()?.operationName === operation && response.ok());

/** Clicks on what sends an operation, whose answer the page gets once the returned function is called. */
async function clickAndHold(t, operation, button) {
  const { promise, release } = held(t);
  await answer(t, operation, result => promise.then(() => result));
  const sent = page.waitForRequest(request => request.postDataJSON?.()?.operationName === operation);
  await button.click();
  await sent;
  return async () => {
    const arrived = answered(operation);
    release();
    await arrived;
    await page.waitForTimeout(300);
  };
}

const askButton = () => page.getByRole('button', { name: /^Ask/ });

async function openDiscover() {
  await page.goto(`${on.origin}/discover`);
  await page.getByLabel('Which companies do you look for?').fill('Who rents cranes?');
}

check('a late answer leads nobody back to its screen, and leaves what was done meanwhile', async t => {
  await openDiscover();
  const criteria = page.getByRole('heading', { name: 'Criteria' });
  const leave = async () => {
    await page.getByRole('link', { name: 'Monitor' }).click();
    await rows().first().waitFor();
  };
  const release = await clickAndHold(t, 'CreateCriteria', askButton());
  await leave();
  await release();
  assert.equal(new URL(page.url()).pathname, '/');
  await page.getByRole('link', { name: 'Discover' }).click();
  await criteria.waitFor();

  const name = page.getByLabel('Name of the market');
  const releaseSecond = await clickAndHold(t, 'CreateCriteria', askButton());
  await name.fill('Mine');
  await releaseSecond();
  assert.equal(await name.inputValue(), 'Mine');

  const releaseThird = await clickAndHold(t, 'CreateCriteria', askButton());
  await page.getByRole('button', { name: 'Start over' }).click();
  await releaseThird();
  assert.equal(await criteria.count(), 0);

  await openDiscover();
  await askButton().click();
  await page.getByLabel('Number of the market that gets the companies').fill('5');
  const start = page.getByRole('button', { name: 'Start the discovery' });
  const releaseStart = await clickAndHold(t, 'StartDiscovery', start);
  await leave();
  await releaseStart();
  assert.equal(new URL(page.url()).pathname, '/');
});

check('criteria that are edited while a discovery starts stay, and its jobs are shown beside them', async t => {
  await openDiscover();
  await askButton().click();
  await page.getByLabel('Number of the market that gets the companies').fill('5');
  const release = await clickAndHold(t, 'StartDiscovery', page.getByRole('button', { name: 'Start the discovery' }));
  const name = page.getByLabel('Name of the market');
  await name.fill('Mine');
  await release();
  await page.getByRole('region', { name: 'Discovery' }).waitFor();
  assert.equal(await name.inputValue(), 'Mine');
  await page.getByRole('button', { name: 'Start over' }).click();
});

check('what a user has asked is not there for the next one in the same tab', async t => {
  await openDiscover();
  const release = await clickAndHold(t, 'CreateCriteria', askButton());
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Welcome' }).waitFor();
  await release();
  const criteria = await page.evaluate(() => sessionStorage.getItem('criteria'));
  await on.signIn();
  assert.equal(criteria, null);
});

check('what was asked before a sign-in, and is refused after it, is asked again', async t => {
  const unauthenticated = { message: 'No', extensions: { code: 'UNAUTHENTICATED', retryable: false } };
  const refusal = { errors: [unauthenticated] };
  const { promise, release } = held(t);
  let reads = 0;
  await answer(t, 'Exports', result => {
    reads += 1;
    return reads === 1 ? promise.then(() => refusal) : result;
  });
  let isRefused = true;
  await answer(t, 'Endpoints', result => (isRefused ? refusal : result));
  await page.goto(`${on.origin}/exports`);
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  isRefused = false;
  await on.fillSignIn();
  release();
  await page.getByRole('heading', { name: /^\d+ exports?$/ }).waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
});

check('after a sign-in of the same user, a long list is as long as before', async t => {
  t.after(() => on.sandbox.forget());
  for (let number = 1; number <= 40; number += 1) post(`In a long list ${number}`);
  await openMonitor('?days=30');
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.waitForFunction(() => document.querySelectorAll('ol.feed > li').length >= 50);
  on.sandbox.tell({ path: /./, status: 401 });
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  on.sandbox.forget();
  await on.fillSignIn();
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  await page.waitForTimeout(500);
  assert.ok((await rows().count()) >= 50);
});

check('the status of a job that has ended is shown, and of a publication that has changed nothing', async t => {
  const job = jobOfNoTime('failed');
  t.after(keepMessages);
  changeData(({ jobProgress }) => jobProgress && { jobProgress: { ...jobProgress, finished: true, jobs: [job] } });
  await page.goto(`${on.origin}/discover?market=5`);
  await page.getByText('Failed · 0 s').waitFor();
  assert.equal(await page.getByRole('progressbar', { name: 'Read websites' }).count(), 0);
  await answer(t, 'Market', ({ data: { market } }) => ({
    data: { market: { ...market, companyCount: 48, reviewStatus: 'REVIEWING' } },
  }));
  await page.goto(`${on.origin}/markets/5`);
  await page.getByText('The last publication has ended; the market is not published.').waitFor();
  await page.getByText('Failed · 0 s').waitFor();
  await page.getByRole('heading', { name: 'Review of 48 companies' }).waitFor();
});

check('jobs of a service that does not respond are said to be old, or not known', async t => {
  t.after(keepMessages);
  const observed = (message, age) =>
    message.replace(/(?<="observedAt":")[^"]+/, new Date(Date.now() - age).toISOString());
  const states = [];
  // As the gateway sends a state again while the service does not respond: at first it was new.
  relay = message => {
    if (!/"observedAt"/.test(message)) return message;
    states.push(message);
    socket.send(observed(message, 0));
    return observed(message, 90_000);
  };
  // The clock of this computer is a day ahead.
  await page.clock.setSystemTime(Date.now() + 86_400_000);
  await page.goto(`${on.origin}/markets/5`);
  await page
    .locator('header')
    .getByText(/^Data is over \d+ s old$/)
    .waitFor();
  keepMessages();
  for (const state of states) socket.send(observed(state, 0));
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();

  relay = message => (JSON.parse(message).payload?.data?.jobProgress ? '{"type":"pong"}' : message);
  for (const path of ['/markets/5', '/discover?market=5']) {
    await page.goto(on.origin + path);
    await page.getByText('The service does not say yet what runs here. It is asked again by itself.').waitFor();
  }
});

check('a registration that is on its way is neither closed nor left unasked', async t => {
  await withEndpoint(t);
  await page.goto(`${on.origin}/markets`);
  await page.getByRole('link', { name: 'Exports' }).click();
  await page.getByRole('button', { name: 'Register' }).click();
  const dialog = page.getByRole('dialog');
  for (const name of ['Name', 'Description']) await dialog.getByLabel(name, { exact: true }).fill('test');
  await dialog.getByLabel('Address').fill('https://test.example');
  const secret = { __typename: 'RegisterExportEndpointPayload', signingSecret: 'whsec_test' };
  const { promise, release } = held(t);
  await answer(t, 'RegisterEndpoint', () => promise.then(() => ({ data: { registerExportEndpoint: secret } })));
  await dialog.getByRole('button', { name: 'Register' }).click();
  page.once('dialog', question => question.accept());
  await dialog.getByRole('button', { name: 'Close' }).click();
  const asked = page.waitForEvent('dialog').then(question => question.dismiss());
  await page.evaluate(() => history.back());
  await asked;
  release();
  await page.getByText('whsec_test').waitFor();
  await page.getByRole('button', { name: 'I have stored it' }).click();
});

check('live updates that are refused say why, and behind a refused cursor the list is read again', async t => {
  t.after(keepMessages);
  const isUpdate = ({ payload }) => payload?.data?.eventUpdates;
  await openMonitor();
  refuseOnce(isUpdate, { code: 'BAD_USER_INPUT', argument: 'after', retryable: false });
  const { title } = post(`Behind a refused cursor ${Date.now()}`);
  await page.getByRole('button', { name: title }).waitFor();
  const later = post(`Live again ${Date.now()}`);
  await page.getByRole('button', { name: later.title }).waitFor();
  refuseOnce(isUpdate, { code: 'FORBIDDEN', retryable: false });
  post('Not for you');
  await page.getByRole('region', { name: 'Events', exact: true }).getByText('has no access to this').waitFor();
});

check('what became of a review stays when a filter ends its selection', async t => {
  await openMarket();
  for (const row of [0, 1]) await page.locator('tbody input').nth(row).check();
  const release = await clickAndHold(t, 'Review', page.getByRole('button', { name: 'Exclude 2 companies' }));
  await page.getByLabel('Search companies').fill('Oy');
  await page.waitForURL(/search=Oy/);
  await page.getByRole('heading', { name: /selected/ }).waitFor({ state: 'hidden' });
  await release();
  await page.getByText('2 companies excluded.').waitFor();
});

check('the list of exports is whole, also while one is sent', async t => {
  const documents = readFileSync(new URL('../src/gql/persisted-documents.json', import.meta.url), 'utf8');
  const [, first] = /query Exports.*? exports\(.*?first: (\d+)/.exec(documents);
  const all = Array.from({ length: 100 }, (_, index) => ({ ...unknownExport(), id: `test ${index}` }));
  const edges = all.slice(0, Number(first)).map(node => ({ __typename: 'ExportEdge', node }));
  await answer(t, 'Exports', ({ data }) => ({ data: { exports: { ...data.exports, totalCount: 100, edges } } }));
  await page.goto(`${on.origin}/exports`);
  const list = page.locator('summary').getByText('Possibly delivered');
  await list.nth(99).click();
  const release = await clickAndHold(t, 'Retry', page.getByRole('button', { name: 'Send again' }));
  await answered('Exports');
  await release();
  assert.equal(await list.count(), 100);
});

check('a market without a name has its number, and one that is gone can be forgotten', async t => {
  const withoutName = market => ({ ...market, name: null });
  for (const operation of ['Market', 'DiscoveredMarket'])
    await answer(t, operation, ({ data }) => ({ data: { market: withoutName(data.market) } }));
  await answer(t, 'Markets', ({ data, errors }) => ({ data: { markets: data.markets.map(withoutName) }, errors }));
  await page.goto(`${on.origin}/discover?market=1`);
  await page.getByRole('heading', { name: 'Market 1', exact: true }).waitFor();
  await page.goto(`${on.origin}/markets/1`);
  await page.getByRole('heading', { name: 'Market 1', exact: true }).waitFor();
  await page.locator('tbody tr').first().waitFor();
  await page.evaluate(() => localStorage.setItem('recent-markets ada@team.example', '["99","1"]'));
  await page.goto(`${on.origin}/markets`);
  await page.getByRole('link', { name: 'Market 1', exact: true }).waitFor();
  const gone = page.getByRole('listitem').filter({ hasText: 'Market 99' });
  await gone.getByText('Unknown · – companies').waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
  await gone.getByRole('button', { name: 'Forget Market 99' }).click();
  await gone.waitFor({ state: 'hidden' });
  await page.getByRole('link', { name: 'Market 1', exact: true }).waitFor();
});

check('a menu counts the events of the range, and a name of an event keeps the days', async t => {
  let filter;
  await answer(t, 'EventFacets', (result, variables) => {
    filter = variables.filter;
    return result;
  });
  await openMonitor('?days=30');
  const slider = page.getByRole('slider');
  await slider.press('End');
  await slider.press('Enter');
  await page.waitForURL(/from=.*to=/);
  const asked = answered('EventFacets');
  await page.getByRole('button', { name: 'Entity' }).click();
  await asked;
  assert.equal(filter.from, new URL(page.url()).searchParams.get('from'));
  await openMonitor('?days=30');
  await rows().first().getByRole('button').click();
  await page.getByRole('region', { name: 'Impact' }).getByRole('link').first().click();
  await page.waitForURL(/impactedEntities=/);
  assert.equal(new URL(page.url()).searchParams.get('days'), '30');
});

check('a watch that can never go on is not renewed', async () => {
  const tab = await page.context().newPage();
  await tab.clock.install();
  await tab.goto(on.origin);
  await tab.evaluate(() => {
    const until = new Date(0).toISOString();
    sessionStorage.watches = JSON.stringify([{ id: 'gone', until, cursor: null, endpoint: 'deleted', search: {} }]);
  });
  await tab.clock.fastForward('01:01');
  await tab.waitForFunction(() => sessionStorage.watches === '[]');
  await tab.close();
});

check('the value of a header without its name is not dropped', async t => {
  await withEndpoint(t);
  await page.goto(`${on.origin}/exports`);
  await page.getByRole('button', { name: 'Register' }).click();
  const dialog = page.getByRole('dialog');
  for (const name of ['Name', 'Description']) await dialog.getByLabel(name, { exact: true }).fill('test');
  await dialog.getByLabel('Address').fill(on.origin);
  await dialog.getByLabel('Its value').fill('secret');
  await dialog.getByRole('button', { name: 'Register' }).click();
  await page.locator('[aria-invalid=true]').and(dialog.getByLabel('Header, if the endpoint needs one')).waitFor();
});
