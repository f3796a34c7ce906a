import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What the tests run for real. `variable` names the environment variable that may hold its path instead. */
const tools = [
  { command: 'redis-server', needs: 'install redis-server' },
  { command: 'chromium', variable: 'CHROME_PATH', needs: 'install chromium or set CHROME_PATH' },
  { command: 'haproxy', needs: 'install haproxy' },
  { command: 'docker-compose', needs: 'install docker-compose' },
  { command: 'curl', needs: 'install curl' },
  { command: 'python3', needs: 'install python3' },
];

/** Typed and described in ensure.d.mts. */
export function ensureTools(env = process.env, mayInstall = isDebian() && process.getuid?.() === 0) {
  const missing = tools.filter(tool => !pathOf(tool, env));
  if (missing.length > 0 && mayInstall) install(missing, env);
  return Object.fromEntries(
    tools.map(tool => {
      const path = pathOf(tool, env);
      if (!path) throw new Error(`npm test needs ${tool.command}, which is not on this machine: ${tool.needs}`);
      return [tool.command, path];
    }),
  );
}

function pathOf({ command, variable }, env) {
  const given = variable && env[variable];
  if (!given)
    return (env.PATH ?? '')
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

function install(missing, env) {
  const packages = missing.map(tool => tool.command);
  process.stderr.write(`npm test needs ${packages.join(' and ')}: installing with apt-get\n`);
  aptGet(['update'], packages, env);
  aptGet(['install', '--yes', '--no-install-recommends', ...packages], packages, env);
}

function aptGet(args, packages, env) {
  const { error, status, stderr } = spawnSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=300', ...args], {
    env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
    encoding: 'utf8',
  });
  if (status === 0) return;
  const reason = error?.message ?? stderr.trim().split('\n').at(-1);
  throw new Error(`npm test could not install ${packages.join(' and ')} (apt-get ${args[0]}: ${reason})`);
}
