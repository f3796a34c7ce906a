import { expect, test } from '@jest/globals';
import { readExamples } from '../../src/http/graphiql/graphiql.js';
import { startSandbox } from '../../src/sandbox/server.js';
import { launchChromium } from '../support/chromium.js';
import { cleanups, forSuite, forTest } from '../support/cleanups.js';
import { demoHeaders, startGateway } from '../support/gateway.js';
import { runAndRead, typeQuery, visitPage } from '../support/graphiql-page.js';

const gateway = forSuite(await startGateway({ seams: { sandbox: { discoveryMs: 15_000 } } }));
const browser = forSuite(await launchChromium());

test('a query typed into GraphiQL gets its response from the gateway and from no other host', async () => {
  const { page, addresses, complaints } = await visitPage(browser, `${gateway.url}/graphql`);
  await typeQuery(page, '{ viewer { authentication team }');
  await runAndRead(page, '"API_KEY"');
  expect(addresses.every(address => address.startsWith(gateway.url) || address.startsWith('data:'))).toBe(true);
  // While it is typed, GraphiQL may run the half of it.
  expect(complaints.filter(complaint => !complaint.includes('status of 400'))).toEqual([]);
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
  const sandbox = forTest(await startSandbox());
  const guarded = forTest(await startGateway({ sandbox }));
  const { page } = await visitPage(browser, `${guarded.url}/graphql`);
  cleanups.push(() => page.close());
  const shown = (text: string) => page.locator('.result-window').getByText(text).waitFor();
  await typeQuery(page, 'subscription { jobProgress(marketId: 1) { finished }');
  await runAndRead(page, 'UNAUTHENTICATED: Send an API key');
  expect(await page.locator('.result-window').innerText()).not.toContain('isTrusted');

  await guarded.close();
  await page.locator('.graphiql-execute-button').click();
  await shown('The connection could not be opened, or broke');
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
