import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { parse } from 'yaml';
import { type Config, readConfig } from '../../src/config/config.js';
import { maxDeliveryMs } from '../../src/domains/exports/delivery.js';
import type { Clients } from '../../src/http/limits/clients.js';
import { answerAdmin } from '../../src/http/monitoring/admin-routes.js';
import { createLifecycle } from '../../src/lib/lifecycle.js';
import { createReceiver } from '../../src/receiver/server.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { callsInARow } from '../../src/server.js';
import { cleanups, forTest } from '../support/cleanups.js';
import { freeAddress } from '../support/free-address.js';
import { demoHeaders, startGateway, type TestGateway } from '../support/gateway.js';
import { blocksOf, follow, type Step } from '../support/guide.js';
import { startNetwork } from '../support/network.mjs';
import { startPrometheus } from '../support/prometheus.js';
import { startRedis } from '../support/redis.js';
import { until } from '../support/until.js';

/** What an operator keeps beside a backup. */
const keptSecret = 'k'.repeat(40);
let sandbox: Sandbox;
let gateway: TestGateway;
let data = '';
beforeAll(async () => {
  sandbox = await startSandbox();
  data = await mkdtemp(join(tmpdir(), 'data-'));
  gateway = await startGateway({
    sandbox,
    env: {
      DATA_DIR: data,
      EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true',
      CORS_ORIGINS: 'https://app.example',
      MCP_OPERATIONS: 'operations',
    },
  });
});
afterAll(async () => {
  await gateway.close();
  await sandbox.close();
  await rm(data, { recursive: true });
});

const imports = ['browser', 'typescript'].map(name => `--import=${pathToFileURL(`test/support/${name}.mjs`).href}`);

function asPromised({ code, stdout, stderr, promised, command }: Step) {
  if (code !== 0) throw new Error(`${command}\nended with ${code}:\n${stdout}${stderr}`);
  if (promised === undefined) return;
  if (promised.startsWith('{ "')) expect(JSON.parse(stdout)).toEqual(JSON.parse(promised));
  else expect(stdout).toBe(promised);
}

