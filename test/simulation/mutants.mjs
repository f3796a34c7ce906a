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
    workers: { type: 'string', default: '2' },
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

/** A history takes some seconds of a processor, also on a busy machine: one that has taken as many as this hangs. */
const hangsAfter = 90;
/** Of a processor, as Linux counts them, in hundredths. */
const secondsOf = ({ pid }) => {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11);
  return (Number(user) + Number(system)) / 100;
};

/** @returns the seed and the hash of the history that ends the run, and what is wrong: undefined, the rule that it breaks, or how the process ended. */
function simulate(mutation, ...args) {
  const main = ['--preserve-symlinks', '--no-warnings', join(import.meta.dirname, 'main.mjs'), '--no-shrink'];
  const mutated = mutation === undefined ? [] : ['--mutation', JSON.stringify(mutation)];
  const child = spawn(process.execPath, [...main, '--minutes', '1', ...mutated, ...args]);
  let [errors, last, begunAt, hangs] = ['', {}, 0, false];
  child.stderr.on('data', data => (errors += data));
  child.stdout.on('data', data => {
    last = JSON.parse(String(data).trim().split('\n').at(-1));
    begunAt = secondsOf(child);
  });
  const watch = setInterval(() => {
    hangs ||= child.exitCode === null && secondsOf(child) - begunAt > hangsAfter;
    if (hangs) child.kill('SIGKILL');
  }, 5_000);
  return new Promise(resolve => {
    child.on('close', code => {
      clearInterval(watch);
      const [, rule] = /"rule":"([^"]+)"/.exec(errors) ?? [];
      const end = hangs ? 'hangs' : `ends: ${/\w*Error: .*/.exec(errors)?.[0] ?? errors.slice(-90)}`;
      // A history that does not come to its end is not printed.
      const { seed, hash } = rule ? last : { seed: (last.seed ?? 0) + 1 };
      resolve({ seed, hash, wrong: code === 0 ? undefined : (rule ?? end) });
    });
  });
}

/** @returns which rule was broken, or undefined. It counts only if the same happens again, and does not happen without the mutation. */
async function tryMutant({ file, start, end, text }) {
  const mutation = { file, start, end, text };
  const { seed, hash, wrong } = await simulate(mutation, '--seed', '1', '--for', values.seconds);
  if (wrong === undefined) return undefined;
  const again = await simulate(mutation, '--seed', String(seed));
  const without = await simulate(undefined, '--seed', String(seed));
  const isSure = again.hash === hash && again.wrong === wrong && without.wrong === undefined;
  return isSure ? `${wrong} (seed ${seed})` : undefined;
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
await Promise.all(Array.from({ length: Number(values.workers) }, work));
process.stdout.write(`Found ${found} of ${chosen.length}\n`);
process.exit(found < 0.95 * chosen.length ? 1 : 0);
