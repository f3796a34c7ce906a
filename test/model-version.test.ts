import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { transformSync } from '@swc/core';

/**
 * The modules that give data in Redis its format, as hashes, and the versions of the endpoints of each domain. If one has changed, raise the version of each
 * endpoint whose values look different. A new endpoint has version 1, and voids nothing.
 */
const models = {
  companies: { hash: 'SIl7pqKtIiU4', versions: { companies: 1, esg: 1 } },
  discovery: { hash: 'HN7i-_0nIDWs', versions: { criteria: 1, jobs: 1, keywords: 1 } },
  events: { hash: 'qmBZ--M6dzJ-', versions: { events: 1, observations: 2 } },
  markets: { hash: 'ZZ5IsIiLJOlV', versions: { market: 1, topics: 1, suggest: 1 } },
};

/** An import of a value. */
const imported = /^(?:import|export|\})(?! type)[^'"\n]*? from ['"](\.[^'"]+)\.js['"]/gm;

/** What files and all that they import have of zod schemas in a folder: only these give data a format. Comments and types change nothing. */
function modelHash(files: readonly string[], folder: string): string {
  const sources = new Map<string, string>();
  function read(file: string): void {
    if (sources.has(file)) return;
    const source = readFileSync(join('src', file), 'utf8');
    sources.set(file, source);
    for (const [, name = ''] of source.matchAll(imported)) read(join(dirname(file), `${name}.ts`));
  }
  for (const file of files) read(file);
  const hash = createHash('sha256');
  const shaping = [...sources].filter(([file, source]) => file.startsWith(folder) && source.includes("from 'zod'"));
  for (const [file, source] of shaping.sort(([one], [other]) => (one < other ? -1 : 1))) {
    const { code } = transformSync(source, {
      jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
      minify: true,
    });
    hash.update(JSON.stringify([file, code]));
  }
  return hash.digest('base64url').slice(0, 12);
}

test('the models change only together with the versions of their endpoints', () => {
  const found = readdirSync('src/domains').flatMap(domain => {
    const files = readdirSync(`src/domains/${domain}`).filter(file => /^(?:client|feed)\.ts$/.test(file));
    const endpoints = files.flatMap(file => [
      ...readFileSync(`src/domains/${domain}/${file}`, 'utf8').matchAll(/family: '([^']+)',\s+version: (\d+)/g),
    ]);
    if (endpoints.length === 0) return [];
    const versions = Object.fromEntries(endpoints.map(([, family, version]) => [family, Number(version)]));
    const paths = files.map(file => `domains/${domain}/${file}`);
    return [[domain, { hash: modelHash(paths, 'domains/'), versions }] as const];
  });
  expect(Object.fromEntries(found)).toEqual(models);
});

test('the formats that all values share change only together with the names in Redis', () => {
  const files = ['data/reader.ts', 'data/cache/entry.ts', 'data/polling/state-message.ts'];
  // Where it has changed, `mig:cache:` and `mig:live:` need other names.
  expect(modelHash(files, 'data/')).toBe('oOWI-OlnzuR5');
});
