// What cannot be said as CPU per request of a busy server.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { normalised, references } from './answer.mjs';
import { askOnce, Connection, load, post } from './load.mjs';
import { kindOf, mixedOf, request } from './mixed.mjs';
import { cpuOf, memoryOf, onEveryCore } from './processes.mjs';
import { figure, median } from './ratios.mjs';
import { startFlags, variants } from './variants.mjs';
import { bodies, flagshipIs, trustedEnvironment } from './workloads.mjs';

/**
 * @typedef {object} Bench
 * @property {import('./processes.mjs').Server} stub
 * @property {number} rounds
 * @property {boolean} quick
 * @property {(line: string) => void} say
 */
/** @typedef {{ title: string, columns: string[], rows: (string | number)[][], ratios: ReturnType<typeof figure>[] }} Scene */

async function open(name, { stub }, delayMs, env = {}) {
  await stub.tell({ delayMs });
  return variants[name].launch({ upstream: `${stub.origin}/full`, flags: startFlags, env });
}

/** The length of a body that has no errors. */
async function rightLength({ origin }, request) {
  const { text, length } = await askOnce(origin, request);
  normalised(text);
  return length;
}

/**
 * 64 identical queries at once on a cold cache; the gateway also gets them as Apollo Client sends them, and by hash.
 * @param {Bench} bench @returns {Promise<Scene>}
 */
async function stampede(bench) {
  const connections = 64;
  const kinds = [
    ...['ours', 'apollo-cache', 'mercurius-cache', 'yoga-cache', 'hive-cache'].map(name => ({ name, sent: 'plain' })),
    { name: 'ours', sent: 'apollo-client' },
    { name: 'ours', sent: 'trusted' },
  ];
  const rows = [];
  const ratios = [];
  for (const { name, sent } of kinds) {
    bench.say(`stampede: ${name}, ${sent}`);
    const server = await open(name, bench, 20, sent === 'trusted' ? trustedEnvironment() : {});
    const lanes = Array.from({ length: connections }, () => new Connection(server.origin));
    const shares = [];
    const body = JSON.stringify(bodies[sent]?.(variants[name].flagship));
    const requestAs = apiKey => post('/graphql', body, { 'x-api-key': apiKey });
    for (let round = 0; round < bench.rounds; round += 1) {
      await lanes[0]?.ask(requestAs(`before-${round}`));
      await bench.stub.tell({ reset: true });
      const answers = await Promise.all(lanes.map(lane => lane.ask(requestAs(`stampede-${round}`))));
      const { calls, urls } = await bench.stub.tell({});
      if (answers.some(({ body }) => normalised(body()) !== flagshipIs))
        throw new Error(`${name}: not the right answer`);
      shares.push(calls / urls);
    }
    for (const lane of lanes) lane.close();
    await server.stop();
    rows.push([variants[name].title, sent, median(shares).toFixed(2)]);
    if (name === 'ours') ratios.push(figure(`stampede, ${sent}: upstream calls / distinct urls`, shares, 1));
  }
  return {
    title: 'Stampede: 64 identical queries at once, nothing cached',
    columns: ['', 'body', 'upstream calls per distinct url'],
    rows,
    ratios,
  };
}

/** How long repeated requests take while others need calls. @param {Bench} bench @returns {Promise<Scene>} */
async function besideCold(bench) {
  const server = await variants.ours.launch({ upstream: `${bench.stub.origin}/light`, flags: startFlags });
  await bench.stub.tell({ delayMs: 0 });
  const requestOf = mixedOf(variants.ours);
  const isTimed = number => kindOf(number) === 'repeated';
  const plan = { origin: server.origin, connections: 32 };
  let from = 0;
  const mixed = async seconds => {
    const result = await load({ ...plan, from, seconds, requestOf, isTimed });
    from += result.count;
    return result;
  };
  const repeated = seconds => load({ ...plan, seconds, requestOf: number => requestOf(number - (number % 10)) });
  await mixed(bench.quick ? 2 : 8);
  await repeated(1);
  const rounds = [];
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.say(`beside-cold: round ${round + 1}`);
    rounds.push({ alone: await repeated(bench.quick ? 1 : 2), beside: await mixed(bench.quick ? 1 : 2) });
  }
  await server.stop();
  const row = (title, of) => [
    title,
    ...['p50', 'p99'].map(key => median(rounds.map(round => of(round)[key])).toFixed(2)),
  ];
  return {
    title: 'Repeated requests beside cold ones: the mix over a light upstream, 32 connections',
    columns: ['repeated requests', 'p50, ms', 'p99, ms'],
    rows: [row('alone', ({ alone }) => alone), row('in the mix', ({ beside }) => beside)],
    ratios: [
      figure(
        'mixed: p99 of repeated requests in the mix / alone',
        rounds.map(({ alone, beside }) => beside.p99 / alone.p99),
        5,
      ),
    ],
  };
}

