import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { readExamples } from '../../src/http/graphiql/graphiql.js';
import { startSandbox } from '../../src/sandbox/server.js';
import { launchChromium } from '../support/chromium.js';
import { demoHeaders, startGateway, type TestGateway } from '../support/gateway.js';
import { openTab, runAndRead, typeQuery, visitPage } from '../support/graphiql-page.js';

let gateway: TestGateway;
let browser: Browser;

beforeAll(async () => {
  gateway = await startGateway({ seams: { sandbox: { discoveryMs: 15_000 } } });
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  await gateway.close();
});

test('a query typed into GraphiQL gets its response from the gateway and from no other host', async () => {
  const { page, addresses, complaints } = await visitPage(browser, `${gateway.url}/graphql`);
  await typeQuery(page, '{ viewer { authentication team }');
  await runAndRead(page, '"API_KEY"');
  expect(addresses.every(address => address.startsWith(gateway.url) || address.startsWith('data:'))).toBe(true);
  // While it is typed, GraphiQL may run the half of it.
  expect(complaints.filter(complaint => !complaint.includes('status of 400'))).toEqual([]);
  await page.close();
});

test('the example query across all six types runs unchanged, and its response explains its upstream calls', async () => {
  const { page } = await visitPage(browser, `${gateway.url}/graphql`);
  await openTab(page, 'Everything');
  // Not every request is finished: a second click on the button ends the one that runs.
  const finished = page.waitForEvent('requestfinished', {
    predicate: request => request.postData()?.includes('query Everything') ?? false,
  });
  const [answered] = await Promise.all([finished, runAndRead(page, '"totalCount"')]);
  const response = await answered.response();
  const { data, errors, extensions } = JSON.parse((await response?.text()) ?? '');
  expect(errors).toBeUndefined();
  expect(data.events.nodes[0].references[0].observation.title).toEqual(expect.any(String));
  expect(data.market).toMatchObject({ name: expect.any(String), topics: expect.any(Array), jobs: expect.any(Array) });
  expect(data.market.companies.nodes[0]).toMatchObject({ esg: expect.any(Object), events: expect.any(Object) });
  const [, line = ''] = (await page.locator('.result-window .view-lines').innerText()).split('\n');
  const [, calls, reads] =
    /"summary": "(\d+) upstream calls?, (\d+) reads? from the cache,/.exec(line.replace(/\s/g, ' ')) ?? [];
  // The query may have run more than once before its response was there.
  expect(Number(calls) + Number(reads)).toBe(extensions.explain.length);
  const paths = extensions.explain.map(({ method, path }: { method: string; path: string }) => `${method} ${path}`);
  for (const path of [
    'GET /v2/events-monitor/events',
    'GET /v2/events-monitor/observation/',
    'GET /dev/markets/1',
    'POST /markets/1/topics',
    'GET /v2/markets/1/companies',
    'GET /v2/markets/1/esg',
    'GET /v2/markets/1/jobs',
  ]) {
    expect(paths.some((each: string) => each.startsWith(path))).toBe(true);
  }
  await page.close();
});

/** Export needs an endpoint. */
const ready = readExamples().filter(({ query }) => !/^mutation Export/m.test(query));

test.each(ready.map(({ query, variables }) => [/^\w+ (\w+)/m.exec(query)?.[1] ?? '', query, variables] as const))(
  'the ready tab %s runs unchanged',
  async (name, query, variables) => {
    if (!/^subscription/m.test(query)) {
      const { data, errors } = await gateway.query(query, JSON.parse(variables ?? '{}'));
      expect(errors).toBeUndefined();
      expect(Object.values(data)).not.toContain(null);
      return;
    }
    const address = new URL(`${gateway.url}/graphql/stream`);
    address.search = String(new URLSearchParams({ query, variables: variables ?? '{}' }));
    const stream = await fetch(address, { headers: { ...demoHeaders, accept: 'text/event-stream' } });
    const decoder = new TextDecoder();
    let received = '';
    for await (const bytes of stream.body ?? []) {
      received += decoder.decode(bytes, { stream: true });
      if (received.includes('data: {')) break;
    }
    expect(received).toContain('event: next');
    expect(received).not.toContain('"errors"');
    if (name === 'Progress') expect(received).toContain('"completion":1');
  },
);

test('a refused subscription shows the reason', async () => {
  const sandbox = await startSandbox();
  const guarded = await startGateway({ sandbox });
  const { page } = await visitPage(browser, `${guarded.url}/graphql`);
  try {
    const shown = (text: string) => page.locator('.result-window').getByText(text).waitFor();
    await typeQuery(page, 'subscription { jobProgress(marketId: 1) { finished }');
    await runAndRead(page, 'UNAUTHENTICATED: Send an API key');
    expect(await page.locator('.result-window').innerText()).not.toContain('isTrusted');

    await guarded.close();
    await page.locator('.graphiql-execute-button').click();
    await shown('The connection could not be opened, or broke');
  } finally {
    await page.close();
    await guarded.close();
    await sandbox.close();
  }
});

test('GraphiQL shows the progress of a discovery until its end', async () => {
  const { page } = await visitPage(browser, `${gateway.url}/graphql`);
  const texts =
    'userPrompt: "Who refines?", marketName: "Refiners", marketType: "service", marketRole: "serviceProvider"';
  const lists =
    'keywords: {}, seedDomains: [], projectKind: "first_pass", locations: [], count: 20, performSearch: true';
  const input = `{ marketId: 5, searchCriteria: { ${texts}, ${lists} } }`;
  await typeQuery(page, `mutation { startDiscovery(input: ${input}) { __typename }`);
  await runAndRead(page, '"DiscoveryStarted"');
  const seen = new Set<string>();
  page.on('websocket', socket =>
    socket.on('framereceived', ({ payload }) => {
      for (const [, progress] of String(payload).matchAll(/"progress":([\d.]+)/g)) seen.add(progress ?? '');
    }),
  );
  await typeQuery(page, 'subscription { jobProgress(marketId: 5) { finished jobs { progress status }');
  await runAndRead(page, '"running"');
  await page.locator('.result-window').getByText('"completed"').waitFor();
  expect(seen.size).toBeGreaterThan(3);
  expect(seen).toContain('100');
  await page.close();
});
