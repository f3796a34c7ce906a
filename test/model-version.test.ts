import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { transformSync } from '@swc/core';
import { modelVersion } from '../src/data/shared-store.js';

/**
 * The models of each version, as a hash of the modules that determine the format of data in Redis. Add a line for a new version; never change the line of a
 * version that was released.
 */
const models: Readonly<Record<number, string>> = {
  1: '-T8wO1-P4H8D',
  2: 'IgCYzOP_vH-m',
  3: 'DWXMdN0zmU9L',
  4: 'XG6nE-RyoGLs',
  5: 'WBtfiIfxP3dg',
  6: 'diME2nCYRMT0',
};

/** The clients and feeds of the domains, and the formats of cache entries and messages. */
const roots = /^(?:domains\/[^/]+\/(?:client|feed)|data\/(?:reader|cache\/entry|polling\/state-message))\.ts$/;
/** An import of a value. */
const imported = /^(?:import|export|\})(?! type)[^'"\n]*? from ['"](\.[^'"]+)\.js['"]/gm;

/** The source of the roots and of all that they import, by file. */
function modelSources(): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  function read(file: string): void {
    if (sources.has(file)) return;
    const source = readFileSync(join('src', file), 'utf8');
    sources.set(file, source);
    for (const [, name = ''] of source.matchAll(imported)) read(join(dirname(file), `${name}.ts`));
  }
  for (const file of readdirSync('src', { recursive: true, encoding: 'utf8' })) if (roots.test(file)) read(file);
  return sources;
}

/** Only modules with a zod schema give data a format, and comments and types change nothing. */
function modelHash(): string {
  const hash = createHash('sha256');
  const shaping = [...modelSources()].filter(([, source]) => source.includes("from 'zod'"));
  for (const [file, source] of shaping.sort(([one], [other]) => (one < other ? -1 : 1))) {
    const { code } = transformSync(source, {
      jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
      minify: true,
    });
    hash.update(JSON.stringify([file, code]));
  }
  return hash.digest('base64url').slice(0, 12);
}

test('the models change only together with modelVersion', () => {
  expect([modelVersion, modelHash()]).toEqual([modelVersion, models[modelVersion]]);
});

test('the hash covers every model that is shared', () => {
  const files = [...modelSources()].filter(([, source]) => source.includes("from 'zod'")).map(([file]) => file);
  for (const domain of ['companies', 'discovery', 'events', 'markets'])
    expect(files).toContain(`domains/${domain}/model.ts`);
  expect(files).toEqual(
    expect.arrayContaining(['data/parsing.ts', 'data/cache/entry.ts', 'data/polling/state-message.ts']),
  );
});
