// `npm run simulate:mutants`: proof that the simulation finds faults. It changes one place of the build at a time, by rule over the syntax tree, and runs
// histories until one breaks a rule. Prints a table; exits with 1 if fewer than 95 of 100 are found.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseSync } from '@swc/core';
import { drawsFrom } from './time.mjs';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '300' },
    only: { type: 'string', default: '' },
  },
});
const folders = [
  'data/cache',
  'data/polling',
  'data/upstream',
  'domains/events',
  'domains/exports',
  'domains/sessions',
];
const turned = { '===': '!==', '!==': '===', '<': '>=', '>=': '<', '>': '<=', '<=': '>', '&&': '||', '||': '&&' };

/** What each rule makes of a node: the node whose text changes, and the new text by the texts of nodes. */
const rules = {
  BinaryExpression: [
    [
      'turned comparison',
      (node, text) => turned[node.operator] && `(${text(node.left)} ${turned[node.operator]} ${text(node.right)})`,
    ],
  ],
  AwaitExpression: [['dropped await', (node, text) => `(${text(node.argument)})`]],
  // What is only counted or traced changes no answer.
  ExpressionStatement: [
    ['dropped statement', (node, text) => !/telemetry|span|metadata\.note/i.test(text(node)) && ';'],
  ],
  IfStatement: [['turned condition', (node, text) => `!(${text(node.test)})`, node => node.test]],
  CallExpression: [
    [
      'swapped arguments',
      ({ callee, arguments: args }, text) =>
        args.length > 1 && !/^Math\./.test(text(callee)) && `${text(args[1].expression)}, ${text(args[0].expression)}`,
      ({ arguments: args }) => ({ span: { start: args[0]?.expression.span.start, end: args[1]?.expression.span.end } }),
    ],
  ],
};

function mutantsOf(file) {
  // Spans count bytes from wherever the parser is: the first statement says where.
  const source = Buffer.from(`;${readFileSync(join('dist', file), 'utf8')}`);
  const { body } = parseSync(source.toString(), { target: 'es2023' });
  const base = body[0].span.start;
  const textOf = ({ span, expression }) =>
    source.toString('utf8', (span ?? expression.span).start - base, (span ?? expression.span).end - base);
  const found = [];
  const visit = node => {
    if (node === null || typeof node !== 'object') return;
    for (const [rule, change, placeOf = each => each] of rules[node.type] ?? []) {
      const text = change(node, textOf);
      const { start, end } = text ? placeOf(node).span : {};
      if (text)
        found.push({
          file,
          rule,
          start: start - base - 1,
          end: end - base - 1,
          text,
          line: source.toString('utf8', 0, start - base).split('\n').length,
        });
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(body.slice(1));
  return found;
}

/** @returns which rule was broken, or undefined. */
function tryMutant({ file, start, end, text }) {
  const args = [
    '--mutation',
    JSON.stringify({ file, start, end, text }),
    '--seed',
    '1',
    '--minutes',
    '2',
    '--for',
    values.seconds,
    '--no-shrink',
  ];
  return new Promise(resolve => {
    // The time of a processor: on a busy machine, a history that only waits for its turn does not hang.
    const limited = ['-c', `ulimit -t ${3 * values.seconds + 60}; exec "$0" "$@"`, process.execPath];
    const flags = ['--preserve-symlinks', '--no-warnings', join(import.meta.dirname, 'main.mjs')];
    const child = spawn('sh', [...limited, ...flags, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.on('data', data => (errors += data));
    child.on('exit', (code, signal) => {
      const [, rule] = /"rule":"([^"]+)"/.exec(errors) ?? [];
      resolve(
        signal === null && code === 0
          ? undefined
          : (rule ?? (signal === null ? `does not start: ${/\w*Error: .*/.exec(errors)?.[0]}` : 'hangs')),
      );
    });
  });
}

const all = folders
  .flatMap(folder => readdirSync(join('dist', folder)).map(name => join(folder, name)))
  .filter(file => file.endsWith('.js') && !file.includes('-command') && file.includes(values.only))
  .flatMap(mutantsOf);
const random = drawsFrom(`mutants ${values.seed}`);
const chosen = Array.from(
  { length: Math.min(Number(values.count), all.length) },
  () => all.splice(Math.floor(random() * all.length), 1)[0],
);
let [found, next] = [0, 0];
async function work() {
  while (next < chosen.length) {
    const mutant = chosen[next++];
    const startedAt = performance.now();
    const broken = await tryMutant(mutant);
    if (broken !== undefined) found += 1;
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    const what = `${mutant.rule}: ${mutant.text.replace(/\s+/g, ' ').slice(0, 90)}`;
    process.stdout.write(`| ${mutant.file}:${mutant.line} | ${what} | ${broken ?? '**not found**'} | ${seconds} s |\n`);
  }
}
await Promise.all([work(), work()]);
process.stdout.write(`Found ${found} of ${chosen.length}\n`);
process.exit(found < 0.95 * chosen.length ? 1 : 0);
