// Ten times the load that one core can answer: what is still answered, how quickly, and what others notice. `npm run overload` writes docs/overload.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { embeddings, flagship } from './lib/answer.mjs';
import { runOnBenchNode } from './lib/bench-node.mjs';
import { Connection } from './lib/load.mjs';
import { mixedOf, request } from './lib/mixed.mjs';
import { freePort, settle, start } from './lib/processes.mjs';
import { startFlags, variants } from './lib/variants.mjs';

runOnBenchNode();
const [seconds, timesCapacity, maxConnections, serviceMs] = [30, 10, 1_000, 20];
/** Enough that the processor is the bottleneck: with 128 and this service, requests would wait for connections. */
const upstreamConnections = 512;
/** The limits adapt in the first seconds of an overload. */
const adaptingSeconds = 2;
/** A quiet client sends so many requests in a second. */
const quietRate = 10;
/** The balancer tells clients apart by their addresses. */
const quietAddress = '127.0.0.2';
/** The ways to the gateway, and what must hold there. Without a balancer, a response may take its time. */
const ways = {
  HAProxy: { throughput: 0.9, slowdown: 5, probeMs: 1_000, quiet: 0.95 },
  'no balancer': { throughput: 0.8, slowdown: Number.POSITIVE_INFINITY, probeMs: 1_000, quiet: 0.9 },
};

const get = path => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;

/** @type {Record<string, { title: string, world: string, requestOf(number: number): string, floodOf(number: number): string, quiet(number: number): string }>} */
const workloads = {
  mixed: {
    title: 'Mixed',
    world: 'light',
    requestOf: mixedOf(variants.ours),
    floodOf: number => request(flagship, 'heavy', number),
    quiet: number => request(flagship, 'quiet', number),
  },
  embeddings: {
    title: 'Embeddings',
    world: 'full',
    requestOf: number => request(embeddings, `client-${number % 200}`, number),
    floodOf: number => request(embeddings, 'heavy', number),
    quiet: number => request(embeddings, 'quiet', number),
  },
};

const names = process.argv.slice(2).filter(name => name in workloads);
settle();
const stub = await start({ args: ['lib/stub.mjs'], cwd: import.meta.dirname, core: 'load' });
await stub.tell({ delayMs: serviceMs });
const measured = names.length > 0 ? names : Object.keys(workloads);
const started = [stub];
/** @type {{ name: string, way: keyof typeof ways, origin: string }[]} */
const targets = [];
for (const name of measured) {
  for (const way of Object.keys(ways)) {
    const gateway = await variants.ours.launch({
      upstream: `${stub.origin}/${workloads[name].world}`,
      flags: startFlags,
      env: {
        UPSTREAM_CONNECTIONS: String(upstreamConnections),
        MAX_EVENT_LOOP_DELAY_MS: '',
        TRUST_PROXY: way === 'HAProxy' ? '127.0.0.1' : '',
      },
    });
    const front = way === 'HAProxy' ? await startBalancer(gateway.origin) : gateway;
    started.push(...new Set([front, gateway]));
    targets.push({ name, way, origin: front.origin });
  }
}
// Only now: the servers would have the same priority. The service must not become slow because it shares the core with the load.
setPriority(10);
const rows = [];
try {
  for (const target of targets) rows.push(await measure(target));
} finally {
  await Promise.all(started.map(server => server.stop()));
}
const page = report(rows);
process.stdout.write(page);
if (names.length === 0) writeFileSync(new URL('../docs/overload.md', import.meta.url), page);
if (rows.some(({ misses }) => misses.length > 0)) process.exitCode = 1;

/** The shipped balancer before one gateway: the other is down. */
async function startBalancer(gateway) {
  const [balancer, down] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  return start({
    command: 'haproxy',
    args: ['-db', '-f', fileURLToPath(new URL('../docs/operations/haproxy.cfg', import.meta.url))],
    env: { BALANCER: balancer, GATEWAY_ONE: new URL(gateway).host, GATEWAY_TWO: down },
    core: 'load',
    origin: `http://${balancer}`,
  });
}

async function measure({ name, way, origin }) {
  const { requestOf, floodOf, quiet } = workloads[name];
  let number = 0;
  const next = () => requestOf(number++);
  process.stderr.write(`${name}, ${way}: warming up\n`);
  await closedLoop(origin, 8, 10, next);
  const before = await capacityOf(origin, next);
  const unloaded = await openLoop(origin, before / 10, seconds, next, 64);
  const probing = probe(origin);
  const loaded = await openLoop(origin, before * timesCapacity, seconds, next);
  const probes = await probing.stop();
  await sleep(2_000);
  const [flood, beside] = await Promise.all([
    openLoop(origin, before * timesCapacity, seconds, () => floodOf(number++), maxConnections),
    openLoop(origin, quietRate, seconds, () => quiet(number++), 10, quietAddress),
  ]);
  // Once more: the speed of a machine that others share changes within a minute.
  await sleep(2_000);
  const after = await capacityOf(origin, next);
  const best = (before + after) / 2;
  const figures = {
    before,
    after,
    throughput: loaded.good / seconds / best,
    slowdown: loaded.p99 / unloaded.p99,
    probeMs: Math.max(...probes),
    quiet: beside.good / (beside.good + beside.refused + beside.failed),
  };
  const misses = Object.entries(ways[way]).filter(([figure, bound]) =>
    figure === 'throughput' || figure === 'quiet' ? figures[figure] < bound : figures[figure] > bound,
  );
  process.stderr.write(`${name}, ${way}: ${JSON.stringify({ figures, unloaded, loaded, flood, beside })}\n`);
  return { name, way, figures, unloaded, loaded, flood, beside, probes: probes.length, misses };
}

