// Everything is measured on the Node of bench/package.json, whichever starts a program.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const bench = fileURLToPath(new URL('..', import.meta.url));
const { dependencies } = JSON.parse(readFileSync(`${bench}package.json`, 'utf8'));

/** Starts this program again on that Node, and ends with it, unless it runs there already. The first time, installs what the benchmark needs. */
export function runOnBenchNode() {
  const node = `${bench}node_modules/node/bin/node`;
  if (!existsSync(node)) execFileSync('npm', ['ci', '--prefix', bench], { stdio: 'inherit' });
  if (process.versions.node === dependencies.node) return;
  const { status } = spawnSync(node, process.argv.slice(1), { stdio: 'inherit' });
  process.exit(status ?? 1);
}
