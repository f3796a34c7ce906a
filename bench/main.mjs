// npm run bench [-- --check] [--only <workload>] [--rounds <number>] [--quick]
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { plot } from './lib/plot.mjs';
import { settle, start } from './lib/processes.mjs';
import { kept, ratiosOf } from './lib/ratios.mjs';
import { partOf, ratioTable, results as resultsOf } from './lib/report.mjs';
import { scenes } from './lib/scenes.mjs';
import { runSteady } from './lib/steady.mjs';
import { steady } from './lib/workloads.mjs';

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '5' },
    quick: { type: 'boolean', default: false },
  },
});
const here = new URL('.', import.meta.url).pathname;
const rounds = Number(values.rounds);
/** Benchmarks with a process of their own, compiled with tsconfig.json. They accept `--check`. */
const commands = { listeners: 'listeners.ts' };

const names = [...steady.map(({ name }) => name), ...Object.keys(scenes), ...Object.keys(commands)];
const unknown = (values.only ?? []).find(name => !names.includes(name));
if (unknown !== undefined || !Number.isInteger(rounds) || rounds < 1) {
  process.stderr.write(
    `${unknown === undefined ? '--rounds takes a whole number from 1' : `--only takes one of ${names.join(', ')}`}\n`,
  );
  process.exit(2);
}
const isWanted = name => values.only === undefined || values.only.includes(name);
const print = text => process.stdout.write(`${text}\n`);
const say = line => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);

/** @type {import('./lib/steady.mjs').Pace} */
const pace = values.quick
  ? { rounds, warmSeconds: 2, warmRequests: 0, warmMostSeconds: 2, againSeconds: 0.3, windowSeconds: 1 }
  : { rounds, warmSeconds: 8, warmRequests: 1_500, warmMostSeconds: 25, againSeconds: 1, windowSeconds: 2.5 };

if (!existsSync(`${here}node_modules`)) execFileSync('npm', ['ci', '--prefix', here], { stdio: 'inherit' });
const [busy = 0] = loadavg();
if (busy > cpus().length / 2)
  say(`The machine is busy (load ${busy.toFixed(1)}): wall times mean little; ratios of CPU time are still useful`);
settle();
const stub = await start({ args: [`${here}lib/stub.mjs`], core: 'load' });
const parts = [];
const ratios = [];
const missing = [];

async function attempt(name, run) {
  if (!isWanted(name)) return;
  try {
    const part = await run();
    parts.push(part);
    ratios.push(...part.ratios);
    print(partOf(part));
  } catch (error) {
    missing.push(`${name}: ${error.message}`);
    say(`${name} could not be measured: ${error.message}`);
  }
}

for (const workload of steady) {
  await attempt(workload.name, async () => {
    const { results, absent } = await runSteady(workload, { stub, pace, say });
    missing.push(...absent);
    return { name: workload.name, title: workload.title, results, ratios: ratiosOf(workload.name, results) };
  });
}
for (const [name, scene] of Object.entries(scenes)) {
  await attempt(name, () => scene({ stub, rounds, quick: values.quick, say }));
}
await stub.stop();
let failed = false;
for (const [name, file] of Object.entries(commands)) {
  if (!isWanted(name)) continue;
  if (existsSync(here + file)) failed = !runCommand(file) || failed;
  else say(`${name}: there is no bench/${file}`);
}

/** On every core: such a command starts its own clients. @param {string} file @returns whether it kept its bounds */
function runCommand(file) {
  execFileSync('npx', ['tsc', '-p', here], { cwd: `${here}..`, stdio: 'inherit' });
  const script = `${here}../dist/bench/${file.replace(/\.ts$/, '.js')}`;
  const everyCore = `0-${cpus().length - 1}`;
  const { status } = spawnSync('taskset', ['-c', everyCore, process.execPath, script, '--check'], { stdio: 'inherit' });
  return status === 0;
}

print(ratioTable(ratios));
for (const line of missing) print(`not measured: ${line}`);
// Files are written only after a complete run at full length.
if (values.only === undefined && !values.quick) {
  writeFileSync(`${here}RESULTS.md`, resultsOf({ parts, ratios, missing, rounds, busy }));
  writeFileSync(`${here}results.svg`, plot(parts.filter(({ results }) => results !== undefined)));
}
const missed = ratios.filter(ratio => !kept(ratio));
process.exit(values.check && (failed || missed.length > 0 || missing.length > 0) ? 1 : 0);
