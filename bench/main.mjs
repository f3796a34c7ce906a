// npm run bench [-- --gate] [--only <workload>] [--rounds <number>] [--quick] [--before <directory>]
import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runOnBenchNode } from './lib/bench-node.mjs';

runOnBenchNode();
// Only now: these need what is installed, and Node 24.
const { plot } = await import('./lib/plot.mjs');
const { settle, start } = await import('./lib/processes.mjs');
const { meets, ratiosOf } = await import('./lib/ratios.mjs');
const { partOf, ratioTable, results: resultsOf } = await import('./lib/report.mjs');
const { scenes } = await import('./lib/scenes.mjs');
const { runSteady } = await import('./lib/steady.mjs');
const { steady } = await import('./lib/workloads.mjs');

const here = fileURLToPath(new URL('.', import.meta.url));
const { values } = parseArgs({
  options: {
    gate: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '5' },
    quick: { type: 'boolean', default: false },
    before: { type: 'string' },
  },
});
const startedAt = Date.now();
const rounds = Number(values.rounds);
const names = [...steady.map(({ name }) => name), ...Object.keys(scenes)];
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

// A gateway of another directory, which `npm run build` has built, in the place of all others.
if (values.before !== undefined) process.env.BENCH_BEFORE = values.before;
const entrantsOf = workload => (values.before === undefined ? workload.variants : ['ours', 'ours-before']);

/** @type {import('./lib/steady.mjs').Pace} */
const pace = values.quick
  ? { rounds, warmSeconds: 2, warmRequests: 0, warmMostSeconds: 2, againSeconds: 0.3, windowSeconds: 1 }
  : { rounds, warmSeconds: 6, warmRequests: 3_000, warmMostSeconds: 30, againSeconds: 0.5, windowSeconds: 2 };

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
    const { results, absent } = await runSteady({ ...workload, variants: entrantsOf(workload) }, { stub, pace, say });
    missing.push(...absent);
    return {
      name: workload.name,
      title: workload.title,
      results,
      ratios: ratiosOf(workload.name, results, values.before === undefined ? workload.ours : 'ours'),
    };
  });
}
for (const [name, scene] of values.before === undefined ? Object.entries(scenes) : []) {
  await attempt(name, () => scene({ stub, rounds, quick: values.quick, say }));
}
await stub.stop();
print(ratioTable(ratios));
for (const line of missing) print(`not measured: ${line}`);
// Files are written only after a complete run at full length.
if (values.only === undefined && values.before === undefined && !values.quick) {
  const minutes = (Date.now() - startedAt) / 60_000;
  writeFileSync(`${here}RESULTS.md`, resultsOf({ ratios, missing, rounds, busy, minutes }));
  writeFileSync(`${here}results.json`, `${JSON.stringify(parts, undefined, 2)}\n`);
  const plotted = parts.filter(({ results }) => results !== undefined);
  for (const theme of ['light', 'dark']) writeFileSync(`${here}results-${theme}.svg`, plot(plotted, theme));
}
const missed = ratios.filter(ratio => !meets(ratio));
process.exit(values.gate && (missed.length > 0 || missing.length > 0) ? 1 : 0);