test.each(['clients', 'partners'])('docs/%s.md does what it says, from its first line to its last', async guide => {
  const [user] = sandbox.demo.users;
  const receiver = createReceiver('accept', () => {});
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  cleanups.push(() => receiver.close());
  cleanups.push(() => receiver.closeAllConnections());
  const env = {
    API_KEY: demoHeaders['x-api-key'],
    MARKET: '3',
    EMAIL: user?.email ?? '',
    PASSWORD: user?.password ?? '',
    RECEIVER: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`,
    NODE_OPTIONS: [...imports, '--disable-warning=UNDICI-ES'].join(' '),
  };
  const steps = await follow(`docs/${guide}.md`, gateway.url, { env, copied: `examples/${guide}` });
  expect(steps.length).toBeGreaterThan(1);
  for (const step of steps) asPromised(step);
});

describe('docs/partners.md', () => {
  const guide = 'docs/partners.md';
  const copied = 'examples/partners';
  const programs = readdirSync(copied).map(name => ({ name, text: readFileSync(join(copied, name), 'utf8') }));

  test('checks the errors of each response: no command that sends a request succeeds if the response has errors', async () => {
    const env = { DATA_DIR: join(data, 'errors'), EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true' };
    const own = await startGateway({ sandbox, env });
    const errors = [{ message: 'A part of the response is missing', extensions: { code: 'REFUSED' } }];
    let requests = 0;
    // Between the commands and the gateway: adds errors to each response, whose status and data stay as they are.
    const server = createHttpServer(async (request, response) => {
      requests += 1;
      const body = await readText(request);
      if (request.url === '/graphql/stream') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`event: next\ndata: ${JSON.stringify({ errors })}\n\nevent: complete\ndata: \n\n`);
        return;
      }
      const headers = { 'content-type': 'application/json', ...demoHeaders };
      const answer = await fetch(`${own.url}${request.url}`, { method: 'POST', headers, body });
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...((await answer.json()) as object), errors }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const senders: Step[] = [];
    const onStep = (step: Step) => {
      if (requests > 0) senders.push(step);
      requests = 0;
    };
    const receiver = createReceiver('accept', () => {});
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    const RECEIVER = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    try {
      const variables = { API_KEY: 'key', MARKET: '3', RECEIVER, NODE_OPTIONS: imports.join(' ') };
      await follow(guide, url, { env: variables, copied, onStep });
    } finally {
      for (const each of [server, receiver]) {
        each.closeAllConnections();
        each.close();
      }
      await own.close();
    }
    expect(senders.length).toBeGreaterThan(13);
    expect(senders.filter(({ code }) => code === 0)).toEqual([]);
  });

  test('sends requests only with the programs that check errors, and needs nothing newer than curl 7.68', () => {
    const commands = blocksOf(guide).filter(({ language }) => language === 'sh');
    expect(commands.filter(({ text }) => /\bcurl\b/.test(text))).toEqual([]);
    const curls = programs.filter(({ text }) => /\bcurl\b/.test(text));
    expect(curls.map(({ name }) => name)).toEqual(['graphql.sh']);
    expect(curls[0]?.text).not.toMatch(/--(json|fail-with-body|retry-all-errors|url-query|variable|expand-\w+)\b/);
    const senders = programs.filter(({ text }) => text.includes('GATEWAY'));
    expect(senders.map(({ name }) => name).sort()).toEqual([
      'agent.mjs',
      'companies.py',
      'events.mjs',
      'graphql.sh',
      'mirror.py',
      'subscribe.py',
    ]);
    for (const { text } of senders) expect(text).toContain('errors');
    for (const { text } of commands.filter(each => /\bmutation\b|\bquery\b|\bsubscription\b|GATEWAY/.test(each.text))) {
      expect(text).toMatch(/graphql\.sh|subscribe\.py|^export GATEWAY/);
    }
    for (const { name } of senders) expect(commands.some(({ text }) => text.includes(name))).toBe(true);
  });

  test('has TypeScript that the compiler accepts and that Node can run without a build', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'partners-'));
    cleanups.push(() => rm(folder, { recursive: true }));
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await copyFile(join(copied, 'verify.ts'), join(folder, 'verify.ts'));
    const options =
      '--noEmit --strict --noUncheckedIndexedAccess --erasableSyntaxOnly --module nodenext --target es2023';
    const args = [resolve('node_modules/typescript/bin/tsc'), ...options.split(' '), '--types', 'node', 'verify.ts'];
    const child = spawn(process.execPath, args, { cwd: folder });
    let printed = '';
    child.stdout.on('data', chunk => (printed += chunk));
    const [code] = await once(child, 'close');
    expect([code, printed]).toEqual([0, '']);
  });

  test('has a subscription in Python that gets each update once, also if its connection is cut', async () => {
    const own = await startGateway({ sandbox, env: { POLL_INTERVAL_MS: '200' } });
    const network = await startNetwork(() => Number(new URL(own.url).port));
    const query = 'subscription { eventUpdates { event { title } } }';
    const child = spawn('python3', [join(copied, 'subscribe.py'), query], {
      env: { PATH: process.env.PATH, GATEWAY: network.url, API_KEY: demoHeaders['x-api-key'] },
    });
    const closed = once(child, 'close');
    let printed = '';
    let faults = '';
    child.stdout.on('data', chunk => (printed += chunk));
    child.stderr.on('data', chunk => (faults += chunk));
    const lines = () => printed.split('\n').filter(line => line !== '');
    const titles = () => lines().flatMap(line => JSON.parse(line).eventUpdates.event?.title ?? []);
    try {
      await until(() => lines().length === 1);
      for (const title of ['first', 'second', 'third']) {
        sandbox.publishEvent({ title });
        await until(() => titles().includes(title));
        network.cut(1);
      }
      expect(titles()).toEqual(['first', 'second', 'third']);
    } catch (error) {
      throw new Error(`${printed}${faults}`, { cause: error });
    } finally {
      child.kill();
      await closed;
      await network.close();
      await own.close();
    }
  });
});

test('docs/frontends.md shows the code of the console as it is', () => {
  const blocks = blocksOf('docs/frontends.md');
  expect(blocks.length).toBeGreaterThan(10);
  for (const { name = '', text } of blocks) {
    expect(name).toMatch(/^examples\/console\//);
    const code = readFileSync(name, 'utf8');
    // Lines with an ellipsis stand for what the guide leaves out.
    const parts = text.split('…\n').map(part => ({ part, start: code.indexOf(part) }));
    expect([name, parts.filter(({ start }) => start < 0)]).toEqual([name, []]);
    expect(parts).toEqual(parts.toSorted((one, other) => one.start - other.start));
  }
});

test('docs/reference.md names the times that the gateway takes by default', () => {
  const [, whole, ofExports] =
    /after (\d+) s, .*may take (\d+) s longer/.exec(readFileSync('docs/reference.md', 'utf8')) ?? [];
  expect(Number(whole)).toBe((readConfig({}).upstream.timeoutMs * callsInARow) / 1_000);
  expect(Number(ofExports)).toBe(maxDeliveryMs / 1_000);
});

test('the documents name only scripts that exist', () => {
  const text = [
    'README.md',
    ...readdirSync('docs')
      .filter(file => file.endsWith('.md'))
      .map(file => `docs/${file}`),
  ]
    .map(file => readFileSync(file, 'utf8'))
    .join('\n');
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
  const namedScripts = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name);
  expect(namedScripts.filter(name => !(name in scripts))).toEqual([]);
});

describe('docs/configuration.md', () => {
  const rows = [...readFileSync('docs/configuration.md', 'utf8').matchAll(/^\| `([A-Z_]+)` \| (?:`(.*?)`)? ?\|/gm)].map(
    ([, name = '', value]) => ({ name, value }),
  );

  test('has every variable that the configuration reads, and no other', () => {
    const read = new Set<string>();
    const spy = new Proxy<Record<string, string>>({}, { get: (_, name) => void read.add(String(name)) });
    readConfig(spy);
    expect(rows.map(({ name }) => name).sort()).toEqual([...read].sort());
  });

  test('has the defaults that the configuration has', () => {
    const SESSION_SECRET = 's'.repeat(32);
    /** Their sources differ. */
    const without = ({ settings: _, ...config }: Config) => config;
    const stated = rows.filter(({ value }) => value !== undefined);
    expect(stated.length).toBeGreaterThan(4);
    for (const { name, value = '' } of stated) {
      expect([name, without(readConfig({ SESSION_SECRET, [name]: value }))]).toEqual([
        name,
        without(readConfig({ SESSION_SECRET })),
      ]);
    }
    for (const { name } of rows.filter(({ value }) => value === undefined)) {
      expect([name, JSON.stringify(readConfig({ [name]: '' }))]).toEqual([name, JSON.stringify(readConfig({}))]);
    }
  });
});

/** What a thread of a gateway answers at `ADMIN_PORT`. */
async function startAdmin() {
  const config = readConfig({ ADMIN_TOKEN: 'token' });
  const target = {
    config,
    log: { level: config.logLevel, warn() {} },
    lifecycle: createLifecycle(),
    clients: {} as Clients,
  };
  const server = createHttpServer(async (request, response) => {
    const { method, url: path = '', headers } = request;
    const body = await readText(request);
    const answer = await answerAdmin(target, {
      method,
      path,
      host: headers.host,
      authorization: headers.authorization,
      body,
    });
    response.writeHead(answer.status).end(answer.body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

describe('docs/operators.md', () => {
  const guide = 'docs/operators.md';

  const stepsWith = (text: string) => steps.filter(({ command }) => command.includes(text)).map(({ stdout }) => stdout);
  const registration = `mutation { registerExportEndpoint(input: {
    name: "crm", description: "A receiver", url: "http://127.0.0.1:9/" }) { signingSecret } }`;
  const cleanups: (() => unknown)[] = [];
  let steps: Step[];
  let folder: string;
  beforeAll(async () => {
    const portOf = (address: string) => address.split(':')[1] ?? '';
    const restoredRedis = portOf(await freeAddress());
    folder = await mkdtemp(join(tmpdir(), 'operators-'));
    cleanups.push(() => rm(folder, { recursive: true }));
    // In Docker's place, which is not on every machine: what it is told is compared with the Dockerfile. In that of kubectl: with the manifests.
    await writeFile(join(folder, 'docker'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    await writeFile(join(folder, 'kubectl'), '#!/bin/sh\ncase $* in *-) cat ;; *) echo "$@" ;; esac\n', {
      mode: 0o755,
    });
    await mkdir(join(folder, 'restored'));
    const redis = forTest(await startRedis());
    const fleet = forTest(
      await startGateway({
        sandbox,
        redisUrl: redis.url,
        env: { EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true', SESSION_SECRET: keptSecret },
      }),
    );
    for (const { query } of [gateway, fleet]) expect((await query(registration)).errors).toBeUndefined();
    const prometheus = forTest(await startPrometheus(gateway.url));
    const admin = forTest(await startAdmin());
    const isCounted = () => prometheus.hasNumber('rate(process_cpu_seconds_total[1h]) > 0');
    await until(isCounted);
    steps = await follow(guide, gateway.url, {
      env: {
        API_KEY: demoHeaders['x-api-key'],
        PATH: `${folder}:${process.env.PATH}`,
        REDIS_URL: redis.url,
        DATA_DIR: data,
        PROMETHEUS: prometheus.url,
        ADMIN: admin.url,
        ADMIN_TOKEN: 'token',
      },
      stands: { 6390: restoredRedis },
      links: { docs: resolve('docs'), restored: join(folder, 'restored') },
    });
    // promtool alone plays the alerts of many hours.
  }, 400_000);
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  test('has commands that do what it says', () => {
    for (const step of steps) asPromised(step);
    expect(stepsWith('process_cpu_seconds_total{')).toEqual([expect.stringMatching(/^[\d.]+\n$/)]);
    expect(stepsWith('exports.json')).toHaveLength(1);
  });

  test('changes the level of the log', () => {
    expect(stepsWith('/log-level')).toEqual(['{"logLevel":"info"}']);
  });

  test('starts a container of the Dockerfile', () => {
    const image = readFileSync('Dockerfile', 'utf8');
    const [volume, exposed] = ['VOLUME', 'EXPOSE'].map(word => new RegExp(`^${word} (.*)$`, 'm').exec(image)?.[1]);
    const [docker] = stepsWith('docker build');
    const ports = exposed?.split(' ').map(port => `:${port} `);
    expect(docker).toMatch(new RegExp(`^build --tag (\\S+) \\.\nrun .*${ports?.join('.*')}.*:${volume} .* \\1\n$`));
  });

  test('gives Kubernetes the secret and the alerts in the namespace of the manifests', () => {
    const { namespace } = parse(readFileSync('deploy/kubernetes/kustomization.yaml', 'utf8'));
    const [created = '', rule = ''] = stepsWith('kubectl');
    const secret = new RegExp(
      `^--namespace ${namespace} create secret generic gateway --from-literal=SESSION_SECRET=(\\S+) `,
      'm',
    );
    expect(readConfig({ SESSION_SECRET: secret.exec(created)?.[1] }).sessionSecrets).toHaveLength(1);
    expect(parse(rule)).toMatchObject({
      kind: 'PrometheusRule',
      metadata: { namespace },
      spec: parse(readFileSync('docs/operations/alerts.yml', 'utf8')),
    });
  });

  test('makes a secret and a teams file that a gateway accepts', async () => {
    const [secret] = steps.filter(({ command }) => command.startsWith('node -p')).map(({ stdout }) => stdout.trim());
    expect(readConfig({ SESSION_SECRET: secret ?? '' }).sessionSecrets).toHaveLength(1);
    const file = join(folder, 'teams.json');
    await writeFile(file, stepsWith('teams.json')[0] ?? '');
    const own = forTest(await startGateway({ sandbox, env: { TEAMS_FILE: file } }));
    const { data } = await own.query('{ viewer { team } }');
    expect(data).toEqual({ viewer: { team: 'research' } });
  });

  test('restores endpoints from its backup of Redis', async () => {
    const redis = forTest(
      await startRedis({
        args: ['--appendonly', 'yes', '--dir', join(folder, 'restored')],
      }),
    );
    const own = forTest(await startGateway({ sandbox, redisUrl: redis.url, env: { SESSION_SECRET: keptSecret } }));
    const { data } = await own.query('{ exportEndpoints { name } }');
    expect(data).toEqual({ exportEndpoints: [{ name: 'crm' }] });
  });

  test('brings a gateway over a failover of Redis, through the balancer that it shows, and not back', async () => {
    const password = 'of-redis';
    const secured = ['--requirepass', password, '--masterauth', password];
    const cleanups: (() => unknown)[] = [];
    try {
      const one = forTest(await startRedis({ args: secured }));
      const two = forTest(await startRedis({ args: [...secured, '--replicaof', '127.0.0.1', `${one.port}`] }));
      const address = await freeAddress();
      const balancer = spawn('haproxy', ['-db', '-f', 'docs/operations/redis-primary.cfg'], {
        env: {
          PATH: process.env.PATH,
          REDIS_PRIMARY: address,
          // The first in turn is the replica, which only its role tells apart.
          REDIS_ONE: `127.0.0.1:${two.port}`,
          REDIS_TWO: `127.0.0.1:${one.port}`,
          REDIS_PASSWORD: password,
        },
        stdio: 'ignore',
      });
      const exit = once(balancer, 'exit');
      cleanups.push(async () => {
        balancer.kill('SIGKILL');
        await exit;
      });
      const own = forTest(await startGateway({ sandbox, redisUrl: `redis://:${password}@${address}` }));

      let asked = 0;
      /** Asks for something new until this Redis holds more than before; each answer on the way must be right. */
      const askUntilKept = async (port: number) => {
        const client = new Redis(port, { password, disconnectTimeout: 50 });
        try {
          const before = await client.dbsize();
          await until(async () => {
            const filter = { impactedEntities: [`Nobody ${++asked}`] };
            const { data, errors } = await own.query(
              'query ($filter: EventFilter) { events(filter: $filter) { totalCount } }',
              {
                filter,
              },
            );
            expect([data, errors]).toEqual([{ events: { totalCount: 0 } }, undefined]);
            return (await client.dbsize()) > before;
          });
        } finally {
          client.disconnect();
        }
      };
      await askUntilKept(one.port);
      await one.kill();
      const promoted = new Redis(two.port, { password, disconnectTimeout: 50 });
      await promoted.replicaof('NO', 'ONE');
      promoted.disconnect();
      await askUntilKept(two.port);

      // The old primary comes back, and says that it is one, until it hears of the new one.
      await one.restart();
      const direct = new Redis(one.port, { password, disconnectTimeout: 50 });
      cleanups.push(() => direct.disconnect());
      const checks = async () => Number(/total_connections_received:(\d+)/.exec(await direct.info('stats'))?.[1]);
      await until(async () => (await checks()) > 3);
      for (let turn = 0; turn < 10; turn += 1) {
        const client = new Redis(`redis://:${password}@${address}`, { disconnectTimeout: 50 });
        cleanups.push(() => client.disconnect());
        expect(await client.config('GET', 'port')).toEqual(['port', `${two.port}`]);
      }
    } finally {
      for (const cleanup of cleanups.reverse()) await cleanup();
    }
  });
});
