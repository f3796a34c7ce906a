// What was measured, as text for people.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { cacheSeconds } from '../servers/listen.mjs';
import { meets } from './ratios.mjs';
import { startFlags } from './variants.mjs';

/** @param {number} value */
const digits = value => (value < 10 ? 2 : value < 100 ? 1 : 0);
const number = value => value.toFixed(digits(value));

/** @param {(string | number)[][]} rows the first one holds the names of the columns */
function table([head = [], ...rows]) {
  const line = cells => `| ${cells.join(' | ')} |`;
  const rule = `|${head.map((_, column) => (column === 0 ? '---|' : '---:|')).join('')}`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

/** A busy workload's table; the factor is against its first row. @param {any[]} results */
function steadyTable(results) {
  const [first] = results;
  const head = [
    '',
    'flags',
    'CPU, us',
    'x',
    'requests/s',
    'p50, ms',
    'p99, ms',
    'memory, MiB',
    'upstream calls',
    'wrong',
    "another's data",
  ];
  const rows = results.map(({ title, flags, confuses, cpu, perSecond, p50, p99, memory, calls, wrong }) => [
    title,
    flags,
    number(cpu),
    number(cpu / first.cpu),
    perSecond.toFixed(0),
    number(p50),
    number(p99),
    memory.toFixed(0),
    calls.toFixed(calls < 1 ? 3 : 1),
    wrong,
    confuses ? '**yes**' : 'no',
  ]);
  return table([head, ...rows]);
}

/** The target, and a bound that is another. Bold where the figure exceeds it. */
function boundOf({ target, atMost, ...ratio }) {
  if (target === undefined) return '';
  const text = atMost === target ? `${target}` : `${target} (${atMost})`;
  return meets({ atMost, ...ratio }) ? text : `**${text}**`;
}

/** @param {ReturnType<typeof import('./ratios.mjs').figure>[]} ratios */
export function ratioTable(ratios) {
  const rows = ratios.map(ratio => [
    ratio.what.replace(': ours / ', ': '),
    number(ratio.value),
    ratio.quartiles.map(number).join('–'),
    boundOf(ratio),
  ]);
  return table([['ours / theirs', 'median', 'quartiles', 'target (bound)'], ...rows]);
}

/** @param {{ title: string, results?: any[], columns?: string[], rows?: any[] }} part */
export function partOf({ title, results, columns, rows }) {
  return `## ${title}\n\n${results ? steadyTable(results) : table([columns, ...rows])}\n`;
}

/** The other servers, by their packages. */
const peers = [
  '@apollo/server',
  '@apollo/server-plugin-response-cache',
  'mercurius',
  'mercurius-cache',
  'graphql-yoga',
  '@graphql-yoga/plugin-response-cache',
  '@graphql-hive/gateway',
  'graphql',
  'undici',
];

/**
 * The whole of a run.
 * @param {{ ratios: any[], missing: string[], rounds: number, busy: number, minutes: number }} run `busy`: the machine's load before it began
 */
export function results({ ratios, missing, rounds, busy, minutes }) {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const redis = /v=([\d.]+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1];
  const targets = ratios.filter(({ atMost }) => atMost !== undefined);
  return `# What a request costs

\`npm run bench\` wrote this page on ${new Date().toISOString().slice(0, 10)} at ${commit}, in ${minutes.toFixed(0)} minutes. [README.md](README.md#method) explains how.

| | |
|---|---|
| Machine | ${cpus().length} cores, ${cpus()[0]?.model.trim()}, ${(totalmem() / 2 ** 30).toFixed(0)} GB, load ${busy.toFixed(1)} before the run |
| Node | ${process.version} for every server, the load and the service |
| Servers | ${peers.map(name => `${name} ${dependencies[name]}`).join(', ')}, Redis ${redis} |
| \`npm start\` | \`node ${startFlags.join(' ')}\` |

Each figure is the median of ${rounds} rounds. [results.json](results.json) has all.

<picture>
<source media="(prefers-color-scheme: dark)" srcset="results-dark.svg">
<img alt="CPU per request, by workload, on a logarithmic scale" src="results-light.svg">
</picture>

## Targets

${targets.filter(({ value, target }) => value <= target).length} of ${targets.length} targets are met, and ${targets.filter(meets).length} figures are within their bounds. A ratio is ours / theirs, of CPU
per request unless it says something else. A target that was missed has a bound of the median of then and 10 %.
[Why some are missed](../docs/decisions/0056-tricks.md).

${ratioTable(targets)}

## What the figures do not say

- Differences below 5 % are ties, and below 15 % where the machine was busy.
- The service is a stub that answers at once: beside a real one, no client notices this time.
- The peers do less: no rate limits, bounds of memory and calls, or metrics.
- The peers have a cache of ${cacheSeconds} s for each credential.
${missing.length === 0 ? '' : `\n## Not measured\n\n${missing.map(line => `- ${line}`).join('\n')}\n`}`;
}
