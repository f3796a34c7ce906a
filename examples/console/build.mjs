import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Installs and builds the console where something changed.
const here = fileURLToPath(new URL('.', import.meta.url));
const sources = [
  'codegen.ts',
  'index.html',
  'package.json',
  'public',
  'src',
  'tsconfig.json',
  'vite.config.ts',
  '../../schema',
];

// npm writes this file at the end of each installation.
const isInstalled = changedAt('node_modules/.package-lock.json') >= changedAt('package-lock.json');
if (!isInstalled || [...sources, 'node_modules/.package-lock.json'].some(isNewerThanBuild)) {
  process.stdout.write('Building the console. The first time, this takes a minute.\n');
  if (!isInstalled) npm('ci', '--no-audit', '--no-fund');
  npm('run', 'build');
}

/** Whether a file, or one in a folder, changed after the last build. A folder changes with the names in it. */
function isNewerThanBuild(name) {
  const isFolder = statSync(`${here}${name}`).isDirectory();
  const below = isFolder ? readdirSync(`${here}${name}`, { recursive: true }).map(file => `${name}/${file}`) : [];
  return [name, ...below].some(file => changedAt(file) > changedAt('dist/index.html'));
}

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
