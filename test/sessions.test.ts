import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { request } from 'undici';
import { createSealer } from '../src/auth/seal.js';
import { Secret } from '../src/config/values.js';
import type { RedisClient } from '../src/data/redis.js';
import { serviceName } from '../src/data/shared-store.js';
import { createSignInAttempts } from '../src/domains/sessions/attempts.js';
import { createRevocations } from '../src/domains/sessions/revocations.js';
import { RateLimited } from '../src/errors.js';
import { startSandbox } from '../src/sandbox/server.js';
import { cleanups, forTest } from './support/cleanups.js';
import {
  addressesOn,
  ask,
  type GraphqlAnswer,
  postJson,
  startGateway,
  startOverSandbox,
  type TestGateway,
} from './support/gateway.js';
import { takeLog } from './support/log.js';
import { counted } from './support/metrics.js';
import { startRedis } from './support/redis.js';
import { type RedisPlace, redisPlaces } from './support/redis-cluster.js';
import { silentTelemetry } from './support/silent-telemetry.js';
import { noEvents, reply, type StubService, startStubService } from './support/stub-service.js';
import { until } from './support/until.js';

const secret = (letter: string) => letter.repeat(40);
const ada = { email: 'ada@team.example', password: 'sandbox-ada' };
const signInDocument =
  'mutation ($input: SignInInput!) { signIn(input: $input) { viewer { authentication email name team } } }';
const eventsDocument = '{ events(first: 1) { totalCount } }';

const { sandbox, gateway } = await startOverSandbox({ env: { SESSION_SECRET: secret('a') } });

afterAll(() => gateway.close());

beforeEach(() => sandbox.reset());

const signIn = (at: TestGateway, input: object = ada, headers: Record<string, string> = {}): Promise<GraphqlAnswer> =>
  ask(`${at.url}/graphql`, signInDocument, { input }, headers);

/** Signs in with headers that fetch would set itself. */
async function signInFrom(headers: Record<string, string>) {
  const response = await request(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query: signInDocument, variables: { input: ada } }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: an answer's body is what the test is about to find out
  return { headers: response.headers, body: (await response.body.json()) as any };
}

const setCookie = (answer: GraphqlAnswer): string => answer.headers.getSetCookie().join('\n');

async function cookieFrom(at: TestGateway): Promise<string> {
  return setCookie(await signIn(at)).split(';')[0] ?? '';
}

const readWith = (at: TestGateway, cookie: string) => at.query(eventsDocument, {}, { cookie });

