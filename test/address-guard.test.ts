import diagnostics from 'node:diagnostics_channel';
import { createServer } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { AddressRefused, createAddressGuard, type Resolve, resolveName } from '../src/domains/exports/address-guard.js';
import { deliver } from '../src/domains/exports/delivery.js';
import { takeAttemptTimers } from './support/attempt-timers.js';
import { cleanups, listening } from './support/cleanups.js';
import { insideUrls } from './support/inside-addresses.js';

/** A server on loopback that notes what reaches it. */
async function startInside() {
  const connections: number[] = [];
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.setHeader('content-type', 'application/json');
    response.end('{"title":"t","message":"m","redirectUrl":null}');
  });
  server.on('connection', () => connections.push(1));
  return { port: await listening(server), connections, requests };
}

/** Counts the sockets that this process begins to connect. */
function countSockets() {
  const sockets: unknown[] = [];
  const note = (message: unknown) => sockets.push(message);
  diagnostics.subscribe('net.client.socket', note);
  cleanups.push(() => diagnostics.unsubscribe('net.client.socket', note));
  return sockets;
}

const strict = (resolve: Resolve = resolveName) => createAddressGuard(false, resolve);
const permissive = (resolve: Resolve = resolveName) => createAddressGuard(true, resolve);
const call = (url: string) => ({
  url: new URL(url),
  body: '{}',
  id: 'a-key',
  startsAt: Date.now(),
});
const send = (url: string, guard = strict()) => deliver(call(url), guard, async () => ({}));

describe('an internal address', () => {
  test('is tested in at least 60 notations', () => {
    expect(new Set(insideUrls).size).toBeGreaterThanOrEqual(60);
  });

  test.each(insideUrls)('%s is refused on connect, before a byte is sent, without a retry', async url => {
    const sockets = countSockets();
    const { attempts, outcome } = await send(url);
    expect(attempts).toEqual([expect.objectContaining({ status: null, fault: 'ADDRESS_REFUSED' })]);
    expect(outcome.kind).toBe('FAILED');
    expect(sockets).toEqual([]);
  });

  test.each([
    '127.0.0.1',
    '::ffff:169.254.169.254',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    '0.0.0.0',
    'not an address',
  ])('is refused if a name resolves to %s and to an allowed address', async inside => {
    const guard = strict(async () => ['93.184.215.14', inside]);
    await expect(guard.check(new URL('http://names.example/'))).rejects.toThrow(AddressRefused);
    expect((await send('http://names.example/', guard)).attempts[0]?.fault).toBe('ADDRESS_REFUSED');
  });
});

describe('an allowed address', () => {
  test.each([
    'http://93.184.215.14/',
    'http://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/',
    'https://1.1.1.1:8443/',
    'http://[64:ff9b::93.184.215.14]/',
  ])('%s passes the check', url => strict().check(new URL(url)));

  test('is what DNS64 makes of an IPv4 address for a network that has only IPv6', async () => {
    const guard = strict(async () => ['93.184.215.14', '64:ff9b::5db8:d70e']);
    await guard.check(new URL('http://names.example/'));
  });

  test('is waited for no longer than an attempt may take', async () => {
    const guard = strict(() => new Promise(() => {}));
    const timer = takeAttemptTimers();
    timer.onSet = () => setImmediate(timer.fire);
    const { attempts } = await deliver(call('http://late.example/'), guard, async () => ({}));
    timer.restore();
    expect(attempts.map(({ fault }) => fault)).toEqual(['TIMEOUT', 'TIMEOUT', 'TIMEOUT', 'TIMEOUT']);
  });

  test('that cannot be connected to breaks the attempt', async () => {
    const { attempts } = await send(
      'http://nowhere.example/',
      strict(async () => []),
    );
    expect(attempts.map(({ fault }) => fault)).toEqual(['BROKEN', 'BROKEN', 'BROKEN', 'BROKEN']);
  });

  test('may be the future address of a name that does not resolve yet', async () => {
    const guard = strict(async () => {
      throw new Error('ENOTFOUND');
    });
    await guard.check(new URL('http://later.example/'));
    const { attempts } = await send('http://later.example/', guard);
    expect(attempts.map(({ fault }) => fault)).toEqual(['BROKEN', 'BROKEN', 'BROKEN', 'BROKEN']);
  });

  test.each(['http://127.0.0.1/', 'http://[::1]/', 'http://10.1.2.3/', 'http://[fd12::1]/'])(
    'may be %s if private addresses are allowed',
    url => permissive().check(new URL(url)),
  );

  test.each([
    'http://169.254.169.254/',
    'http://[fe80::1]/',
    'http://[fd00:ec2::254]/',
    'http://[fd00:ec2::23]/',
    'http://[fd20:ce::254]/',
    'http://168.63.129.16/',
    'http://0.0.0.0/',
    'http://224.0.0.1/',
    'http://[::ffff:127.0.0.1]/',
  ])('is never %s, even if private addresses are allowed', async url => {
    await expect(permissive().check(new URL(url))).rejects.toThrow(AddressRefused);
  });
});

test('an export ignores the proxy environment variables', async () => {
  const [inside, proxy] = [await startInside(), await startInside()];
  const names = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy', 'NODE_USE_ENV_PROXY'];
  for (const name of names) process.env[name] = name.startsWith('NODE') ? '1' : `http://127.0.0.1:${proxy.port}`;
  cleanups.push(() => {
    for (const name of names) delete process.env[name];
  });
  const { outcome } = await send(`http://127.0.0.1:${inside.port}/hook?a=b`, permissive());
  expect(outcome).toMatchObject({ kind: 'DELIVERED', title: 't', messageText: 'm' });
  expect(inside.requests).toEqual(['/hook?a=b']);
  expect(proxy.connections).toEqual([]);
});
