import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const run = promisify(execFile);
const components = resolve('test/components');

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'components-'));
  await cp(components, folder, { recursive: true });
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const config = JSON.parse(readFileSync(join(components, 'tsconfig.json'), 'utf8'));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ ...config, extends: resolve('tsconfig.json') }));
  await run('node_modules/.bin/graphql-codegen', {
    cwd: folder,
    env: { ...process.env, SCHEMA: resolve('schema/*.graphql') },
  });
});
afterAll(() => rm(folder, { recursive: true }));

test('React components compile against the types of the client preset', async () => {
  await expect(run('node_modules/.bin/tsc', ['-p', '.'], { cwd: folder })).resolves.toMatchObject({ stdout: '' });
});

test('the compiler refuses a field that the query of a component does not select', async () => {
  const file = join(folder, 'EventPages.tsx');
  const source = readFileSync(file, 'utf8');
  await writeFile(file, source.replace('{title}', '{summary}'));
  await expect(run('node_modules/.bin/tsc', ['-p', '.'], { cwd: folder })).rejects.toMatchObject({
    stdout: expect.stringContaining("Cannot find name 'summary'"),
  });
  await writeFile(file, source);
});

test.each(readdirSync(components).filter(name => name.endsWith('.tsx')))('%s needs no cast', name => {
  const code = readFileSync(join(components, name), 'utf8').replaceAll(/\/\*\*.*?\*\//gs, '');
  expect(code).not.toMatch(/\bas (?!const\b)|\bany\b|@ts-|!\./);
});
