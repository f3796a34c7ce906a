// `npm run faults:streams -- --listeners 300 --minutes 5` cuts the connections of listeners at random, on every transport, through HAProxy over two gateways:
// a gateway is killed or replaced, Redis loses everything, the network of the clients breaks. Ends with status 1 if a listener missed an update or got one
// twice.
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startNetwork } from '../../test/support/network.mjs';
import { listenResuming, transports } from '../../test/support/resuming-listener.mjs';
import { endAll } from './processes.mjs';
import { folder, startBalancer, startGateway, startRedis, startSandbox } from './servers.mjs';

const { values } = parseArgs({
  options: { listeners: { type: 'string', default: '300' }, minutes: { type: 'string', default: '5' } },
});
const count = Number(values.listeners);
const runMs = Number(values.minutes) * 60_000;
const key = 'demo-key-subscribed';
const betweenUpdatesMs = 500;
const betweenFaultsMs = 4_000;
const patienceMs = 90_000;

const titlesOfEvent = new Map();
let number = 0;

/** A new event, or another version of an earlier one. */
async function publish(origin) {
  number += 1;
  const title = `update ${number}`;
  const ids = [...titlesOfEvent.keys()];
  const known = Math.random() < 0.3 ? ids[Math.floor(Math.random() * ids.length)] : undefined;
  const response = await fetch(`${origin}/_sandbox/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title, ...(known && { _id: known }) }),
  });
  const { _id } = await response.json();
  titlesOfEvent.set(_id, [...(titlesOfEvent.get(_id) ?? []), title]);
}

/** What a listener has not got, and what it got more than once. An earlier version may be missing. */
function judge({ titles }) {
  const newest = [...titlesOfEvent.values()].map(all => all.at(-1));
  return {
    missing: newest.filter(title => !titles.has(title)),
    repeated: [...titles].filter(([, times]) => times > 1).map(([title]) => title),
  };
}

async function run() {
  const [sandbox, redis] = await Promise.all([startSandbox(), startRedis()]);
  const env = { POLL_INTERVAL_MS: '1000', SHUTDOWN_NOTICE_MS: '1500', MAX_EVENT_LOOP_DELAY_MS: '60000' };
  const gateways = await Promise.all([1, 2].map(() => startGateway(sandbox, redis.url, { env })));
  const balancer = await startBalancer(gateways);
  const network = await startNetwork(() => Number(new URL(balancer).port));
  const listeners = Array.from({ length: count }, (_, index) =>
    listenResuming(network.url, transports[index % transports.length], key),
  );
  const every = async (holds, what) => {
    for (const end = performance.now() + patienceMs; !listeners.every(holds); await sleep(100))
      if (performance.now() > end) return process.stderr.write(`not within ${patienceMs / 1_000} s: ${what}\n`);
  };
  await every(({ hasCursor }) => hasCursor, 'every listener has begun');

  const faults = {
    'gateway killed': async gateway => {
      await gateway.process.end('SIGKILL');
      await gateway.process.start();
    },
    'gateway replaced': async gateway => {
      await gateway.process.end('SIGTERM');
      await gateway.process.start();
    },
    'Redis restarted': async () => {
      await redis.process.end('SIGKILL');
      await redis.process.start();
    },
    'network cut': async () => network.cut(0.5),
  };
  const happened = Object.fromEntries(Object.keys(faults).map(name => [name, 0]));
  const end = performance.now() + runMs;
  let isOver = false;
  const publishing = (async () => {
    for (; !isOver; await sleep(betweenUpdatesMs)) await publish(sandbox.origin);
  })();
  while (performance.now() < end) {
    const names = Object.keys(faults);
    const name = names[Math.floor(Math.random() * names.length)];
    await faults[name](gateways[Math.floor(Math.random() * gateways.length)]);
    happened[name] += 1;
    await sleep(betweenFaultsMs * Math.random());
  }
  isOver = true;
  await publishing;
  await every(listener => judge(listener).missing.length === 0, 'every listener has every update');

  for (const [name, times] of Object.entries(happened)) process.stdout.write(`${name}: ${times}\n`);
  process.stdout.write(`${number} updates of ${titlesOfEvent.size} events, ${count} listeners\n`);
  let isWrong = false;
  for (const transport of transports) {
    const group = listeners.filter(listener => listener.transport === transport);
    const judged = group.map(judge);
    const sum = numbers => numbers.reduce((total, each) => total + each, 0);
    const missing = sum(judged.map(each => each.missing.length));
    const repeated = sum(judged.map(each => each.repeated.length));
    const gaps = sum(group.map(each => each.gaps));
    isWrong ||= missing + repeated + gaps > 0;
    const connections = sum(group.map(each => each.connections));
    process.stdout.write(
      `${transport}: ${group.length} listeners, ${connections} connections, missing ${missing}, repeated ${repeated}, gaps ${gaps}\n`,
    );
  }
  for (const { stop } of listeners) stop();
  await network.close();
  return isWrong;
}

try {
  process.exitCode = (await run()) ? 1 : 0;
} finally {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