describe('signing in', () => {
  test('sets one encrypted HttpOnly cookie that lives no longer than the cookies of the service', async () => {
    const answer = await signIn(gateway);
    expect(answer.data.signIn.viewer).toMatchObject({ authentication: 'COOKIE', email: ada.email });
    expect(answer.headers.getSetCookie()).toHaveLength(1);
    const [cookie = '', ...attributes] = setCookie(answer).split('; ');
    expect(cookie).toMatch(/^mig_session=Fe26/);
    expect(attributes).toEqual(expect.arrayContaining(['HttpOnly', 'SameSite=Lax', 'Path=/']));
    const maxAge = Number(attributes.find(each => each.startsWith('Max-Age='))?.slice('Max-Age='.length));
    expect(maxAge).toBeLessThanOrEqual(3600);
    expect(maxAge).toBeGreaterThan(3500);
    expect(cookie).not.toContain('svc_session');
  });

  test('sets a Secure cookie that is bound to its host, except on loopback', async () => {
    const { headers } = await signInFrom({ host: 'gateway.example' });
    expect(String(headers['set-cookie'])).toMatch(/^__Host-mig_session=.*; Secure/);
  });

  test.each([
    ['192.0.2.1', 'gateway.example', 'mig_session'],
    ['127.0.0.1', 'gateway.example', '__Host-mig_session'],
    ['127.0.0.1', 'localhost, gateway.example', '__Host-mig_session'],
    ['127.0.0.1', 'gateway.example, localhost', 'mig_session'],
  ])(
    'trusts a forwarded host only from the proxy at %s, and takes the last one of "%s"',
    async (TRUST_PROXY, host, name) => {
      const other = forTest(await startGateway({ sandbox, env: { TRUST_PROXY } }));
      const answer = await signIn(other, ada, { 'x-forwarded-host': host });
      expect(setCookie(answer).split('=')[0]).toBe(name);
    },
  );

  test.each([
    ['http://localhost:5173', 'cross-site', '127.0.0.1:4000'],
    ['http://127.0.0.1:4000', 'cross-site', 'localhost:4000'],
    ['http://localhost:5173', undefined, '127.0.0.1:4000'],
    ['https://app.example', undefined, 'gateway.example.com'],
    ['https://app.example', undefined, '[::1]:4000'],
  ])(
    'is refused for a page of %s (Sec-Fetch-Site: %s) at %s, before the service is called',
    async (origin, site, host) => {
      const answer = await signInFrom({ host, origin, ...(site && { 'sec-fetch-site': site }) });
      expect(answer.body.data.signIn).toBeNull();
      expect(answer.body.errors[0]).toMatchObject({
        message: expect.stringMatching(/would not keep the session.*another site/),
        extensions: { code: 'FORBIDDEN' },
      });
      expect(answer.headers['set-cookie']).toBeUndefined();
      expect(sandbox.calls.count()).toBe(0);
    },
  );

  test.each([
    ['http://localhost:5173', 'same-site', 'localhost:4000'],
    ['http://localhost:4000', 'same-origin', 'localhost:4000'],
    ['http://localhost:5173', undefined, 'LOCALHOST:4000'],
    ['https://app.example.com', undefined, 'api.example.com'],
    ['null', undefined, 'api.example.com'],
    ['https://frontend.test', 'same-origin', 'gateway.internal'],
    [undefined, undefined, 'api.example.com'],
    [undefined, 'none', 'api.example.com'],
  ])('works for a page of %s (Sec-Fetch-Site: %s) at %s', async (origin, site, host) => {
    const answer = await signInFrom({ host, ...(origin && { origin }), ...(site && { 'sec-fetch-site': site }) });
    expect(answer.body.data.signIn.viewer.email).toBe(ada.email);
    expect(String(answer.headers['set-cookie'])).toContain('mig_session=');
  });

  test('gives the same error after the same time for a wrong password and an unknown user', async () => {
    const timed = async (input: object) => {
      const startedAt = performance.now();
      const { errors } = await signIn(gateway, input);
      return { errors, milliseconds: performance.now() - startedAt };
    };
    const wrong = await timed({ email: ada.email, password: 'wrong' });
    sandbox.tell({ path: '/v2/auth/sign-in', status: 404, errorCode: 'NOT_FOUND', delayMs: 200 });
    const unknown = await timed({ email: 'nobody@team.example', password: 'wrong' });
    expect(wrong.errors?.[0].extensions).toEqual({ code: 'SIGN_IN_FAILED' });
    expect(unknown.errors).toEqual(wrong.errors);
    expect(Math.min(wrong.milliseconds, unknown.milliseconds)).toBeGreaterThanOrEqual(495);
  });

  test('is limited per e-mail address, and each attempt in one document counts', async () => {
    const other = forTest(await startGateway({ sandbox }));
    const attempts = Array.from({ length: 12 }, (_, index) => `a${index}: signIn(input: $input) { viewer { email } }`);
    const document = `mutation ($input: SignInInput!) { ${attempts.join(' ')} }`;
    const input = { email: 'eve@team.example', password: 'guess' };
    const { errors } = await ask(`${other.url}/graphql`, document, { input }, {});
    const codes = errors?.map(({ extensions }) => extensions.code) ?? [];
    expect(codes.filter(code => code === 'SIGN_IN_FAILED')).toHaveLength(10);
    expect(codes.filter(code => code === 'RATE_LIMITED')).toHaveLength(2);
    expect(sandbox.calls.count('/v2/auth/sign-in')).toBe(10);
  });

  test('still works for a user after wrong passwords from another network', async () => {
    const other = forTest(await startGateway({ sandbox, env: { TRUST_PROXY: '127.0.0.1' } }));
    const from = async (address: string, password: string) => {
      const { errors } = await signIn(other, { ...ada, password }, { 'x-forwarded-for': address });
      return errors?.[0].extensions.code;
    };
    const guesses = await Promise.all(Array.from({ length: 11 }, () => from('192.0.2.1', 'guess')));
    expect(guesses.filter(code => code === 'RATE_LIMITED')).toHaveLength(1);
    expect(await from('192.0.2.1', ada.password)).toBe('RATE_LIMITED');
    expect(await from('198.51.100.1', ada.password)).toBeUndefined();
  });

  test('is limited for an e-mail address across networks, except those where its user has signed in before', async () => {
    const attempts = createSignInAttempts(undefined);
    const { email } = ada;
    await attempts.count(email, '198.51.100.1');
    await attempts.forgive(email, '198.51.100.1');
    const forms = [email, email.toUpperCase(), `${email}\u200b`, `\u2060${email}`, email.replace('a', '\uff41')];
    for (let network = 1; network < 100; network += 1)
      await attempts.count(forms[network % forms.length] ?? '', `192.0.2.${network}`);
    for (const form of forms) await expect(attempts.count(form, '192.0.2.100')).rejects.toThrow(RateLimited);
    await attempts.count(email, '198.51.100.1');
    await attempts.count('ben@team.example', '192.0.2.100');
  });

  test('is limited per network address, where one IPv6 network counts as one address', async () => {
    const attempts = createSignInAttempts(undefined);
    const from = (host: number) => attempts.count(`user-${host}@team.example`, `2001:db8::${host.toString(16)}`);
    for (let host = 1; host <= 100; host += 1) await from(host);
    await expect(from(101)).rejects.toThrow(RateLimited);
    await attempts.count('other@team.example', '2001:db8:0:1::1');
  });
});

