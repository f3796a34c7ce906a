import { connect } from 'node:net';
import {
  ApolloClient,
  ApolloLink,
  CombinedGraphQLErrors,
  CombinedProtocolErrors,
  gql,
  HttpLink,
  InMemoryCache,
} from '@apollo/client';
import { RetryLink } from '@apollo/client/link/retry';
import { afterEach, expect, jest, test } from '@jest/globals';
import { createApolloLink } from '../examples/clients/src/apollo.js';
import { startSandbox } from '../src/sandbox/server.js';
import { cleanups, forSuite, forTest } from './support/cleanups.js';
import { demoHeaders, startGateway } from './support/gateway.js';
import { counted } from './support/metrics.js';
import { startNetwork } from './support/network.mjs';
import { overWebsocket } from './support/streams.js';
import { until } from './support/until.js';

const updates = 'subscription Updates($after: String) { eventUpdates(after: $after) { cursor event { title } } }';
const typename = { eventUpdates: { __typename: 'EventUpdate' } };

const stops: (() => void)[] = [];

const start = () =>
  startGateway({ sandbox, env: { POLL_INTERVAL_MS: '200' }, seams: { streams: { heartbeatMs: 100 } } });

const sandbox = forSuite(await startSandbox());
const gateway = forSuite(await start());

afterEach(async () => {
  for (const stop of stops.splice(0)) stop();
  await until(async () => (await counted(gateway.url, 'gateway_live_pollers')) === 0);
});

const multipartListeners = () => counted(gateway.url, 'gateway_live_listeners', { transport: 'multipart' });

/** Listens with Apollo Client as an application sets it up. */
function listen(
  document: string,
  variables: Record<string, unknown> = {},
  url = gateway.url,
  links: ApolloLink[] = [],
) {
  return listenOver(
    ApolloLink.from([...links, new HttpLink({ uri: `${url}/graphql`, headers: demoHeaders })]),
    document,
    variables,
  );
}

function listenOver(link: ApolloLink, document: string, variables: Record<string, unknown>) {
  const client = new ApolloClient({ cache: new InMemoryCache(), link });
  // biome-ignore lint/suspicious/noExplicitAny: a response's content is what the test is about to find out
  const results: any[] = [];
  let isComplete = false;
  const subscription = client.subscribe({ query: gql(document), variables }).subscribe({
    next: result => results.push(result),
    complete: () => {
      isComplete = true;
    },
  });
  stops.push(() => subscription.unsubscribe());
  return { results, isComplete: () => isComplete, stop: () => subscription.unsubscribe() };
}

/** Sends a request on a bare socket. */
function raw(body: unknown, headers: Record<string, string | undefined> = {}) {
  const { port } = new URL(gateway.url);
  const socket = connect(Number(port), '127.0.0.1');
  const text = JSON.stringify(body);
  const all = {
    host: `127.0.0.1:${port}`,
    accept: 'multipart/mixed;boundary=graphql;subscriptionSpec=1.0, application/json',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    ...demoHeaders,
    ...headers,
  };
  const head = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : `${name}: ${value}\r\n`));
  socket.write(`POST /graphql HTTP/1.1\r\n${head.join('')}\r\n${text}`);
  let received = '';
  let isClosed = false;
  socket.on('data', chunk => {
    received += chunk;
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    isClosed = true;
  });
  stops.push(() => socket.destroy());
  /** The body without the lines of the chunked encoding. */
  const content = () =>
    received.slice(received.indexOf('\r\n\r\n') + 4).replace(/[\da-f]+\r\n([\s\S]*?)\r\n(?=[\da-f]+\r\n|$)/g, '$1');
  return { socket, text: () => received, content, isClosed: () => isClosed };
}

test("Apollo Client's HttpLink gets each update, and shares the execution with a WebSocket", async () => {
  const { results, isComplete } = listen(updates);
  await until(() => results.length === 1);
  expect(results[0].data).toMatchObject({ eventUpdates: { ...typename.eventUpdates, event: null } });
  const other = overWebsocket(gateway.url, { query: updates });
  stops.push(other.stop);
  await until(() => other.results.length === 1);
  expect(await counted(gateway.url, 'gateway_live_pollers')).toBe(1);
  sandbox.publishEvent({ title: 'New' });
  await until(() => results.length === 2);
  expect(results[1].data.eventUpdates.event.title).toBe('New');
  expect(isComplete()).toBe(false);
  const again = listen(updates, { after: results[0].data.eventUpdates.cursor });
  await until(() => again.results.length === 1);
  expect(again.results[0].data).toEqual(results[1].data);
});

test("Apollo Client completes with the subscription, and gets an operation's errors with their codes", async () => {
  const finished = listen('subscription { jobProgress(marketId: 3, phase: PUBLISH) { finished } }');
  await until(finished.isComplete);
  expect(finished.results.map(({ data }) => data.jobProgress.finished)).toEqual([true]);
  for (const [document, code] of [
    ['subscription { jobProgress(marketId: 999) { finished } }', 'NOT_FOUND'],
    ['subscription { eventUpdates(after: "x") { cursor } }', 'BAD_USER_INPUT'],
    ['subscription { nothing }', 'GRAPHQL_VALIDATION_FAILED'],
  ] as const) {
    const { results } = listen(document);
    await until(() => results.length === 1);
    expect(CombinedGraphQLErrors.is(results[0].error) && results[0].error.errors[0]?.extensions?.code).toBe(code);
  }
});

