import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer as createSecureServer } from 'node:tls';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { privateKey, selfSignedCertificate } from '../support/certificates.js';
import { cleanups, forTest, listening, temporaryFolder } from '../support/cleanups.js';
import { startCollector } from '../support/collector.js';
import { freeAddress } from '../support/free-address.js';
import { ask } from '../support/gateway.js';
import { type NameServer, startNameServer } from '../support/name-server.js';
import { buildProgram, type Running } from '../support/program.js';
import { startRedis } from '../support/redis.js';
import { until } from '../support/until.js';

const here = ['127.0.0.1'];
let folder: string;
let sandbox: Sandbox;
let names: NameServer;
beforeEach(async () => {
  folder = await temporaryFolder();
  sandbox = await startSandbox();
  cleanups.push(sandbox.close);
});

/** Starts a gateway that has this name server and these lines in the files of the system. */
async function startWithNames(
  env: Record<string, string>,
  { configuration = '', hosts = '127.0.0.1 localhost' } = {},
): Promise<Running> {
  cleanups.push(names.close);
  const [resolvConf, hostsFile] = [join(folder, 'resolv.conf'), join(folder, 'hosts')];
  await writeFile(resolvConf, `nameserver ${names.address}\n${configuration}\n`);
  await writeFile(hostsFile, `${hosts}\n`);
  const mounted = `mount --bind ${resolvConf} /etc/resolv.conf && mount --bind ${hostsFile} /etc/hosts && exec "$@"`;
  const program = await buildProgram(['unshare', '--mount', 'sh', '-c', mounted, 'sh']);
  const gateway = await program.start({ PATH: process.env.PATH ?? '', EVENTS_SEARCH_PARAM: 'search', ...env });
  cleanups.push(gateway.kill);
  return gateway;
}

/** The three addresses of the service, under names of their own. */
function addressesAt(base: string, api: string, dev: string) {
  const { port } = new URL(sandbox.origin);
  const [UPSTREAM_BASE_URL, UPSTREAM_API_URL, UPSTREAM_DEV_URL] = [
    `http://${base}:${port}`,
    `http://${api}:${port}/api`,
    `http://${dev}:${port}/stage`,
  ];
  return { UPSTREAM_BASE_URL, UPSTREAM_API_URL, UPSTREAM_DEV_URL };
}

const service = () => addressesAt('base.test', 'api.test', 'dev.test');
const readOf = {
  base: (number: number) => `{ events(first: ${number}) { totalCount } }`,
  api: (number: number) => `{ suggestMarkets(keyword: "keyword ${number}") }`,
  dev: (number: number) => `{ market(id: ${1 + (number % 3)}) { name } }`,
};

