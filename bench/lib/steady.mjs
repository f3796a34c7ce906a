// The CPU that a request costs a server that is busy: one process for each variant, warmed up, then measured in turns, so that what disturbs
// the machine disturbs everyone.
import { normalised } from './answer.mjs';
import { Connection, load } from './load.mjs';
import { cpuOf, memoryOf } from './processes.mjs';
import { median } from './ratios.mjs';
import { speedFlags, startFlags, variants } from './variants.mjs';

/**
 * @typedef {object} Pace
 * @property {number} rounds
 * @property {number} warmSeconds at least
 * @property {number} warmRequests at least, as far as `warmMostSeconds` allow
 * @property {number} warmMostSeconds
 * @property {number} againSeconds of warm-up before each window, since a server that was left idle is slow at first
 * @property {number} windowSeconds
 */

/**
 * @typedef {object} Steady
 * @property {string} name
 * @property {string} title
 * @property {'full' | 'light'} world
 * @property {string[]} variants
 * @property {number} connections
 * @property {(variant: { flagship: string }) => (number: number, lane: number) => string} requests never the same `number` twice in a process
 * @property {string} answer the normalised answer that everyone must give
 * @property {boolean} [awake] whether the load never sleeps: waking it costs the sender, and a slow sender most. Not for workloads whose stub needs the core.
 * @property {boolean} [defaults] whether the peers run once with Node's defaults too, if the gateway's start script has others
 */

/**
 * Measures everyone whom the workload names; `absent` says which peers could not take part, and why.
 * @param {Steady} workload @param {{ stub: import('./processes.mjs').Server, pace: Pace, say: (line: string) => void }} bench
 */
export async function runSteady(workload, { stub, pace, say }) {
  await stub.tell({ delayMs: 0 });
  const upstream = `${stub.origin}/${workload.world}`;
  const entrants = [];
  const absent = [];
  try {
    for (const name of workload.variants) {
      say(`${workload.name}: ${name}: starting, warming up`);
      try {
        entrants.push(await enter(name, workload, pace, { upstream, flags: startFlags }));
      } catch (error) {
        if (name === 'ours') throw error;
        absent.push(`${workload.name}: ${name}: ${error.message}`);
      }
    }
    for (let round = 1; round <= pace.rounds; round += 1) {
      for (const entrant of entrants) {
        const window = await measure(entrant, workload, pace, stub);
        entrant.windows.push(window);
        say(`${workload.name}: round ${round}: ${entrant.name}: ${window.cpu.toFixed(1)} us`);
      }
    }
  } finally {
    await Promise.all(entrants.map(({ server }) => server.stop()));
  }
  const withDefaults = new Map();
  if (workload.defaults && speedFlags.length > 0) {
    for (const name of workload.variants.filter(name => name !== 'ours')) {
      say(`${workload.name}: ${name} with Node's defaults`);
      try {
        const entrant = await enter(name, workload, pace, { upstream, flags: [] });
        withDefaults.set(name, (await measure(entrant, workload, pace, stub)).cpu);
        await entrant.server.stop();
      } catch (error) {
        absent.push(`${workload.name}: ${name} with Node's defaults: ${error.message}`);
      }
    }
  }
  const results = entrants
    .filter(({ windows }) => windows.length > 0)
    .map(({ name, windows }) => summary(name, windows, withDefaults.get(name)));
  return { results, absent };
}

/** Starts a variant, has it prove that it answers right, and warms it up. */
async function enter(name, workload, pace, plan) {
  const variant = variants[name];
  const server = await variant.launch(plan);
  try {
    const requestOf = workload.requests(variant);
    const length = await prove(server, requestOf(0, 0), workload.answer);
    const entrant = { name, server, requestOf, asked: 1, length, windows: [] };
    await warmUp(entrant, workload, pace);
    return entrant;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** @returns the length of the right answer's body, in this server's words */
async function prove(server, request, expected) {
  const connection = new Connection(server.origin);
  const { status, body, length } = await connection.ask(request);
  const answer = body();
  connection.close();
  if (status !== 200 || normalised(answer) !== expected) {
    throw new Error(`not the right answer (${status}): ${answer.slice(0, 1_000)}`);
  }
  return length;
}

function ask(entrant, workload, bounds) {
  const { server, requestOf, length } = entrant;
  return load({
    origin: server.origin,
    connections: workload.connections,
    staysAwake: workload.awake,
    length,
    requestOf(_, lane) {
      entrant.asked += 1;
      return requestOf(entrant.asked, lane);
    },
    ...bounds,
  });
}

async function warmUp(entrant, workload, pace) {
  const first = await ask(entrant, workload, { seconds: pace.warmSeconds });
  const missing = pace.warmRequests - first.count;
  const seconds = pace.warmMostSeconds - pace.warmSeconds;
  if (missing > 0 && seconds > 0) await ask(entrant, workload, { requests: missing, seconds });
}

async function measure(entrant, workload, pace, stub) {
  await ask(entrant, workload, { seconds: pace.againSeconds });
  await stub.tell({ reset: true });
  const before = cpuOf(entrant.server.pid);
  const { count, wrong, perSecond, p50, p99 } = await ask(entrant, workload, { seconds: pace.windowSeconds });
  const cpu = (cpuOf(entrant.server.pid) - before) / count;
  const { calls } = await stub.tell({});
  return { cpu, count, wrong, perSecond, p50, p99, memory: memoryOf(entrant.server.pid), calls: calls / count };
}

function summary(name, windows, cpuWithDefaults) {
  const of = key => median(windows.map(window => window[key]));
  return {
    name,
    title: variants[name].title,
    cpus: windows.map(({ cpu }) => cpu),
    cpu: of('cpu'),
    cpuWithDefaults,
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
    memory: of('memory'),
    calls: of('calls'),
    requests: windows.reduce((sum, { count }) => sum + count, 0),
    wrong: windows.reduce((sum, { wrong }) => sum + wrong, 0),
  };
}