test('the attempts of the latest 50,000 e-mail addresses are counted, and who goes on trying stays limited', async () => {
  const attempts = createSignInAttempts(undefined);
  const tries = (email: string) => attempts.count(email, '192.0.2.1');
  for (let attempt = 1; attempt <= 10; attempt += 1) for (const email of ['once', 'on']) await tries(email);
  for (let other = 0; other < 50_000; other += 1) {
    await attempts.count(`user-${other}`, `10.0.${other >> 8}.${other & 255}`);
    if (other % 10_000 === 0) await expect(tries('on')).rejects.toThrow(RateLimited);
  }
  await expect(tries('on')).rejects.toThrow(/try again in (8[89]\d|900) seconds$/);
  await tries('once');
});

describe('a session', () => {
  test('ends with signOut', async () => {
    const cookie = await cookieFrom(gateway);
    const answer = await gateway.query('mutation { signOut { viewer { email } } }', {}, { cookie });
    expect(answer.data).toEqual({ signOut: { viewer: null } });
    expect(setCookie(answer)).toMatch(/^mig_session=; .*Expires=Thu, 01 Jan 1970/);
  });

  test('ends with signOut for every copy of its cookie, and for no other session', async () => {
    const [cookie, another] = [await cookieFrom(gateway), await cookieFrom(gateway)];
    await gateway.query('mutation { signOut { __typename } }', {}, { cookie, 'x-api-key': 'demo-key-subscribed' });
    const answer = await readWith(gateway, cookie);
    expect(answer.errors?.[0].extensions.code).toBe('UNAUTHENTICATED');
    expect(setCookie(answer)).toMatch(/^mig_session=;/);
    expect((await readWith(gateway, another)).errors).toBeUndefined();
  });

  test('stays signed out if its cookie was resealed before or in the meantime', async () => {
    const old = await cookieFrom(gateway);
    const other = forTest(await startGateway({ sandbox, env: { SESSION_SECRET: `${secret('b')},${secret('a')}` } }));
    const renewed = setCookie(await readWith(other, old)).split(';')[0] ?? '';
    expect(renewed).toMatch(/^mig_session=Fe26/);
    expect((await readWith(other, renewed)).errors).toBeUndefined();
    await other.query('mutation { signOut { __typename } }', {}, { cookie: renewed });
    for (const cookie of [old, renewed]) {
      expect((await readWith(other, cookie)).errors?.[0].extensions.code).toBe('UNAUTHENTICATED');
    }
  });

  test('is resealed on use with the first secret, even for a cached response, and keeps its expiry and what a newer gateway has added', async () => {
    const [before, after] = [createSealer([new Secret(secret('a'))]), createSealer([new Secret(secret('b'))])];
    const contentOf = (sealer: typeof before, cookie: string) => sealer.open(cookie.slice('mig_session='.length));
    const content = { ...((await contentOf(before, await cookieFrom(gateway))) as object), more: { of: 'it' } };
    const old = `mig_session=${await before.seal(content, 3_600_000)}`;
    const other = forTest(await startGateway({ sandbox, env: { SESSION_SECRET: `${secret('b')},${secret('a')}` } }));
    const answers = [await readWith(other, old), await readWith(other, old), await readWith(other, old)];
    for (const answer of answers) {
      expect(answer.errors).toBeUndefined();
      expect(setCookie(answer)).toMatch(/^mig_session=Fe26[^;]*; Max-Age=35\d\d; Path=\/; HttpOnly; SameSite=Lax$/);
    }
    expect(await counted(other.url, 'gateway_sealed_under_old_secret', { kind: 'session' })).toBe(1);
    const renewed = setCookie(answers[2] as GraphqlAnswer).split(';')[0] ?? '';
    expect(await contentOf(after, renewed)).toEqual(content);
    const again = await readWith(other, renewed);
    expect([again.errors, setCookie(again)]).toEqual([undefined, '']);
    expect(await counted(other.url, 'gateway_sealed_under_old_secret', { kind: 'session' })).toBe(0);
    const last = forTest(await startGateway({ sandbox, env: { SESSION_SECRET: secret('b') } }));
    expect((await readWith(last, renewed)).errors).toBeUndefined();
    expect((await readWith(last, old)).errors?.[0].extensions.code).toBe('UNAUTHENTICATED');
  });

  test.each([401, 403])('ends when the service refuses it with %i', async status => {
    const cookie = await cookieFrom(gateway);
    sandbox.tell({ path: /events$/, status, errorCode: 'UNAUTHORISED' });
    const answer = await gateway.query('{ events(first: 7) { totalCount } }', {}, { cookie });
    expect(answer.errors?.[0].extensions.code).toBe('UNAUTHENTICATED');
    expect(setCookie(answer)).toMatch(/^mig_session=;/);
  });

  test('has the same error on a stream, which cannot clear the cookie', async () => {
    const cookie = await cookieFrom(gateway);
    sandbox.tell({ path: /events$/, status: 401, errorCode: 'UNAUTHORISED' });
    const response = await postJson(
      `${gateway.url}/graphql/stream`,
      { query: '{ events(first: 8) { totalCount } }' },
      { accept: 'text/event-stream', cookie },
    );
    expect(await response.text()).toContain('"code":"UNAUTHENTICATED"');
  });

  test('is ignored if there is an explicit credential, and the cookie stays', async () => {
    const answer = await gateway.query(
      '{ viewer { authentication } }',
      {},
      { cookie: 'mig_session=bad', 'x-api-key': 'k' },
    );
    expect(answer.data.viewer.authentication).toBe('API_KEY');
    expect(setCookie(answer)).toBe('');
  });

  test('is not accepted by a gateway for another service, and its cookies are not sent there', async () => {
    const cookie = await cookieFrom(gateway);
    const another = forTest(await startSandbox());
    const other = forTest(await startGateway({ sandbox: another, env: { SESSION_SECRET: secret('a') } }));
    const answer = await other.query('{ viewer { email team } }', {}, { cookie });
    expect(answer.errors?.[0].extensions.code).toBe('UNAUTHENTICATED');
    expect((await readWith(other, cookie)).errors?.[0].extensions.code).toBe('UNAUTHENTICATED');
    expect(another.calls.count()).toBe(0);
  });

  test.each([
    ['application/json', '{"message":"Welcome"}'],
    ['application/json', '{"message":"Signed in"}'],
    ['application/json', '{"message":"Session created"}'],
    ['application/json', '{"title":"Success","message":"Anmeldung"}'],
    ['application/json', '{"code":"OK","message":"Login successful","requestId":"r-1"}'],
    ['application/json', '{"authenticated":true}'],
    ['application/json', '"OK"'],
    ['application/json', 'true'],
    ['text/plain; charset=utf-8', 'OK'],
    ['application/json', 'welcome'],
    ['application/octet-stream', '{"name":"Ann"'],
    ['text/html; charset=utf-8', '{"message":"Welcome"}'],
    ['text/html', 'ok'],
    ['text/html', ''],
  ])('a cookie, and not what is said with it, signs a user in: %s, %s', async (type, body) => {
    const headers = { 'content-type': type, 'set-cookie': 'svc_session=one' };
    sandbox.tell({ path: '/v2/auth/sign-in', status: 200, body, headers, times: 1 });
    expect((await signIn(gateway)).errors).toBeUndefined();
  });

  test.each<[string, string, string, string]>([
    ['a page that sets a cookie', 'text/html', '<form>', 'UPSTREAM_INVALID_RESPONSE'],
    [
      'a page that begins with text',
      'text/html',
      `Please sign in${' '.repeat(200)}<form>`,
      'UPSTREAM_INVALID_RESPONSE',
    ],
    ['a page that is said to be JSON', 'application/json', '<form>', 'UPSTREAM_INVALID_RESPONSE'],
    ['a page that is said to be text', 'text/plain', '\ufeff\n<!doctype html>', 'UPSTREAM_INVALID_RESPONSE'],
    ['an error that is said to be text', 'text/plain', '{"success":false}', 'UPSTREAM_INVALID_RESPONSE'],
    ['an error that sets a cookie', 'application/json', '{"success":false}', 'UPSTREAM_INVALID_RESPONSE'],
    ['a refusal with status 200', 'application/json', '{"success":false,"errorCode":"UNAUTHORISED"}', 'SIGN_IN_FAILED'],
    ['a refusal in its message', 'application/json', '{"message":"Unauthorized"}', 'SIGN_IN_FAILED'],
    ['a refusal in a sentence', 'application/json', '{"message":"Invalid email or password"}', 'SIGN_IN_FAILED'],
    ['a refusal in praise', 'application/json', '{"data":{"message":"You are not signed in"}}', 'SIGN_IN_FAILED'],
    ['a second factor', 'application/json', '{"mfaRequired":true}', 'UPSTREAM_INVALID_RESPONSE'],
    ['one who is nobody', 'application/json', '{"authenticated":false}', 'UPSTREAM_INVALID_RESPONSE'],
    ['an error in capitals', 'application/json', '{"Success":"False"}', 'UPSTREAM_INVALID_RESPONSE'],
  ])('(%s) is not signed in', async (kind, type, body, code) => {
    const headers = { 'content-type': type, 'set-cookie': 'svc_session=anonymous' };
    sandbox.tell({ path: '/v2/auth/sign-in', status: 200, body, headers, times: 1 });
    const answer = await signIn(gateway, { ...ada, email: `${kind.replaceAll(' ', '-')}@team.example` });
    expect(answer.errors?.[0].extensions.code).toBe(code);
    expect(setCookie(answer)).toBe('');
  });

  test.each<[string, Record<string, string>, readonly string[], boolean]>([
    ['its public name', {}, ['svc_session=one; Domain=public.example'], false],
    ['its public name, beside one of a balancer', {}, ['svc_session=one; Domain=public.example', 'balancer=1'], true],
    [
      'its public name, which is set',
      { UPSTREAM_COOKIE_HOST: 'public.example' },
      ['svc_session=one; Domain=public.example'],
      true,
    ],
    [
      'the domain of its public name',
      { UPSTREAM_COOKIE_HOST: 'api.public.example' },
      ['svc_session=one; Domain=.Public.example'],
      true,
    ],
    [
      'another name than is set',
      { UPSTREAM_COOKIE_HOST: 'other.example' },
      ['svc_session=one; Domain=public.example'],
      false,
    ],
    ['no name', { UPSTREAM_COOKIE_HOST: 'public.example' }, ['svc_session=one'], true],
    ['nothing but signing in', {}, ['svc_session=one; Path=/v2/auth'], false],
    [
      'a name with a final dot',
      { UPSTREAM_COOKIE_HOST: 'public.example' },
      ['svc_session=one; Domain=public.example.; Path=/'],
      true,
    ],
    [
      'its public name, which is set with a final dot',
      { UPSTREAM_COOKIE_HOST: 'api.public.example.' },
      ['svc_session=one; Domain=public.example'],
      true,
    ],
    ['no time', {}, ['svc_session=one; Max-Age=0'], false],
    ['no name, with a final dot', { UPSTREAM_COOKIE_HOST: 'public.example.' }, ['svc_session=one'], true],
  ])('of a service that sets its cookie for %s', async (_, env, cookies, isSignedIn) => {
    const taken = takeLog();
    const received: unknown[] = [];
    const service = forTest(
      await startStubService(({ method, headers }, response) => {
        received.push(headers.cookie);
        if (method !== 'POST') return reply(response, 200, noEvents);
        response.setHeader('set-cookie', [...cookies]);
        reply(response, 200, {});
      }),
    );
    const other = forTest(
      await startGateway({
        env: { UPSTREAM_BASE_URL: service.origin, LOG_LEVEL: 'warn', ...env },
        seams: { log: taken },
      }),
    );
    const answer = await signIn(other);
    expect(answer.errors?.[0].extensions.code).toBe(isSignedIn ? undefined : 'UPSTREAM_INVALID_RESPONSE');
    const dropped = cookies[0]?.includes('Domain')
      ? 'UPSTREAM_COOKIE_HOST: the service sets cookies for public.example, and they are dropped'
      : 'UPSTREAM_COOKIE_HOST: the service set no cookie that can be kept';
    const isDropped = !isSignedIn || cookies.length > 1;
    expect(taken.lines.some(line => JSON.parse(line).msg.startsWith(dropped))).toBe(isDropped);
    if (isSignedIn) await readWith(other, setCookie(answer).split(';')[0] ?? '');
    if (isSignedIn) expect(received.at(-1)).toBe(isDropped ? 'balancer=1' : 'svc_session=one');
  });

  test('is not started if its cookie would be too large for browsers', async () => {
    sandbox.tell({
      path: '/v2/auth/sign-in',
      status: 200,
      body: '{}',
      headers: { 'set-cookie': `svc_session=${'x'.repeat(3_600)}` },
      times: 1,
    });
    const answer = await signIn(gateway);
    expect(answer.errors?.[0]).toMatchObject({
      message: expect.stringMatching(/too large for a cookie/),
      extensions: { code: 'UPSTREAM_INVALID_RESPONSE', retryable: false },
    });
    expect(setCookie(answer)).toBe('');
  });

  test('cannot be opened after it has expired', async () => {
    sandbox.tell({
      path: '/v2/auth/sign-in',
      status: 200,
      body: '{}',
      headers: { 'set-cookie': 'svc_session=x; Max-Age=60' },
      times: 1,
    });
    const cookie = await cookieFrom(gateway);
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 61_000);
    const answer = await readWith(gateway, cookie).finally(() => clock.mockRestore());
    expect(answer.errors?.[0].extensions.code).toBe('UNAUTHENTICATED');
    expect(setCookie(answer)).toMatch(/^mig_session=;/);
  });

  test('cannot be opened after its end, also where its seal has none', async () => {
    const sealer = createSealer([new Secret(secret('a'))]);
    const content = await sealer.open((await cookieFrom(gateway)).slice('mig_session='.length));
    const sealed = await sealer.seal({ ...(content as object), endsAt: Date.now() }, 0);
    const answer = await readWith(gateway, `mig_session=${sealed}`);
    expect(answer.errors?.[0].extensions.code).toBe('UNAUTHENTICATED');
  });

  test('rejects 100 mutated cookies, and none causes a server error', async () => {
    const value = (await cookieFrom(gateway)).slice('mig_session='.length);
    sandbox.calls.clear();
    const property = fc.asyncProperty(mutationOf(value), async text => {
      const { status, errors } = await readWith(gateway, `mig_session=${text}`);
      expect(status).toBe(200);
      expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['UNAUTHENTICATED']);
    });
    await fc.assert(property, { numRuns: 100 });
    expect(sandbox.calls.list()).toEqual([]);
  });
});

