import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, BlockList, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { readConfig } from '../../src/config/config.js';
import { freeAddress } from '../support/free-address.js';
import { ask, startGateway } from '../support/gateway.js';
import { until } from '../support/until.js';

const read = (path: string) => readFileSync(path, 'utf8');

describe('docker-compose.yml', () => {
  const trial = { SANDBOX: 'true', SESSION_SECRET: 'x'.repeat(32) };
  /** What docker-compose makes of it with this `.env`, and not with one that lies here. */
  function composed(env: Record<string, string> = trial) {
    const own = mkdtempSync(join(tmpdir(), 'compose-'));
    const file = join(own, '.env');
    try {
      const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
      writeFileSync(file, lines.join(''));
      const { status, stdout, stderr } = spawnSync('docker-compose', ['--env-file', file, 'config'], {
        env: { PATH: process.env.PATH, HOME: process.env.HOME },
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(stderr);
      return parse(stdout);
    } finally {
      rmSync(own, { recursive: true });
    }
  }
  /** The configuration that a gateway of this `.env` starts with: its command is run, with something that tells its environment as the program. */
  function configured(env: Record<string, string> = { SANDBOX: 'true' }) {
    const { command, environment } = composed({ SESSION_SECRET: 'x'.repeat(32), ...env }).services.gateway;
    const own = mkdtempSync(join(tmpdir(), 'start-'));
    try {
      writeFileSync(join(own, 'start'), '#!/bin/sh\nexec node -p "JSON.stringify(process.env)"\n', { mode: 0o755 });
      const [program, ...args]: string[] = command.map((part: string) => part.replaceAll('$$', '$'));
      const { stdout } = spawnSync(program ?? '', args, {
        cwd: own,
        env: { PATH: process.env.PATH, NODE_ENV: 'production', ...environment },
        encoding: 'utf8',
      });
      return readConfig(JSON.parse(stdout));
    } finally {
      rmSync(own, { recursive: true });
    }
  }
  const { services } = composed();
  const { gateway } = services;

  test('mounts only files that exist', () => {
    const mounts: string[] = Object.values<{ volumes?: string[] }>(services)
      .flatMap(({ volumes = [] }) => volumes)
      .map(volume => volume.split(':')[0] ?? '')
      .filter(source => source.startsWith('/'));
    expect(mounts.length).toBeGreaterThan(5);
    expect(mounts.filter(path => !existsSync(path))).toEqual([]);
  });

  test('builds each image under a name of its own', () => {
    expect(gateway).toHaveProperty('build');
    const names = Object.values<{ build?: unknown; image?: string }>(services)
      .filter(({ build }) => build !== undefined)
      .flatMap(({ image }) => image ?? []);
    expect(names).toEqual([...new Set(names)]);
  });

  test('gives two gateways an environment that they start with in production', () => {
    expect(configured().redis).toHaveLength(1);
    expect(gateway.deploy).toEqual({ replicas: 2 });
  });

  test('uses the sandbox for all three addresses of the service, or for none', () => {
    expect(configured()).toMatchObject({
      upstream: { base: 'http://sandbox:4010', api: 'http://sandbox:4010/api', dev: 'http://sandbox:4010/stage' },
      eventsSearchParam: 'search',
      keywordSuggestionPath: '/v2/discovery/search-criteria/keywords',
    });
    expect(configured({ UPSTREAM_BASE_URL: 'https://service.test' })).toMatchObject({
      upstream: { base: 'https://service.test', api: undefined, dev: undefined },
      eventsSearchParam: undefined,
      keywordSuggestionPath: undefined,
    });
    expect(
      configured({
        UPSTREAM_BASE_URL: 'https://service.test',
        UPSTREAM_API_URL: 'https://api.service.test',
        EVENTS_SEARCH_PARAM: 'q',
      }),
    ).toMatchObject({
      upstream: { base: 'https://service.test', api: 'https://api.service.test', dev: undefined },
      eventsSearchParam: 'q',
    });
    expect(() => configured({ UPSTREAM_API_URL: 'https://api.service.test' })).toThrow(
      'UPSTREAM_BASE_URL: must be set',
    );
  });

  test('starts the sandbox only if its profile is named', () => {
    expect(() => configured({})).toThrow('UPSTREAM_BASE_URL: must be set');
    expect(() => configured({ SANDBOX: 'true', UPSTREAM_BASE_URL: 'https://service.test' })).toThrow(
      'SANDBOX: must not be true where UPSTREAM_BASE_URL is set',
    );
  });

  test.each([{}, { SESSION_SECRET: '' }])('does not start without a secret: %j', env => {
    expect(() => composed(env)).toThrow(/SESSION_SECRET/);
  });

  test('trusts only the balancer to tell the address of a client, and gives its address to nothing else', () => {
    expect(gateway.environment.TRUST_PROXY).toBe(services.balancer.networks.front.ipv4_address);
    const onFront = Object.keys(services).filter(name => 'front' in services[name].networks);
    expect(onFront).toEqual(['balancer', 'gateway']);
    const addresses = new BlockList();
    const [{ ip_range: range = '' }] = composed().networks.front.ipam.config;
    const [network = '', bits] = range.split('/');
    addresses.addSubnet(network, Number(bits));
    expect([addresses.check('172.30.46.130'), addresses.check(gateway.environment.TRUST_PROXY)]).toEqual([true, false]);
  });

  test('runs the gateways read-only and without privileges, and publishes ports only on the loopback interface', () => {
    expect(gateway).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
    const ports = Object.values<{ ports?: string[] }>(services).flatMap(({ ports = [] }) => ports);
    expect(ports.filter(port => !port.startsWith('127.0.0.1:'))).toEqual([]);
    expect(services.redis).not.toHaveProperty('ports');
  });

  test('runs everything else read-only, without privileges, and with bounded memory and logs', () => {
    for (const service of Object.values(services)) {
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
      expect(service).toHaveProperty('mem_limit');
      expect(service).toMatchObject({ logging: { driver: 'local' } });
    }
  });

  test('keeps metrics for the 30 days of the objectives and of the query for what is deprecated, as without Docker', () => {
    const { command } = services.prometheus;
    expect(command).toEqual([
      // The two of the image.
      '--config.file=/etc/prometheus/prometheus.yml',
      '--storage.tsdb.path=/prometheus',
      '--storage.tsdb.retention.time=31d',
    ]);
    expect(read('docs/linux.md')).toContain(command[2]);
  });

  test('gives what it builds a first process that passes signals on from the beginning', () => {
    for (const program of [gateway, services.sandbox]) expect(program.init).toBe(true);
  });

  test('asks the sandbox whether it listens', async () => {
    const [, command, ...args]: string[] = services.sandbox.healthcheck.test;
    const check = (port: number) =>
      spawnSync(
        command ?? '',
        args.map(arg => arg.replace('4010', `${port}`)),
      ).status;
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(check(port)).toBe(0);
    server.close();
    await once(server, 'close');
    expect(check(port)).toBe(1);
  });

  test('takes its secrets from .env', () => {
    const { services } = composed({
      REDIS_PASSWORD: 'of-redis',
      SESSION_SECRET: 'x'.repeat(32),
      ADMIN_TOKEN: 'y'.repeat(32),
      GRAFANA_PASSWORD: 'g',
    });
    expect(services.gateway.environment).toMatchObject({
      REDIS_URL: 'redis://:of-redis@redis:6379',
      SESSION_SECRET: 'x'.repeat(32),
      ADMIN_TOKEN: 'y'.repeat(32),
    });
    expect(services.redis.command).toContain('of-redis');
    expect(services.grafana.environment.GF_SECURITY_ADMIN_PASSWORD).toBe('g');
  });

  test('has its secrets in a file that git and the image leave out', () => {
    expect(read('.gitignore').split('\n')).toContain('.env');
    expect(read('.dockerignore').split('\n')).toContain('*');
  });
});

describe('the Dockerfile', () => {
  const lines = read('Dockerfile').replaceAll('\\\n', ' ').split('\n');
  const valuesOf = (word: string) =>
    lines.filter(line => line.startsWith(`${word} `)).map(line => line.slice(word.length + 1));

  test('copies only files that exist and that .dockerignore does not exclude', () => {
    const sources = valuesOf('COPY')
      .filter(copy => !copy.startsWith('--from'))
      .flatMap(copy => copy.split(' ').slice(0, -1))
      .map(source => source.replace(/^\.\//, ''));
    const admitted = read('.dockerignore')
      .split('\n')
      .filter(line => line.startsWith('!'));
    expect(sources.filter(source => !existsSync(source))).toEqual([]);
    expect(admitted.map(line => line.slice(1)).sort()).toEqual(sources.sort());
  });

  const lastStage = lines.findLastIndex(line => line.startsWith('FROM '));

  /** Where the packages are as they were installed, for another build: Docker keeps them, too. */
  let layer = '';
  const link = (source: string, target: string) => execFileSync('cp', ['--archive', '--link', source, target]);

  /** Runs the first stage in a clean folder. */
  function build(traces: boolean): string {
    const target = mkdtempSync(join(tmpdir(), 'image-'));
    for (const line of lines.slice(0, lastStage)) {
      const [word, ...rest] = line.split(' ');
      if (word === 'COPY')
        for (const source of rest.slice(0, -1)) cpSync(source, join(target, source), { recursive: true });
      if (word !== 'RUN') continue;
      const isInstalling = line.startsWith('RUN npm ci');
      if (isInstalling && layer !== '') {
        link(join(layer, 'node_modules'), target);
        continue;
      }
      const { PATH, HOME } = process.env;
      const env = { PATH, HOME, TRACES: String(traces) };
      const { status, stderr } = spawnSync('sh', ['-c', rest.join(' ')], { cwd: target, env, encoding: 'utf8' });
      if (status !== 0) throw new Error(`${line}\n${stderr}`);
      if (!isInstalling) continue;
      layer = mkdtempSync(join(tmpdir(), 'layer-'));
      link(join(target, 'node_modules'), layer);
    }
    return target;
  }

  /** What the second stage copies, with what Node and the shell need of Debian, and nothing else. */
  function assemble(built: string): string {
    const root = mkdtempSync(join(tmpdir(), 'root-'));
    chmodSync(root, 0o755);
    const add = (source: string, path: string) =>
      cpSync(source, join(root, path), { recursive: true, dereference: true });
    for (const line of lines.slice(lastStage)) {
      const [word, ...rest] = line.split(' ');
      if (word !== 'COPY') continue;
      const [from, ...sources] = rest[0] === '--from=build' ? rest : ['', ...rest];
      const target = resolve('/app', sources.pop() ?? '');
      for (const source of sources) {
        if (source === '/usr/local/bin/node') add(process.execPath, source);
        else
          add(
            from === '' ? source : join(built, source.replace('/app/', '')),
            sources.length > 1 ? join(target, basename(source)) : target,
          );
      }
    }
    for (const program of [process.execPath, '/bin/sh']) {
      const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8' });
      for (const [library] of stdout.matchAll(/\/\S+/g)) add(library, library);
    }
    add('/bin/sh', '/bin/sh');
    for (const folder of ['app/data', 'tmp', 'proc', 'dev']) mkdirSync(join(root, folder), { recursive: true });
    return root;
  }

  /** The hash of each file below a folder. */
  const hashes = (folder: string) =>
    new Map(
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter(path => statSync(join(folder, path)).isFile())
        .map(path => [path, hash('sha256', readFileSync(join(folder, path)))]),
    );

  let [traced, untraced] = ['', ''];
  beforeAll(() => {
    [traced, untraced] = [build(true), build(false)];
  }, 600_000);
  afterAll(() => {
    for (const folder of [layer, traced, untraced]) rmSync(folder, { recursive: true });
  });

  test('builds in a clean folder what it needs, with and without traces, and each file with the same bytes each time', () => {
    const [one, other] = [traced, untraced].map(folder => {
      const sbom = read(join(folder, 'sbom.json'));
      expect(sbom).not.toMatch(/"(timestamp|serialNumber)"/);
      const { components } = JSON.parse(sbom);
      const named = components.map(({ group, name }: { group?: string; name: string }) =>
        group ? `${group}/${name}` : name,
      );
      expect(named).toContain('graphql');
      expect(named).not.toContain('jest');
      expect(named.some((name: string) => name.startsWith('@opentelemetry/sdk'))).toBe(folder === traced);
      return hashes(folder);
    });
    const differing = [...(one ?? [])].filter(([path, bytes]) => (other?.get(path) ?? bytes) !== bytes);
    // They list the packages.
    const lists = ['node_modules/.package-lock.json', 'package-lock.json', 'package.json', 'sbom.json'];
    expect(differing.map(([path]) => path).filter(path => !lists.includes(path))).toEqual([]);
  });

  const mayMount = spawnSync('unshare', ['--mount', 'true']).status === 0;
  (mayMount ? test : test.skip)(
    'answers as its user, with a root that cannot be written, and has nothing that it does not need',
    async () => {
      const root = assemble(traced);
      const [, port = ''] = (await freeAddress()).split(':');
      const mounts = [
        ...[`mount --bind ${root} ${root}`, `mount -o remount,bind,ro ${root}`, `mount --rbind /dev ${root}/dev`],
        ...[`mount -t proc proc ${root}/proc`, `mount -t tmpfs -o uid=1000 data ${root}/app/data`],
        `exec chroot --userspec=1000:1000 ${root} /bin/sh -c 'cd /app && exec ./start'`,
      ];
      const env = {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        SANDBOX: 'true',
        SESSION_SECRET: 'x'.repeat(32),
        PORT: port,
      };
      const child = spawn('unshare', ['--mount', 'sh', '-c', mounts.join(' && ')], { env, stdio: 'inherit' });
      const exited = once(child, 'exit');
      try {
        await until(
          async () =>
            child.exitCode !== null || (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok,
        );
        const { data } = await ask(`http://127.0.0.1:${port}/graphql`, '{ market(id: 1) { name } }');
        expect(data.market.name).toEqual(expect.any(String));
        const files = readdirSync(join(root, 'app'), { recursive: true, encoding: 'utf8' });
        const isSuperfluous = (path: string) =>
          path.startsWith('node_modules') ? path.endsWith('.map') : /(^|\/)(npm|test|\.env)$|\.ts$/.test(path);
        expect(files.filter(isSuperfluous)).toEqual([]);
        const bytes = files.reduce((sum, path) => sum + statSync(join(root, 'app', path)).size, 0);
        expect(bytes).toBeLessThan(80e6);
      } finally {
        child.kill();
        await exited;
        rmSync(root, { recursive: true });
      }
    },
    600_000,
  );

  // Over this machine, of which nothing changes.
  const machine = `set -e
own=$(mktemp --directory) && mount -t tmpfs tmpfs "$own" && mkdir "$own/upper" "$own/work" "$own/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$own/upper,workdir=$own/work" "$own/root" && mount --rbind /dev "$own/root/dev"
mkdir --parents "$own/root/app" && exec chroot "$own/root" sh -e -c`;
  const inMachine = (command: string) =>
    spawnSync('unshare', ['--mount', 'sh', '-c', `${machine} "$1"`, 'sh', `cd /app\n${command}`], { encoding: 'utf8' });

  (inMachine('apt-get --version').status === 0 ? test : test.skip)(
    'runs the commands of its last stage',
    () => {
      const commands = lines.slice(lastStage).flatMap(line => (line.startsWith('RUN ') ? line.slice(4) : []));
      expect(commands.length).toBeGreaterThan(1);
      // Without a mirror of Debian, there is nothing to install from.
      if (inMachine('apt-get update').status !== 0) return;
      const { status, stdout, stderr } = inMachine(`${commands.join('\n')}\nstat --format %u:%g data`);
      expect([status, stdout.trimEnd().split('\n').at(-1), stderr]).toEqual([0, '1000:1000', expect.any(String)]);
    },
    600_000,
  );

  test('names each base by its digest', () => {
    for (const from of valuesOf('FROM')) expect(from).toMatch(/^\S+:\S+@sha256:[0-9a-f]{64}( AS \w+)?$/);
  });

  test('runs the Node that it was built with on the same Debian, without npm', () => {
    const bases = valuesOf('FROM').map(from => /^\w+:(?:\d+-)?(\w+)-slim\b/.exec(from)?.[1]);
    expect(bases).toHaveLength(2);
    expect(new Set(bases).size).toBe(1);
    const ofNode = valuesOf('COPY').filter(copy => copy.includes('/usr/local'));
    expect(ofNode).toEqual(['--from=build /usr/local/bin/node /usr/local/bin/node']);
  });

  test('says what it is, as package.json does', () => {
    const { name, description, version } = JSON.parse(read('package.json'));
    const labels = Object.fromEntries(
      [...(valuesOf('LABEL')[0] ?? '').matchAll(/org\.opencontainers\.image\.(\w+)="(.*?)"/g)].map(([, key, value]) => [
        key,
        value,
      ]),
    );
    expect(labels).toEqual({ title: name, description, version, revision: '$REVISION' });
  });

  test('starts the program as npm start does, with the same flags', () => {
    const writesStart = valuesOf('RUN').find(command => command.includes('> start'));
    const target = mkdtempSync(join(tmpdir(), 'image-'));
    try {
      const writing = `cp ${resolve('package.json')} . && ${writesStart}`;
      expect(spawnSync('sh', ['-c', writing], { cwd: target }).status).toBe(0);
      const script: string = JSON.parse(read('package.json')).scripts.start;
      expect(script).toMatch(/^exec node /);
      expect(read(join(target, 'start'))).toBe(`#!/bin/sh\n${script}\n`);
    } finally {
      rmSync(target, { recursive: true });
    }
    expect(valuesOf('CMD')).toEqual(['["./start"]']);
  });

  test('runs no script of a package that it installs', () => {
    const installing = valuesOf('RUN').filter(command => command.includes('npm ci'));
    expect(installing).toEqual(['npm ci --ignore-scripts']);
  });

  test('has a health check that tells a gateway that answers from none', async () => {
    const [command, ...args]: string[] = JSON.parse(/CMD (\[.*\])/.exec(valuesOf('HEALTHCHECK')[0] ?? '')?.[1] ?? '[]');
    const check = async (env: Record<string, string>) => {
      const child = spawn(command ?? '', args, { env: { PATH: process.env.PATH, ...env } });
      const [code] = await once(child, 'exit');
      return code;
    };
    const gateway = await startGateway();
    const { port } = new URL(gateway.url);
    try {
      expect(await check({ PORT: '1', ADMIN_PORT: port })).toBe(0);
      // Without a listener of its own, or where that has any free port, the port for clients answers.
      for (const ADMIN_PORT of ['', ' ', '0']) expect(await check({ PORT: port, ADMIN_PORT })).toBe(0);
      for (const HOST of ['0.0.0.0', '127.0.0.1']) expect(await check({ HOST, PORT: port })).toBe(0);
      expect(await check({ HOST: '::1', PORT: port })).toBe(1);
    } finally {
      await gateway.close();
    }
    expect(await check({ PORT: '1', ADMIN_PORT: port })).toBe(1);
  });
});
