import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import http2 from 'node:http2';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';
import { parseAllDocuments } from 'yaml';
import { hashOfKey } from '../../src/auth/credentials.js';
import { cleanups, forTest, listening, temporaryFolder } from '../support/cleanups.js';
import { freeAddress } from '../support/free-address.js';
import { ask, demoHeaders, startGateway } from '../support/gateway.js';
import { startWithHeld } from '../support/held-service.js';
import { buildProgram, type Program } from '../support/program.js';
import { post, rawConnection } from '../support/raw-http.js';
import { until } from '../support/until.js';

const script = 'docs/operations/fleet.mjs';
const PATH = process.env.PATH ?? '';

let program: Program;
beforeAll(async () => {
  program = await buildProgram();
});

/** A fleet that runs, as it says itself. */
interface Fleet {
  readonly balancer: string;
  readonly gateways: readonly { url: string; pid: number }[];
  readonly child: ChildProcess;
  readonly exit: Promise<unknown[]>;
}

async function startFleet(args: readonly string[] = [], teamsFile?: string): Promise<Fleet> {
  const child = spawn(process.execPath, [script, ...args], {
    env: {
      PATH,
      PORT: '0',
      PROGRAM: program.folder,
      MAX_EVENT_LOOP_DELAY_MS: '60000',
      ...(teamsFile && { TEAMS_FILE: teamsFile }),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  let said = '';
  for await (const line of createInterface({ input: child.stdout })) {
    said += `${line}\n`;
    if (line.startsWith('Stop')) break;
  }
  const balancer = /balancer +(http:\S+)\/graphql/.exec(said)?.[1];
  if (balancer === undefined) throw new Error(`The fleet did not start: ${said}`);
  const gateways = [...said.matchAll(/gateway-\d +(http:\S+) \(process (\d+)\)/g)];
  return { balancer, gateways: gateways.map(([, url = '', pid]) => ({ url, pid: Number(pid) })), child, exit };
}

/** Whether any process still has an open connection to an address, as the kernel lists them: established, or closed by the other side only. */
function hasConnectionTo(url: string): boolean {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  return lines.some(line => {
    const [, , remote, state] = line.trim().split(/\s+/);
    return remote?.endsWith(`:${port}`) === true && (state === '01' || state === '08');
  });
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Events of one more name each time, so that none is kept. */
let asked = 0;
const query = (url: string) =>
  ask(`${url}/graphql`, 'query ($filter: EventFilter) { events(filter: $filter) { totalCount } }', {
    filter: { impactedEntities: [`Nobody ${++asked}`] },
  });

const clients = 8;

/** Keeps asking with all clients; no answer may be anything but right. */
async function askUntil({ balancer }: Fleet, isOver: () => boolean): Promise<void> {
  const askOn = async () => {
    while (!isOver()) {
      const { status, errors } = await query(balancer);
      expect([status, errors]).toEqual([200, undefined]);
    }
  };
  await Promise.all(Array.from({ length: clients }, askOn));
}

/** What a gateway says of its readiness once it no longer says this. */
async function readinessAfter(url: string, before: number): Promise<number> {
  for (;;) {
    const { status } = await fetch(`${url}/readyz`, { headers: { connection: 'close' } });
    if (status !== before) return status;
    await pause(20);
  }
}

describe('the fleet', () => {
  let folder: string;
  let fleet: Fleet;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'teams-'));
    await writeTeam('Before');
    fleet = await startFleet(['--gateways', '3'], join(folder, 'teams.json'));
  });
  afterAll(async () => {
    fleet.child.kill('SIGINT');
    await fleet.exit;
    await rm(folder, { recursive: true });
  });

  const writeTeam = (name: string) => {
    const keys = [hashOfKey(demoHeaders['x-api-key'])];
    return writeFile(join(folder, 'teams.json'), JSON.stringify([{ name, keys, admins: keys }]));
  };

  async function lookupsOf(url: string) {
    const text = await (await fetch(`${url}/metrics`)).text();
    const counts = [...text.matchAll(/^gateway_lookups_total\{.*\} (\d+)$/gm)];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  }

  test('answers through the balancer, from all three gateways', async () => {
    for (let turn = 0; turn < 15; turn++) {
      const { status, data } = await query(fleet.balancer);
      expect([status, data]).toEqual([200, { events: { totalCount: 0 } }]);
    }
    const lookups = await Promise.all(fleet.gateways.map(({ url }) => lookupsOf(url)));
    expect(lookups).toHaveLength(3);
    for (const count of lookups) expect(count).toBeGreaterThan(0);
  });

  test('passes SIGHUP on to its gateways, and goes on', async () => {
    const teams = () =>
      Promise.all(fleet.gateways.map(async ({ url }) => (await ask(`${url}/graphql`, '{ viewer { team } }')).data));
    expect(await teams()).toEqual(Array(3).fill({ viewer: { team: 'Before' } }));
    await writeTeam('After');
    fleet.child.kill('SIGHUP');
    await until(async () => (await teams()).every(({ viewer }) => viewer.team === 'After'));
    expect(fleet.child.exitCode).toBeNull();
  });

  test('hides the metrics, however the path is encoded', async () => {
    for (const path of ['/metrics', '/metrics?all', '/%6detrics', '/met%72ics']) {
      expect([path, (await fetch(fleet.balancer + path)).status]).toEqual([path, 404]);
    }
  });

  test('loses no request after a gateway is killed', async () => {
    const [first] = fleet.gateways;
    if (first === undefined) throw new Error('There is no gateway');
    // So that connections stand that lead to all.
    await Promise.all(Array.from({ length: clients }, () => query(fleet.balancer)));
    process.kill(first.pid, 'SIGKILL');
    await until(() => !isAlive(first.pid));
    // A request that the balancer sends before it reads that a kept connection has ended is lost. Its next health check is later than this.
    await until(() => !hasConnectionTo(first.url));
    let turns = 0;
    await askUntil(fleet, () => ++turns > 25 * clients);
  });

  test('loses no request while a gateway shuts down, and stops all processes at SIGINT', async () => {
    const own = await startFleet();
    const [first] = own.gateways;
    try {
      if (first === undefined) throw new Error('There is no gateway');
      let turns = 0;
      const asking = askUntil(own, () => {
        turns += 1;
        return !isAlive(first.pid);
      });
      await until(() => turns > 5 * clients);
      process.kill(first.pid, 'SIGTERM');
      const [readiness] = await Promise.all([readinessAfter(first.url, 200), asking]);
      expect(readiness).toBe(503);
    } finally {
      own.child.kill('SIGINT');
      await own.exit;
    }
    expect(await own.exit).toEqual([0, null]);
    expect(own.gateways.filter(({ pid }) => isAlive(pid))).toEqual([]);
    await expect(fetch(own.balancer)).rejects.toThrow();
  });
});

