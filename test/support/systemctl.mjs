// What `systemctl` does with services, as far as docs/linux.md needs it, where no systemd runs: it reads the real units. A service with DynamicUser runs as
// `nobody`, without privileges, and sees a file system that nobody can write to.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEnv } from 'node:util';

// systemd's, not that of the shell.
process.umask(0o022);
const state = process.env.SYSTEMCTL_STATE ?? '';
const nobody = 65_534;
const [verb, ...names] = process.argv.slice(2).filter(arg => !arg.startsWith('--'));

if (verb === 'daemon-reload') verify();
else for (const name of names.filter(each => each !== 'systemd-journald')) await act(verb, name);

/** @throws Error with what systemd itself finds wrong with our unit. */
function verify() {
  const { status, stderr } = spawnSync(
    'systemd-analyze',
    ['verify', '--man=no', '/etc/systemd/system/gateway@1.service'],
    { encoding: 'utf8' },
  );
  const ours = stderr.split('\n').filter(line => line.includes('gateway@'));
  if (status !== 0 || ours.length > 0) throw new Error(`systemd-analyze verify: ${stderr}`);
}

async function act(order, name) {
  const pidFile = join(state, `${name}.pid`);
  const pid = existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : undefined;
  if (order === 'reload') return process.kill(pid, 'SIGHUP');
  if (pid !== undefined) {
    process.kill(pid, 'SIGTERM');
    while (runs(pid)) await sleep(20);
  }
  if (order === 'stop') return rmSync(pidFile);
  writeFileSync(pidFile, `${start(name)}`);
}

function runs(pid) {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

function start(name) {
  const [template, instance = ''] = name.split('@');
  const file = `${template}${instance && '@'}.service`;
  const path = [`/etc/systemd/system/${file}`, `/lib/systemd/system/${file}`].find(each => existsSync(each));
  const credentials = `/run/credentials/${name}.service`;
  const expanded = readFileSync(path, 'utf8').replaceAll('%i', instance).replaceAll('%d', credentials);
  const valuesOf = key => [...expanded.matchAll(new RegExp(`^${key}=-?(.*)$`, 'gm'))].map(([, value]) => value);
  const isDynamic = valuesOf('DynamicUser').includes('yes');

  const env = { PATH: process.env.PATH };
  for (const word of valuesOf('Environment').flatMap(wordsIn)) Object.assign(env, parseEnv(word));
  for (const each of valuesOf('EnvironmentFile'))
    if (existsSync(each)) Object.assign(env, parseEnv(readFileSync(each, 'utf8')));

  rmSync(credentials, { recursive: true, force: true });
  mkdirSync(credentials, { recursive: true });
  for (const [id, from] of valuesOf('LoadCredential').map(each => each.split(':'))) {
    writeFileSync(join(credentials, id), readFileSync(from));
    chownSync(join(credentials, id), nobody, nobody);
    chmodSync(join(credentials, id), 0o400);
  }

  const [line] = valuesOf('ExecStart');
  const command = wordsIn(line).flatMap(word => {
    const [, variable] = /^\$(\w+)$/.exec(word) ?? [];
    return variable === undefined
      ? word.replace(/\$(\w+)/g, (all, each) => env[each] ?? all).replaceAll('$$', '$')
      : wordsIn(env[variable] ?? '');
  });
  const drop = [
    'setpriv',
    `--reuid=${nobody}`,
    `--regid=${nobody}`,
    '--clear-groups',
    '--no-new-privs',
    '--bounding-set=-all',
  ];
  const readOnly = [
    'unshare',
    '--mount',
    'sh',
    '-c',
    'mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp && exec "$@"',
    'sh',
    ...drop,
  ];
  const [program, ...args] = isDynamic ? [...readOnly, ...command] : command;
  const log = openSync(join(state, `${name}.log`), 'a');
  const [cwd = '/'] = valuesOf('WorkingDirectory');
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', log, log] });
  child.unref();
  return child.pid;
}

/** Words as systemd splits them, with quotes. */
function wordsIn(text) {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, one, other, plain]) => one ?? other ?? plain);
}
