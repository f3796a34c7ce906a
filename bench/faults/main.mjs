// `npm run faults` causes faults under load and counts the responses. `--only <text>` runs the faults with this text in their names.
// Prints a table, which a whole run keeps in docs/faults.md. Ends with status 1 where an answer was wrong or lost.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startNetwork } from '../../test/support/network.mjs';
import { embeddings, flagship } from '../lib/answer.mjs';
import { freePort, start } from '../lib/processes.mjs';
import { rightAnswers, startLoad } from './load.mjs';
import { canLimitMemory, createMemoryGroup } from './memory-group.mjs';
import { copyWithOtherModels } from './other-models.mjs';
import { endAll, until } from './processes.mjs';
import { folder, startBalancer, startGateway, startRedis, startSandbox } from './servers.mjs';

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const top = fileURLToPath(new URL('../..', import.meta.url));
/** Beside the program, since it finds its packages and the schema above itself. */
const otherModels = `${top}dist-with-other-models/`;
const demoKey = 'demo-key-subscribed';
const demoHash = `sha256:${createHash('sha256').update(demoKey).digest('hex')}`;
const quietMs = 1_000;
const faultMs = 4_000;
/** Memory fills up slowly. */
const crowdMs = 20_000;
const maxMoveMs = 10_000;
/** A breaker rests for five seconds. */
const afterMs = 9_000;

/** Four nodes, the last of which is a replica of the first. @param at the first slot of the second node and of the third */
async function startCluster(...at) {
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000'];
  const nodes = await Promise.all([1, 2, 3, 4].map(() => startRedis(...args)));
  const [first, , , replica] = nodes;
  const edges = [0, ...at, 16_384];
  const primaries = nodes.slice(0, 3);
  await Promise.all(
    primaries.map(({ admin }, index) => admin.cluster('ADDSLOTSRANGE', edges[index], edges[index + 1] - 1)),
  );
  await Promise.all(nodes.slice(1).map(({ admin }) => admin.cluster('MEET', '127.0.0.1', first.port)));
  const infos = () => Promise.all(nodes.map(({ admin }) => admin.cluster('INFO')));
  await until(async () => (await infos()).every(info => /state:ok/.test(info) && /known_nodes:4/.test(info)));
  await replica.admin.cluster('REPLICATE', await first.admin.cluster('MYID'));
  await until(async () => /master_link_status:up/.test(await replica.admin.info('replication')));
  return nodes;
}