const mayMount = spawnSync('unshare', ['--mount', 'true']).status === 0;
(mayMount ? describe : describe.skip)('names', () => {
  test('of which one gets no answer hold up no others: of the service, of Redis, and of the collector of traces', async () => {
    const [redis, collector] = [await startRedis(), await startCollector()];
    cleanups.push(redis.stop, collector.close);
    names = await startNameServer({
      'base.test': here,
      'api.test': 'silence',
      'dev.test': here,
      'redis.test': here,
      'collector.test': here,
    });
    const at = (name: string, url: string) => url.replace('127.0.0.1', name);
    const { url } = await startWithNames({
      ...service(),
      REDIS_URL: at('redis.test', redis.url),
      OTEL_EXPORTER_OTLP_ENDPOINT: at('collector.test', collector.origin),
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    });
    const silent = Promise.race(Array.from({ length: 16 }, (_, market) => ask(`${url}/graphql`, readOf.api(market))));
    let isOver = false;
    void silent.then(() => {
      isOver = true;
    });
    await until(() => names.asked.includes('api.test'));
    await redis.kill();
    for (const read of [readOf.base, readOf.dev]) {
      const answers = await Promise.all([1, 2, 3].map(number => ask(`${url}/graphql`, read(number))));
      for (const { errors } of answers) expect(errors).toBeUndefined();
    }
    await redis.restart();
    const inspector = forTest(new Redis(redis.url));
    let number = 3;
    await until(async () => {
      number += 1;
      await ask(`${url}/graphql`, readOf.base(number));
      return (await inspector.dbsize()) > 0;
    });
    expect(isOver).toBe(false);
    await until(() => collector.spans.length > 0);
    expect((await silent).errors?.[0].extensions.code).toMatch(/^UPSTREAM_(TIMEOUT|UNAVAILABLE)$/);
  });

  test('are found as the system finds them: in its file of hosts, in search domains, and localhost', async () => {
    names = await startNameServer({ 'base.service.svc.cluster.test': here });
    const { url } = await startWithNames(addressesAt('base.service', 'API-in-file', 'localhost'), {
      configuration: 'search team.svc.cluster.test svc.cluster.test\noptions ndots:5',
      hosts: '# A comment\n127.0.0.1\tlocalhost\n127.0.0.1 other api-in-file # more',
    });
    for (const read of [readOf.base, readOf.api, readOf.dev]) {
      expect((await ask(`${url}/graphql`, read(1))).errors).toBeUndefined();
    }
    expect([...new Set(names.asked)]).toEqual(['base.service.team.svc.cluster.test', 'base.service.svc.cluster.test']);
  });

  test.each(['failure', 'silence'] as const)(
    'have their last addresses while the name server answers with %s',
    async answer => {
      names = await startNameServer({ 'base.test': here, 'api.test': here, 'dev.test': here });
      const { url } = await startWithNames({ ...service(), UPSTREAM_CONNECTION_MAX_AGE_MS: '300' });
      for (const read of Object.values(readOf)) expect((await ask(`${url}/graphql`, read(1))).errors).toBeUndefined();
      for (const name of names.answers.keys()) names.answers.set(name, answer);
      names.asked.length = 0;
      for (let number = 2; new Set(names.asked).size < 2 || number < 10; number += 1) {
        const answers = await Promise.all(
          Object.values(readOf).flatMap(read => [number, number + 20].map(each => ask(`${url}/graphql`, read(each)))),
        );
        for (const { errors } of answers) expect(errors).toBeUndefined();
        await new Promise(resolve => setTimeout(resolve, 100));
      }
    },
  );

  test('are found where the name server says nothing of IPv6', async () => {
    const onlyIPv4 = { ipv4: here, ipv6: 'silence' } as const;
    names = await startNameServer({ 'base.test': onlyIPv4, 'api.test': onlyIPv4, 'dev.test': onlyIPv4 });
    const { url } = await startWithNames({ ...service(), UPSTREAM_TIMEOUT_MS: '4000' });
    for (const read of Object.values(readOf)) expect((await ask(`${url}/graphql`, read(1))).errors).toBeUndefined();
  });

  test('are found where there is no way to their IPv6 addresses, and those of IPv4 come later', async () => {
    const lateIPv4 = { ipv4: here, ipv6: 'first' } as const;
    names = await startNameServer({ 'base.test': lateIPv4, 'api.test': lateIPv4, 'dev.test': lateIPv4 });
    const { url } = await startWithNames(service());
    for (const read of Object.values(readOf)) expect((await ask(`${url}/graphql`, read(1))).errors).toBeUndefined();
  });

  test('with a final dot are called without it in TLS', async () => {
    const called: string[] = [];
    const certificate = { key: privateKey, cert: selfSignedCertificate };
    const service = createSecureServer({
      ...certificate,
      SNICallback(name, done) {
        called.push(name);
        done(null);
      },
    });
    const port = await listening(service);
    names = await startNameServer({});
    const { url } = await startWithNames({ UPSTREAM_BASE_URL: `https://localhost.:${port}` });
    await ask(`${url}/graphql`, readOf.base(1));
    expect([...new Set(called)]).toEqual(['localhost']);
  });

  test('of several gateways are found by the balancer, as many as there are', async () => {
    const addresses = ['127.0.1.2', '127.0.1.3'];
    names = await startNameServer({ 'gateway.test': addresses });
    cleanups.push(names.close);
    const [balancer, port] = [await freeAddress(), (await freeAddress()).split(':')[1]];
    const servers = addresses.map(address =>
      createServer((_, response) => response.end(address)).listen(Number(port), address),
    );
    for (const server of servers) cleanups.push(() => server.close());
    const resolvConf = join(folder, 'resolv.conf');
    await writeFile(resolvConf, `nameserver ${names.address}\n`);
    const command = `mount --bind ${resolvConf} /etc/resolv.conf && exec haproxy -db -f docs/operations/haproxy.cfg`;
    const env = { PATH: `${process.env.PATH}:/usr/sbin`, BALANCER: balancer, GATEWAYS: `gateway.test:${port}` };
    const child = spawn('unshare', ['--mount', 'sh', '-c', command], { env, stdio: 'ignore' });
    cleanups.push(() => child.kill());
    const found = new Set<string>();
    await until(async () => {
      for (const path of ['', '/readyz'])
        found.add(
          await fetch(`http://${balancer}${path}`).then(
            r => r.text(),
            () => '',
          ),
        );
      return addresses.every(address => found.has(address));
    });
  });

  test('of endpoints of exports are found as the system finds them: in /etc/hosts and in search domains', async () => {
    names = await startNameServer({ 'crm.team.internal': here });
    const receiver = createServer((_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{"title":"t","message":"m","redirectUrl":null}');
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    cleanups.push(() => receiver.close());
    const { port } = receiver.address() as AddressInfo;
    const options = { configuration: 'search internal', hosts: '127.0.0.1 localhost listed.example' };
    const gateway = await startWithNames({ DATA_DIR: folder }, options);
    for (const [index, host] of ['crm.team', 'listed.example'].entries()) {
      const answer = await ask(
        `${gateway.url}/graphql`,
        `mutation { registerExportEndpoint(input: { name: "e${index}", url: "http://${host}:${port}/", description: "d" }) { signingSecret }
          testExportEndpoint(input: { endpoint: "e${index}" }) { __typename } }`,
      );
      expect(answer.errors).toBeUndefined();
      expect(answer.data.testExportEndpoint).toEqual({ __typename: 'ExportDelivered' });
    }
  });

  test('that do not exist are said to be wrong in the log', async () => {
    names = await startNameServer({ 'base.test': here });
    const gateway = await startWithNames(service());
    expect((await ask(`${gateway.url}/graphql`, readOf.api(1))).errors?.[0].extensions.code).toBe(
      'UPSTREAM_UNAVAILABLE',
    );
    await until(() => gateway.stderr().includes('UPSTREAM_API_URL: the name cannot be resolved (ENOTFOUND)'));
  });
});
