import { readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { shortHash } from './keys.js';

/** What decides the shape of what is kept in Redis: what is read of the upstream service, what is watched, and the envelopes of both. */
const roots = /^(?:domains\/[^/]+\/(?:client|feed)|data\/(?:reader|cache\/lookup|polling\/state-message))\.[jt]s$/;
/** An import that is still there when the program runs. */
const imported = /^(?:import|export|\})(?! type)[^'"\n]*? from ['"](\.[^'"]+)\.js['"]/gm;

/**
 * A hash of the source of all modules that decide what is kept in Redis, as they run: the files that read the upstream service, and whatever
 * they import. Two gateways with the same version can read each other's entries; a changed comment costs some misses and nothing else.
 * @param folder where the program lies.
 */
export function modelVersion(folder = join(import.meta.dirname, '../..')): string {
  const extension = extname(import.meta.filename);
  const sources = new Map<string, string>();
  function read(file: string): void {
    if (sources.has(file)) return;
    const source = readFileSync(join(folder, file), 'utf8');
    sources.set(file, source);
    for (const [, name = ''] of source.matchAll(imported)) read(join(dirname(file), `${name}${extension}`));
  }
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter(name => roots.test(name))) read(file);
  return shortHash(...[...sources].sort(([one], [other]) => (one < other ? -1 : 1)).flat());
}
