import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Webhook } from 'standardwebhooks';
import { hashOfKey } from '../../src/auth/credentials.js';
import { cleanups, forTest, temporaryFolder } from '../support/cleanups.js';
import { postJson } from '../support/gateway.js';
import { buildProgram, type Ended } from '../support/program.js';
import { startRedis } from '../support/redis.js';
import { overSse, overWebsocket } from '../support/streams.js';
import { reply, type StubService, startStubService } from '../support/stub-service.js';
import { until } from '../support/until.js';

/** Of the client, of the gateway, of the user, and of two endpoints. Some characters are written differently in JSON or in an address. */
const secrets = {
  key: 'api-key/"of"+the=team',
  password: 'password/"of"+ada',
  serviceCookie: 'cookie-of-the-service',
  firstSessionSecret: 'first session secret which is long enough',
  secondSessionSecret: 'other session secret which is long enough',
  bearer: 'bearer/"token"+of=the endpoint',
  token: 'value\\of/"the"+header',
};
/** In the address of an endpoint: its team may see it, but no log. */
const tokenInUrl = 'token-in-the-address';

const inJson = (text: string) => JSON.stringify(text).slice(1, -1);

/** How a secret could be written: as it is, in JSON, quoted in JSON, in an address, in Base64 and in hexadecimal digits. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    inJson(secret),
    inJson(inJson(secret)),
    encodeURIComponent(secret),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ];
}

/** The names of the secrets that a text contains in any form. */
const foundIn = (content: string, all: Readonly<Record<string, string>>) =>
  Object.keys(all).filter(name => formsOf(all[name] ?? '').some(form => content.includes(form)));

async function startStub(...[handler]: Parameters<typeof startStubService>): Promise<StubService> {
  const stub = forTest(await startStubService(handler));
  return stub;
}

/** The service, as far as exports and sign-in need it. */
const startService = () =>
  startStub(({ url = '' }, response) => {
    if (url.endsWith('/sign-in')) response.setHeader('set-cookie', `session=${secrets.serviceCookie}`);
    const isRecord = url.includes('/dev/');
    reply(response, 200, isRecord ? { id: 1, name: 'M' } : { data: [{ domain: 'c.example', name: 'C', score: 1 }] });
  });

/** An endpoint whose path says how it answers: `/500?...`. */
async function startEndpoint(onCall: () => unknown) {
  const received: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const { origin } = await startStub(async (request, response) => {
    received.push({ headers: request.headers, body: await text(request) });
    const [, status = ''] = /^\/(\w+)/.exec(request.url ?? '') ?? [];
    if (status === 'storeLost') await onCall();
    if (status === 'reset') response.destroy();
    else response.writeHead(Number(status) || 500, { location: `${origin}/200?${tokenInUrl}` }).end('{}');
  });
  return { origin, received };
}

/** Where exports are stored: what it holds, and how it is lost. */
const storages: Record<string, () => Promise<Storage>> = {
  async 'a file'() {
    const folder = await temporaryFolder();
    const data = join(folder, 'data');
    return {
      env: { DATA_DIR: data },
      content: () => readFile(join(data, 'exports.json'), 'utf8'),
      async lose() {
        await rm(data, { recursive: true });
        await writeFile(data, 'no folder');
      },
    };
  },
  async 'one Redis'() {
    const server = forTest(await startRedis());
    return {
      env: { REDIS_URL: server.url },
      async content() {
        const redis = new Redis(server.url);
        const found: unknown[] = [];
        for (const name of await redis.keys('*')) {
          const read = {
            hash: () => redis.hgetall(name),
            string: () => redis.get(name),
            set: () => redis.smembers(name),
          };
          const type = await redis.type(name);
          found.push(name, await read[type as keyof typeof read]());
        }
        redis.disconnect();
        return JSON.stringify(found);
      },
      lose: () => server.kill(),
    };
  },
};

interface Storage {
  readonly env: Record<string, string>;
  content(): Promise<string>;
  lose(): Promise<unknown>;
}

const registerMutation = `mutation Register($input: RegisterExportEndpointInput!) {
  registerExportEndpoint(input: $input) { signingSecret endpoint { nodeId name headerNames } } }`;
const rotateMutation = `mutation Rotate($name: String!) {
  rotateExportEndpointSecret(input: { endpoint: $name }) { signingSecret endpoint { name headerNames } } }`;
