import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import WebSocket from 'ws';
import searchCriteria from './lib/search-criteria.json' with { type: 'json' };

/**
 * What WebSocket listeners on one market cost one gateway: memory, CPU for each round of messages, and the time from the answer of the poll
 * to the first and the last delivery. What one listener costs is the difference between two numbers of them. The gateway, the service and the listeners are processes of their own. Listeners take their
 * messages as bytes and note when. The program sends the figures to its parent, or prints them.
 */

const intervalMs = 2_000;
const measured = 4;
const processes = 2;
const key = 'demo-key-subscribed';
const query =
  'subscription { jobProgress(marketId: 5) { marketId finished observedAt jobs { id workflowName progress status } } }';

interface Usage {
  readonly cpuMicros: number;
  readonly rss: number;
}

interface Round {
  readonly count: number;
  readonly first: number;
  readonly last: number;
}

/** Listeners; tells of each round of messages when it is over. Times are milliseconds since 1970. */
async function listen(url: string, count: number): Promise<void> {
  let round = { count: 0, first: 0, last: 0 };
  let acknowledged = 0;
  const subscribe = JSON.stringify({
    id: 'a-fairly-long-id-as-clients-make-them',
    type: 'subscribe',
    payload: { query },
  });
  const open = () => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
    // Thousands of handshakes at once: one that is refused or reset is tried again.
    const retry = () => setTimeout(open, 100);
    socket.once('error', retry);
    socket.once('open', () => {
      socket.off('error', retry);
      socket.send(JSON.stringify({ type: 'connection_init', payload: { 'x-api-key': key } }));
    });
    socket.once('message', () => {
      socket.send(subscribe);
      socket.on('message', () => {
        const now = performance.timeOrigin + performance.now();
        if (round.count === 0) round.first = now;
        round.count += 1;
        round.last = now;
        if (round.count < count) return;
        process.send?.(round satisfies Round);
        round = { count: 0, first: 0, last: 0 };
      });
      acknowledged += 1;
    });
  };
  for (let index = 0; index < count; index += 1) {
    open();
    if (index % 100 === 99) while (acknowledged < index - 400) await sleep(5);
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { listeners: { type: 'string', default: '10000' } },
  });
  const count = Math.floor(Number(values.listeners) / processes) * processes;
  const service = fork(program('sandbox/main.js'), ['--port', '0'], { silent: true });
  const origin = await addressOf(service);
  const env = {
    UPSTREAM_BASE_URL: origin,
    POLL_INTERVAL_MS: String(intervalMs),
    PORT: '0',
    // Ten thousand handshakes at once must not be refused as overload.
    MAX_EVENT_LOOP_DELAY_MS: '60000',
  };
  const execArgv = [...process.execArgv, '--expose-gc', '--import', new URL('./usage.ts', import.meta.url).href];
  const gateway = fork(program('main.js'), [], { env, execArgv, silent: true });
  const url = await addressOf(gateway);
  const usage = async (): Promise<Usage> => {
    gateway.send('usage');
    return ((await once(gateway, 'message')) as [Usage])[0];
  };
  const callsOf = async () => {
    const calls = (await (await fetch(`${origin}/_sandbox/calls`)).json()) as { path: string; at: string }[];
    return calls.filter(({ path }) => path.endsWith('/jobs'));
  };

  await usage();
  await sleep(1_000);
  const empty = await usage();
  const args = ['listen', url, String(count / processes)];
  const clients = Array.from({ length: processes }, () => fork(process.argv[1] ?? '', args));
  await nextRound(clients);
  await sleep(1_000);
  const full = await usage();

  await fetch(`${origin}/v2/discovery/5/start`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({
      searchCriteria: { ...searchCriteria, count: 5, performSearch: true },
      pipelineChoices: { skipDiscoveryReview: true },
    }),
  });
  await nextRound(clients);
  const startedAt = Date.now();
  const callsBefore = (await callsOf()).length;
  const rounds: { micros: number; first: number; last: number; otherMs: number }[] = [];
  for (let index = 0; index < measured; index += 1) {
    const before = await usage();
    const others = probe(url);
    const told = await nextRound(clients);
    await sleep(200);
    const after = await usage();
    const otherMs = await others.stop();
    const askedAt = Date.parse((await callsOf()).at(-1)?.at ?? '');
    rounds.push({
      micros: after.cpuMicros - before.cpuMicros,
      first: Math.min(...told.map(round => round.first)) - askedAt,
      last: Math.max(...told.map(round => round.last)) - askedAt,
      otherMs,
    });
  }
  const calls = (await callsOf()).length - callsBefore;
  const seconds = (Date.now() - startedAt) / 1_000;
  for (const child of [...clients, gateway, service]) child.kill('SIGKILL');

  const figures = {
    kilobytes: (full.rss - empty.rss) / 1_024,
    micros: median(rounds.map(round => round.micros)),
    firstMs: median(rounds.map(round => round.first)),
    lastMs: median(rounds.map(round => round.last)),
    otherMs: median(rounds.map(round => round.otherMs)),
    callsPerSecond: calls / seconds,
  };
  if (process.send === undefined) process.stdout.write(`${JSON.stringify(figures)}\n`);
  else process.send(figures, () => process.exit());
}

const program = (path: string) => fileURLToPath(new URL(`../dist/${path}`, import.meta.url));

/** Where a program listens, from the first line that says so. */
async function addressOf(child: ChildProcess): Promise<string> {
  child.stderr?.pipe(process.stderr);
  for await (const chunk of child.stdout ?? []) {
    const [, port] = /http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/.exec(String(chunk)) ?? [];
    if (port !== undefined) return `http://127.0.0.1:${port}`;
  }
  throw new Error('A program did not start');
}

/** Asks for something small all the time; `stop` gives the longest that it took. */
function probe(url: string) {
  let longest = 0;
  let stopped = false;
  const asking = (async () => {
    while (!stopped) {
      const at = performance.now();
      await (await fetch(`${url}/healthz`)).text();
      longest = Math.max(longest, performance.now() - at);
      await sleep(20);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await asking;
      return longest;
    },
  };
}

const nextRound = (clients: readonly ChildProcess[]) =>
  Promise.all(clients.map(async client => ((await once(client, 'message')) as [Round])[0]));

const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

const [, , role = '', url = '', count = ''] = process.argv;
if (role === 'listen') await listen(url, Number(count));
else await main();
