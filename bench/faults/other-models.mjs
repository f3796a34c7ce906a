// The program with another model: what a release looks like that changes the shape of what it keeps.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** A market's name becomes an object, which the resolver takes apart again. @type {readonly (readonly [string, RegExp, string])[]} */
const changes = [
  ['domains/markets/model.js', /\.\.\.rest,(?=\s+dateCreated)/, '...rest, name: { text: rest.name },'],
  ['domains/markets/client.js', /version: 1/, 'version: 0'],
  ['domains/markets/resolvers.js', /record => record\.name\)/, 'record => record.name.text)'],
];

/** Copies the program and changes it. @param {string} program its folder @param {string} copy beside it */
export function copyWithOtherModels(program, copy) {
  cpSync(program, copy, { recursive: true, filter: path => !basename(path).startsWith('program-') });
  for (const [file, before, after] of changes) {
    const path = join(copy, file);
    const source = readFileSync(path, 'utf8');
    if (!before.test(source)) throw new Error(`${file} is not as it was: nothing matches ${before}`);
    writeFileSync(path, source.replace(before, after));
  }
}