describe('the cookies of the service', () => {
  let service: StubService;
  let cookies: readonly string[] = [];
  /** How far the clock of the service is ahead, in milliseconds. */
  let aheadMs = 0;
  /** The `Cookie` headers of the calls after sign-in, with their paths. */
  let sent: string[] = [];
  let other: TestGateway;
  beforeAll(async () => {
    service = await startStubService((request, response) => {
      response.setHeader('date', new Date(Date.now() + aheadMs).toUTCString());
      if (request.url === '/v2/auth/sign-in') response.setHeader('set-cookie', cookies);
      else sent.push(`${request.url?.split('?')[0]} ${request.headers.cookie}`);
      reply(response, 200, { name: 'M', data: [] });
    });
    other = await startGateway({
      env: {
        ...addressesOn(service.origin),
        SESSION_SECRET: secret('a'),
      },
    });
  });
  afterAll(async () => {
    await other.close();
    await service.close();
  });

  /** The response to signing in at a service that sets these cookies, and what it then gets. */
  async function signedIn(...lines: readonly string[]) {
    cookies = lines;
    const answer = await signIn(other);
    const cookie = setCookie(answer).split(';')[0] ?? '';
    return { answer, cookie, cookies: await sentWith(cookie), maxAge: /Max-Age=(\d+)/.exec(setCookie(answer))?.[1] };
  }

  let market = 0;
  /** The cookies of a call below `/v2`. */
  async function sentWith(cookie: string, selection = 'jobs { id }') {
    sent = [];
    market += 1;
    await other.query(`{ market(id: ${market}) { ${selection} } }`, {}, { cookie });
    return sent.map(call => call.replace(/^\S+ /, '')).join();
  }

  const day = 86_400;
  test.each<[string, string[], string, string | undefined]>([
    ['the later of one name and path', ['sid=old; Path=/', 'sid=new; Path=/'], 'sid=new', undefined],
    ['one that comes again without a path', ['sid=old; Path=/', 'sid=new'], 'sid=new', undefined],
    ['both of one name, the longer path first', ['sid=a; Path=/', 'sid=b; Path=/v2'], 'sid=b; sid=a', undefined],
    ['none that was deleted', ['sid=a', 'tmp=x', 'tmp=; Max-Age=0'], 'sid=a', undefined],
    ['none with a lifetime below zero', ['sid=a', 'old=x; Max-Age=-1'], 'sid=a', undefined],
    ['none that expired', ['sid=a', 'old=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT'], 'sid=a', undefined],
    ['one whose Expires cannot be read', ['sid=a; Expires=0'], 'sid=a', undefined],
    ['one whose Expires is no date', ['sid=a; Expires=soon; Path=/'], 'sid=a', undefined],
    ['one whose Max-Age cannot be read', ['sid=a; Max-Age=1.5', 'b=c; Max-Age="60"'], 'sid=a; b=c', undefined],
    ['Max-Age over Expires', ['sid=a; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT'], 'sid=a', '60'],
    ['none that Max-Age ends', ['sid=a', 'b=c; Max-Age=0; Expires=Fri, 31 Dec 9999 00:00:00 GMT'], 'sid=a', undefined],
    ['lifetimes up to 400 days', ['sid=a; Max-Age=99999999999999'], 'sid=a', `${400 * day}`],
    ['lifetimes that no number holds', [`sid=a; Max-Age=${'9'.repeat(400)}`], 'sid=a', `${400 * day}`],
    ['dates up to 400 days', ['sid=a; Expires=Fri, 31 Dec 9999 23:59:59 GMT'], 'sid=a', `${400 * day}`],
    ['the longest lifetime', ['csrf=b; Max-Age=60', 'sid=a; Max-Age=3600'], 'csrf=b; sid=a', '3600'],
    ['no lifetime where a cookie has none', ['csrf=b; Max-Age=60', 'sid=a'], 'csrf=b; sid=a', undefined],
    ['a longer lifetime than that of one that has none', ['b=c', `sid=a; Max-Age=${day}`], 'b=c; sid=a', `${day}`],
    ['quotes as they are', ['sid="a b"; Path=/'], 'sid="a b"', undefined],
    ['a value with equals signs', ['sid=YQ==; HttpOnly; SameSite=Strict'], 'sid=YQ==', undefined],
    ['bytes as they are', ['sid=\u00c3\u00a9'], 'sid=\u00c3\u00a9', undefined],
    ['any name', ['__proto__=a', 'constructor=b', 'toString=c'], '__proto__=a; constructor=b; toString=c', undefined],
    ['one that is Secure', ['sid=a; Secure; Path=/', '__Host-b=c; Secure; Path=/'], 'sid=a; __Host-b=c', undefined],
    ['none of another domain', ['sid=a', 'evil=b; Domain=evil.example'], 'sid=a', undefined],
    ['none without a name', ['=x', 'nothing', 'sid=a', '', ';'], 'sid=a', undefined],
    ['none of another path', ['sid=a', 'b=c; Path=/api', 'd=e; Path=/v2/auth', 'f=g; Path=/v'], 'sid=a', undefined],
    ['one whose path cannot be read', ['sid=a; Path=v2', 'b=c; Path="/x"'], 'sid=a; b=c', undefined],
  ])('are kept as browsers keep them: %s', async (_, lines, expected, maxAge) => {
    const { answer, ...found } = await signedIn(...lines);
    expect(answer.errors).toBeUndefined();
    expect(found.cookies).toBe(expected);
    // A second may pass before the cookie is set.
    expect([maxAge, maxAge && `${Number(maxAge) - 1}`]).toContain(found.maxAge);
  });

  test.each([-7_200_000, 0, 7_200_000])('live as long as its own clock says, which is %d ms ahead', async ahead => {
    aheadMs = ahead;
    cleanups.push(() => {
      aheadMs = 0;
    });
    const expires = (seconds: number) => new Date(Date.now() + ahead + seconds * 1_000).toUTCString();
    const found = await signedIn(`sid=a; Expires=${expires(3_600)}`, `old=x; Expires=${expires(-60)}`);
    expect(found.answer.errors).toBeUndefined();
    expect(found.cookies).toBe('sid=a');
    expect(Math.abs(Number(found.maxAge) - 3_600)).toBeLessThan(60);
  });

  test('go to the paths that they are for, below each address of the service', async () => {
    const lines = ['all=1; Path=/', 'api=1; Path=/api', 'dev=1; Path=/stage/dev/', 'v2=1; Path=/v2/discovery'];
    const { cookie } = await signedIn(...lines);
    await sentWith(cookie, 'name topics { id } jobs { id } companies { totalCount }');
    expect(sent.map(call => call.replace(`/${market}`, '/ID')).sort()).toEqual([
      '/api/markets/ID/topics api=1; all=1',
      '/stage/dev/markets/ID dev=1; all=1',
      '/v2/discovery/ID/jobs v2=1; all=1',
      '/v2/markets/ID/companies all=1',
    ]);
  });

  test('expire by themselves, without a new scope for what is cached', async () => {
    const { cookie, cookies } = await signedIn('csrf=b; Max-Age=60', 'sid=a; Max-Age=3600');
    expect(cookies).toBe('csrf=b; sid=a');
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 61_000);
    cleanups.push(() => clock.mockRestore());
    expect(await sentWith(cookie)).toBe('sid=a');
    clock.mockImplementation(() => now() + 3_601_000);
    expect(await sentWith(cookie)).toBe('');
  });

  test.each([[[]], [['tmp=; Max-Age=0']], [['sid=a; Max-Age=0']], [['sid=a; Domain=evil.example']]])(
    '%j start no session',
    async lines => {
      const { answer } = await signedIn(...(lines as string[]));
      expect(answer.errors?.[0].extensions.code).toBe('UPSTREAM_INVALID_RESPONSE');
      expect(setCookie(answer)).toBe('');
    },
  );

  test('may be sixty, and as many bytes as a browser keeps in one cookie', async () => {
    const many = Array.from({ length: 60 }, (_, index) => `c${index}=${index}`);
    expect((await signedIn(...many)).cookies).toBe(many.join('; '));
    const fits = await signedIn(`sid=${'x'.repeat(2_500)}`);
    expect(fits.cookies).toHaveLength(2_504);
    expect(setCookie(fits.answer).length).toBeLessThan(4_096);
    const { answer } = await signedIn(...Array.from({ length: 4 }, (_, index) => `c${index}=${'x'.repeat(900)}`));
    expect(answer.errors?.[0].message).toMatch(/too large for a cookie/);
  });

  test.each([['sid=a'], [[['sid=a']]]])('that are sealed as %j end the session', async cookies => {
    const base = { UPSTREAM_BASE_URL: service.origin, UPSTREAM_API_URL: `${service.origin}/api` };
    const session = {
      id: 'an-id',
      cookies,
      service: serviceName({
        base: base.UPSTREAM_BASE_URL,
        api: base.UPSTREAM_API_URL,
        dev: `${service.origin}/stage`,
      }),
      ...{ email: ada.email, name: null, endsAt: Date.now() + 60_000, isKept: true },
    };
    const sealed = await createSealer([new Secret(secret('a'))]).seal(session, 60_000);
    const answer = await readWith(other, `mig_session=${sealed}`);
    expect(answer.errors?.[0].extensions.code).toBe('UNAUTHENTICATED');
    expect(setCookie(answer)).toMatch(/^mig_session=;/);
  });
});

