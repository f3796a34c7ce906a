// What was measured, as text for people.
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { kept } from './ratios.mjs';
import { startFlags } from './variants.mjs';

/** @param {number} value */
const digits = value => (value < 10 ? 2 : value < 100 ? 1 : 0);
const number = value => value.toFixed(digits(value));

/** @param {(string | number)[][]} rows the first one holds the names of the columns */
function table([head = [], ...rows]) {
  const line = cells => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

/** A busy workload's table; the factor is against its first row. @param {any[]} results */
function steadyTable(results) {
  const [first] = results;
  const withDefaults = results.some(({ cpuWithDefaults }) => cpuWithDefaults !== undefined);
  const head = ['', 'CPU, us', 'x', 'requests/s', 'p50, ms', 'p99, ms', 'memory, MiB', 'upstream calls', 'wrong'];
  const rows = results.map(({ title, cpu, cpuWithDefaults, perSecond, p50, p99, memory, calls, wrong }) => [
    title,
    number(cpu),
    number(cpu / first.cpu),
    perSecond.toFixed(0),
    number(p50),
    number(p99),
    memory.toFixed(0),
    calls.toFixed(calls < 1 ? 3 : 1),
    wrong,
    ...(withDefaults ? [cpuWithDefaults === undefined ? '' : number(cpuWithDefaults)] : []),
  ]);
  return table([withDefaults ? [...head, "CPU with Node's defaults, us"] : head, ...rows]);
}

/** @param {{ what: string, value: number, atMost?: number }[]} ratios */
export function ratioTable(ratios) {
  const rows = ratios.map(ratio => [
    ratio.what,
    number(ratio.value),
    ratio.atMost ?? '',
    ratio.atMost === undefined ? '' : kept(ratio) ? 'yes' : '**no**',
  ]);
  return table([['ours / theirs', 'measured', 'at most', 'kept'], ...rows]);
}

/** @param {{ title: string, results?: any[], columns?: string[], rows?: any[] }} part */
export function partOf({ title, results, columns, rows }) {
  return `## ${title}\n\n${results ? steadyTable(results) : table([columns, ...rows])}\n`;
}

/**
 * The whole of a run.
 * @param {{ parts: any[], ratios: any[], missing: string[], rounds: number, busy: number }} run `busy`: the machine's load before it began
 */
export function results({ parts, ratios, missing, rounds, busy }) {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  return `# What a request costs

Written by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)} at ${commit}: Node ${process.version}, ${cpus().length} cores
(${cpus()[0]?.model.trim()}), \`node ${startFlags.join(' ')}\` for every server; load of the machine before the run: ${busy.toFixed(1)}.
[README.md](README.md) explains how it is measured.

![CPU per request, by workload](results.svg)

Each figure is the median of ${rounds} rounds, in which the servers took turns; a ratio is the median of the ratios of all rounds. CPU is the time of the
server's process per request. Requests per second and latencies come from a closed loop that shares its core with the upstream, so they are less exact.

## Ratios of CPU per request

${ratioTable(ratios)}

${parts.map(partOf).join('\n')}${missing.length === 0 ? '' : `\n## Not measured\n\n${missing.map(line => `- ${line}`).join('\n')}\n`}`;
}
