import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { transformSync } from '@swc/core';
import type { Browser, Page } from 'playwright-core';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { launchChromium, openPage } from '../support/chromium.js';
import { startGateway, type TestGateway } from '../support/gateway.js';
import { until } from '../support/until.js';

let sandbox: Sandbox;
let gateway: TestGateway;
let browser: Browser;
let site: Server;
let network: Network;
let page: Page;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  sandbox = await startSandbox();
  cleanups.push(() => sandbox.close());
  site = createServer((request, response) => {
    const { type, text } = fileAt(request.url ?? '/');
    response.writeHead(200, { 'content-type': type }).end(text);
  });
  await once(site.listen(0, '127.0.0.1'), 'listening');
  cleanups.push(() => {
    site.closeAllConnections();
    site.close();
  });
  const env = { CORS_ORIGINS: originOf(site), POLL_INTERVAL_MS: '200', SESSION_SECRET: 's'.repeat(32) };
  gateway = await startGateway({ sandbox, env });
  cleanups.push(() => gateway.close());
  network = await startNetwork(Number(new URL(gateway.url).port));
  cleanups.push(() => network.close());
  browser = await launchChromium();
  cleanups.push(() => browser.close());
  page = await openPage(browser);
});

afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

const originOf = (server: { address(): AddressInfo | string | null }) =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** The page, which imports the files of the guide as they stand, but for their types and the gateway's address. */
function fileAt(path: string): { type: string; text: string } {
  const script = 'text/javascript; charset=utf-8';
  const [, library] = /^\/graphql-ws\/([\w-]+\.js)$/.exec(path) ?? [];
  if (library !== undefined) {
    return { type: script, text: readFileSync(`node_modules/graphql-ws/dist/${library}`, 'utf8') };
  }
  const [, name] = /^\/([\w-]+)\.js$/.exec(path) ?? [];
  const file = `examples/clients/src/${name}.ts`;
  if (existsSync(file)) {
    const source = readFileSync(file, 'utf8').replace('wss://gateway.example', network.origin.replace('http', 'ws'));
    const { code } = transformSync(source, { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } });
    return { type: script, text: code };
  }
  const text = `<!doctype html><script type="importmap">{"imports":{"graphql-ws":"/graphql-ws/client.js"}}</script>
    <script type="module">
      import { reconnect, socket } from './socket.js';
      import { session } from './session-state.js';
      globalThis.heard = [];
      globalThis.closings = [];
      socket.on('closed', ({ code, reason }) => closings.push(code + ' ' + reason));
      socket.on('error', () => closings.push('error'));
      Object.assign(globalThis, { reconnect, session, ended: undefined });
      const over = how => () => { globalThis.ended = how; };
      globalThis.leave = socket.subscribe(
        { query: 'subscription { eventUpdates { event { id } } }' },
        { next: ({ data }) => data.eventUpdates.event !== null && heard.push(data.eventUpdates.event.id), error: over('error'), complete: over('complete') },
      );
    </script>`;
  return { type: 'text/html; charset=utf-8', text };
}

interface Network {
  readonly origin: string;
  /** Breaks every connection and refuses new ones. */
  down(): Promise<void>;
  up(): Promise<void>;
  close(): Promise<void>;
}

/** A way to the gateway that can be taken away and given back. */
async function startNetwork(target: number): Promise<Network> {
  const sockets = new Set<Socket>();
  const server = createTcpServer(incoming => {
    const outgoing = connect(target, '127.0.0.1');
    for (const [one, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const down = async () => {
    if (!server.listening) return;
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  };
  return {
    origin: `http://127.0.0.1:${port}`,
    down,
    async up() {
      await once(server.listen(port, '127.0.0.1'), 'listening');
    },
    close: down,
  };
}

const inPage = <T>(expression: string) => page.evaluate<T>(expression);
const closings = () => inPage<string[]>('closings');

async function ask(query: string): Promise<void> {
  const [request, body] = [JSON.stringify(`${network.origin}/graphql`), JSON.stringify(JSON.stringify({ query }))];
  const headers = '{ "content-type": "application/json" }';
  const answer = await inPage<{ errors?: unknown }>(
    `fetch(${request}, { method: 'POST', credentials: 'include', headers: ${headers}, body: ${body} }).then(answer => answer.json())`,
  );
  expect(answer.errors).toBeUndefined();
}

const signIn = () => {
  const [user] = sandbox.demo.users;
  return ask(
    `mutation { signIn(input: { email: "${user?.email}", password: "${user?.password}" }) { viewer { email } } }`,
  );
};

/** Of what happens from now on, the page hears once it listens. */
async function hearsOfEvents(): Promise<void> {
  const before = await inPage<number>('heard.length');
  let publishedAt = 0;
  await until(async () => {
    if (performance.now() - publishedAt > 250) {
      sandbox.publishEvent();
      publishedAt = performance.now();
    }
    return (await inPage<number>('heard.length')) > before;
  });
}

test('live updates of a page come back after each sign-in, and after each accident of the network', async () => {
  await page.goto(originOf(site));
  await until(async () => (await closings()).length > 0);
  expect(await closings()).toEqual([expect.stringMatching(/^4401 UNAUTHENTICATED: .*sign in/)]);
  await until(() => inPage<boolean>('session.isOver'));

  await signIn();
  await inPage('reconnect()');
  await hearsOfEvents();

  await ask('mutation { signOut { __typename } }');
  await inPage('session.isOver = false');
  await inPage('reconnect()');
  await until(() => inPage<boolean>('session.isOver'));
  await signIn();
  await inPage('reconnect()');
  await hearsOfEvents();

  await network.down();
  // A connection that cannot be opened is an error without words in a browser.
  await until(async () => (await closings()).includes('error'));
  await network.up();
  await hearsOfEvents();
  expect(await inPage('globalThis.ended')).toBeUndefined();
  await inPage('leave()');
  await until(async () => (await closings()).at(-1)?.startsWith('1000') ?? false);
});