describe.each(redisPlaces)('two gateways over %s', (_, startPlace) => {
  let place: RedisPlace;
  let one: TestGateway;
  let other: TestGateway;
  beforeAll(async () => {
    place = await startPlace();
    const start = () => startGateway({ sandbox, redisUrl: place.url, env: { SESSION_SECRET: secret('a') } });
    [one, other] = await Promise.all([start(), start()]);
  });
  afterAll(async () => {
    await Promise.all([one.close(), other.close()]);
    await place.stop();
  });

  test('accept each other’s cookies, and share cached data of a session only within that session', async () => {
    const [cookie, another] = [await cookieFrom(one), await cookieFrom(other)];
    let size = 0;
    const callsOf = async (at: TestGateway, sessionCookie: string) => {
      sandbox.calls.clear();
      const answer = await at.query(`{ events(first: ${size}) { totalCount } }`, {}, { cookie: sessionCookie });
      expect(answer.errors).toBeUndefined();
      return sandbox.calls.count();
    };
    // No one waits for the connection to Redis, nor for writes to it.
    await until(async () => {
      size += 1;
      expect(await callsOf(one, cookie)).toBe(1);
      return (await callsOf(other, cookie)) === 0;
    });
    expect(await callsOf(other, another)).toBe(1);
  });

  test('accept no session that was signed out on the other', async () => {
    const cookie = await cookieFrom(one);
    expect((await readWith(other, cookie)).errors).toBeUndefined();
    await one.query('mutation { signOut { __typename } }', {}, { cookie });
    expect((await readWith(one, cookie)).errors?.[0].extensions.code).toBe('UNAUTHENTICATED');
    // The other may go by what Redis said a second ago.
    await until(async () => (await readWith(other, cookie)).errors?.[0].extensions.code === 'UNAUTHENTICATED');
  });
});

