// The CPU that a request costs a server that is busy: two processes for each server, because those of one build differ by up to 10 %, warmed up, then
// measured in turns, so that what disturbs the machine disturbs everyone.
import { normalised } from './answer.mjs';
import { askOnce, load } from './load.mjs';
import { cpuOf, memoryOf } from './processes.mjs';
import { median } from './ratios.mjs';
import { startFlags, variants } from './variants.mjs';

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
 * @property {string} [ours] the variant that the ratios are about; left out: `ours`
 * @property {number} connections
 * @property {(variant: { flagship: string, write: string }, name: string) => (number: number, lane: number) => string} requests never the same `number` twice in a process
 * @property {(number: number) => string} [kindOf] where requests have several answers
 * @property {string} [answer] the normalised answer that everyone must give
 * @property {Record<string, string>} [answers] by kind
 * @property {boolean} [awake] whether the load never sleeps: waking it costs the sender, and a slow sender most. Not for workloads whose stub needs the core.
 * @property {() => Record<string, string>} [environment] for the gateway
 * @property {(number: number) => string} [fill] see `Plan`
 */

/** The flags that a server may run with. */
const flagSets = { 'npm start': startFlags, "Node's": [] };

/**
 * Measures everyone whom the workload names; `absent` says which peers could not take part, and why.
 * @param {Steady} workload @param {{ stub: import('./processes.mjs').Server, pace: Pace, say: (line: string) => void }} bench
 */
export async function runSteady(workload, { stub, pace, say }) {
  await stub.tell({ delayMs: 0 });
  const plan = { upstream: `${stub.origin}/${workload.world}`, env: workload.environment?.(), fill: workload.fill };
  const entrants = [];
  const absent = [];
  try {
    for (const name of workload.variants) {
      say(`${workload.name}: ${name}: starting, warming up`);
      try {
        const first = await enterWithBestFlags(name, workload, pace, plan, stub);
        entrants.push({ ...first, processes: [first] });
        entrants.at(-1).processes.push(await enter(name, workload, pace, plan, first.flags));
      } catch (error) {
        if (name.startsWith('ours')) throw error;
        absent.push(`${workload.name}: ${name}: ${error.message}`);
      }
    }
    for (let round = 1; round <= pace.rounds; round += 1) {
      for (const { name, processes, windows } of entrants) {
        const ofRound = [];
        for (const each of processes) ofRound.push(await measure(each, workload, pace, stub));
        windows.push(meanOf(ofRound));
        say(`${workload.name}: round ${round}: ${name}: ${ofRound.map(({ cpu }) => cpu.toFixed(1)).join(' and ')} us`);
      }
    }
  } finally {
    await Promise.all(entrants.flatMap(({ processes }) => processes.map(({ server }) => server.stop())));
  }
  const results = entrants.map(summary);
  for (const { name, wrong, requests } of results)
    if (wrong > 0) absent.push(`${workload.name}: ${name}: ${wrong} of ${requests} responses are wrong`);
  return { results, absent };
}

/** The gateway has the flags of its start script. Every other server has those with which it needs less CPU in two windows by turns. */
async function enterWithBestFlags(name, workload, pace, plan, stub) {
  if (name.startsWith('ours')) return enter(name, workload, pace, plan, 'npm start');
  const candidates = [];
  try {
    for (const flags of Object.keys(flagSets)) candidates.push(await enter(name, workload, pace, plan, flags));
    for (const candidate of [...candidates, ...candidates.toReversed()])
      candidate.trial += (await measure(candidate, workload, pace, stub)).cpu;
    candidates.sort((a, b) => b.trial - a.trial);
    return candidates.pop();
  } finally {
    await Promise.all(candidates.map(({ server }) => server.stop()));
  }
}

/** Starts a variant, has it prove that it answers right, and warms it up. */
async function enter(name, workload, pace, plan, flags) {
  const variant = variants[name];
  const server = await variant.launch({ ...plan, flags: flagSets[flags] });
  try {
    const requestOf = workload.requests(variant, name);
    const lengths = {};
    const kindOf = workload.kindOf ?? (() => 'only');
    const answers = workload.answers ?? { only: workload.answer };
    let asked = 0;
    // The first numbers prove; they are not used again.
    for (; Object.keys(lengths).length < Object.keys(answers).length; asked += 1) {
      const kind = kindOf(asked);
      lengths[kind] ??= await prove(server, requestOf(asked, 0), answers[kind]);
    }
    const confuses = await givesAnothersData(server, requestOf(0, 0));
    // The variables of known documents decide how long their responses are.
    const lengthOf = number => (kindOf(number) === 'known' ? undefined : lengths[kindOf(number)]);
    const entrant = { name, server, flags, confuses, requestOf, lengthOf, asked, windows: [], trial: 0 };
    await warmUp(entrant, workload, pace);
    return entrant;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** @returns the length of the right answer's body, in this server's words */
async function prove({ origin }, request, expected) {
  const { status, text, length } = await askOnce(origin, request);
  if (status !== 200 || normalised(text) !== expected) {
    throw new Error(`not the right answer (${status}): ${text.slice(0, 1_000)}`);
  }
  return length;
}

/** Whether a credential to which the service gives other data gets the data of the one before it, or the other way round. */
async function givesAnothersData({ origin }, request) {
  const own = await askOnce(origin, request);
  const others = await askOnce(origin, request.replace(/(x-api-key: )[^\r]*/, '$1other'));
  const again = await askOnce(origin, request);
  return own.text === others.text || own.text !== again.text;
}

async function ask(entrant, workload, bounds) {
  const { server, requestOf, lengthOf, asked } = entrant;
  const from = asked;
  const { connections, awake: staysAwake } = workload;
  const result = await load({ origin: server.origin, connections, staysAwake, from, lengthOf, requestOf, ...bounds });
  entrant.asked += result.count;
  return result;
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
  const before = cpuOf(entrant.server.pids);
  const { count, wrong, perSecond, p50, p99 } = await ask(entrant, workload, { seconds: pace.windowSeconds });
  const cpu = (cpuOf(entrant.server.pids) - before) / count;
  const { calls } = await stub.tell({});
  return { cpu, count, wrong, perSecond, p50, p99, memory: memoryOf(entrant.server.pids), calls: calls / count };
}

/** Of windows of the same server, each figure. */
const meanOf = windows =>
  Object.fromEntries(
    Object.keys(windows[0]).map(key => [key, windows.reduce((sum, window) => sum + window[key], 0) / windows.length]),
  );

function summary({ name, flags, confuses, windows }) {
  const of = key => median(windows.map(window => window[key]));
  return {
    name,
    title: variants[name].title,
    flags,
    confuses,
    cpus: windows.map(({ cpu }) => cpu),
    cpu: of('cpu'),
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
    memory: of('memory'),
    calls: of('calls'),
    requests: 2 * windows.reduce((sum, { count }) => sum + count, 0),
    wrong: 2 * windows.reduce((sum, { wrong }) => sum + wrong, 0),
  };
}
