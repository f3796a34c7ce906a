// Mixed load on one gateway for a long time: `npm run soak -- --minutes 30`. Prints its memory over time and how fast that grows once the
// caches have had five minutes to fill. Ends with status 1 where it grows by more than 1 MB a minute, or where an answer was wrong.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import WebSocket from 'ws';
import { load, post } from './lib/load.mjs';
import { memoryOf, settle, start } from './lib/processes.mjs';
import { startFlags } from './lib/variants.mjs';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } });
const minutes = Number(values.minutes);
const warmUpMinutes = 5;
const maxPerMinute = 1;
const sampleMs = 5_000;
if (!(minutes > warmUpMinutes)) throw new Error(`--minutes must be more than ${warmUpMinutes}`);

const top = fileURLToPath(new URL('..', import.meta.url));
const key = { 'x-api-key': 'demo-key-subscribed' };
const jobs = 'subscription { jobProgress(marketId: 5) { finished observedAt jobs { progress } } }';
const review =
  'mutation { reviewCompanies(input: { marketId: 3, reviewStatus: INCLUDE, target: { all: true } }) { marketId } }';
const signIn =
  'mutation { signIn(input: { email: "ada@team.example", password: "sandbox-ada" }) { viewer { authentication email } } }';

const ask = (query, headers = key) => post('/graphql', JSON.stringify({ query }), headers);
/** A second of the past year that no request had before, so that the gateway must call the service. */
const instant = number => new Date(Date.UTC(2025, 0, 1) + number * 1_000).toISOString();
const pages = '{ totalCount nodes { title references { observation { title } } } }';

/** The kinds of requests, each asked by so many connections with a pause after each answer. */
const kinds = [
  {
    name: 'reads, warm',
    connections: 8,
    pauseMs: 5,
    requestOf: number => ask(`{ events(first: ${1 + (number % 20)}) ${pages} }`),
  },
  {
    name: 'reads, cold',
    connections: 4,
    pauseMs: 0,
    requestOf: number => ask(`{ events(first: 5, filter: { from: "${instant(number)}" }) ${pages} }`),
  },
  {
    name: 'reads, markets',
    connections: 2,
    pauseMs: 10,
    requestOf: number =>
      ask(`{ market(id: ${1 + (number % 3)}) { name reviewStatus companies(first: 5) { totalCount } } }`),
  },
  { name: 'writes', connections: 1, pauseMs: 200, requestOf: () => ask(review) },
  {
    name: 'sign-ins',
    connections: 1,
    pauseMs: 250,
    // A network may try 100 times in 15 minutes, and a user may come from 100 networks that were not known.
    requestOf: number => ask(signIn, { 'x-forwarded-for': `10.0.0.${number % 80}` }),
  },
];

settle();
const sandbox = await start({ args: ['dist/sandbox/main.js', '--port', '0'], cwd: top, core: 'load' });
const gateway = await start({
  args: [...startFlags, 'dist/main.js'],
  cwd: top,
  env: {
    HOST: '127.0.0.1',
    PORT: '0',
    SESSION_SECRET: 'a secret of the bench with 32 characters',
    UPSTREAM_BASE_URL: sandbox.origin,
    UPSTREAM_API_URL: `${sandbox.origin}/api`,
    UPSTREAM_DEV_URL: `${sandbox.origin}/stage`,
    TRUST_PROXY: '127.0.0.1',
    POLL_INTERVAL_MS: '1000',
    // Whatever else this machine does must not make the gateway turn requests away.
    MAX_EVENT_LOOP_DELAY_MS: '60000',
  },
});

const startedAt = performance.now();
const endsAt = startedAt + minutes * 60_000;
const counts = new Map(kinds.map(({ name }) => [name, { answered: 0, wrong: 0 }]));
const streams = { opened: 0, told: 0 };

/** One connection of a kind, until the end. Requests are numbered across all connections of the kind. */
async function lane({ name, pauseMs, requestOf }, numbers) {
  const count = counts.get(name);
  while (performance.now() < endsAt) {
    const { wrong } = await load({
      origin: gateway.origin,
      connections: 1,
      requests: 200,
      seconds: Math.max((endsAt - performance.now()) / 1_000, 0.001),
      requestOf: () => requestOf(numbers.next++),
      pauseMs,
      accepts: body => JSON.parse(body).errors === undefined,
      onAnswer: () => {
        count.answered += 1;
      },
    });
    count.wrong += wrong;
  }
}

/** Listeners that come, hear something, and leave. */
async function listeners() {
  while (performance.now() < endsAt) {
    await new Promise(resolve => {
      const socket = new WebSocket(`${gateway.origin.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
      const leave = setTimeout(() => socket.close(), 1_500);
      socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: key })));
      socket.on('message', data => {
        const { type } = JSON.parse(String(data));
        if (type === 'connection_ack')
          socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: jobs } }));
        if (type === 'next') streams.told += 1;
      });
      socket.on('error', () => {});
      socket.on('close', () => {
        clearTimeout(leave);
        streams.opened += 1;
        resolve(undefined);
      });
    });
  }
}

/** @type {{ minute: number, memory: number }[]} */
const samples = [];
async function watch() {
  while (performance.now() < endsAt) {
    await sleep(Math.min(sampleMs, Math.max(endsAt - performance.now(), 1)));
    const minute = (performance.now() - startedAt) / 60_000;
    samples.push({ minute, memory: memoryOf(gateway.pids) });
    // The sandbox remembers every call.
    await (await fetch(`${sandbox.origin}/_sandbox/calls`, { method: 'DELETE' })).arrayBuffer();
    if (samples.length % 12 === 0)
      process.stdout.write(`${minute.toFixed(0).padStart(3)} min  ${samples.at(-1)?.memory.toFixed(0)} MiB\n`);
  }
}

await Promise.all([
  watch(),
  ...Array.from({ length: 20 }, listeners),
  ...kinds.flatMap(kind => {
    const numbers = { next: 0 };
    return Array.from({ length: kind.connections }, () => lane(kind, numbers));
  }),
]);
await gateway.stop();
await sandbox.stop();

const perMinute = slopeOf(samples.filter(({ minute }) => minute >= warmUpMinutes));
let wrong = 0;
for (const [name, count] of counts) {
  wrong += count.wrong;
  process.stdout.write(`${name}: ${count.answered} answered, ${count.wrong} wrong\n`);
}
process.stdout.write(`subscriptions: ${streams.opened} opened, ${streams.told} messages\n`);
process.stdout.write(
  `memory grows by ${perMinute.toFixed(2)} MB a minute after the first ${warmUpMinutes} minutes (at most ${maxPerMinute})\n`,
);
process.exit(perMinute > maxPerMinute || wrong > 0 || streams.told === 0 ? 1 : 0);

/** The slope of the line through the samples with the least squares. @param {{ minute: number, memory: number }[]} points */
function slopeOf(points) {
  const mean = of => points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [atMean, memoryMean] = [mean(({ minute }) => minute), mean(({ memory }) => memory)];
  const spread = points.reduce((sum, { minute }) => sum + (minute - atMean) ** 2, 0);
  return points.reduce((sum, { minute, memory }) => sum + (minute - atMean) * (memory - memoryMean), 0) / spread;
}
