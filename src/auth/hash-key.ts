import { text } from 'node:stream/consumers';
import { hashOfKey } from './credentials.js';

/** Prints the name of an API key in a teams file. The key is the argument or, to keep it out of the shell's history, the first line of stdin. */
const [given] = process.argv.slice(2);
const key = given ?? (await text(process.stdin)).split(/\r?\n/)[0] ?? '';
if (key === '') {
  process.stderr.write('Give the API key as the argument or on stdin\n');
  process.exit(1);
}
process.stdout.write(`${hashOfKey(key)}\n`);
