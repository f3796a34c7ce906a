import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// `npm run console` in the folder of the gateway: installs and builds the console, then becomes the gateway that serves it.
const here = fileURLToPath(new URL('.', import.meta.url));

process.stdout.write('Building the console. The first time, this takes a minute.\n');
// npm writes this file at the end of each installation.
if (changedAt('package-lock.json') > changedAt('node_modules/.package-lock.json')) npm('ci', '--no-audit', '--no-fund');
npm('run', 'build');

process.env.STATIC_DIR = `${here}dist`;
process.env.PERSISTED_DOCUMENTS = `${here}src/gql/persisted-documents.json`;
process.env.PERSISTED_DOCUMENTS_MODE ??= 'allow';
await import('../../dist/main.js');

/** 0 if there is no such file. */
function changedAt(file) {
  return statSync(`${here}${file}`, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Shows the output of npm only if it fails, so that the gateway's address stays in view. */
function npm(...args) {
  const { status, error, stdout, stderr } = spawnSync('npm', ['--silent', ...args], { cwd: here, encoding: 'utf8' });
  if (status === 0) return;
  process.stderr.write(`npm ${args.join(' ')} in ${here} failed\n${error?.message ?? `${stdout}${stderr}`}\n`);
  process.exit(1);
}