const one = async () => {
  const [sandbox, redis] = await Promise.all([startSandbox(), startRedis()]);
  const gateway = await startGateway(sandbox, redis.url);
  return { sandbox, redis, gateway, url: gateway.url };
};
/** As docs/operators.md has it: a gateway serves until the balancer, which looks once a second, has noticed that it closes. */
const fleet = async () => {
  const options = { env: { SHUTDOWN_NOTICE_MS: '1500' } };
  const [sandbox, redis] = await Promise.all([startSandbox(), startRedis()]);
  const gateways = await Promise.all([1, 2, 3].map(() => startGateway(sandbox, redis.url, options)));
  return { sandbox, redis, gateways, url: await startBalancer(gateways) };
};
const overCluster = async () => {
  const [sandbox, nodes] = await Promise.all([startSandbox(), startCluster(5_461, 10_923)]);
  const gateway = await startGateway(sandbox, nodes.map(({ url }) => url).join(','));
  return { sandbox, nodes, gateway, url: gateway.url };
};
/** One after the other, so that a busy machine starts both in time. */
const startTwo = async (sandbox, url) => [await startGateway(sandbox, url), await startGateway(sandbox, url)];
/** Two gateways, over a primary behind a name, and its replica. */
const behindName = async () => {
  const args = ['--repl-diskless-sync-delay', '0'];
  const [sandbox, redis, replica] = await Promise.all([startSandbox(), startRedis(...args), startRedis(...args)]);
  await replica.admin.replicaof('127.0.0.1', redis.port);
  await until(async () => /master_link_status:up/.test(await replica.admin.info('replication')));
  let { port } = redis;
  const name = await startNetwork(() => port);
  const gateways = await startTwo(sandbox, name.url.replace('http', 'redis'));
  const promote = async () => {
    await replica.admin.replicaof('NO', 'ONE');
    port = replica.port;
  };
  const nodes = [redis, replica];
  return { sandbox, redis, replica, nodes, gateways, promote, url: gateways[0].url, end: () => name.close() };
};
/** Two gateways. The first node has nearly everything. */
const twoOverCluster = async () => {
  const [sandbox, nodes] = await Promise.all([startSandbox(), startCluster(16_382, 16_383)]);
  const gateways = await startTwo(sandbox, nodes.map(({ url }) => url).join(','));
  return { sandbox, nodes, gateways, url: gateways[0].url };
};
/** A fleet whose gateways read these two files. */
const withFiles = async () => {
  const env = { TEAMS_FILE: `${folder}/teams.json`, PERSISTED_DOCUMENTS: `${folder}/documents.json` };
  const write = (team, ...broken) => {
    writeFileSync(env.TEAMS_FILE, JSON.stringify([{ name: team, keys: [demoHash, ...broken] }]));
    writeFileSync(env.PERSISTED_DOCUMENTS, broken.length > 0 ? '{' : JSON.stringify({ [team]: '{ __typename }' }));
  };
  write('before');
  const options = { env: { ...env, PERSISTED_DOCUMENTS_MODE: 'log' } };
  const [sandbox, redis] = await Promise.all([startSandbox(), startRedis()]);
  const gateways = await Promise.all([1, 2, 3].map(() => startGateway(sandbox, redis.url, options)));
  return { sandbox, redis, gateways, write, url: await startBalancer(gateways) };
};
const password = 'the-password-of-redis';
const logging = async () => {
  const [sandbox, redis, port] = await Promise.all([startSandbox(), startRedis(), freePort()]);
  await redis.admin.config('SET', 'requirepass', password);
  const gateway = await startGateway(sandbox, redis.url.replace('//', `//:${password}@`), {
    env: { LOG_LEVEL: 'info', OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
  });
  return { sandbox, redis, gateway, url: gateway.url };
};
const withClock = async () => {
  const [sandbox, redis] = await Promise.all([startSandbox(), startRedis()]);
  const gateway = await startGateway(sandbox, redis.url, { flags: ['--import', `${top}bench/faults/clock.mjs`] });
  return { sandbox, redis, gateway, url: gateway.url };
};

const memoryMiB = 256;
/** Of ten requests: repeated ones, known documents over cached records, cold ones, and big ones. */
const mixed = [
  ...Array(5).fill(number => ({ query: flagship, key: `client-${(number * 7) % 200}` })),
  ...Array(2).fill(number => ({ query: flagship, key: `client-${number % 200}`, extensions: { number } })),
  ...Array(2).fill(number => ({ query: flagship, key: `new-${number}` })),
  number => ({ query: embeddings, key: `client-${number % 200}`, extensions: { number } }),
];
/** A gateway in a container of 256 MB, started by npm start. Its service has big bodies. */
const withLittleMemory = async () => {
  const group = createMemoryGroup(memoryMiB * 1024 * 1024);
  const [stub, adminPort] = await Promise.all([start({ args: ['lib/stub.mjs'], cwd: `${top}bench` }), freePort()]);
  const options = { env: { ADMIN_PORT: String(adminPort) }, within: group.enter };
  const gateway = await startGateway({ origin: `${stub.origin}/full` }, undefined, options);
  const end = async () => {
    await stub.stop();
    group.remove();
  };
  return { group, gateway, url: gateway.url, load: { kinds: mixed }, end };
};

/** How many commands failed, by the gateway's own count: whether a fault of Redis was felt at all. */
async function redisFaultsOf({ url }) {
  const text = await (await fetch(`${url}/metrics`)).text();
  const counts = text.matchAll(/^gateway_redis_faults_total\{.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

const told =
  rule =>
  async ({ sandbox }) => {
    await sandbox.tell(rule);
    await sleep(faultMs);
    await sandbox.forget();
  };

/** One gateway after the other, as `docs/operators.md` says. @param {string} program */
async function replaceAll(gateways, program) {
  for (const gateway of gateways) {
    await gateway.process.end('SIGTERM');
    await gateway.process.start([`${program}main.js`]);
    // The balancer looks once a second.
    await sleep(2_000);
  }
}

async function ask({ url }, query) {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': demoKey },
    body: JSON.stringify({ query }),
  });
  const { data, errors } = await response.json();
  if (errors !== undefined) throw new Error(JSON.stringify(errors));
  return data;
}

/** The load reads other markets. */
const marketRead = '{ market(id: 3) { name } }';
const marketCall = /\/dev\/markets\/3$/;
const marketWrite =
  'mutation { reviewCompanies(input: { marketId: 3, reviewStatus: INCLUDE, target: { all: true } }) { marketId } }';

/**
 * Moves Redis, then writes through one of two gateways and reads through the other, in turn, until what one has read of a market, the other has
 * from Redis. Until then, each read after a write has to reach the service. Returns how long it took.
 */
async function servedAfter(move, { sandbox, gateways }) {
  const callsOfRead = async gateway => {
    await sandbox.calls();
    await ask(gateway, marketRead);
    return (await sandbox.calls()).filter(path => marketCall.test(path)).length;
  };
  const [one, other] = gateways;
  while ((await callsOfRead(one)) + (await callsOfRead(other)) > 0);
  await move();
  const movedAt = performance.now();
  for (let turn = 0; ; turn += 1) {
    const [writer, reader] = turn % 2 === 0 ? [one, other] : [other, one];
    await ask(writer, marketWrite);
    if ((await callsOfRead(reader)) === 0) throw new Error('A gateway answered from before a write');
    const recoveredMs = performance.now() - movedAt;
    if ((await callsOfRead(writer)) + (await callsOfRead(reader)) === 0) return { recoveredMs };
    if (recoveredMs > maxMoveMs) throw new Error(`Redis is not used ${maxMoveMs} ms after it moved`);
  }
}

/** The names of the endpoints for exports, with one more registered where there is a name. */
async function endpointsOf(gateway, name) {
  const endpoint = `{ name: "${name}", url: "https://crm.example/in", description: "CRM" }`;
  if (name !== undefined) await ask(gateway, `mutation { registerExportEndpoint(input: ${endpoint}) { __typename } }`);
  return (await ask(gateway, '{ exportEndpoints { name } }')).exportEndpoints.map(each => each.name).join();
}

/** Waits for a line in the gateway's log. Each warning may be there once, and no secret. */
async function logged({ gateway }, line) {
  const lines = () => [...gateway.process.stderr.matchAll(/"msg":"(?!Answered)(.*?)"/g)].map(([, text]) => text);
  await until(async () => lines().some(text => text.startsWith(line)));
  if (new Set(lines()).size < lines().length) throw new Error(`Logged twice within a minute: ${lines().join('\n')}`);
  if (gateway.process.stderr.includes(password)) throw new Error('The log has the password of Redis');
}

/** Each fault runs from its beginning to its end. `repeats` and `apart`: see `startLoad`. What `run` returns is added to the load's counts. */
const faults = [
  { name: 'service slow (800 ms)', place: one, run: told({ delayMs: 800 }) },
  { name: 'service silent', place: one, run: told({ hang: true }) },
  {
    name: 'service refusing connections',
    place: one,
    async run({ sandbox }) {
      await sandbox.process.end('SIGKILL');
      await sleep(faultMs);
      await sandbox.process.start();
    },
  },
  { name: 'service cutting bodies', place: one, run: told({ breakConnection: 'mid-body' }) },
  { name: 'service sending garbage', place: one, run: told({ status: 200, body: '<html>\u0000{]' }) },
  {
    name: 'service flapping (503 every other 300 ms)',
    place: one,
    async run({ sandbox }) {
      for (const end = performance.now() + faultMs; performance.now() < end; ) {
        await sandbox.tell({ status: 503 });
        await sleep(300);
        await sandbox.forget();
        await sleep(300);
      }
    },
  },
  {
    name: 'Redis killed',
    place: one,
    async run({ redis }) {
      await redis.process.end('SIGKILL');
      await sleep(faultMs);
      await redis.process.start();
    },
  },
  {
    name: 'Redis paused',
    place: one,
    async run({ redis }) {
      redis.process.signal('SIGSTOP');
      await sleep(faultMs);
      redis.process.signal('SIGCONT');
    },
  },
  {
    name: 'Redis full',
    place: one,
    async run({ redis }) {
      await redis.admin.config('SET', 'maxmemory', '1');
      await sleep(faultMs);
      await redis.admin.config('SET', 'maxmemory', '0');
    },
  },
  {
    name: 'Redis flushed every 100 ms',
    place: one,
    async run({ redis }) {
      for (const end = performance.now() + faultMs; performance.now() < end; await sleep(100))
        await redis.admin.flushall();
    },
  },
  {
    name: 'Redis password changed, and no trace collector (both logged once)',
    place: logging,
    async run({ redis, gateway }) {
      await redis.admin.config('SET', 'requirepass', 'another');
      await redis.admin.client('KILL', 'TYPE', 'normal');
      await sleep(faultMs);
      await logged({ gateway }, 'REDIS_URL: the user or the password is wrong (WRONGPASS)');
      await logged({ gateway }, 'OTEL_EXPORTER_OTLP_ENDPOINT: connections are refused (ECONNREFUSED)');
      await redis.admin.config('SET', 'requirepass', password);
      await logged({ gateway }, 'REDIS_URL: back to normal');
    },
  },
  {
    name: 'Redis Cluster failing over (a primary killed)',
    place: overCluster,
    async run({ nodes: [first, , , replica] }) {
      await first.process.end('SIGKILL');
      await until(async () => /role:master/.test(await replica.admin.info('replication')));
    },
  },
  {
    name: 'Redis moved: primary demoted, its connections open, the name of another',
    place: behindName,
    run({ redis, replica, promote, ...fleet }) {
      const move = async () => {
        await promote();
        await redis.admin.replicaof('127.0.0.1', replica.port);
      };
      return servedAfter(move, fleet);
    },
  },
  {
    name: 'Redis moved: primary frozen, the name of another',
    place: behindName,
    run({ redis, promote, ...fleet }) {
      const move = async () => {
        redis.process.signal('SIGSTOP');
        await promote();
      };
      return servedAfter(move, fleet);
    },
  },
  {
    name: 'Redis Cluster failing over (a primary frozen)',
    place: twoOverCluster,
    run({ nodes: [first, , , replica], ...fleet }) {
      const move = async () => {
        first.process.signal('SIGSTOP');
        await until(async () => /role:master/.test(await replica.admin.info('replication')));
      };
      return servedAfter(move, fleet);
    },
  },
  {
    name: 'clock of the gateway stepped by +1 h, back, -1 h, back',
    place: withClock,
    async run({ gateway }) {
      for (let step = 0; step < 4; step += 1) {
        gateway.process.signal('SIGUSR2');
        await sleep(faultMs / 4);
      }
    },
  },
  {
    name: 'teams and trusted documents of three gateways read again (SIGHUP), every other time from invalid files',
    place: withFiles,
    async run({ gateways, write }) {
      const hangUp = async () => {
        for (const gateway of gateways) gateway.process.signal('SIGHUP');
        await sleep(faultMs / 8);
      };
      const teamsNow = async () =>
        (await Promise.all(gateways.map(gateway => ask(gateway, '{ viewer { team } }')))).map(each => each.viewer.team);
      for (const team of ['one', 'two', 'three', 'four']) {
        write(team);
        await hangUp();
        write('invalid', 'no hash');
        await hangUp();
        const teams = await teamsNow();
        if (teams.some(each => each !== team)) throw new Error(`The teams are ${teams}, and not ${team}`);
      }
    },
  },
  {
    name: 'everything purged, again and again (npm run purge)',
    place: fleet,
    async run({ gateways: [first] }) {
      for (const end = performance.now() + faultMs; performance.now() < end; ) {
        const command = [`${top}dist/data/cache/purge-command.js`, '--all'];
        const child = spawn(process.execPath, command, { env: first.env, stdio: 'ignore' });
        const [status] = await once(child, 'exit');
        if (status !== 0) throw new Error(`The purge ended with ${status}`);
      }
    },
  },
  {
    name: 'one of three gateways ended with SIGTERM',
    place: fleet,
    async run({ gateways: [first] }) {
      await first.process.end('SIGTERM');
      await sleep(faultMs);
    },
  },
  {
    name: 'one of three gateways killed with SIGKILL (repeated by the client)',
    place: fleet,
    repeats: true,
    async run({ gateways: [first] }) {
      await first.process.end('SIGKILL');
      await sleep(faultMs);
    },
  },
  {
    name: 'rolling restart of three gateways',
    place: fleet,
    run: ({ gateways }) => replaceAll(gateways, `${top}dist/`),
  },
  {
    name: 'rolling upgrade of three gateways to other models, and rollback',
    place: fleet,
    apart: true,
    async run({ gateways, url }) {
      copyWithOtherModels(`${top}dist/`, otherModels);
      const before = await endpointsOf({ url }, 'crm');
      await replaceAll(gateways, otherModels);
      await replaceAll(gateways, `${top}dist/`);
      const after = await endpointsOf({ url });
      if (after !== before) throw new Error(`The registry held ${before}, and holds ${after}`);
    },
  },
  {
    name: `400 more clients with mixed traffic for ${crowdMs / 1_000} s, in a container of ${memoryMiB} MB`,
    needs: canLimitMemory,
    place: withLittleMemory,
    async run({ gateway, group, url, load, right }) {
      const { pid } = gateway.process.child;
      const crowd = startLoad(url, right, { ...load, lanes: 400, pauseMs: 0 });
      await sleep(crowdMs);
      const result = await crowd.stop(performance.now());
      if (group.kills() > 0 || gateway.process.child.pid !== pid) throw new Error('The gateway was killed');
      const [, kibibytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
      process.stderr.write(`Resident: ${(kibibytes / 1024).toFixed()} MiB at most\n`);
      if (!(kibibytes < memoryMiB * 1024)) throw new Error(`The gateway took ${kibibytes} KiB`);
      return result;
    },
  },
];

const rows = [];
const chosen = faults.filter(({ name }) => name.includes(values.only));
const possible = chosen.filter(({ needs }) => needs?.() ?? true);
try {
  for (const { name, place, run, repeats, apart } of possible) {
    const made = await place();
    const right = await rightAnswers(made.url, made.load?.kinds);
    const load = startLoad(made.url, right, { repeats, apart, ...made.load });
    await sleep(quietMs);
    const more = (await run({ ...made, right })) ?? {};
    const liftedAt = performance.now();
    await sleep(afterMs);
    const result = await load.stop(liftedAt);
    for (const count of ['sent', 'right', 'typed', 'lost', 'repeated']) result[count] += more[count] ?? 0;
    result.recoveredMs = Math.max(result.recoveredMs, more.recoveredMs ?? 0);
    const redisFaults = made.gateway && (await redisFaultsOf(made.gateway));
    for (const { admin } of [made.redis ?? [], made.nodes ?? []].flat()) admin.disconnect();
    await endAll();
    await made.end?.();
    rows.push({ name, ...result });
    process.stderr.write(`${name}: ${JSON.stringify({ ...result, redisFaults })}\n`);
  }
} finally {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
  rmSync(otherModels, { recursive: true, force: true });
}

const table = [
  '| Fault, for four seconds or until it is over | right | typed error | repeated | wrong or lost | recovered after, s |',
  '|---|---:|---:|---:|---:|---:|',
  ...rows.map(
    ({ name, right, typed, repeated, lost, recoveredMs }) =>
      `| ${name} | ${right} | ${typed} | ${repeated} | ${lost} | ${(recoveredMs / 1_000).toFixed(1)} |`,
  ),
].join('\n');
process.stdout.write(`${table}\n`);
for (const { name } of chosen) {
  if (!rows.some(row => row.name === name)) process.stderr.write(`Not run, because only root can: ${name}\n`);
}
if (rows.length === faults.length) {
  const file = `${top}docs/faults.md`;
  const intro = readFileSync(file, 'utf8').split('\n|')[0]?.trimEnd();
  writeFileSync(file, `${intro}\n\n${table}\n`);
}
process.exit(rows.some(({ lost }) => lost > 0) ? 1 : 0);