test('while Redis is unavailable, sessions continue, and sign-outs are saved when it is back', async () => {
  const redis = forTest(await startRedis());
  const start = () => startGateway({ sandbox, redisUrl: redis.url, env: { SESSION_SECRET: secret('a') } });
  const [one, other] = await Promise.all([start(), start()]);
  cleanups.push(() => Promise.all([one.close(), other.close()]));
  const [cookie, another] = [await cookieFrom(one), await cookieFrom(one)];
  await redis.kill();
  expect((await one.query('mutation { signOut { __typename } }', {}, { cookie })).data).toEqual({
    signOut: { __typename: 'SignOutPayload' },
  });
  expect((await readWith(one, cookie)).errors?.[0].extensions.code).toBe('UNAUTHENTICATED');
  for (const at of [one, other]) expect((await readWith(at, another)).errors).toBeUndefined();
  await redis.restart();
  await until(async () => (await readWith(other, cookie)).errors?.[0].extensions.code === 'UNAUTHENTICATED');
});

test('a sign-out that Redis takes only together with the next one is not saved once more', async () => {
  jest.useFakeTimers();
  const attempts: { readonly members: readonly unknown[]; end(works: boolean): void }[] = [];
  const zadd = (_: string, ...members: readonly unknown[]) =>
    new Promise<void>((resolve, reject) => {
      attempts.push({ members, end: works => (works ? resolve() : reject(new Error('Command timed out'))) });
    });
  const redis = { zadd, zremrangebyscore: async () => 0 } as unknown as RedisClient;
  cleanups.push(() => jest.useRealTimers());
  const revocations = createRevocations(redis, silentTelemetry);
  const endsAt = Date.now() + 60_000;
  const both = [revocations.add('one', endsAt), revocations.add('other', endsAt)];
  for (const [index, { end }] of attempts.entries()) end(index === 1);
  await Promise.all(both);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(attempts.map(({ members }) => members.length)).toEqual([2, 4]);
});

