import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { modelVersion } from '../src/data/cache/model-version.js';

let folder: string;
beforeAll(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'models-')), 'src');
  cpSync(resolve('src'), folder, { recursive: true });
});
afterAll(() => rmSync(join(folder, '..'), { recursive: true }));

const files = readdirSync(resolve('src'), { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'));
const named = (pattern: RegExp) => files.filter(name => pattern.test(name) && !name.startsWith('sandbox/'));

/** The version with one more line in a file. */
function versionWith(file: string, line: string): string {
  const path = join(folder, file);
  const before = readFileSync(path);
  appendFileSync(path, `${line}\n`);
  const version = modelVersion(folder);
  writeFileSync(path, before);
  return version;
}

test('the same source has the same version', () => {
  expect(modelVersion(folder)).toBe(modelVersion());
  expect(modelVersion(folder)).toMatch(/^[\w-]{12}$/);
});

// The exports have a store of their own: nothing of their model is cached.
const shaping = named(
  /(^|\/)(model|client|feed|tail|reader|wire-types|vector|schema-drift|state-message|lookup)\.ts$/,
).filter(name => !name.includes('exports/'));

test('there are as many files that determine the format of cached data as expected', () => {
  expect(shaping.length).toBeGreaterThanOrEqual(15);
});

test.each(shaping)('a change to %s is another version', file => {
  expect(versionWith(file, 'export const another = 1;')).not.toBe(modelVersion());
});

test.each(named(/(resolvers|loaders|redis-tier|main|app|metrics)\.ts$/))('a change to %s is the same version', file => {
  expect(versionWith(file, 'export const another = 1;')).toBe(modelVersion());
});