const ending = `__typename ... on ExportEnding { exportId attempts { status fault } } ... on ExportDelivered { title message redirectUrl }
  ... on ExportRejected { title message references { title message url } } ... on ExportFailed { message }`;
const exportMutation = `mutation Send($input: ExportMarketToEndpointInput!) { exportMarketToEndpoint(input: $input) { ${ending} } }`;
const testMutation = `mutation Test($name: String!) { testExportEndpoint(input: { endpoint: $name }) { ${ending} } }`;
const retryMutation = `mutation Retry($id: ID!) { retryExport(input: { exportId: $id }) { ${ending} } }`;
const progressSubscription = `subscription Progress($id: ID!) { exportProgress(exportId: $id) { id by user outcome result { ${ending} } } }`;
const listQuery = `{ viewer { email } exportEndpoints { nodeId name headerNames }
  exports { nodes { nodeId id by user endpoint { headerNames } retryOf { id } idempotencyKey outcome result { ${ending} } } } }`;

test.each(Object.entries(storages))(
  'with %s, no secret is in any log, error, response, trace or metric, or stored in clear',
  async (_, prepare) => {
    const storage = await prepare();
    const [program, service, endpoint] = [
      await buildProgram(),
      await startService(),
      await startEndpoint(storage.lose),
    ];
    const collected: string[] = [];
    const collector = await startStub(async (request, response) => {
      collected.push(await text(request));
      reply(response, 200);
    });
    const teams = join(await mkdtemp(join(tmpdir(), 'teams-')), 'teams.json');
    cleanups.push(() => rm(join(teams, '..'), { recursive: true }));
    const members = { keys: [hashOfKey(secrets.key)], emails: ['ada@team.example'] };
    const admins = [...members.keys, ...members.emails];
    await writeFile(teams, JSON.stringify([{ name: 'Team', ...members, admins }]));
    const start = (sessionSecret: string) =>
      program.start({
        ...storage.env,
        UPSTREAM_BASE_URL: service.origin,
        UPSTREAM_DEV_URL: service.origin,
        TEAMS_FILE: teams,
        EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true',
        SESSION_SECRET: sessionSecret,
        LOG_LEVEL: 'trace',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_BSP_SCHEDULE_DELAY: '50',
      });
    let gateway = await start(secrets.firstSessionSecret);
    cleanups.push(() => gateway.kill());
    const printed: string[] = [];
    const note = ({ stdout, stderr }: Ended) => printed.push(stdout, stderr);
    async function restart(sessionSecret: string) {
      note(await gateway.stop());
      gateway = await start(sessionSecret);
    }

    const shown: string[] = [];
    const made: Record<string, string> = {};
    const byKey = { 'x-api-key': secrets.key };
    async function ask(query: string, variables: object = {}, headers: Record<string, string> = byKey) {
      const response = await postJson(`${gateway.url}/graphql`, { query, variables }, headers);
      const body = await response.text();
      const answer = JSON.parse(body);
      const payload = answer.data && (Object.values(answer.data)[0] as { signingSecret?: string } | null);
      const secret = payload?.signingSecret;
      // The one place that may show it.
      shown.push(secret === undefined ? body : body.replace(JSON.stringify(secret), ''));
      if (secret !== undefined) made[`signing secret ${Object.keys(made).length}`] = secret.slice('whsec_'.length);
      return { ...answer, payload, cookies: response.headers.getSetCookie() };
    }
    const outcomeOf = async (...question: Parameters<typeof ask>) => {
      const { payload, errors } = await ask(...question);
      return payload?.__typename ?? errors?.[0].extensions.code;
    };

    const { cookies } = await ask(
      'mutation SignIn($input: SignInInput!) { signIn(input: $input) { viewer { email } } }',
      { input: { email: 'ada@team.example', password: secrets.password } },
      {},
    );
    const byCookie = { cookie: String(cookies[0]).split(';')[0] ?? '' };
    made.sessionCookie = byCookie.cookie.slice(byCookie.cookie.indexOf('=') + 1);

    const registration = (name: string, origin = endpoint.origin) => ({
      ...{ name, url: `${origin}/${name}?token=${tokenInUrl}`, description: 'D' },
      headers: [
        { name: 'Authorization', value: `Bearer ${secrets.bearer}` },
        { name: 'X-Token', value: secrets.token },
      ],
    });
    const order = (name: string) => ({ input: { marketId: 1, endpoint: name, companies: { matching: {} } } });
    const places = {
      ...Object.fromEntries(['200', '302', '400', '500', 'reset', 'storeLost'].map(name => [name, endpoint.origin])),
      refused: 'http://127.0.0.1:1',
      tls: endpoint.origin.replace('http', 'https'),
    };
    const signing = new Map<string, string>();
    for (const [name, origin] of Object.entries(places)) {
      const { payload } = await ask(registerMutation, { input: registration(name, origin) });
      signing.set(name, payload.signingSecret);
    }
    const { payload: rotated } = await ask(rotateMutation, { name: '400' }, byCookie);

    const outcomes: Record<string, string> = {};
    for (const [index, name] of Object.keys(places).entries()) {
      if (name === 'storeLost') continue;
      await ask(testMutation, { name });
      const headers = index % 2 === 0 ? byKey : byCookie;
      const { payload } = await ask(exportMutation, order(name), headers);
      outcomes[name] = payload.__typename;
      await ask(retryMutation, { id: payload.exportId }, headers);
      const progress = { query: progressSubscription, variables: { id: payload.exportId } };
      const listeners = [
        overSse(gateway.url, progress, headers),
        overWebsocket(gateway.url, progress, { params: byKey }),
      ];
      for (const { ended, results } of listeners) shown.push(JSON.stringify([await ended, results]));
    }
    expect(outcomes).toEqual({
      '200': 'ExportDelivered',
      '302': 'ExportFailed',
      '400': 'ExportRejected',
      '500': 'ExportFailed',
      refused: 'ExportFailed',
      reset: 'ExportFailed',
      tls: 'ExportFailed',
    });
    await ask(listQuery, {}, byCookie);
    for (const { headers, body } of endpoint.received) {
      expect(headers).toMatchObject({ authorization: `Bearer ${secrets.bearer}`, 'x-token': secrets.token });
      expect(body).not.toContain('token');
    }
    const { headers, body } =
      endpoint.received.find(call => String(call.headers['webhook-signature']).includes(' ')) ?? {};
    for (const secret of [signing.get('400'), rotated.signingSecret]) {
      new Webhook(secret).verify(body ?? '', headers as Record<string, string>);
    }

    const input = registration('invalid');
    for (const change of [
      { headers: [{ name: 'X-Token', value: `${secrets.token}\n` }] },
      { headers: [{ name: secrets.token, value: 'x' }] },
      { headers: [{ name: 'X-Token', value: { secret: secrets.token } }] },
      { headers: [{ name: 'X-Token', value: secrets.token, extra: secrets.bearer }] },
      { headers: secrets.token },
      { url: `https://user:${tokenInUrl}@crm.example/` },
      { url: `no address but ${secrets.token}` },
    ]) {
      expect(await outcomeOf(registerMutation, { input: { ...input, ...change } })).toBe('BAD_USER_INPUT');
    }
    const literal = `mutation { registerExportEndpoint(input: { headers: ${JSON.stringify(secrets.token)} }) { signingSecret } }`;
    expect(await outcomeOf(literal)).toBe('GRAPHQL_VALIDATION_FAILED');
    expect(await outcomeOf(listQuery, {}, { ...byKey, authorization: `Bearer ${secrets.bearer}` })).toBe(
      'BAD_USER_INPUT',
    );

    const stored = await storage.content();
    expect(stored).toContain('sealedSigningSecrets');
    expect(foundIn(stored, { ...secrets, ...made })).toEqual([]);
    await until(() => collected.join().includes('Retry'));
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain('export');

    await restart(secrets.secondSessionSecret);
    expect(await outcomeOf(exportMutation, order('400'))).toBe('CONFLICT');
    expect(await outcomeOf(listQuery, {}, byCookie)).toBe('UNAUTHENTICATED');
    await restart(secrets.firstSessionSecret);
    expect(await outcomeOf(exportMutation, order('storeLost'))).toBe('UPSTREAM_UNAVAILABLE');
    await gateway.stop().then(note);

    const output = [...printed, ...collected, metrics].join('\n');
    expect(output).toContain('"operation":"Register"');
    expect(output).toContain('The export store is not available');
    const all = { ...secrets, ...made, tokenInUrl };
    expect({ output: foundIn(output, all), shown: foundIn(shown.join('\n'), all) }).toEqual({ output: [], shown: [] });
  },
);