describe('an embedded session', () => {
  const make = 'mutation { createEmbedSession { session { idToken accessToken refreshToken expiresIn checksum } } }';

  test('is created with an API key and works as `sessionId` in the URL', async () => {
    const { data } = await gateway.query(make);
    const { accessToken } = data.createEmbedSession.session;
    expect(data.createEmbedSession.session).toMatchObject({ expiresIn: 3600, idToken: expect.any(String) });
    sandbox.calls.clear();
    const answer = await ask(`${gateway.url}/graphql?sessionId=${accessToken}`, eventsDocument, {}, {});
    expect(answer.data.events.totalCount).toBeGreaterThan(0);
    expect(sandbox.calls.list().map(({ credential }) => credential)).toEqual(['sessionId']);
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
  });

  test('cannot be created by a signed-in user', async () => {
    const { errors } = await gateway.query(make, {}, { cookie: await cookieFrom(gateway) });
    expect(errors?.[0].extensions.code).toBe('FORBIDDEN');
  });
});

/** A text that differs from a sealed one, and that a cookie can have. */
function mutationOf(value: string): fc.Arbitrary<string> {
  const at = fc.nat({ max: value.length - 1 });
  return fc
    .oneof(
      fc.tuple(at, fc.integer({ min: 0, max: 6 })).map(([index, bit]) => flipped(value, index, bit)),
      at.map(index => value.slice(0, index)),
      fc.tuple(at, at).map(([one, other]) => swapped(value, one, other)),
      fc
        .tuple(at, fc.constantFrom('*', 'A', '0', '-', '.'))
        .map(([index, more]) => value.slice(0, index) + more + value.slice(index)),
    )
    .filter(text => text !== value && /^[\w*.-]+$/.test(text));
}

function flipped(text: string, index: number, bit: number): string {
  return text.slice(0, index) + String.fromCharCode(text.charCodeAt(index) ^ (1 << bit)) + text.slice(index + 1);
}

function swapped(text: string, one: number, other: number): string {
  const characters = [...text];
  [characters[one], characters[other]] = [text[other] ?? '', text[one] ?? ''];
  return characters.join('');
}
