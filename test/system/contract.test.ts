import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'contract-'));
  for (const part of ['schema', 'docs']) cpSync(part, join(folder, part), { recursive: true });
  contract('--release');
});
afterEach(() => rmSync(folder, { recursive: true }));

function run(script: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [resolve(script), ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

const contract = (...args: string[]) => run('.ci/contract.mjs', ...args);
const lint = () => run('node_modules/eslint/bin/eslint.js', '--config', resolve('.ci/schema.eslint.mjs'), 'schema');

function edit(file: string, from: string | RegExp, to: string) {
  const text = readFileSync(join(folder, file), 'utf8');
  expect(text).toMatch(from);
  writeFileSync(join(folder, file), text.replace(from, to));
}

const loseSubtitle = () => edit('schema/markets.graphql', / {2}"Short supplementary title."\n.*\n/, '');
const loosenTotal = () => edit('schema/events.graphql', 'totalCount: Int!', 'totalCount: Int');
const declare = (change: string) =>
  edit('docs/changes.md', '## Unreleased\n', `## Unreleased\n\n- **Breaking** \`${change}\`: unused.\n`);
const declareTotal = () => declare('FIELD_TYPE_CHANGED EventConnection.totalCount');

test('the current schema does not break the last release', () => {
  expect(contract()).toEqual({ status: 0, output: '' });
});

test('allows a new field', () => {
  edit('schema/markets.graphql', '  "Short supplementary title."', '  "Its colour."\n  colour: String\n$&');
  expect(contract()).toEqual({ status: 0, output: '' });
});

test('allows another cost', () => {
  edit('schema/markets.graphql', 'name: String @cost(calls: 1', 'name: String @cost(calls: 2');
  expect(contract()).toEqual({ status: 0, output: '' });
});

test('refuses to remove a field that no release has deprecated', () => {
  loseSubtitle();
  declare('FIELD_REMOVED Market.subtitle');
  expect(contract()).toEqual({ status: 1, output: expect.stringContaining('deprecate it first') });
});

test('allows to remove a field that the last release deprecated', () => {
  edit('schema/markets.graphql', 'subtitle: String', '$& @deprecated(reason: "Unused.")');
  expect(contract('--release')).toEqual({ status: 0, output: '' });
  loseSubtitle();
  expect(contract()).toEqual({ status: 0, output: '' });
});

test('refuses a result that becomes nullable and an argument that becomes required', () => {
  edit('schema/events.graphql', 'totalCount: Int!', 'totalCount: Int');
  edit('schema/markets.graphql', 'orderBy: TopicOrder)', 'orderBy: TopicOrder!)');
  const { status, output } = contract();
  expect(status).toBe(1);
  expect(output).toContain('FIELD_TYPE_CHANGED EventConnection.totalCount');
  expect(output).toContain('FIELD_ARGUMENT_TYPE_CHANGED Market.topics.orderBy');
});

test('refuses to release an undeclared breaking change', () => {
  loosenTotal();
  expect(contract('--release').status).toBe(1);
  declareTotal();
  expect(contract()).toEqual({ status: 0, output: '' });
});

test('a release stores the schema and dates the declarations', () => {
  loosenTotal();
  declareTotal();
  expect(contract('--release')).toEqual({ status: 0, output: '' });
  expect(readFileSync(join(folder, 'docs/changes.md'), 'utf8')).toMatch(
    /## Unreleased\n\n## \d{4}-\d\d-\d\d\n\n- \*\*Breaking\*\* `FIELD_TYPE_CHANGED EventConnection.totalCount`/,
  );
  expect(contract()).toEqual({ status: 0, output: '' });
});

test('refuses a declaration without a change', () => {
  declareTotal();
  expect(contract()).toEqual({ status: 1, output: expect.stringContaining('which the schema does not do') });
});

test.each(['GET /v2/markets', 'POST {api}/markets', 'the operator has set `POLL_INTERVAL_MS`'])(
  'refuses a description that speaks to operators: %s',
  words => {
    edit('schema/markets.graphql', '"Short supplementary title."', `"Short supplementary title: ${words}."`);
    expect(contract()).toEqual({ status: 1, output: expect.stringContaining('schema/markets.graphql:') });
  },
);

test('refuses a field without a description', () => {
  expect(lint()).toEqual({ status: 0, output: '' });
  edit('schema/markets.graphql', '  "Short supplementary title."\n', '');
  expect(lint()).toEqual({ status: 1, output: expect.stringContaining('require-description') });
});
