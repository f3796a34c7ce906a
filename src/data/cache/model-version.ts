import { readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { shortHash } from './keys.js';

/** The files that determine the format of data in Redis: the clients and feeds of the domains, and the formats of cache entries and messages. */
const roots = /^(?:domains\/[^/]+\/(?:client|feed)|data\/(?:reader|cache\/lookup|polling\/state-message))\.[jt]s$/;
/** An import or re-export of a value. Imports of types are gone when the program runs. */
const imported = /^(?:import|export|\})(?! type)[^'"\n]*? from ['"](\.[^'"]+)\.js['"]/gm;

/**
 * A hash of the source of all modules that determine the format of data in Redis: the files that match `roots`, and all files that they import.
 * Gateways with the same hash can read each other's entries. A changed comment changes the hash,
 * too: during a rollout, the gateways of each version have cache entries and polls of their own.
 * @param folder the folder of the running program: `dist`, or `src` in tests.
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
