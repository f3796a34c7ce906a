// `npm run simulate -- --seed N --minutes M`: runs one history of the fleet in virtual time, and says in one line of JSON what came of it.

import { execSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { parseArgs } from 'node:util';
import { replaceNetwork } from './network.mjs';
import { now, replaceTimeAndChance } from './time.mjs';

const realNow = performance.now.bind(performance);
const RealDate = Date;
process.env.NODE_ENV = 'production';
replaceTimeAndChance();
replaceNetwork();
const { Fleet } = await import('./fleet.mjs');
const { loadBuilds } = await import('./gateways.mjs');
const { historyOf } = await import('./history.mjs');
const { judge } = await import('./oracle.mjs');

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(RealDate.now() % 1_000_000) },
    minutes: { type: 'string', default: '5' },
    trace: { type: 'string' },
    faults: { type: 'string' },
    dist: { type: 'string', default: 'dist' },
  },
});

async function simulate(history, trace) {
  const startedAt = realNow();
  const hash = createHash('sha256');
  let messages = 0;
  const note = (at, fact) => {
    const line = JSON.stringify([at, fact]);
    hash.update(line);
    messages += 1;
    trace?.write(`${line}\n`);
  };
  const fleet = new Fleet(history, note);
  current = fleet;
  await fleet.run(history.steps);
  await fleet.end();
  const violations = judge(fleet);
  const realSeconds = (realNow() - startedAt) / 1_000;
  const virtualSeconds = Math.round(now() / 1_000);
  return {
    fleet,
    virtualSeconds,
    realSeconds,
    upstreamCalls: fleet.service.calls.length,
    messages,
    violations,
    hash: hash.digest('hex').slice(0, 16),
  };
}

let current;
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, error => {
    if (current === undefined) throw error;
    current.crashes.push(error);
  });

await loadBuilds(3, values.dist);
const history = historyOf(values.seed, Number(values.minutes), values.faults?.split(','));
const trace = values.trace && createWriteStream(values.trace);
const { fleet, ...result } = await simulate(history, trace);
const commit = execSync('git rev-parse --short HEAD').toString().trim();
const line = { seed: values.seed, commit, ...result, violations: result.violations.length };
process.stdout.write(`${JSON.stringify(line)}\n`);
for (const v of result.violations.slice(0, 5)) process.stderr.write(`${JSON.stringify(v)}\n`);
process.exit(result.violations.length === 0 ? 0 : 1);