/** Whether something listens at this address. */
function accepts(address: string): Promise<boolean> {
  const [host, port] = address.split(':');
  const socket = connect(Number(port), host);
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}

test('says in one line which tool to install', () => {
  const { status, stderr } = spawnSync(process.execPath, [script], { env: { PATH: '/nowhere' }, encoding: 'utf8' });
  expect([status, stderr]).toEqual([
    1,
    'npm run fleet needs redis-server, which is not on this machine: install redis-server\n',
  ]);
});

describe('the balancer', () => {
  /** Something in a gateway's place. */
  async function standIn(server: Server): Promise<string> {
    return `127.0.0.1:${await listening(server)}`;
  }

  async function balance(
    one: string,
    two: string,
    env: Record<string, string> = {},
    file = 'docs/operations/haproxy.cfg',
  ): Promise<string> {
    const address = await freeAddress();
    const child = spawn('haproxy', ['-db', '-f', file], {
      env: { PATH, BALANCER: address, GATEWAY_ONE: one, GATEWAY_TWO: two, ...env },
      stdio: 'ignore',
    });
    const exit = once(child, 'exit');
    cleanups.push(async () => {
      child.kill('SIGKILL');
      await exit;
    });
    const isReady = () =>
      fetch(`http://${address}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(env.CERTIFICATE === undefined ? isReady : () => accepts(address));
    return address;
  }

  /** A folder with a certificate for localhost, and with other files. */
  async function folderWith(files: Record<string, string>): Promise<string> {
    const folder = await temporaryFolder();
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    const options = [
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-subj',
      '/CN=localhost',
    ];
    const both = join(folder, 'certificate.pem');
    expect(spawnSync('openssl', ['req', ...options, '-keyout', both, '-out', `${both}.crt`]).status).toBe(0);
    await appendFile(both, await readFile(`${both}.crt`));
    return folder;
  }

  test('carries many event streams and a WebSocket over one connection with TLS and HTTP/2, and tells the gateway of TLS', async () => {
    const env = { TRUST_PROXY: '127.0.0.1', MCP_AUTHORIZATION_SERVERS: 'https://login.example' };
    const gateway = forTest(await startGateway({ env }));
    const folder = await folderWith({});
    const { host } = new URL(gateway.url);
    const address = await balance(host, host, { CERTIFICATE: join(folder, 'certificate.pem') });
    const session = http2.connect(`https://${address}`, { rejectUnauthorized: false });
    cleanups.push(() => session.destroy());
    await once(session, 'remoteSettings');
    expect(session.alpnProtocol).toBe('h2');

    const parameters = new URLSearchParams({ query: 'subscription { eventUpdates { cursor } }' });
    const path = `/graphql/stream?${parameters}`;
    const streams = Array.from({ length: 20 }, () =>
      session.request({ ':path': path, accept: 'text/event-stream', ...demoHeaders }),
    );
    const firsts = await Promise.all(
      streams.map(async stream => {
        const [[headers], [text]] = await Promise.all([
          once(stream, 'response'),
          once(stream.setEncoding('utf8'), 'data'),
        ]);
        return { status: headers[':status'], isSecure: headers['strict-transport-security'] !== undefined, text };
      }),
    );
    for (const first of firsts) expect(first).toMatchObject({ status: 200, isSecure: true, text: expect.any(String) });

    expect(session.remoteSettings.enableConnectProtocol).toBe(true);
    const socket = session.request({
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':scheme': 'https',
      ':authority': address,
      ':path': '/graphql',
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'graphql-transport-ws',
    });
    const [accepted] = await once(socket, 'response');
    expect(accepted).toMatchObject({ ':status': 200, 'sec-websocket-protocol': 'graphql-transport-ws' });

    const described = session.request({ ':path': '/.well-known/oauth-protected-resource' });
    const [text] = await once(described.setEncoding('utf8'), 'data');
    expect(JSON.parse(text).resource).toBe(`https://${address}/mcp`);
  });

  test('believes the address of a client that a CDN tells, and that of no other sender', async () => {
    const echo = await standIn(
      createServer(({ headers }, response) => void response.end(`${headers['x-forwarded-for']}`)),
    );
    const folder = await folderWith({ cdn: '127.0.0.0/8\n', 'other-cdn': '192.0.2.0/24\n' });
    const told = async (file: string) => {
      const address = await balance(echo, echo, { CDN_NETWORKS: join(folder, file) });
      return (await fetch(`http://${address}/`, { headers: { 'x-forwarded-for': '198.51.100.7' } })).text();
    };
    expect(await told('cdn')).toBe('198.51.100.7, 127.0.0.1');
    expect(await told('other-cdn')).toBe('127.0.0.1');
  });

  test('forwards a WebSocket with its subprotocol and the address of the client', async () => {
    const server = createServer((_, response) => void response.end());
    const sockets = new WebSocketServer({ server, path: '/graphql' });
    sockets.on('connection', (socket, { headers }) => {
      const told = `${headers['x-forwarded-for']} by ${headers['x-forwarded-proto']}`;
      socket.on('message', text => socket.send(`${told}: ${text}`));
    });
    const address = await standIn(server);
    // Whatever a client says of itself.
    const headers = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' };
    const client = new WebSocket(`ws://${await balance(address, address)}/graphql`, 'graphql-transport-ws', {
      headers,
    });
    await once(client, 'open');
    cleanups.push(() => client.terminate());
    expect(client.protocol).toBe('graphql-transport-ws');
    client.send('hello');
    const [answer] = await once(client, 'message');
    expect(`${answer}`).toBe('127.0.0.1 by http: hello');
  });

  test('has room for all clients that three gateways take, with systemd and with compose', () => {
    const numberIn = (file: string, pattern: RegExp) => Number(pattern.exec(readFileSync(file, 'utf8'))?.[1]);
    // Each client takes two, and a gateway gives three quarters of its own to clients.
    const room = numberIn('docs/operations/haproxy.cfg', /fd-hard-limit (\d+)/) / 2;
    for (const [file, pattern] of [
      ['deploy/systemd/gateway@.service', /^LimitNOFILE=(\d+)$/m],
      ['docker-compose.yml', /^ {2}ulimits: \{ nofile: (\d+) \}$/m],
    ] as const)
      expect(room).toBeGreaterThan(3 * 0.75 * numberIn(file, pattern));
  });

  test('keeps the addresses of the gateways while name servers are silent or fail, but not of a name that is gone', () => {
    const [, section = ''] = /^resolvers system\n((?: .*\n)+)/m.exec(
      readFileSync('docs/operations/haproxy.cfg', 'utf8'),
    ) ?? [''];
    const holds = [...section.matchAll(/hold (\w+) (\w+)/g)].map(([, status, time]) => [status, time]);
    expect(Object.fromEntries(holds)).toEqual({ valid: '5s', timeout: '1d', refused: '1d', other: '1d' });
  });

  const unknownOutcome = 'The gateway ended before it answered; an operation that it had begun may have taken effect';

  test('repeats neither a refused request nor one that may have begun', async () => {
    const seen: string[] = [];
    const closing = await standIn(
      createServer((request, response) => {
        if (request.url === '/readyz') return response.end();
        seen.push(`closing ${request.url}`);
        if (request.url === '/breaks') return request.socket.destroy();
        return response.writeHead(503).end();
      }),
    );
    const well = await standIn(
      createServer((request, response) => {
        seen.push(`well ${request.url}`);
        response.end();
      }),
    );
    const address = await balance(closing, well);
    // A connection of its own for each: behind the first request on one, the balancer only closes it.
    const headers = { connection: 'close' };
    const post = (path: string) =>
      fetch(`http://${address}${path}`, { method: 'POST', headers, body: 'x'.repeat(100_000) });
    for (const [path, status] of [
      ['/turned-down', 503],
      ['/breaks', 502],
    ] as const) {
      seen.length = 0;
      const responses = [];
      for (let turn = 0; turn < 4; turn++) responses.push(await post(path));
      expect(seen).toContain(`closing ${path}`);
      expect(seen.filter(sight => sight.endsWith(path))).toHaveLength(4);
      expect(responses.map(response => response.status)).toContain(status);
      const broken = responses.find(response => response.status === 502);
      expect(await broken?.json()).toEqual(
        status === 502
          ? { errors: [{ message: unknownOutcome, extensions: { code: 'INTERNAL_SERVER_ERROR' } }] }
          : undefined,
      );
    }
  });

  test('tells the gateway that a client of HTTP/1.1 has left, which ends its call of the service', async () => {
    const held = forTest(await startWithHeld(/topics/));
    const { host } = new URL(held.gateway.url);
    const address = await balance(host, host);
    const client = rawConnection(`http://${address}`, post('{ market(id: 1) { topics { id } } }'));
    await until(() => held.held() === 1);
    client.socket.destroy();
    const leftAt = performance.now();
    await until(() => held.ended() === 1);
    expect(performance.now() - leftAt).toBeLessThan(1_000);
  });

  interface IngressPath {
    readonly path: string;
    readonly pathType: 'Exact' | 'Prefix';
    readonly backend: { readonly service: { readonly name: string } };
  }

  describe('before gateways that answer nothing', () => {
    const perGateway = Number(/ maxconn (\d+)$/m.exec(readFileSync('docs/operations/haproxy.cfg', 'utf8'))?.[1]);
    let waiting: (() => void)[];
    let paths: string[];
    let isReady: boolean;
    let gateways: readonly [string, string];
    let port: number;
    beforeEach(async () => {
      [waiting, paths, isReady] = [[], [], true];
      const sockets = new WebSocketServer({ noServer: true });
      cleanups.push(() => {
        for (const socket of sockets.clients) socket.terminate();
      });
      const hang = () =>
        createServer(({ url = '', headers: { accept = '' } }, response) => {
          if (['/readyz', '/graphql/stream', '/mcp'].includes(url) || accept.includes('multipart'))
            return response.writeHead(isReady ? 200 : 503).end();
          paths.push(url);
          waiting.push(() => response.end());
        }).on('upgrade', (request, socket, head) => {
          if (request.url === '/idle') return sockets.handleUpgrade(request, socket, head, () => {});
          const headers = [
            'Connection: upgrade',
            'Upgrade: websocket',
            'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
          ];
          socket.end(`HTTP/1.1 101 Switching Protocols\r\n${headers.join('\r\n')}\r\n\r\n`);
        });
      gateways = await Promise.all([standIn(hang()), standIn(hang())]);
      port = await balancerBefore(gateways);
    });

    const balancerBefore = async ([one, two]: readonly [string, string], file?: string) =>
      Number(new URL(`http://${await balance(one, two, {}, file)}`).port);

    /** The status of a response. @param from the address of the client. @param body makes it a POST. */
    const statusOf = (path: string, headers: Record<string, string> = {}, from = '127.0.0.1', body?: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const method = body === undefined ? 'GET' : 'POST';
        const sent = request({ host: '127.0.0.1', port, path, method, headers, localAddress: from, agent: false });
        sent.end(body);
        sent.on('response', response => resolve(response.resume().statusCode));
        sent.on('upgrade', ({ statusCode }, socket) => {
          socket.destroy();
          resolve(statusCode);
        });
        sent.on('error', reject);
      });

    const callOf = (params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const startsJobs = callOf({ name: 'startDiscovery', _meta: { progressToken: 1 } });
    const ofAgent = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

    /** What the ingress controller of HAProxy writes for `entry/ingress.yaml` (its `pkg/route` and `pkg/annotations`), with two pods. */
    function ofIngress(): string {
      const manifests = parseAllDocuments(readFileSync('deploy/kubernetes/entry/ingress.yaml', 'utf8'));
      const all = manifests.map(document => document.toJS());
      const ingresses = all.filter(({ kind }) => kind === 'Ingress');
      const backends = ingresses.flatMap(({ metadata, spec }) => {
        const of = (name: string) => metadata.annotations[`haproxy.org/${name}`];
        const [{ host, http }] = spec.rules;
        return http.paths.map(({ path, pathType, backend }: IngressPath) => {
          const { name } = backend.service;
          const service = all.find(one => one.kind === 'Service' && one.metadata.name === name);
          const acl = service?.metadata.annotations?.['haproxy.org/route-acl'];
          const at = `{ var(txn.host) -m str ${host} } { path ${pathType === 'Exact' ? '' : '-m beg '}${path} }`;
          const maxconn = of('pod-maxconn');
          return {
            name,
            rule:
              acl || pathType === 'Exact'
                ? `use_backend ${name} if ${at}${acl ? ` { ${acl} }` : ''}`
                : `default_backend ${name}`,
            lines: [
              `backend ${name}`,
              `balance ${of('load-balance')}`,
              `timeout server ${of('timeout-server')}`,
              of('backend-config-snippet'),
              ...(maxconn ? [`default-server maxconn ${maxconn}`] : []),
              `server one "\${GATEWAY_ONE}"`,
              `server two "\${GATEWAY_TWO}"`,
            ],
          };
        });
      });
      const byName = new Map(backends.map(backend => [backend.name, backend.lines]));
      return `${[
        'defaults',
        'mode http',
        'timeout connect 5s',
        'timeout client 50s',
        'frontend public',
        `bind "\${BALANCER}"`,
        'http-request set-var(txn.host) str(gateway.example.com)',
        ...backends.map(({ rule }) => rule).sort((one, other) => (one < other ? 1 : -1)),
        ...[...byName.values()].flat(),
      ].join('\n')}\n`;
    }

    test('the Ingress of Kubernetes limits requests to a gateway, but counts nothing that stays open', async () => {
      const folder = await folderWith({ 'ingress.cfg': ofIngress() });
      port = await balancerBefore(gateways, join(folder, 'ingress.cfg'));
      const idle = Array.from({ length: 2 * perGateway + 1 }, () => new WebSocket(`ws://127.0.0.1:${port}/idle`));
      await Promise.all(idle.map(socket => once(socket, 'open')));
      expect(await statusOf('/graphql/stream', { accept: 'text/event-stream' })).toBe(200);
      const heavy = Array.from({ length: 2 * perGateway }, () => statusOf('/heavy'));
      await until(() => paths.length === 2 * perGateway);
      expect(await statusOf('/graphql', { accept: 'multipart/mixed;subscriptionSpec="1.0"' })).toBe(200);
      expect(await statusOf('/graphql/stream', { 'x-one': '1', accept: 'text/event-stream' })).toBe(200);
      expect(await statusOf('/graphql/stream', { accept: 'application/json, text/event-stream' })).toBe(200);
      expect(await statusOf('/mcp', ofAgent, '127.0.0.1', startsJobs)).toBe(200);
      expect(await statusOf('/late', { accept: 'application/json, text/event-stream' })).toBe(503);
      for (const release of waiting.splice(0)) release();
      expect(new Set(await Promise.all(heavy))).toEqual(new Set([200]));
    });

    test.each(['haproxy.cfg', 'ingress.cfg'])('%s passes on nothing that only a balancer may say', async file => {
      const shipped = await readFile('docs/operations/haproxy.cfg', 'utf8');
      const folder = await folderWith({ 'haproxy.cfg': shipped, 'ingress.cfg': ofIngress() });
      const said = ['x-forwarded-for', 'x-forwarded-host', 'traceparent', 'tracestate'];
      const echo = await standIn(createServer(({ headers }, response) => void response.end(JSON.stringify(headers))));
      port = await balancerBefore([echo, echo], join(folder, file));
      for (const path of ['/graphql', '/graphql/stream']) {
        const headers = Object.fromEntries(said.map(name => [name, 'of the client']));
        const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
        const seen = (await response.json()) as Record<string, string>;
        expect(said.filter(name => seen[name] === 'of the client')).toEqual([]);
      }
    });

    test('refuses a source that has too many connections, though they are idle, and answers another', async () => {
      const shipped = await readFile('docs/operations/haproxy.cfg', 'utf8');
      const narrow = shipped.replace(/sc1_conn_cur gt \d+/, 'sc1_conn_cur gt 20');
      const folder = await folderWith({ 'haproxy.cfg': narrow });
      port = await balancerBefore(gateways, join(folder, 'haproxy.cfg'));
      let refused = 0;
      const idle = Array.from({ length: 30 }, () =>
        connect(port, '127.0.0.1')
          .on('error', () => {})
          .on('close', () => (refused += 1)),
      );
      cleanups.push(() => {
        for (const socket of idle) socket.destroy();
      });
      await until(() => refused >= 10);
      await expect(statusOf('/graphql/stream')).rejects.toThrow(/ECONNRESET|socket hang up/);
      expect(await statusOf('/graphql/stream', {}, '127.0.0.2')).toBe(200);
    });

    test('a gateway gets no more at once than it can have, and a client with few requests waits behind no other', async () => {
      // On a slow machine, the shipped timeout ends the wait before the test has looked.
      const shipped = await readFile('docs/operations/haproxy.cfg', 'utf8');
      const patient = shipped.replace(/timeout queue .*/, 'timeout queue 10m');
      expect(patient).not.toBe(shipped);
      const folder = await folderWith({ 'haproxy.cfg': patient });
      port = await balancerBefore(gateways, join(folder, 'haproxy.cfg'));
      const heavy = Array.from({ length: 2 * perGateway + 20 }, () => statusOf('/heavy'));
      await until(() => paths.length === 2 * perGateway);
      expect(await statusOf('/readyz')).toBe(200);
      expect(await statusOf('/graphql/stream')).toBe(200);
      const upgrade = { connection: 'upgrade', upgrade: 'websocket' };
      // The example of RFC 6455.
      const handshake = { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
      expect(await statusOf('/graphql', { ...upgrade, ...handshake })).toBe(101);
      expect(await statusOf('/graphql', { accept: 'multipart/mixed;subscriptionSpec="1.0"' })).toBe(200);
      expect(paths).toHaveLength(2 * perGateway);
      const quiet = statusOf('/quiet', {}, '127.0.0.2');
      await statusOf('/readyz', {}, '127.0.0.2');
      while (!paths.includes('/quiet')) {
        const before = paths.length;
        waiting.shift()?.();
        await until(() => paths.length > before);
      }
      // It came last.
      expect(paths.length).toBeLessThan(2 * perGateway + 20);
      const releasing = setInterval(() => {
        for (const release of waiting.splice(0)) release();
      }, 5);
      const statuses = await Promise.all([...heavy, quiet]).finally(() => clearInterval(releasing));
      expect(new Set(statuses)).toEqual(new Set([200]));
    });

    async function expectRefused(path: string) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await response.json()).toEqual({
        errors: [
          {
            message: 'No gateway is available, or it is overloaded; try again in a moment',
            extensions: { code: 'RATE_LIMITED', retryAfterSeconds: 1, retryable: true },
          },
        ],
      });
    }

    test('a request that finds all of them busy is refused soon, and reaches none', async () => {
      const heavy = Array.from({ length: 2 * perGateway }, () => statusOf('/heavy'));
      await until(() => paths.length === 2 * perGateway);
      await expectRefused('/late');
      expect(paths).not.toContain('/late');
      expect(await statusOf('/mcp', ofAgent, '127.0.0.1', startsJobs)).toBe(200);
      expect(await statusOf('/mcp', ofAgent, '127.0.0.1', callOf({ name: 'listEvents' }))).toBe(503);
      for (const release of waiting.splice(0)) release();
      expect(new Set(await Promise.all(heavy))).toEqual(new Set([200]));
    });

    test('it says in JSON when to try again if no gateway is ready', async () => {
      isReady = false;
      // The gateways themselves do not say so.
      await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).headers.has('retry-after'));
      await expectRefused('/graphql');
    });
  });
});