test('each part ends with a boundary, with CRLF, and nothing follows the last one', async () => {
  const query = 'subscription { jobProgress(marketId: 3, phase: PUBLISH) { finished } }';
  const { text, content, isClosed } = raw({ query });
  await until(isClosed);
  const [head = ''] = text().split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(head).toMatch(/\r\ncontent-type: multipart\/mixed;boundary="graphql";subscriptionSpec=1\.0(\r\n|$)/i);
  const part = '\r\ncontent-type: application/json\r\n\r\n{"payload":{"data":{"jobProgress":{"finished":true}}}}';
  // A slow machine may send heartbeats before.
  const heartbeat = '\r\n--graphql\r\ncontent-type: application/json\r\n\r\n{}';
  expect(content().replaceAll(heartbeat, '')).toBe(`\r\n--graphql${part}\r\n--graphql--\r\n`);
});

test('a quiet subscription gets heartbeats, and leaves when its client does', async () => {
  const { text, socket } = raw({ query: 'subscription { jobProgress(marketId: 5) { finished } }' });
  const heartbeat = '\r\ncontent-type: application/json\r\n\r\n{}\r\n--graphql';
  await until(() => text().split(heartbeat).length > 2);
  expect(await multipartListeners()).toBe(1);
  socket.destroy();
  await until(async () => (await multipartListeners()) === 0);
});

test('only subscriptions of clients that accept them are answered in parts', async () => {
  const answers = [
    raw({ query: '{ __typename }' }),
    raw({ query: 'subscription { eventUpdates { cursor } }' }, { accept: 'application/json' }),
    raw({ query: 'subscription { eventUpdates { cursor } }' }, { 'content-type': 'text/plain' }),
    raw({ query: 'subscription { eventUpdates { cursor } }' }, { accept: 'multipart/mixed;subscriptionSpec=2.0' }),
  ];
  await until(() => answers.every(({ text }) => text().includes('\r\n\r\n')));
  for (const { text } of answers) expect(text()).not.toMatch(/^content-type: multipart/im);
  expect(answers[0]?.text()).toContain('{"data":{"__typename":"Query"}');
});

test('a cookie of a page from another origin, and a credential that is not valid, open no stream', async () => {
  const foreign = raw(
    { query: updates },
    { cookie: 'mig_session=x', origin: 'https://evil.example', 'x-api-key': undefined },
  );
  const both = raw({ query: updates }, { authorization: 'Bearer x' });
  await until(() => [foreign, both].every(({ text }) => text().includes('\r\n\r\n')));
  expect(foreign.text()).toMatch(/^HTTP\/1\.1 403 /);
  expect(both.text()).toMatch(/^HTTP\/1\.1 400 /);
});

test('a gateway that closes says so, and Apollo Client subscribes again elsewhere', async () => {
  const [one, other] = await Promise.all([start(), start()]);
  try {
    let url = one.url;
    const plain = listen(updates, {}, one.url);
    const moving = new ApolloLink((operation, forward) => {
      operation.setContext({ uri: `${url}/graphql` });
      return forward(operation);
    });
    const retry = new RetryLink({ delay: { initial: 10, jitter: false }, attempts: { max: 100 } });
    const retrying = listen(updates, {}, one.url, [retry, moving]);
    await until(() => plain.results.length === 1 && retrying.results.length === 1);
    url = other.url;
    const closed = one.close();
    await until(() => plain.results.length === 2 && retrying.results.length === 2);
    expect(CombinedProtocolErrors.is(plain.results[1].error)).toBe(true);
    await closed;
    sandbox.publishEvent({ title: 'Afterwards' });
    await until(() => retrying.results.length === 3);
    expect(retrying.results[2].data.eventUpdates.event.title).toBe('Afterwards');
  } finally {
    for (const stop of stops.splice(0)) stop();
    await Promise.all([one.close(), other.close()]);
  }
});

test('the links of examples/clients lose no update, however often the connection ends, and repeat no query', async () => {
  const network = forTest(await startNetwork(() => Number(new URL(gateway.url).port)));
  // The waits between its attempts are random.
  const random = jest.spyOn(Math, 'random').mockReturnValue(0.01);
  cleanups.push(() => random.mockRestore());
  const link = createApolloLink(network.url, demoHeaders);
  const { results, stop } = listenOver(link, updates, {});
  cleanups.push(stop);
  const titles = () => results.flatMap(({ data }) => data.eventUpdates.event?.title ?? []);
  await until(() => results.length === 1);
  const published: string[] = [];
  for (let cut = 0; cut < 7; cut += 1) {
    network.cut(1);
    published.push(`After ${cut} cuts`);
    sandbox.publishEvent({ title: published.at(-1) as string });
    await until(() => titles().length === published.length);
  }
  expect(titles()).toEqual(published);
  const client = new ApolloClient({ cache: new InMemoryCache(), link: createApolloLink('http://127.0.0.1:1') });
  await expect(client.query({ query: gql('{ viewer { team } }') })).rejects.toThrow('fetch failed');
});