/** The most responses in a second. */
async function capacityOf(origin, next) {
  const loops = [];
  for (const connections of [4, 16, 64]) loops.push(await closedLoop(origin, connections, 5, next));
  process.stderr.write(`${loops.map(({ perSecond }) => perSecond.toFixed(0)).join(', ')} a second\n`);
  // Where requests are refused, others take their place, which may be cheaper.
  return Math.max(...loops.filter(({ refused }) => refused === 0).map(({ perSecond }) => perSecond));
}

/** Each connection sends the next request as soon as it has the response. */
async function closedLoop(origin, connections, forSeconds, next) {
  const until = performance.now() + forSeconds * 1_000;
  let [good, refused] = [0, 0];
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const connection = new Connection(origin);
      while (performance.now() < until) {
        const { status } = await connection.ask(next());
        if (status === 200) good += 1;
        else refused += 1;
      }
      connection.close();
    }),
  );
  return { perSecond: good / forSeconds, refused };
}

/** Requests arrive at a steady rate, whatever becomes of those before them. A response time begins when the request should have been sent. */
async function openLoop(origin, rate, forSeconds, next, connections = maxConnections, address = undefined) {
  const all = Array.from({ length: connections }, () => new Connection(origin, address));
  await Promise.all(all.map(connection => connection.ask(get('/healthz'))));
  const idle = [...all];
  /** Of good responses, in milliseconds. */
  const [times, timesAtFirst] = [[], []];
  const result = { sent: 0, good: 0, refused: 0, failed: 0, unsent: 0, p50: 0, p99: 0, p99AtFirst: 0 };
  const running = new Set();
  const startedAt = performance.now();
  async function send(connection, dueAt) {
    result.sent += 1;
    try {
      const { status } = await connection.ask(next());
      if (status === 200) {
        result.good += 1;
        const isFirst = dueAt - startedAt < adaptingSeconds * 1_000;
        (isFirst ? timesAtFirst : times).push(performance.now() - dueAt);
      } else if (status === 503) result.refused += 1;
      else result.failed += 1;
    } catch {
      result.failed += 1;
    }
    idle.push(connection);
  }
  for (let due = 0; due < rate * forSeconds; ) {
    const now = performance.now();
    const dueNow = Math.min(((now - startedAt) / 1_000) * rate, rate * forSeconds);
    for (; due < dueNow; due += 1) {
      const connection = idle.pop();
      // All connections wait: these requests never reach the gateway.
      if (connection === undefined) result.unsent += 1;
      else {
        const done = send(connection, startedAt + (due / rate) * 1_000).finally(() => running.delete(done));
        running.add(done);
      }
    }
    await sleep(1);
  }
  await Promise.all(running);
  for (const connection of all) connection.close();
  result.p50 = percentile(times, 0.5);
  result.p99 = percentile(times, 0.99);
  result.p99AtFirst = percentile(timesAtFirst, 0.99);
  return result;
}

function percentile(times, share) {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN;
}

/** Requests the liveness ten times a second, on a connection of its own. */
function probe(origin) {
  const connection = new Connection(origin);
  const times = [];
  let isOver = false;
  const probing = (async () => {
    while (!isOver) {
      const startedAt = performance.now();
      await connection.ask(get('/healthz'));
      times.push(performance.now() - startedAt);
      await sleep(100);
    }
    connection.close();
  })();
  return {
    async stop() {
      isOver = true;
      await probing;
      return times;
    },
  };
}

function report(rows) {
  const version = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
  const percent = share => `${(share * 100).toFixed(0)} %`;
  const bounds = Object.entries(ways).map(
    ([way, { throughput, slowdown, probeMs, quiet }]) =>
      `${way}: ${percent(throughput)}${Number.isFinite(slowdown) ? `, p99 ${slowdown} times` : ''}, probe ${probeMs} ms, quiet client ${percent(quiet)}`,
  );
  const lines = rows.map(({ name, way, figures, unloaded, loaded, probes }) =>
    [
      '',
      workloads[name].title,
      way,
      `${figures.before.toFixed(0)}/s, ${figures.after.toFixed(0)}/s`,
      `${(loaded.sent / seconds).toFixed(0)}/s`,
      percent(figures.throughput),
      `${unloaded.p99.toFixed(0)} ms`,
      `${loaded.p99.toFixed(0)} ms (${figures.slowdown.toFixed(1)})`,
      `${loaded.p99AtFirst.toFixed(0)} ms`,
      `${figures.probeMs.toFixed(0)} ms of ${probes}`,
      percent(figures.quiet),
      '',
    ]
      .join(' | ')
      .trim(),
  );
  return `# Overload

\`npm run overload\` wrote this page: version ${version}, Node ${process.version}, ${cpus()[0]?.model ?? 'unknown processor'}. The gateway has one core, and
${upstreamConnections} connections to the service, so that this core is the bottleneck. The load, the service (${serviceMs} ms for each call) and HAProxy with \`docs/operations/haproxy.cfg\` share the other.

| Workload | Through | Capacity | Sent | Answered, of the capacity | p99 at a tenth of it | p99 at ${timesCapacity} times | in the first ${adaptingSeconds} s | Slowest \`/healthz\` | Quiet client |
|---|---|---|---|---|---|---|---|---|---|
${lines.join('\n')}

- Bounds. ${bounds.join('; ')}.
- The workloads: [benchmark](../bench/README.md#workloads). Here, no two requests for embeddings are alike.
- Capacity: the most responses in a second that 4, 16 or 64 connections got without a refusal, before and after.
- ${timesCapacity} times: requests arrive at a steady rate on ${maxConnections} connections for ${seconds} s. The limit of operations adapts in the first ${adaptingSeconds} s, which do not count for the p99.
- Quiet client: what is answered of its ${quietRate} requests a second, from an address of its own.
`;
}
