// `npm run simulate -- --seed N --minutes M`: runs histories of the fleet in virtual time, and says in one line of JSON what came of each. With a failure
// comes the shortest history that still fails: steps are taken out as long as the same rule is broken. `--seeds K` runs K seeds, `--corpus` those that
// failed once.
import { execSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { replaceNetwork } from './network.mjs';
import { now, replaceFiles, replaceTimeAndChance } from './time.mjs';

const realNow = performance.now.bind(performance);
const cpuSeconds = () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6;
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    seeds: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '5' },
    faults: { type: 'string' },
    trace: { type: 'string' },
    corpus: { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
    for: { type: 'string' },
    mutation: { type: 'string' },
    dist: { type: 'string', default: 'dist' },
  },
});
// Until the end says otherwise: a fleet that stands still leaves nothing to wait for, and Node ends.
process.exitCode = 1;
// graphql has no checks for a second copy of itself then: each gateway has its own schema.
process.env.NODE_ENV = 'production';
replaceTimeAndChance();
replaceNetwork();
const { Fleet } = await import('./fleet.mjs');
const { loadBuilds } = await import('./gateways.mjs');
const { historyOf, pairsIn } = await import('./history.mjs');
const { judge } = await import('./oracle.mjs');
const undiciTimers = createRequire(import.meta.url)('undici/lib/util/timers.js');
const commit = execSync('git rev-parse --short HEAD').toString().trim();

let crashes;
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, error => {
    if (crashes === undefined) throw error;
    crashes.push(error);
  });
}

/** Runs one history. The hash is that of everything that can be seen from outside, with its times. */
async function simulate(history, trace) {
  const startedAt = realNow();
  const hash = createHash('sha256');
  let messages = 0;
  // One clock for all connections of the process: of no gateway, because each of them may be paused.
  undiciTimers.reset();
  const fleet = new Fleet(history, (at, fact) => {
    const line = `${JSON.stringify([at, fact])}\n`;
    hash.update(line);
    messages += 1;
    trace?.push(line);
  });
  ({ crashes } = fleet);
  undiciTimers.setTimeout(() => {}, 2_000);
  await fleet.run(history.steps.map(step => ({ ...step })));
  await fleet.end();
  crashes = undefined;
  return {
    virtualSeconds: Math.round(now() / 1_000),
    realSeconds: Math.round(realNow() - startedAt) / 1_000,
    upstreamCalls: fleet.service.calls.length,
    messages,
    violations: judge(fleet),
    hash: hash.digest('hex').slice(0, 16),
  };
}

/** The shortest history that still breaks the rule, as far as two minutes of processor time find it: ever smaller parts are taken out. */
async function shrunk(history, { rule, at = Number.POSITIVE_INFINITY }) {
  const enough = cpuSeconds() + 120;
  let steps = history.steps.filter(step => step.at <= at);
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < steps.length && cpuSeconds() < enough; ) {
      const fewer = steps.toSpliced(start, size);
      const { violations } = await simulate({ ...history, steps: fewer });
      if (violations.some(violation => violation.rule === rule)) steps = fewer;
      else start += size;
    }
  }
  return { ...history, steps };
}

const corpus = new URL('corpus/', import.meta.url);
function* histories() {
  if (values.corpus) for (const file of readdirSync(corpus)) yield JSON.parse(readFileSync(new URL(file, corpus)));
  // At least one, however long it took to load the gateways.
  const isEnough = count =>
    values.for === undefined ? count >= values.seeds : count > 0 && cpuSeconds() >= values.for;
  for (let count = 0; !isEnough(count); count += 1) {
    yield historyOf(Number(values.seed) + count, Number(values.minutes), values.faults?.split(','));
  }
}

await loadBuilds(3, values.dist, values.mutation && JSON.parse(values.mutation));
// What is loaded by the first start, which takes real time.
const first = new Fleet({ seed: 0, count: 3, env: {} }, () => {});
await first.run([]);
while (first.up().length < 3) await first.advance(1_000);
replaceFiles();
const pairs = new Set();
let failures = 0;
for (const history of histories()) {
  const trace = values.trace === undefined ? undefined : [];
  const { violations, ...result } = await simulate(history, trace);
  if (trace) writeFileSync(values.trace, trace.join(''));
  for (const pair of pairsIn(history)) pairs.add(pair);
  failures += violations.length;
  const line = { seed: history.seed, commit, ...result, violations: violations.length, pairs: pairs.size };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  if (violations.length === 0) continue;
  for (const violation of violations.slice(0, 5)) process.stderr.write(`${JSON.stringify(violation)}\n`);
  if (values.mutation) break;
  if (values['no-shrink']) continue;
  process.stderr.write(`${JSON.stringify(await shrunk(history, violations[0]))}\n`);
}
process.exit(failures === 0 ? 0 : 1);
