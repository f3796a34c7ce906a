import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

/**
 * How long `events(first: 100)` takes with 400 references to as many observations, when each call of the service takes 20 ms: cold, for
 * several bounds on the connections. Service, gateway and client are processes of their own. The median is what the target,
 * (ceil(distinct / connections) + 2) x 20 + 150 ms, is for; the best run shows what other work on the machine took away; the ratio is the
 * median against 20 ms x (1 + ceil(distinct / connections)), which is pure waiting. With `--gate`, ends with status 1 where the target is missed.
 */

const events = 100;
const referencesPerEvent = 4;
const distinct = events * referencesPerEvent;
const upstreamMs = 20;
const settledMs = 150;
const bounds = [64, 128, 256];

const query = `{ events(first: ${events}) { nodes { id references { observation { id title } } } } }`;

/** The service: each answer after 20 ms, with vectors of the usual size in it. */
async function serve(): Promise<void> {
  const vector = Array.from({ length: 1_536 }, (_, index) => Math.sin(index));
  const list = JSON.stringify({
    meta: { totalItems: events, totalPages: 1, currentPage: 1, pageSize: events },
    data: Array.from({ length: events }, (_, event) => ({
      _id: `e-${event}`,
      title: `Event ${event}`,
      summary: 'What happened',
      vectorIndex: { anchorText: 'What happened', embeddings: vector, embeddingsModelName: 'model' },
      eventSearchKeywords: [],
      relevantEntities: [],
      timestamps: {},
      references: Array.from({ length: referencesPerEvent }, (_, reference) => ({
        _id: `o-${event * referencesPerEvent + reference}`,
        title: `Observation ${reference}`,
      })),
      lastUpdated: '2026-01-01T00:00:00Z',
      taxonomicMatches: { affectedDatapoints: [], alertTypes: [], impactedEntities: [] },
    })),
  });
  const observation = (id: string) =>
    JSON.stringify({ _id: id, title: `Title of ${id}`, content: ['What is known'], textEmbedding: vector });
  const observations = new Map(
    Array.from({ length: distinct }, (_, index) => [`o-${index}`, observation(`o-${index}`)]),
  );
  const bodyFor = ({ url = '' }: IncomingMessage) => observations.get(url.split('/').at(-1) ?? '') ?? list;

  const server = createServer((request, response) => {
    const body = bodyFor(request);
    setTimeout(() => response.setHeader('content-type', 'application/json').end(body), upstreamMs);
  });
  server.keepAliveTimeout = 60_000;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  process.send?.((server.address() as AddressInfo).port);
}

/** A gateway before this service; resolves with its process and its address when it listens. */
async function startGateway(port: number, connections: number): Promise<{ child: ChildProcess; address: string }> {
  const child = spawn(process.execPath, [new URL('../main.js', import.meta.url).pathname], {
    env: {
      ...process.env,
      PORT: '0',
      UPSTREAM_BASE_URL: `http://127.0.0.1:${port}`,
      UPSTREAM_CONNECTIONS: String(connections),
      REDIS_URL: '',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface(child.stdout)) {
    const [address] = /http:\/\/\S+\/graphql/.exec(line) ?? [];
    if (address !== undefined) return { child, address };
  }
  throw new Error('The gateway did not start');
}

/** One query in milliseconds, as a caller of whom nothing is kept. */
async function ask(address: string, key: string): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ query }),
  });
  const text = await response.text();
  const milliseconds = performance.now() - startedAt;
  const { data, errors } = JSON.parse(text);
  const found = new Set(
    data.events.nodes.flatMap((node: { references: { observation: { id: string } }[] }) =>
      node.references.map(({ observation }) => observation.id),
    ),
  );
  if (errors !== undefined || found.size !== distinct) throw new Error(`Not the answer: ${text.slice(0, 300)}`);
  return milliseconds;
}

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Cold queries in milliseconds, for each bound: warmed up first, then in turns, so that what else the machine does falls on all alike. */
async function measure(port: number, warmUps: number, runs: number): Promise<ReadonlyMap<number, readonly number[]>> {
  const gateways = await Promise.all(
    bounds.map(async connections => ({
      connections,
      times: [] as number[],
      ...(await startGateway(port, connections)),
    })),
  );
  try {
    for (let run = 0; run < warmUps + runs; run += 1) {
      for (const { address, times } of gateways) times.push(await ask(address, `key-${run}`));
    }
    return new Map(gateways.map(({ connections, times }) => [connections, times]));
  } finally {
    for (const { child } of gateways) child.kill();
  }
}

async function run({ gate, runs, warmUps }: { gate: boolean; runs: number; warmUps: number }): Promise<void> {
  const service = fork(process.argv[1] ?? '', ['--serve']);
  const [port] = await once(service, 'message');
  const print = (...cells: (string | number)[]) =>
    process.stdout.write(`${cells.map(cell => String(cell).padStart(13)).join('')}\n`);
  let missed = false;
  try {
    print('connections', 'first ms', 'best ms', 'median ms', 'target ms', 'of bare waits', '');
    for (const [connections, times] of await measure(port, warmUps, runs)) {
      const [first = Number.NaN, cold] = [times[0], times.slice(warmUps)];
      const [best, middle] = [Math.min(...cold), median(cold)];
      const rounds = Math.ceil(distinct / connections);
      const target = (rounds + 2) * upstreamMs + settledMs;
      const ratio = middle / (upstreamMs * (1 + rounds));
      missed ||= middle > target;
      print(
        connections,
        first.toFixed(0),
        best.toFixed(0),
        middle.toFixed(0),
        target,
        ratio.toFixed(2),
        middle > target ? 'missed' : '',
      );
    }
  } finally {
    service.kill();
  }
  if (gate && missed) process.exitCode = 1;
}

const { values } = parseArgs({
  options: {
    serve: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
    runs: { type: 'string', default: '15' },
    'warm-ups': { type: 'string', default: '10' },
  },
});
if (values.serve) await serve();
else await run({ gate: values.gate, runs: Number(values.runs), warmUps: Number(values['warm-ups']) });
