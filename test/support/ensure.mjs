import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';

/**
 * The programs that the tests run. `variable` names the environment variable that may hold the path instead. A file whose text contains `usage`,
 * or one of several, runs the program.
 */
const tools = [
  {
    command: 'redis-server',
    needs: 'install redis-server',
    usage: ["'redis-server',", 'docs/operations/rehearsal.sh'],
  },
  {
    command: 'chromium',
    variable: 'CHROME_PATH',
    needs: 'install chromium or set CHROME_PATH',
    usage: 'process.env.CHROME_PATH',
  },
  {
    command: 'haproxy',
    needs: 'install haproxy',
    usage: ["spawn('haproxy'", 'haproxy -db', 'docs/operations/rehearsal.sh'],
  },
  { command: 'docker-compose', needs: 'install docker-compose', usage: "spawnSync('docker-compose'" },
  // The commands of the guides. The packages of the first two also have promtool and amtool.
  { command: 'prometheus', needs: 'install prometheus', usage: "spawn('bash'" },
  { command: 'prometheus-alertmanager', needs: 'install prometheus-alertmanager', usage: "spawn('bash'" },
  { command: 'openssl', needs: 'install openssl', usage: ["spawn('bash'", "spawnSync('openssl'"] },
  { command: 'curl', needs: 'install curl', usage: "spawn('bash'" },
  { command: 'jq', needs: 'install jq', usage: "spawn('bash'" },
  { command: 'python3', needs: 'install python3', usage: ["spawn('bash'", "execFileSync('python3'", "['python3',"] },
];

/** All of them: `npm run test:system` needs each. */
export const systemTools = tools.map(({ command }) => command);

const missing = among => among.filter(tool => !pathOf(tool));
const mayInstall = isDebian() && process.getuid?.() === 0 && process.env.SKIP_SYSTEM_INSTALL !== '1';
/** Whether tests are left out whose tools are missing. CI must run them all. */
const skips = !mayInstall && !process.env.CI;

/**
 * Checks that the tools are installed, and installs with apt-get what is missing: on Debian, as root, unless SKIP_SYSTEM_INSTALL is 1.
 * @returns the path of each tool by its command's name; a missing one has none
 * @throws Error whose message is one line: what to install, or which variable to set
 */
export function ensureTools(commands) {
  const needed = tools.filter(({ command }) => commands.includes(command));
  if (mayInstall && missing(needed).length > 0) install(missing(needed));
  const [first] = skips ? [] : missing(needed);
  if (first) throw new Error(`The tests need ${first.command}, which is not on this machine: ${first.needs}`);
  return Object.fromEntries(needed.map(tool => [tool.command, pathOf(tool)]));
}

/** @returns the test files that can run, the names of those that need a missing tool that is not installed, and what to install for them */
export function runnableTests(files) {
  const lacking = missing(tools);
  const usages = lacking.flatMap(({ usage }) => usage);
  const needsMissing = text => usages.some(usage => text.includes(usage));
  const skipped = skips ? files.filter(file => textsOf(file).some(needsMissing)) : [];
  return {
    files: files.filter(file => !skipped.includes(file)),
    skipped: skipped.map(file => basename(file)).toSorted(),
    needs: lacking.map(({ needs }) => needs),
  };
}

/** The texts of a test file and of all support files that it imports. */
function textsOf(file, read = new Set()) {
  if (read.has(file)) return [];
  read.add(file);
  const text = readFileSync(file, 'utf8');
  const imported = [...text.matchAll(/from '(\.[^']+)\.(m?)js'/g)]
    .map(([, path, m]) => join(dirname(file), `${path}.${m ? 'mjs' : 'ts'}`))
    .filter(path => dirname(path).endsWith('/test/support') && existsSync(path));
  return [text, ...imported.flatMap(path => textsOf(path, read))];
}

function pathOf({ command, variable }) {
  const given = variable && process.env[variable];
  if (!given)
    return (process.env.PATH ?? '')
      .split(delimiter)
      .map(folder => join(folder, command))
      .find(isExecutable);
  if (!isExecutable(given)) throw new Error(`${variable} names no program that can be run: ${given}`);
  return given;
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isDebian() {
  try {
    return /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'));
  } catch {
    return false;
  }
}

function install(tools) {
  const packages = tools.map(tool => tool.command);
  process.stderr.write(`The tests need ${packages.join(' and ')}: installing with apt-get\n`);
  aptGet(['update'], packages);
  aptGet(['install', '--yes', '--no-install-recommends', ...packages], packages);
}

function aptGet(args, packages) {
  const { error, status, stderr } = spawnSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=300', ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    encoding: 'utf8',
  });
  if (status === 0) return;
  const reason = error?.message ?? stderr.trim().split('\n').at(-1);
  throw new Error(`The tests could not install ${packages.join(' and ')} (apt-get ${args[0]}: ${reason})`);
}