/** The first part of a query with deferred observations, over a service that takes 250 ms for each call. @param {Bench} bench @returns {Promise<Scene>} */
async function deferred(bench) {
  const delayMs = 250;
  const server = await open('ours', bench, delayMs);
  const query = variants.ours.flagship.replace(/observation \{([^}]*)\}/, '... @defer { observation {$1} }');
  const times = { first: [], last: [] };
  const warmUps = 10;
  for (let run = 0; run < warmUps + bench.rounds * 2; run += 1) {
    const startedAt = performance.now();
    const response = await fetch(`${server.origin}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'multipart/mixed;incrementalSpec=v0.2,application/json',
        'x-api-key': `deferred-${run}`,
      },
      body: JSON.stringify({ query }),
    });
    let text = '';
    let first;
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes('"hasNext":true')) first ??= performance.now() - startedAt;
    }
    if (first === undefined || text.includes('"errors"')) {
      throw new Error(`deferred: ${response.status} ${text.slice(0, 200)}`);
    }
    if (run < warmUps) continue;
    times.first.push(first);
    times.last.push(performance.now() - startedAt);
  }
  await server.stop();
  const first = median(times.first);
  return {
    title: `Observations deferred, ${delayMs} ms for each upstream call`,
    columns: ['first part, ms', 'last part, ms', 'one upstream call, ms'],
    rows: [[Math.round(first), Math.round(median(times.last)), delayMs]],
    ratios: [
      figure(
        'deferred: time to the first part / one upstream call',
        times.first.map(time => time / delayMs),
        1.2,
      ),
    ],
  };
}

/** `first: 100` with 400 observations of their own, each call taking 20 ms. @param {Bench} bench @returns {Promise<Scene>} */
export async function manyReferences(bench) {
  const delayMs = 20;
  const observations = 400;
  const rows = [];
  const ratios = [];
  const { readConfig } = await import('../../dist/config/config.js');
  const preset = readConfig({}).upstream.connections;
  for (const connections of [...new Set([64, 128, 256, preset])].sort((a, b) => a - b)) {
    bench.say(`references: ${connections} connections`);
    await bench.stub.tell({ delayMs });
    const server = await variants.ours.launch({
      upstream: `${bench.stub.origin}/full`,
      flags: startFlags,
      env: { UPSTREAM_CONNECTIONS: String(connections) },
    });
    const connection = new Connection(server.origin);
    const times = [];
    const warmUps = 20;
    for (let run = 0; run < warmUps + bench.rounds * 2; run += 1) {
      await bench.stub.tell({ reset: true });
      const startedAt = performance.now();
      const { status, body } = await connection.ask(request(references, `references-${run}`));
      const milliseconds = performance.now() - startedAt;
      const { calls } = await bench.stub.tell({});
      if (status !== 200 || body().includes('"errors"') || calls !== observations + 1) {
        throw new Error(`references: ${status} after ${calls} calls`);
      }
      if (run >= warmUps) times.push(milliseconds);
    }
    connection.close();
    await server.stop();
    const least = delayMs * (1 + Math.ceil(observations / connections));
    // What may be added: two more rounds of waiting, and the work.
    const most = least + delayMs + 150;
    rows.push([connections, median(times).toFixed(0), least, (median(times) / least).toFixed(2), most]);
    const overLeast = times.map(time => time / least);
    if (connections === preset)
      ratios.push(figure('references: wall time / the least with these connections', overLeast, 1.3));
  }
  return {
    title: `100 events with 400 observations of their own, ${delayMs} ms for each upstream call (the gateway's default: ${preset} connections)`,
    columns: ['connections', 'wall time, ms', 'the least, ms', 'ratio', 'the most, ms'],
    rows,
    ratios,
  };
}

/** An upstream that slows down and comes back. @param {Bench} bench @returns {Promise<Scene>} */
export async function slowdown(bench) {
  const rows = [];
  for (const name of ['hand-cut', 'ours']) {
    const server = await open(name, bench, 0);
    let asked = 0;
    const requestOf = () => {
      asked += 1;
      return request(variants[name].flagship, `slow-${asked}`);
    };
    const length = await rightLength(server, requestOf());
    const plan = { origin: server.origin, connections: 16, requestOf, lengthOf: () => length };
    await load({ ...plan, seconds: bench.quick ? 1 : 6 });
    for (const delayMs of [0, 50, 250, 0]) {
      bench.say(`slowdown: ${name}: ${delayMs} ms`);
      await bench.stub.tell({ delayMs });
      const seconds = bench.quick ? 1 : 2;
      const { count, perSecond, p50, p99, wrong } = await load({ ...plan, seconds });
      const memory = memoryOf(server.pids).toFixed(0);
      rows.push([
        variants[name].title,
        delayMs,
        count,
        perSecond.toFixed(1),
        p50.toFixed(0),
        p99.toFixed(0),
        wrong,
        memory,
      ]);
    }
    await server.stop();
  }
  return {
    title: 'An upstream that slows down and comes back: 16 connections, cold queries',
    columns: ['', 'upstream delay, ms', 'answers', 'requests/s', 'p50, ms', 'p99, ms', 'wrong', 'memory, MiB'],
    rows,
    ratios: [],
  };
}

/** Makes `tell('usage')` answer with what a server has used, after a full collection. */
const usageFlags = ['--expose-gc', '--import', new URL('../usage.ts', import.meta.url).href];

/**
 * The live heap after many distinct queries. The first thousand are asked over and over, so that what the heap grows by in any busy process is
 * there before the comparison.
 * @param {Bench} bench @returns {Promise<Scene>}
 */
export async function memory(bench) {
  const few = 1_000;
  const many = bench.quick ? 10_000 : 100_000;
  await bench.stub.tell({ delayMs: 0 });
  const flags = [...startFlags, ...usageFlags];
  const server = await variants.ours.launch({ upstream: `${bench.stub.origin}/full`, flags });
  const requestOf = number =>
    request(`query Q${number} { events(first: 1) { totalCount nodes { id title } } }`, 'bench-key');
  const settled = async () => {
    await sleep(2_000);
    const { heapUsed } = await server.tell('usage');
    return { heap: heapUsed / 2 ** 20, resident: memoryOf(server.pids) };
  };
  const length = await rightLength(server, requestOf(0));
  const plan = { origin: server.origin, connections: 16, lengthOf: () => length };
  bench.say(`memory: ${few} distinct queries`);
  const first = await load({ ...plan, requests: many / 5, requestOf: number => requestOf(number % few) });
  const afterFew = await settled();
  bench.say(`memory: ${many} distinct queries`);
  const rest = await load({ ...plan, requests: many - few, requestOf: number => requestOf(few + number) });
  const afterMany = await settled();
  await server.stop();
  if (first.wrong + rest.wrong > 0) throw new Error(`memory: ${first.wrong + rest.wrong} answers failed`);
  return {
    title: 'Memory after distinct queries and a full collection',
    columns: ['distinct queries', 'live heap, MiB', 'resident memory, MiB'],
    rows: [
      [few, afterFew],
      [many, afterMany],
    ].map(([queries, { heap, resident }]) => [queries, heap.toFixed(1), resident.toFixed(0)]),
    ratios: [
      figure(
        `memory: live heap after ${many} distinct queries / after ${few}`,
        [afterMany.heap / afterFew.heap],
        1.2,
        1.82,
      ),
    ],
  };
}

/**
 * Bodies that are wrong while 500 connections send at once, from two credentials in turn, what is cached for both: those of the other credential, and
 * those that are cut or have errors. A refusal is not wrong.
 * @param {Bench} bench @returns {Promise<Scene>}
 */
async function burst(bench) {
  const [connections, times] = [500, 10];
  const names = ['ours', 'apollo-cache', 'mercurius-cache', 'yoga-cache', 'hive-cache'];
  const rows = [];
  for (const name of names) {
    bench.say(`burst: ${name}`);
    const server = await open(name, bench, 0);
    const requests = ['bench-key', 'other'].map(key => request(variants[name].flagship, key));
    const right = [];
    for (const each of requests) right.push((await askOnce(server.origin, each)).text);
    const counts = { right: 0, wrong: 0, refused: 0 };
    await Promise.all(
      Array.from({ length: connections }, async (_, lane) => {
        const connection = new Connection(server.origin);
        for (let turn = 0; turn < times; turn += 1) {
          const { status, body } = await connection.ask(requests[lane % 2]);
          counts[status === 503 ? 'refused' : body() === right[lane % 2] ? 'right' : 'wrong'] += 1;
        }
        connection.close();
      }),
    );
    await server.stop();
    rows.push([variants[name].title, counts.right, counts.refused, counts.wrong]);
    if (name === 'ours' && counts.wrong > 0) throw new Error(`${counts.wrong} wrong bodies`);
  }
  return {
    title: `A burst of ${connections} connections from two credentials, each of which sends the same request ${times} times`,
    columns: ['', 'right', 'refused', 'wrong'],
    rows,
    ratios: [],
  };
}

/** Queries over 32 WebSockets, each of which sends the next as soon as it has the response: resources in memory. @param {Bench} bench @returns {Promise<Scene>} */
async function socket(bench) {
  const payload = { query: variants.ours.flagship };
  const entrants = [];
  for (const name of ['ours', 'graphql-js']) {
    bench.say(`socket: ${name}`);
    const server = await open(name, bench, 0);
    entrants.push({ name, server, sockets: await openSockets(server.origin, 32), cpus: [] });
  }
  for (let round = -2; round < bench.rounds; round += 1) {
    for (const entrant of entrants) {
      const before = cpuOf(entrant.server.pids);
      const count = await queryOver(entrant.sockets, payload, bench.quick ? 1 : 2);
      // The first rounds warm up.
      if (round >= 0) entrant.cpus.push((cpuOf(entrant.server.pids) - before) / count);
    }
  }
  for (const { server, sockets } of entrants) {
    for (const each of sockets) each.terminate();
    await server.stop();
  }
  const [ours, other] = entrants;
  return {
    title: 'Queries over 32 WebSockets: the same query again, resources in memory',
    columns: ['', 'CPU, us'],
    rows: entrants.map(({ name, cpus }) => [variants[name].title, median(cpus).toFixed(0)]),
    ratios: [
      figure(
        `socket: ${variants['graphql-js'].title}, graphql-ws`,
        ours.cpus.map((cpu, round) => cpu / other.cpus[round]),
        1,
      ),
    ],
  };
}

/** @returns {Promise<WebSocket[]>} acknowledged */
function openSockets(origin, count) {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = new WebSocket(`${origin.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
      await once(socket, 'open');
      socket.send(JSON.stringify({ type: 'connection_init', payload: { 'x-api-key': 'bench-key' } }));
      await once(socket, 'message');
      return socket;
    }),
  );
}

/** @returns {Promise<number>} how many responses came in these seconds; each is compared with the right one */
async function queryOver(sockets, payload, seconds) {
  const until = performance.now() + seconds * 1_000;
  let count = 0;
  await Promise.all(
    sockets.map(async socket => {
      for (let id = 0; performance.now() < until; id += 1) {
        const completed = new Promise(resolve => {
          let response = '';
          socket.on('message', function listen(data) {
            const text = String(data);
            if (text.includes('"type":"next"')) {
              response = text;
              return;
            }
            socket.off('message', listen);
            resolve(response || text);
          });
        });
        socket.send(JSON.stringify({ type: 'subscribe', id: String(id), payload }));
        const { payload: result } = JSON.parse(await completed);
        if (normalised(JSON.stringify(result)) !== flagshipIs) throw new Error('not the right answer');
        count += 1;
      }
    }),
  );
  return count;
}

/** WebSocket listeners on one market, see listeners.ts: what one costs is the difference between many and half as many. @returns {Promise<Scene>} */
async function listeners(bench) {
  const count = bench.quick ? 1_000 : 10_000;
  const half = await listenersOf(count / 2, bench);
  const all = await listenersOf(count, bench);
  const [kilobytes, micros] = ['kilobytes', 'micros'].map(key => (all[key] - half[key]) / (count / 2));
  return {
    title: `${count} WebSocket listeners on one market, memory and CPU in comparison with half as many`,
    columns: [
      'memory of each, KB',
      'CPU per message, us',
      'first delivery after the poll, ms',
      'last, ms',
      'slowest other request, ms',
      'upstream calls/s',
    ],
    rows: [
      [
        ...[kilobytes, micros].map(value => value.toFixed(1)),
        ...[all.firstMs, all.lastMs, all.otherMs].map(Math.round),
        all.callsPerSecond.toFixed(1),
      ],
    ],
    ratios: [
      figure('listeners: KB of each', [kilobytes], 14),
      figure('listeners: us per message', [micros], 35),
      figure('listeners: s from the poll to the last delivery', [all.lastMs / 1_000], 1),
    ],
  };
}

async function listenersOf(count, bench) {
  bench.say(`listeners: ${count}`);
  const program = fileURLToPath(new URL('../listeners.ts', import.meta.url));
  const child = fork(program, ['--listeners', String(count)], { execArgv: startFlags });
  onEveryCore(child.pid ?? 0);
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`ended with ${code}`);
  });
  const [figures] = await Promise.race([once(child, 'message'), ended]);
  return figures;
}

/** @type {Record<string, (bench: Bench) => Promise<Scene>>} */
export const scenes = {
  'beside-cold': besideCold,
  stampede,
  burst,
  socket,
  deferred,
  references: manyReferences,
  slowdown,
  memory,
  listeners,
};
