import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Webhook } from 'standardwebhooks';
import { createSealer } from '../src/auth/seal.js';
import { Secret } from '../src/config/values.js';
import { createSigner } from '../src/data/signer.js';
import { companyListId } from '../src/domains/companies/client.js';
import { newSigningSecret, rotatedSecrets, signatureHeaders } from '../src/domains/exports/signing.js';
import { signedText } from '../src/domains/exports/team-store.js';
import { listId } from '../src/graphql/connection.js';
import { createReceiver, type Mode } from '../src/receiver/server.js';
import { type Company, startSandbox } from '../src/sandbox/server.js';
import { takeAttemptTimers } from './support/attempt-timers.js';
import { cursorOf } from './support/calls-table.js';
import { cleanups, forSuite, forTest, lastCleanups, listening } from './support/cleanups.js';
import { freeAddress } from './support/free-address.js';
import { postJson, signedIn, startGateway, type TestGateway } from './support/gateway.js';
import { hold } from './support/hold.js';
import { impossibleUrls, insideUrls } from './support/inside-addresses.js';
import { takeLog } from './support/log.js';
import { counted } from './support/metrics.js';
import { startNetwork } from './support/network.mjs';
import { startRedis } from './support/redis.js';
import { type Heard, overSse, overWebsocket } from './support/streams.js';
import { until } from './support/until.js';

const marketOne = () => sandbox.data.markets.find(({ record }) => record.id === 1);
const key = (name: string) => ({ 'x-api-key': `demo-key-${name}` });
const admin = key('subscribed');
const member = key('markets-only');
const stranger = key('no-markets');
const ben = { email: 'ben@team.example', password: 'sandbox-ben' };
const hashOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;

const crm = 'crm';
let companies: readonly Company[];
let folder: string;
let gateway: TestGateway;

const sandbox = forSuite(await startSandbox());
/** What most tests share: a folder, and two gateways over it. */
const shared = await freshPlace(lastCleanups);
const other = await gatewayWith({}, {}, lastCleanups);

/** No test finds an endpoint or an export of an earlier one. */
beforeEach(async () => {
  sandbox.reset();
  ({ folder, gateway } = shared);
  await rm(join(folder, 'data', 'exports.json'), { recursive: true, force: true });
});

async function freshPlace(cleaning: (() => unknown)[]) {
  folder = await mkdtemp(join(tmpdir(), 'exports-'));
  const made = folder;
  cleaning.push(() => rm(made, { recursive: true, force: true }));
  await writeFile(join(folder, 'teams.json'), JSON.stringify(teams()));
  gateway = await gatewayWith({}, {}, cleaning);
  return { folder, gateway };
}

/** For tests of what is cached or counted, and of what ends a gateway. */
const afresh = () => freshPlace(cleanups);

function teams() {
  const { name, keys, emails } = sandbox.demo.team;
  return [{ name, keys: keys.map(hashOf), emails, admins: ['ada@team.example', hashOf(admin['x-api-key'])] }];
}

/** A gateway over the one sandbox and the test's folder, so that a second one goes on where the first ended. */
async function gatewayWith(
  env: Record<string, string> = {},
  options: Parameters<typeof startGateway>[0] = {},
  cleaning = cleanups,
) {
  const started = await startGateway({
    sandbox,
    env: {
      DATA_DIR: join(folder, 'data'),
      TEAMS_FILE: join(folder, 'teams.json'),
      EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true',
      SESSION_SECRET: 'x'.repeat(32),
      ...env,
    },
    ...options,
  });
  cleaning.push(() => started.close());
  return started;
}

/** Changes what is stored for the team, and signs it as `npm run sign-exports` does. */
// biome-ignore lint/suspicious/noExplicitAny: what an earlier release may have stored
async function rewrite(change: (state: any) => any) {
  const file = join(folder, 'data', 'exports.json');
  const stored = JSON.parse(await readFile(file, 'utf8'));
  const { signature: _, ...state } = stored.teams[demoTeam];
  stored.teams[demoTeam] = JSON.parse(signedText(createSigner([new Secret('x'.repeat(32))]), demoTeam, change(state)));
  await writeFile(file, JSON.stringify(stored));
}
const demoTeam = 'name:Demo Team';

interface ReceivedCall {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: what arrives is what the test is about to find out
  readonly body: any;
  /** The body as it arrived. */
  readonly bytes: string;
}

type Answer = (response: ServerResponse, request: IncomingMessage, count: number) => unknown;

/** A client's endpoint that notes what arrives and answers as it is told. */
async function startEndpoint(answer: Answer) {
  const received: ReceivedCall[] = [];
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request;
    const bytes = await text(request);
    received.push({ method, url, headers, body: JSON.parse(bytes), bytes });
    answer(response, request, received.length);
  });
  return { url: `http://127.0.0.1:${await listening(server)}`, received };
}

/** Such an endpoint, which is registered as `crm`. */
async function startRegistered(answer: Answer, path = '') {
  const endpoint = await startEndpoint(answer);
  await register(`${endpoint.url}${path}`);
  return endpoint;
}

const json =
  (status: number, body: unknown): Answer =>
  response =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const thanks = json(200, { title: 'Thanks', message: 'All <b>taken</b>.', redirectUrl: null });

const registerMutation = `mutation ($input: RegisterExportEndpointInput!) {
  registerExportEndpoint(input: $input) { signingSecret endpoint { name url description headerNames } } }`;
const rotateMutation = `mutation ($name: String!) {
  rotateExportEndpointSecret(input: { endpoint: $name }) { signingSecret endpoint { name } } }`;
const updateMutation = `mutation ($input: UpdateExportEndpointInput!) {
  updateExportEndpoint(input: $input) { endpoint { id name url description headerNames } } }`;
const deleteMutation = `mutation ($name: String!) { deleteExportEndpoint(input: { endpoint: $name }) { endpoint { name } } }`;
const exportMutation = `mutation ($input: ExportMarketToEndpointInput!) { exportMarketToEndpoint(input: $input) {
  __typename
  ... on ExportDelivered { exportId attempts { ...attempt } title message messageText redirectUrl }
  ... on ExportRejected { exportId attempts { ...attempt } title message messageText references { title message url type } }
  ... on ExportFailed { exportId attempts { ...attempt } message outcome } } }
  fragment attempt on ExportAttempt { startedAt status fault milliseconds explanation }`;
const exportsQuery = `query ($first: Int, $after: String) { exports(first: $first, after: $after) {
  totalCount pageInfo { hasNextPage endCursor }
  nodes { id startedAt finishedAt by user endpointName marketId selected sent idempotencyKey outcome
    attempts { status fault milliseconds } result { __typename } } } }`;

type Headers = Record<string, string>;
const registration = (url: string, change: object = {}) => ({ name: crm, url, description: 'The CRM', ...change });
const register = (url: string, change: object = {}, headers: Headers = admin, on = gateway) =>
  on.query(registerMutation, { input: registration(url, change) }, headers);
const update = (change: object = {}, headers: Headers = admin, on = gateway) =>
  on.query(updateMutation, { input: { endpoint: crm, ...change } }, headers);
/** Of the large market where it is about companies, else of a small one. */
const order = (change: object = {}) => ({ marketId: '2', endpoint: crm, companies: { matching: {} }, ...change });
const send = (change: object = {}, headers: Headers = admin, on = gateway) =>
  on.query(exportMutation, { input: order(change) }, headers);
const retryMutation = `mutation ($input: RetryExportInput!) { retryExport(input: $input) {
  __typename ... on ExportEnding { exportId attempts { status } } } }`;
const retry = (exportId: string, change: object = {}, headers: Headers = admin, on = gateway) =>
  on.query(retryMutation, { input: { exportId, ...change } }, headers);
const listed = async (headers: Headers = admin, on = gateway) =>
  (await on.query(exportsQuery, {}, headers)).data.exports;
const fault = ({ errors }: { errors: { extensions: { code: string; argument?: string } }[] | undefined }) =>
  errors?.map(({ extensions: { code, argument } }) => (argument === undefined ? code : `${code} ${argument}`)).join();

const verified = ({ bytes, headers }: ReceivedCall, secret: string) => {
  new Webhook(secret).verify(bytes, headers as Record<string, string>);
  return true;
};

/** The value of a header. Eight of them are as much as an endpoint may have. */
const longest = 'v'.repeat(4_096);

describe('registered endpoints', () => {
  const list = async (headers: Headers = admin, on = gateway) =>
    (await on.query('{ exportEndpoints { name url description headerNames } }', {}, headers)).data.exportEndpoints;

  test('are listed by name for all members of the team', async () => {
    const one = await register('https://crm.example/hook?user={user.email}', {
      name: 'the crm',
      headers: [{ name: 'X-Token', value: 'very secret' }],
    });
    expect(one.data.registerExportEndpoint.endpoint).toEqual({
      name: 'the crm',
      url: 'https://crm.example/hook?user={user.email}',
      description: 'The CRM',
      headerNames: ['X-Token'],
    });
    await register('https://erp.example/', { name: 'erp' });
    expect((await list(member)).map(({ name }: { name: string }) => name)).toEqual(['erp', 'the crm']);
  });

  test('need a new name, which is free again after the endpoint is deleted', async () => {
    await register('https://crm.example/');
    expect(fault(await register('https://other.example/'))).toBe('CONFLICT input.name');
    expect((await gateway.query(deleteMutation, { name: crm }, admin)).data.deleteExportEndpoint.endpoint.name).toBe(
      crm,
    );
    expect(fault(await gateway.query(deleteMutation, { name: crm }, admin))).toBe('NOT_FOUND input.endpoint');
    expect(fault(await register('https://other.example/'))).toBeUndefined();
  });

  test('are registered, changed and deleted only by an admin of the team', async () => {
    const asBen = await signedIn(gateway, ben);
    for (const headers of [member, asBen, stranger]) {
      expect(fault(await update({ description: 'Mine' }, headers))).toBe('FORBIDDEN');
      expect(fault(await register('https://crm.example/', {}, headers))).toBe('FORBIDDEN');
      expect(fault(await gateway.query(deleteMutation, { name: crm }, headers))).toBe('FORBIDDEN');
    }
    const ada = await signedIn(gateway);
    expect(fault(await register('https://crm.example/', {}, ada))).toBeUndefined();
    expect(await list(asBen)).toHaveLength(1);
  });

  test('are listed in the order of a dictionary', async () => {
    for (const name of ['Zebra', 'École', 'acme'])
      expect(fault(await register('https://crm.example/', { name }))).toBeUndefined();
    expect((await list(admin)).map(({ name }: { name: string }) => name)).toEqual(['acme', 'École', 'Zebra']);
  });

  test('return FORBIDDEN with a reason for a client without a team', async () => {
    for (const headers of [stranger, { authorization: 'Bearer token' }]) {
      for (const field of ['exportEndpoints { name }', 'exports { totalCount }']) {
        const answer = await gateway.query(`{ ${field} }`, {}, headers);
        expect(fault(answer)).toBe('FORBIDDEN');
        expect(answer.errors?.[0].message).toMatch(/team/);
      }
      expect(fault(await send({}, headers))).toBe('FORBIDDEN');
    }
  });

  test('belong to the team of one API key if there is no teams file; signed-in users then have no team', async () => {
    gateway = await gatewayWith({ TEAMS_FILE: '' });
    // The service accepts this key, but not for events.
    expect(fault(await register('https://crm.example/', {}, member))).toBeUndefined();
    expect(await list(member)).toHaveLength(1);
    expect(await list(admin)).toHaveLength(0);
    const ada = await signedIn(gateway);
    const answer = await register('https://crm.example/', {}, ada);
    expect(fault(answer)).toBe('FORBIDDEN');
    expect(answer.errors?.[0].message).toMatch(/TEAMS_FILE/);
  });

  test('belong to no key that the service does not accept', async () => {
    gateway = await gatewayWith({ TEAMS_FILE: '' });
    expect(fault(await register('https://crm.example/', {}, key('made-up')))).toBe('UNAUTHENTICATED');
    expect(await list(key('made-up'))).toHaveLength(0);
  });

  test.each<[string, object]>([
    ['input.name', { name: '' }],
    ['input.name', { name: 'n'.repeat(256) }],
    ['input.name', { name: 'two\nlines' }],
    ['input.description', { description: 'd'.repeat(1_025) }],
    ['input.description', { description: 'two\nlines' }],
    ['input.url', { url: `https://crm.example/${'u'.repeat(1_005)}` }],
    ['input.url', { url: 'https://crm.example/{user.phone}' }],
    ['input.url', { url: 'https://crm.example/{user.name' }],
    ['input.url', { url: 'https://{user.name}.example/' }],
    ['input.url', { url: 'https://crm.example:{user.name}/' }],
    ['input.url', { url: 'https://{user.name}@crm.example/' }],
    ...['Content-Type', 'content-type', ' Content-Type ', 'CONTENT-TYPE\t', 'Idempotency-Key', ' idempotency-KEY'].map(
      (name): [string, object] => ['input.headers.0.name', { headers: [{ name, value: 'x' }] }],
    ),
    ...[
      'Accept-Encoding',
      'Connection',
      'Keep-Alive',
      'Transfer-Encoding',
      'TE',
      'Trailer',
      'Upgrade',
      'Host',
      'Content-Length',
      ...['Webhook-Id', 'webhook-timestamp', 'WEBHOOK-SIGNATURE'],
    ].map((name): [string, object] => ['input.headers.0.name', { headers: [{ name, value: 'x' }] }]),
    ...['', '__proto__', 'X Token', 'X-Token:', 'X-Tökén', 'X\r\nY', 'n'.repeat(256)].map((name): [string, object] => [
      'input.headers.0.name',
      { headers: [{ name, value: 'x' }] },
    ]),
    ...['', 'a\r\nX-Injected: 1', 'a\nb', 'a\0b', 'é', 'v'.repeat(4_097)].map((value): [string, object] => [
      'input.headers.0.value',
      { headers: [{ name: 'X-Token', value }] },
    ]),
    ['input.headers.1.name', { headers: ['X-Token', 'x-token '].map(name => ({ name, value: 'x' })) }],
    ['input.headers', { headers: Array.from({ length: 51 }, (_, index) => ({ name: `X-${index}`, value: 'x' })) }],
    ['input.headers', { headers: Array.from({ length: 8 }, (_, index) => ({ name: `X-${index}`, value: longest })) }],
  ])('refuse an invalid %s: %j', async (argument, change) => {
    const before = await list();
    expect(fault(await register('https://crm.example/', change))).toBe(`BAD_USER_INPUT ${argument}`);
    expect(await list()).toEqual(before);
    if (argument === 'input.name') return;
    await register('https://crm.example/');
    expect(fault(await update(change))).toBe(`BAD_USER_INPUT ${argument}`);
    expect((await list()).find(({ name }: { name: string }) => name === crm).url).toBe('https://crm.example/');
  });

  test('change in what is given, and keep their name, their secret and the rest', async () => {
    const [first, second] = [await startEndpoint(thanks), await startEndpoint(thanks)];
    const headers = [{ name: 'X-Token', value: 'very secret' }];
    const secret = (await register(`${first.url}/a`, { headers })).data.registerExportEndpoint.signingSecret;
    const changed = async (change: object) => (await update(change)).data.updateExportEndpoint.endpoint;
    const before = { id: crm, name: crm, url: `${first.url}/a`, description: 'The CRM', headerNames: ['X-Token'] };
    expect(await changed({})).toEqual(before);
    expect(await changed({ url: null, description: null, headers: null })).toEqual(before);
    expect(await changed({ description: 'Ours' })).toEqual({ ...before, description: 'Ours' });
    expect(await changed({ url: `${first.url}/b?for={user.email}` })).toMatchObject({ headerNames: ['X-Token'] });
    await send({ onBehalfOf: { email: 'zoe@team.example' } });
    const [call] = first.received as [ReceivedCall];
    expect([call.url, call.headers['x-token']]).toEqual(['/b?for=zoe%40team.example', 'very secret']);
    // The value of a header goes to no other server than the one that it was registered for.
    expect(fault(await update({ url: second.url }))).toBe('BAD_USER_INPUT input.headers');
    expect(await changed({ url: second.url, headers: [{ name: 'X-Key', value: 'other' }] })).toMatchObject({
      headerNames: ['X-Key'],
    });
    await send();
    expect(await changed({ headers: [] })).toMatchObject({ description: 'Ours', headerNames: [] });
    expect(await changed({ url: first.url })).toMatchObject({ url: first.url });
    await send();
    const [moved] = second.received as [ReceivedCall];
    expect(moved.headers).toMatchObject({ 'x-key': 'other' });
    expect(moved.headers).not.toHaveProperty('x-token');
    for (const { bytes, headers } of [...first.received, moved]) {
      new Webhook(secret).verify(bytes, headers as Record<string, string>);
    }
    expect(first.received.at(-1)?.headers).not.toHaveProperty('x-key');
    expect(fault(await update({ endpoint: 'no such' }))).toBe('NOT_FOUND input.endpoint');
  });

  test('are part of an export by their name, until they are deleted', async () => {
    const endpoint = await startRegistered(thanks);
    const { exportId: id } = (await send()).data.exportMarketToEndpoint;
    const read = async () =>
      (
        await gateway.query(
          'query ($id: ID!) { export(by: { id: $id }) { endpointName endpoint { nodeId id name url } } }',
          { id },
          member,
        )
      ).data.export;
    const found = await read();
    expect(found).toMatchObject({ endpointName: crm, endpoint: { id: crm, name: crm, url: `${endpoint.url}` } });
    const again = await gateway.query(
      'query ($id: ID!) { node(nodeId: $id) { ... on ExportEndpoint { name } } }',
      { id: found.endpoint.nodeId },
      admin,
    );
    expect(again.data.node).toEqual({ name: crm });
    await update({ url: `${endpoint.url}/new` });
    expect((await read()).endpoint.url).toBe(`${endpoint.url}/new`);
    await gateway.query(deleteMutation, { name: crm }, admin);
    expect(await read()).toEqual({ endpointName: crm, endpoint: null });
  });

  test('have names that can be seen, and are one name in each form of Unicode', async () => {
    const composed = `caf\u00e9 ${crm}`;
    const decomposed = composed.normalize('NFD');
    const made = await register('https://crm.example/', { name: decomposed });
    expect(made.data.registerExportEndpoint.endpoint.name).toBe(composed);
    expect(fault(await register('https://crm.example/', { name: composed }))).toBe('CONFLICT input.name');
    const after = cursorOf(0, listId('exports', JSON.stringify([composed, null, null])));
    const page = `query ($name: String!) { exports(after: "${after}", filter: { endpoint: $name }) { totalCount } }`;
    expect((await gateway.query(page, { name: decomposed }, admin)).errors).toBeUndefined();
    const removed = await gateway.query(deleteMutation, { name: decomposed }, admin);
    expect(removed.errors).toBeUndefined();
    for (const name of ['\u200b', '\u2060', '\u00ad', ' \u200b\ufeff', '\u3164', '\u2800', '\u034f', '\u00a0']) {
      expect([name, fault(await register('https://crm.example/', { name }))]).toEqual([
        name,
        'BAD_USER_INPUT input.name',
      ]);
    }
    expect(fault(await register('https://crm.example/', { name: `\u200d${crm}` }))).toBeUndefined();
  });

  test('have names without blanks at their ends, and are found with them', async () => {
    const { url } = await startEndpoint(thanks);
    const made = await register(url, { name: ` ${crm}\u00a0` });
    expect(made.data.registerExportEndpoint.endpoint.name).toBe(crm);
    expect(fault(await register(url, { name: `${crm} ` }))).toBe('CONFLICT input.name');
    const changed = await update({ endpoint: `${crm} `, description: 'new' });
    expect(changed.data.updateExportEndpoint.endpoint).toMatchObject({ name: crm, description: 'new' });
    const { exportId } = (await send({ endpoint: `${crm} ` })).data.exportMarketToEndpoint;
    const query = `query ($endpoint: String) { exports(first: 1, filter: { endpoint: $endpoint }) { nodes { id endpointName } } }`;
    const found = await gateway.query(query, { endpoint: ` ${crm}` }, admin);
    expect(found.data.exports.nodes).toEqual([{ id: exportId, endpointName: crm }]);
    const removed = await gateway.query(deleteMutation, { name: `${crm}\u00a0` }, admin);
    expect(removed.data.deleteExportEndpoint.endpoint.name).toBe(crm);
  });

  test('accept names, URLs, descriptions and headers up to their bounds', async () => {
    const change = {
      headers: Array.from({ length: 8 }, (_, index) => ({ name: `X-${index}`, value: longest.slice('X-0'.length) })),
      name: 'n'.repeat(255),
      description: 'd'.repeat(1_024),
      url: `https://crm.example/${'u'.repeat(1_004)}`,
    };
    expect(fault(await register('', change))).toBeUndefined();
  });

  test('refuse every internal address in every notation, and every text that is not a URL', async () => {
    gateway = await gatewayWith({ EXPORT_ALLOW_PRIVATE_ADDRESSES: 'false' });
    await register('https://93.184.216.34/', { name: 'outside' });
    const urls = [...insideUrls, ...impossibleUrls];
    // An operation may have 20 mutations, and here are two for each URL.
    const together = 10;
    const numbers = Array.from({ length: together }, (_, number) => number);
    const document = `mutation (${numbers.map(number => `$new${number}: RegisterExportEndpointInput!, $old${number}: UpdateExportEndpointInput!`).join()}) {
      ${numbers.map(number => `new${number}: registerExportEndpoint(input: $new${number}) { __typename } old${number}: updateExportEndpoint(input: $old${number}) { __typename }`).join(' ')}
    }`;
    for (let from = 0; from < urls.length; from += together) {
      // The last ones are asked for again, so that each operation is the same.
      const some = numbers.map(number => urls[Math.min(from + number, urls.length - 1)] ?? '');
      const variables = some.flatMap((url, number) => [
        [`new${number}`, registration(url)],
        [`old${number}`, { endpoint: 'outside', url }],
      ]);
      const { errors } = await gateway.query(document, Object.fromEntries(variables), admin);
      const refused = Object.fromEntries(errors?.map(({ path, extensions }) => [path[0], extensions]) ?? []);
      for (const [number, url] of some.entries()) {
        const extensions = { code: 'BAD_USER_INPUT', argument: 'input.url' };
        expect({ url, new: refused[`new${number}`], old: refused[`old${number}`] }).toEqual({
          url,
          new: extensions,
          old: extensions,
        });
      }
    }
    await gateway.query(deleteMutation, { name: 'outside' }, admin);
    expect((await list()).map(({ name }: { name: string }) => name)).not.toContain(crm);
  });

  test('accept only https in production', async () => {
    gateway = await gatewayWith({ NODE_ENV: 'production' });
    expect(fault(await register('http://crm.example/'))).toBe('BAD_USER_INPUT input.url');
    expect(fault(await register('https://crm.example/'))).toBeUndefined();
  });

  test('decrypt headers after a rotation of the secret, and report if no secret fits', async () => {
    const endpoint = await startEndpoint(thanks);
    await register(endpoint.url, { headers: [{ name: 'X-Token', value: 'very secret' }] });
    const [old, fresh] = ['x'.repeat(32), 'y'.repeat(32)];
    const rotated = await gatewayWith({ SESSION_SECRET: `${fresh},${old}` });
    expect((await send({}, admin, rotated)).data.exportMarketToEndpoint.__typename).toBe('ExportDelivered');
    // That sealed them again.
    const rotatedOut = await gatewayWith({ SESSION_SECRET: fresh });
    expect((await send({}, admin, rotatedOut)).data.exportMarketToEndpoint.__typename).toBe('ExportDelivered');
    const lost = await gatewayWith({ SESSION_SECRET: 'z'.repeat(32) });
    const answer = await send({}, admin, lost);
    expect(fault(answer)).toBe('CONFLICT');
    expect(answer.errors?.[0].message).toMatch(/SESSION_SECRET/);
    expect(endpoint.received).toHaveLength(2);
  });

  test('decrypt headers only for their own endpoint', async () => {
    const [theirs, other] = [await startEndpoint(thanks), await startEndpoint(thanks)];
    await register(theirs.url, { headers: [{ name: 'X-Token', value: 'very secret' }] });
    const file = join(folder, 'data', 'exports.json');
    await writeFile(file, (await readFile(file, 'utf8')).replace(theirs.url, other.url));
    expect(fault(await send())).toBe('CONFLICT');
    expect(other.received).toEqual([]);
  });

  test('are not left out of a call because their seal is missing', async () => {
    const endpoint = await startEndpoint(thanks);
    await register(endpoint.url, { headers: [{ name: 'X-Token', value: 'very secret' }] });
    await rewrite(({ endpoints: [known], ...state }) => ({ ...state, endpoints: [{ ...known, sealedHeaders: null }] }));
    expect(fault(await send())).toBe('CONFLICT');
    expect(endpoint.received).toEqual([]);
  });
});

describe('an export', () => {
  const sendAll = (change: object = {}, headers: Headers = admin) => send({ marketId: '1', ...change }, headers);
  beforeEach(() => {
    companies = marketOne()?.companies ?? [];
  });
  const domainsOf = (receivedCall: ReceivedCall | undefined) =>
    receivedCall?.body.data.map(({ domain }: Company) => domain);
  const byScore = (list: readonly Company[]) => list.toSorted((one, other) => other.score - one.score);

  /** Lets what is cached become older. */
  function pass(milliseconds: number) {
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + milliseconds);
    cleanups.push(() => clock.mockRestore());
  }

  test('is a POST with the fixed headers, those of the endpoint, and the body from the specification', async () => {
    const endpoint = await startEndpoint(thanks);
    await register(`${endpoint.url}/in/?a=1`, { headers: [{ name: 'Authorization', value: 'Basic abc' }] });
    const { data } = await sendAll();
    const [receivedCall] = endpoint.received;
    expect(receivedCall).toMatchObject({ method: 'POST', url: '/in/?a=1' });
    expect(receivedCall?.headers).toMatchObject({
      'content-type': 'application/json',
      'accept-encoding': 'gzip, br',
      'user-agent': expect.stringMatching(/^market-intelligence-gateway\//),
      'idempotency-key': data.exportMarketToEndpoint.exportId,
      authorization: 'Basic abc',
    });
    expect(receivedCall?.headers['idempotency-key']).toMatch(
      /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
    );
    const { meta, market, data: records, ...rest } = receivedCall?.body ?? {};
    expect(rest).toEqual({});
    expect(meta).toEqual({ totalItems: companies.length });
    expect(market).toEqual({ id: 1, name: marketOne()?.record.name });
    const [best] = byScore(companies);
    const { domain, name, description, overallMomentum, contactNumber, contactEmail, actualRevenue } = best ?? {};
    const { naics, operatesIn, dunsNumbers } = best ?? {};
    expect(records[0]).toEqual({
      ...{ domain, name, description, overallMomentum, contactNumber, contactEmail, actualRevenue },
      ...{ naics, operatesIn, dunsNumbers },
    });
  });

  test.each([
    ['the market', /dev\/markets\/2$/, undefined],
    ['its companies, of which no CSV file is made either', /markets\/2\/companies$/, 'UPSTREAM_UNAVAILABLE'],
  ])('is not sent with old data of %s while the service fails', async (_, path, csvFault) => {
    await afresh();
    const endpoint = await startRegistered(thanks);
    await gateway.query('{ market(id: 2) { name companies { totalCount } } }', {}, admin);
    pass(9 * 60_000);
    sandbox.tell({ path, status: 500 });
    const { errors } = await send();
    expect(errors?.[0]).toMatchObject({
      message: 'The service failed',
      extensions: { code: 'UPSTREAM_UNAVAILABLE', retryable: true },
    });
    expect(endpoint.received).toEqual([]);
    expect((await listed()).totalCount).toBe(0);
    sandbox.calls.clear();
    const csv = 'mutation { exportMarketCsv(input: { marketId: 2, companies: { matching: {} } }) { selected } }';
    expect(fault(await gateway.query(csv, {}, admin))).toBe(csvFault);
    expect(sandbox.calls.count(/export-csv/)).toBe(csvFault === undefined ? 1 : 0);
  });

  test('sends at most 500 companies, highest scores first, and the total number', async () => {
    const endpoint = await startRegistered(thanks);
    const numbers = `__typename ... on ExportEnding { delivered matching }`;
    const { data } = await gateway.query(
      `mutation ($input: ExportMarketToEndpointInput!) { exportMarketToEndpoint(input: $input) { ${numbers} }
        testExportEndpoint(input: { endpoint: "${crm}" }) { ${numbers} } }`,
      { input: order({ marketId: '1' }) },
      admin,
    );
    expect(data).toEqual({
      exportMarketToEndpoint: { __typename: 'ExportDelivered', delivered: 500, matching: companies.length },
      testExportEndpoint: { __typename: 'ExportDelivered', delivered: 0, matching: 0 },
    });
    expect(companies.length).toBeGreaterThan(500);
    expect(domainsOf(endpoint.received[0])).toEqual(
      byScore(companies)
        .slice(0, 500)
        .map(({ domain }) => domain),
    );
    expect(endpoint.received[0]?.body.meta.totalItems).toBe(companies.length);
    expect((await listed()).nodes[1]).toMatchObject({ selected: companies.length, sent: 500 });
  });

  test('keeps the order of companies with equal scores, and puts those without a score last', async () => {
    await afresh();
    const endpoint = await startRegistered(thanks);
    const scores = [1, null, 2, 1, 'high', 2];
    const data = scores.map((score, index) => ({ ...companies[0], domain: `c${index}.example`, score }));
    sandbox.tell({ path: '/v2/markets/1/companies', body: JSON.stringify({ data }), status: 200 });
    await sendAll({}, member);
    expect(domainsOf(endpoint.received[0])).toEqual([2, 5, 0, 3, 1, 4].map(index => `c${index}.example`));
  });

  test('reports no record that it could not read and does not send', async () => {
    await afresh();
    const endpoint = await startRegistered(thanks);
    const data = [
      { ...companies[0], domain: 'a.example', dunsNumbers: [null, '1'] },
      { name: 'without a domain' },
      null,
    ];
    sandbox.tell({ path: '/v2/markets/1/companies', body: JSON.stringify({ data }), status: 200 });
    const { errors } = await sendAll({}, member);
    expect(errors).toBeUndefined();
    expect(endpoint.received[0]?.body.data).toMatchObject([{ domain: 'a.example', dunsNumbers: ['1'] }]);
    expect(endpoint.received[0]?.body.meta.totalItems).toBe(1);
  });

  test('sends the filtered, sorted page of the explorer by score, and no other company', async () => {
    const endpoint = await startRegistered(thanks);
    const filter = { operatesIn: [companies[0]?.operatesIn[0]?.toUpperCase()], naics: ['2', '3', '4', '5'] };
    const orderBy = { field: 'NAME', direction: 'DESC' };
    const page = `query ($after: String, $filter: CompanyFilter, $orderBy: CompanyOrder) { market(id: 1) {
      companies(first: 7, after: $after, filter: $filter, orderBy: $orderBy) { totalCount pageInfo { endCursor } nodes { domain } } } }`;
    const first = (await gateway.query(page, { filter, orderBy }, admin)).data.market.companies;
    const after = first.pageInfo.endCursor;
    const second = (await gateway.query(page, { filter, orderBy, after }, admin)).data.market.companies;
    expect(second.nodes).toHaveLength(7);
    expect(second.totalCount).toBeLessThan(companies.length);
    await sendAll({ companies: { visible: { first: 7, after, filter, orderBy } } });
    const shown = new Set(second.nodes.map(({ domain }: Company) => domain));
    const ranked = byScore(companies.filter(({ domain }) => shown.has(domain)));
    expect(domainsOf(endpoint.received[0])).toEqual(ranked.map(({ domain }) => domain));
    expect(endpoint.received[0]?.body.meta.totalItems).toBe(7);

    await sendAll({ companies: { matching: filter } });
    expect(endpoint.received[1]?.body.meta.totalItems).toBe(second.totalCount);
    await sendAll({ companies: { visible: {} } });
    expect(endpoint.received[2]?.body.meta.totalItems).toBe(10);
  });

  test('counts as a repetition only if filter and order are the same', async () => {
    const endpoint = await startRegistered(thanks);
    const filtered = (country: string) =>
      sendAll({ idempotencyKey: `${crm} filtered`, companies: { visible: { filter: { operatesIn: [country] } } } });
    const [one, two] = [...new Set(companies.flatMap(({ operatesIn }) => operatesIn))];
    expect(fault(await filtered(one ?? ''))).toBeUndefined();
    expect(fault(await filtered(one ?? ''))).toBeUndefined();
    expect(fault(await filtered(two ?? ''))).toBe('CONFLICT input.idempotencyKey');
    const sorted = { filter: { operatesIn: [one] }, orderBy: { field: 'NAME' } };
    expect(fault(await sendAll({ idempotencyKey: `${crm} filtered`, companies: { visible: sorted } }))).toBe(
      'CONFLICT input.idempotencyKey',
    );
    expect(endpoint.received).toHaveLength(1);
  });

  test('with an invalid filter sends nothing and makes no upstream call', async () => {
    const endpoint = await startRegistered(thanks);
    sandbox.calls.clear();
    const wrong = await sendAll({ companies: { visible: { filter: { search: ' ' } } } });
    expect(fault(wrong)).toBe('BAD_USER_INPUT input.companies.visible.filter.search');
    expect(sandbox.calls.list()).toEqual([]);
    expect(endpoint.received).toEqual([]);
  });

  test('sends the companies with the given domains, each once, ignoring case', async () => {
    const endpoint = await startRegistered(thanks);
    const [one, two] = companies.map(({ domain }) => domain);
    await sendAll({ companies: { domains: [one?.toUpperCase(), two, one] } });
    expect(domainsOf(endpoint.received[0]).sort()).toEqual([one, two].sort());
    expect(endpoint.received[0]?.body.meta.totalItems).toBe(2);
  });

  test.each<[string, object]>([
    ['BAD_USER_INPUT input.companies.domains', { companies: { domains: ['unknown.example'] } }],
    ['BAD_USER_INPUT input.companies.domains', { companies: { domains: [] } }],
    ['BAD_USER_INPUT input.companies.domains.0', { companies: { domains: ['no domain'] } }],
    ['BAD_USER_INPUT input.companies.all', { companies: { all: true } }],
    ['BAD_USER_INPUT input.companies.matching', { companies: { matching: null } }],
    ['BAD_USER_INPUT input.companies', { companies: { matching: {}, domains: ['a.example'] } }],
    ['BAD_USER_INPUT input.companies', { companies: {} }],
    ['BAD_USER_INPUT input.companies.visible.first', { companies: { visible: { first: 101 } } }],
    ['BAD_USER_INPUT input.companies.visible.first', { companies: { visible: { first: 0 } } }],
    ['BAD_USER_INPUT input.companies.visible.after', { companies: { visible: { after: 'x' } } }],
    ['BAD_USER_INPUT input.companies', { companies: { visible: { after: cursorOf(9999, companyListId('1', {})) } } }],
    ['BAD_USER_INPUT input.companies', { companies: { visible: { filter: { search: 'no company has this' } } } }],
    ['BAD_USER_INPUT input.companies', { companies: { matching: { search: 'no company has this' } } }],
    ['BAD_USER_INPUT input.companies.matching.domains', { companies: { matching: { domains: [] } } }],
    ['BAD_USER_INPUT input.companies.visible.filter.domains', { companies: { visible: { filter: { domains: [] } } } }],
    ['BAD_USER_INPUT input.companies.visible.last', { companies: { visible: { first: 1, last: 1 } } }],
    ['BAD_USER_INPUT input.marketId', { marketId: '../1' }],
    ['BAD_USER_INPUT input.idempotencyKey', { idempotencyKey: '' }],
    ['BAD_USER_INPUT input.idempotencyKey', { idempotencyKey: 'k'.repeat(256) }],
    ['NOT_FOUND input.endpoint', { endpoint: 'unknown' }],
    ['NOT_FOUND', { marketId: '999' }],
  ])('sends nothing if the result is %s: %j', async (expected, change) => {
    const endpoint = await startRegistered(thanks);
    const before = await listed();
    expect(fault(await sendAll(change))).toBe(expected);
    expect(endpoint.received).toEqual([]);
    expect(await listed()).toEqual(before);
  });

  test('of an unpublished market returns CONFLICT, of one without a name UPSTREAM_INVALID_RESPONSE, and sends nothing', async () => {
    await afresh();
    const endpoint = await startRegistered(thanks);
    const draft = sandbox.data.markets.find(({ record }) => record.review_status !== 'published');
    expect(fault(await sendAll({ marketId: `${draft?.record.id}` }))).toBe('CONFLICT');
    sandbox.tell({
      path: '/stage/dev/markets/1',
      status: 200,
      body: JSON.stringify({ id: 1, name: 'M', review_status: 'draft' }),
    });
    expect(fault(await sendAll({}, member))).toBe('CONFLICT');
    // The endpoint would get a market without a name.
    sandbox.tell({ path: '/stage/dev/markets/2', status: 200, body: '{"id":2}' });
    expect(fault(await sendAll({ marketId: '2' }, member))).toBe('UPSTREAM_INVALID_RESPONSE');
    sandbox.tell({ path: '/v2/markets/2/companies', status: 404 });
    expect((await sendAll({ marketId: '2' }, member)).errors?.[0].message).toMatch(
      /^The market is not published, does/,
    );
    expect(endpoint.received).toEqual([]);
  });

  const recordPath = '/stage/dev/markets/1';

  /** Lets the gateway cache a market as it was before its publication: under review, and with one company. */
  async function cacheUnderReview() {
    const record = { id: 1, name: 'M', review_status: 'reviewing' };
    const answers = [
      sandbox.tell({ path: recordPath, status: 200, body: JSON.stringify(record) }),
      sandbox.tell({ path: '/v2/markets/1/companies', status: 200, body: '{"data":[{"domain":"earlier.example"}]}' }),
    ];
    const { data } = await gateway.query('{ market(id: 1) { reviewStatus companies { totalCount } } }', {}, admin);
    expect(data.market).toEqual({ reviewStatus: 'REVIEWING', companies: { totalCount: 1 } });
    for (const publish of answers) publish();
    sandbox.calls.clear();
  }

  test.each([
    ['while its record is cached', async () => {}],
    ['when its record is cached no longer', async () => pass(61_000)],
    [
      'when its record was read anew',
      async () => {
        pass(61_000);
        await gateway.query('{ market(id: 1) { reviewStatus } }', {}, admin);
        sandbox.calls.clear();
      },
    ],
  ])(
    'of a market that was published after it was cached goes with its companies of now to both endpoints, with one call for each: %s',
    async (_, wait) => {
      await afresh();
      const endpoint = await startRegistered(thanks);
      await register(endpoint.url, { name: 'other' });
      await cacheUnderReview();
      await wait();
      const mutation = `mutation ($one: ExportMarketToEndpointInput!, $two: ExportMarketToEndpointInput!) {
        one: exportMarketToEndpoint(input: $one) { __typename } two: exportMarketToEndpoint(input: $two) { __typename } }`;
      const variables = { one: order({ marketId: '1' }), two: order({ marketId: '1', endpoint: 'other' }) };
      const { data } = await gateway.query(mutation, variables, admin);
      expect(data).toEqual({ one: { __typename: 'ExportDelivered' }, two: { __typename: 'ExportDelivered' } });
      const totals = endpoint.received.map(({ body }) => body.meta.totalItems);
      expect(totals).toEqual([companies.length, companies.length]);
      expect([sandbox.calls.count(/dev\/markets/), sandbox.calls.count(/companies/)]).toEqual([1, 1]);
    },
  );

  test('to a CSV file is of the companies of now', async () => {
    await afresh();
    await cacheUnderReview();
    const csv = 'mutation { exportMarketCsv(input: { marketId: 1, companies: { matching: {} } }) { selected } }';
    const { data } = await gateway.query(csv, {}, admin);
    expect(data.exportMarketCsv.selected).toBe(companies.length);
  });

  test('of a market that was under review is refused as unavailable while the service fails', async () => {
    await afresh();
    await startRegistered(thanks);
    await cacheUnderReview();
    pass(61_000);
    sandbox.tell({ path: recordPath, status: 500 });
    expect(fault(await sendAll({}, admin))).toBe('UPSTREAM_UNAVAILABLE');
  });

  test('uses the percent-encoded user from onBehalfOf for an API key', async () => {
    const endpoint = await startRegistered(thanks, '/u/{user.name}/?e={user.email}&n={user.name}');
    const onBehalfOf = { name: 'Zoë / ?a=b&c#d%2e', email: 'zoë+1@team.example' };
    await sendAll({ onBehalfOf });
    const [path, query] = (endpoint.received[0]?.url ?? '').split('?');
    expect(path).toBe(`/u/${encodeURIComponent(onBehalfOf.name)}/`);
    expect(Object.fromEntries(new URLSearchParams(query))).toEqual({ e: onBehalfOf.email, n: onBehalfOf.name });
    expect((await listed()).nodes[0]).toMatchObject({
      by: expect.stringMatching(/^API key [\da-f]{8}$/),
      user: onBehalfOf.email,
    });
  });

  test('uses the user of the session for a signed-in user, and ignores onBehalfOf', async () => {
    const endpoint = await startRegistered(thanks, '/?e={user.email}&n={user.name}');
    const asBen = await signedIn(gateway, ben);
    await sendAll({ onBehalfOf: { name: 'Mallory', email: 'mallory@evil.example' } }, asBen);
    const query = new URLSearchParams((endpoint.received[0]?.url ?? '').split('?')[1]);
    expect(Object.fromEntries(query)).toEqual({ e: 'ben@team.example', n: 'Ben Okafor' });
    expect((await listed()).nodes[0]).toMatchObject({ by: 'ben@team.example', user: 'ben@team.example' });
  });

  test.each([
    ['input.onBehalfOf', {}],
    ['input.onBehalfOf', { onBehalfOf: { email: 'a@b.example' } }],
    ['input.onBehalfOf', { onBehalfOf: { name: '..' } }],
    ['input.onBehalfOf.name', { onBehalfOf: { name: '' } }],
    ['input.onBehalfOf.name', { onBehalfOf: { name: 'a\nb' } }],
  ])('sends nothing if a placeholder has no value (%s): %j', async (argument, change) => {
    const endpoint = await startRegistered(thanks, '/{user.name}');
    expect(fault(await sendAll(change))).toBe(`BAD_USER_INPUT ${argument}`);
    expect(endpoint.received).toEqual([]);
  });
});

describe('the signature of an export', () => {
  const secretOf = async (change: object = {}, url = 'http://127.0.0.1:9/in') =>
    (await register(url, change)).data.registerExportEndpoint.signingSecret as string;

  test('is verified by the library of Standard Webhooks, with the secret that the registration returned', async () => {
    const endpoint = await startEndpoint((response, request, count) =>
      json(count === 1 ? 500 : 200, {})(response, request, count),
    );
    const secret = await secretOf({}, endpoint.url);
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
    const { exportId } = (await send()).data.exportMarketToEndpoint;
    expect(endpoint.received).toHaveLength(2);
    for (const call of endpoint.received) {
      expect(verified(call, secret)).toBe(true);
      expect(call.headers['webhook-id']).toBe(exportId);
      expect(() => verified({ ...call, bytes: call.bytes.replace('"data"', '"dato"') }, secret)).toThrow();
      const earlier = Number(call.headers['webhook-timestamp']) - 301;
      const headers = { ...call.headers, 'webhook-timestamp': String(earlier) };
      expect(() => verified({ ...call, headers }, secret)).toThrow();
    }
  });

  test('is made with both secrets after a rotation, which only an admin may do', async () => {
    const endpoint = await startEndpoint(thanks);
    const old = await secretOf({}, endpoint.url);
    expect(fault(await gateway.query(rotateMutation, { name: crm }, member))).toBe('FORBIDDEN');
    expect(fault(await gateway.query(rotateMutation, { name: 'no such' }, admin))).toBe('NOT_FOUND input.endpoint');
    const rotate = async () =>
      (await gateway.query(rotateMutation, { name: crm }, admin)).data.rotateExportEndpointSecret.signingSecret;
    const second = await rotate();
    await send();
    const [call] = endpoint.received as [ReceivedCall];
    expect(verified(call, old) && verified(call, second)).toBe(true);
    const third = await rotate();
    await send();
    const later = endpoint.received.at(-1) as ReceivedCall;
    expect(verified(later, second) && verified(later, third)).toBe(true);
    expect(() => verified(later, old)).toThrow();
  });

  test('is made with both secrets after a rotation of which Redis could not tell', async () => {
    const redis = forTest(await startRedis());
    const way = forTest(await startNetwork(() => redis.port));
    gateway = await gatewayWith({}, { redisUrl: way.url.replace('http', 'redis') });
    const endpoint = await startEndpoint(thanks);
    const old = await secretOf({}, endpoint.url);
    way.loseReplyTo("redis.call('HSET'");
    const { data, errors } = await gateway.query(rotateMutation, { name: crm }, admin);
    expect(errors).toBeUndefined();
    await send();
    const [call] = endpoint.received as [ReceivedCall];
    expect(verified(call, old) && verified(call, data.rotateExportEndpointSecret.signingSecret)).toBe(true);
  });

  test('is made with a replaced secret for 24 hours', () => {
    const [old, fresh] = [newSigningSecret(), newSigningSecret()];
    const rotatedAt = Date.parse('2026-03-01T12:00:00Z');
    const secrets = rotatedSecrets(rotatedSecrets([], old, 0), fresh, rotatedAt);
    const signedAt = (time: number) =>
      signatureHeaders(secrets, { id: 'one', body: '{}' }, new Date(time))['webhook-signature']?.split(' ');
    const day = 24 * 60 * 60_000;
    expect(signedAt(rotatedAt + day - 1)).toHaveLength(2);
    const at = new Date(rotatedAt + day);
    expect(signedAt(rotatedAt + day)).toEqual([new Webhook(fresh.reveal()).sign('one', at, '{}')]);
  });

  test('keeps with its secrets what a newer gateway has added, when it is updated and replaced', async () => {
    const endpoint = await startRegistered(thanks);
    const sealer = createSealer([new Secret('x'.repeat(32))]);
    const added = { added: { in: 'a newer version' } };
    const signing = [{ secret: newSigningSecret().reveal(), validUntil: null, ...added }];
    const purpose = JSON.stringify(['export signing', demoTeam, crm, endpoint.url]);
    const sealedSigningSecrets = await sealer.seal({ for: purpose, signing }, 0);
    await rewrite(({ endpoints: [known], ...state }) => ({
      ...state,
      endpoints: [{ ...known, sealedSigningSecrets, ...added }],
    }));
    expect(fault(await update({ description: 'new' }))).toBeUndefined();
    expect(fault(await gateway.query(rotateMutation, { name: crm }, admin))).toBeUndefined();
    const { teams } = JSON.parse(await readFile(join(folder, 'data', 'exports.json'), 'utf8'));
    const [stored] = teams[demoTeam].endpoints;
    expect(stored).toMatchObject({ description: 'new', ...added });
    const opened = (await sealer.open(stored.sealedSigningSecrets)) as { signing: object[] };
    expect(opened.signing).toMatchObject([{ validUntil: null }, { ...signing[0], validUntil: expect.any(Number) }]);
  });

  test('is checked by the receiver', async () => {
    let secret = '';
    const server = createServer((request, response) => {
      createReceiver('accept', () => {}, secret).emit('request', request, response);
    });
    secret = await secretOf({}, `http://127.0.0.1:${await listening(server)}/in`);
    expect((await send()).data.exportMarketToEndpoint.__typename).toBe('ExportDelivered');
    secret = newSigningSecret().reveal();
    expect((await send()).data.exportMarketToEndpoint).toMatchObject({
      __typename: 'ExportRejected',
      title: 'Not signed',
    });
  });
});

describe('the response of an endpoint', () => {
  const generic = 'The export could not be delivered. Please contact your IT support.';
  const failed = { __typename: 'ExportFailed', message: generic, outcome: 'FAILED' };
  const delivered = { __typename: 'ExportDelivered', redirectUrl: null };
  const rejected = { __typename: 'ExportRejected', references: [] };
  const wordless = {
    accepted: { ...delivered, title: 'Delivered', message: 'The endpoint accepted the export.' },
    refused: { ...rejected, title: 'Rejected' },
  };
  const words = { title: 'T', message: 'M' };
  const spoken = { title: 'Prêt', message: 'Déjà là' };
  const said = JSON.stringify({ ...spoken, redirectUrl: 'https://crm.example/x' });
  const raw =
    (status: number, body: string): Answer =>
    response =>
      response.writeHead(status).end(body);
  const huge = JSON.stringify({ ...words, padding: 'x'.repeat(1024 * 1024) });
  const largest = JSON.stringify({ ...words, padding: '' });
  const exactly1MB = JSON.stringify({ ...words, padding: 'x'.repeat(1024 * 1024 - largest.length) });

  /** Within 1 MB, and long to parse. Each is the words with a padding that has one thing too much. */
  const costly: [string, string][] = [
    ['4,001 values', `[${'0,'.repeat(4_001 - 4)}0]`],
    ['300,000 objects', `[${'{},'.repeat(299_999)}{}]`],
    ['4,001 members', `{${Array.from({ length: 4_001 - 3 }, (_, index) => `"m${index}":0`).join()}}`],
    ['60,000 members', `{${Array.from({ length: 60_000 }, (_, index) => `"m${index}":0`).join()}}`],
    ['17 levels', `${'['.repeat(16)}${']'.repeat(16)}`],
    ['900,000 levels', '['.repeat(900_000)],
    ['a number of 1,025 digits', '1'.repeat(1_025)],
  ];
  const padded = (padding: string) => `${JSON.stringify(words).slice(0, -1)},"padding":${padding}}`;
  const bearable: [string, string][] = [
    ['4,000 values', `[${'0,'.repeat(4_000 - 4)}0]`],
    ['4,000 members', `{${Array.from({ length: 4_000 - 3 }, (_, index) => `"m${index}":0`).join()}}`],
    ['16 levels', `${'['.repeat(15)}${']'.repeat(15)}`],
    ['17 brackets in a text', `"${'['.repeat(17)}"`],
    ['a number of 1,024 digits', '1'.repeat(1_024)],
  ];

  const answer = (status: number) => `Answer ${status} with JSON that has \`title\` and \`message\`.`;
  const unreadable = (status: number) =>
    `The endpoint answered ${status} with a body that is not JSON, holds too much, or lacks one of its members. ${answer(status)}`;
  const noBody = (status: number) => `The endpoint answered ${status} without a body. `;
  const broken =
    'The endpoint could not be reached, or the connection ended before the answer was complete. Check the address, the server and its certificate.';
  /** What the endpoint answers, how often it is called, the result, and how the attempts explain what was wrong. */
  type Row = [what: string, answer: Answer, calls: number, result: object, explanation?: string | null | undefined];

  const rows: Row[] = [
    ...costly.flatMap(([what, padding]): Row[] => [
      [`200 with ${what}`, raw(200, padded(padding)), 1, wordless.accepted, unreadable(200)],
      [`422 with ${what}`, raw(422, padded(padding)), 1, wordless.refused, unreadable(422)],
    ]),
    ...bearable.map(
      ([what, padding]): Row => [`200 with ${what}`, raw(200, padded(padding)), 1, { ...delivered, ...words }],
    ),
    [
      '200',
      json(200, { ...words, redirectUrl: 'https://crm.example/x' }),
      1,
      { ...delivered, ...words, redirectUrl: 'https://crm.example/x' },
      null,
    ],
    ['200 without a redirectUrl', json(200, words), 1, { ...delivered, ...words }],
    ['200 with a redirectUrl of null', json(200, { ...words, redirectUrl: null }), 1, { ...delivered, ...words }],
    [
      '200 with a redirectUrl that is a script',
      json(200, { ...words, redirectUrl: 'javascript:alert(1)' }),
      1,
      { ...delivered, ...words },
    ],
    [
      '200 with a redirectUrl without a scheme',
      json(200, { ...words, redirectUrl: '//crm.example' }),
      1,
      { ...delivered, ...words },
    ],
    ['200 with a redirectUrl of a wrong type', json(200, { ...words, redirectUrl: 7 }), 1, { ...delivered, ...words }],
    ['200 without words', json(200, {}), 1, wordless.accepted, unreadable(200)],
    ['200 with a title alone', json(200, { title: 'T' }), 1, { ...wordless.accepted, title: 'T' }, unreadable(200)],
    ['200 with words of wrong types', json(200, { title: 1, message: ['M'] }), 1, wordless.accepted],
    ['200 without a body', raw(200, ''), 1, wordless.accepted, noBody(200) + answer(200)],
    ['200 with HTML', raw(200, '<html>OK</html>'), 1, wordless.accepted, unreadable(200)],
    ['200 with a JSON list', json(200, [words]), 1, wordless.accepted, unreadable(200)],
    ['200 with 1 MB', raw(200, exactly1MB), 1, { ...delivered, ...words }],
    [
      '200 with more than 1 MB',
      raw(200, huge),
      1,
      wordless.accepted,
      `The endpoint answered 200 with a body that is too large. ${answer(200)}`,
    ],
    ['207', json(207, words), 1, { ...rejected, ...words }, null],
    ['207 without a body', raw(207, ''), 1, wordless.refused, noBody(207) + answer(207)],
    ['400', json(400, words), 1, { ...rejected, ...words }, null],
    ['404 with HTML', raw(404, '<html>not here</html>'), 1, wordless.refused, unreadable(404)],
    [
      '410',
      json(410, words),
      1,
      { ...rejected, ...words },
      'The endpoint answered 410: its address is gone. Register the new address, or delete the endpoint.',
    ],
    ['408', json(408, words), 1, { ...rejected, ...words }],
    ['429', json(429, words), 1, { ...rejected, ...words }],
    ['499', json(499, words), 1, { ...rejected, ...words }],
    ['422 with more than 1 MB', raw(422, huge), 1, wordless.refused],
    [
      '422 with references',
      json(422, {
        ...words,
        references: [
          { title: 'a' },
          { title: 'b', message: 'm', url: 'https://b.example/', type: 'ok' },
          { title: 'c', type: 'info' },
          { title: 'd', type: 'error', url: 'javascript:alert(1)' },
          { title: 'e', type: 'catastrophe', message: 7 },
          { title: 'an object’s own', type: 'constructor' },
          { message: 'without a title' },
          'no reference',
          { title: 'f', type: 'warning' },
        ],
      }),
      1,
      {
        ...rejected,
        ...words,
        references: [
          { title: 'a', message: null, url: null, type: 'WARNING' },
          { title: 'b', message: 'm', url: 'https://b.example/', type: 'OK' },
          { title: 'c', message: null, url: null, type: 'INFO' },
          { title: 'd', message: null, url: null, type: 'ERROR' },
          { title: 'e', message: null, url: null, type: 'WARNING' },
          { title: 'an object’s own', message: null, url: null, type: 'WARNING' },
          { title: 'f', message: null, url: null, type: 'WARNING' },
        ],
      },
    ],
    ['422 with references that are no list', json(422, { ...words, references: 'a' }), 1, { ...rejected, ...words }],
    [
      '500',
      json(500, words),
      4,
      failed,
      `The endpoint answered 500, which says that it failed. Such a call is repeated up to three times. ${answer(200)}`,
    ],
    [
      '503 with an endless body',
      response => {
        response.writeHead(503);
        response.write('x');
      },
      4,
      failed,
    ],
    ...[
      ['in gzip', { 'content-encoding': 'gzip' }, gzipSync(said)],
      ['in Brotli', { 'content-encoding': 'br' }, brotliCompressSync(said)],
      ['with a byte order mark', {}, Buffer.from(`\ufeff${said}`)],
    ].flatMap(([way, headers, body]): Row[] => {
      const sends = (status: number): Answer => {
        return response => response.writeHead(status, headers as Record<string, string>).end(body);
      };
      return [
        [`200 ${way}`, sends(200), 1, { ...delivered, ...spoken, redirectUrl: 'https://crm.example/x' }],
        [`422 ${way}`, sends(422), 1, { ...rejected, ...spoken }],
      ];
    }),
    ...[
      ['in an unknown encoding', { 'content-encoding': 'zstd' }, said, 'The content encoding zstd is not supported.'],
      [
        'in Latin-1',
        { 'content-type': 'application/json; charset=iso-8859-1' },
        Buffer.from(said, 'latin1'),
        'The charset iso-8859-1 is not supported.',
      ],
      ['that is not gzip', { 'content-encoding': 'gzip' }, said],
      ['that grows beyond 1 MB', { 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(50 * 1024 * 1024, ' '))],
    ].map(
      ([way, headers, body, fault]): Row => [
        `422 ${way}`,
        response => response.writeHead(422, headers as Record<string, string>).end(body),
        1,
        wordless.refused,
        fault === undefined ? fault : `The endpoint answered 422. ${fault} ${answer(422)}`,
      ],
    ),
    ['599', json(599, words), 4, failed],
    [
      '503, then 200',
      (response, request, count) => json(count < 3 ? 503 : 200, words)(response, request, count),
      3,
      { ...delivered, ...words },
    ],
    [
      '503, then 422',
      (response, request, count) => json(count < 4 ? 503 : 422, words)(response, request, count),
      4,
      { ...rejected, ...words },
    ],
    ['a connection closed before the answer', (_, request) => request.socket.destroy(), 4, failed, broken],
    [
      'a connection closed in the middle of the answer',
      response => {
        response.writeHead(200, { 'content-length': 100 });
        response.write('{"title":"T"', () => response.destroy());
      },
      4,
      failed,
    ],
    [
      'a connection closed once, then 200',
      (response, request, count) =>
        count === 1 ? request.socket.destroy() : json(200, words)(response, request, count),
      2,
      { ...delivered, ...words },
    ],
    ['something that is no HTTP', (_, request) => request.socket.end('HELLO\r\n\r\n'), 4, failed],
    ...[201, 202, 203, 206, 226, 299].map((status): Row => {
      return [`${status}`, json(status, words), 1, failed, `The endpoint answered ${status}. ${answer(200)}`];
    }),
    ...[204, 205].map((status): Row => [`${status}`, raw(status, ''), 1, failed, noBody(status) + answer(200)]),
    ...[300, 301, 302, 303, 304, 305, 307, 308].map(
      (status): Row => [
        `${status}, a redirect to itself`,
        (response, request) =>
          response.writeHead(status, { location: `http://${request.headers.host}/elsewhere` }).end(),
        1,
        failed,
        [300, 304, 305].includes(status)
          ? `The endpoint answered ${status}. ${answer(200)}`
          : `The endpoint answered ${status} with a redirect to another address; redirects are not followed. Register the final address.`,
      ],
    ),
    ...[
      '100 Continue',
      '101 Switching Protocols',
      '101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket',
      '102 Processing',
      '103 Early Hints',
    ].map(
      (head): Row => [
        `${head} and nothing more`,
        (_, request) => request.socket.end(`HTTP/1.1 ${head}\r\n\r\n`),
        4,
        failed,
        `The endpoint answered ${head.slice(0, 3)}, which announces an answer, but sent none after it. ${answer(200)}`,
      ],
    ),
    [
      '600',
      (_, request) => request.socket.end('HTTP/1.1 600 What\r\ncontent-length: 0\r\n\r\n'),
      1,
      failed,
      `The endpoint answered 600. ${answer(200)}`,
    ],
  ];

  test.each(rows)('%s', async (_, answer, calls, expected, ...[explanation]) => {
    const endpoint = await startRegistered(answer);
    const result = (await send()).data.exportMarketToEndpoint;
    expect(result).toMatchObject(expected);
    expect(endpoint.received).toHaveLength(calls);
    expect(result.attempts).toHaveLength(calls);
    const explanations = new Set(result.attempts.map((attempt: Record<string, unknown>) => attempt.explanation));
    if (explanation !== undefined) expect([...explanations]).toEqual([explanation]);
    const keys = new Set(endpoint.received.map(({ headers }) => headers['idempotency-key']));
    expect([...keys]).toEqual([result.exportId]);
    const bodies = new Set(endpoint.received.map(({ body }) => JSON.stringify(body)));
    expect(bodies.size).toBe(1);
    const [record] = (await listed()).nodes;
    expect(record).toMatchObject({
      id: result.exportId,
      outcome: result.__typename.replace('Export', '').toUpperCase(),
      result: { __typename: result.__typename },
      attempts: result.attempts.map(({ status, fault, milliseconds }: Record<string, unknown>) => ({
        status,
        fault,
        milliseconds,
      })),
    });
  });

  test.each([
    ['once', padded('[1]'), 1],
    ['never if it would take long', padded('['.repeat(100_000)), 0],
  ])('a body is parsed %s', async (_, body, count) => {
    await register((await startEndpoint(raw(200, body))).url);
    const parse = jest.spyOn(JSON, 'parse');
    cleanups.push(() => parse.mockRestore());
    await send();
    expect(parse.mock.calls.filter(([text]) => text === body)).toHaveLength(count);
  });

  let timer: ReturnType<typeof takeAttemptTimers>;
  const timeouts = (count: number) => Array(count).fill('TIMEOUT');
  test.each<[string, Answer, object, unknown[]]>([
    ['no response within 15 seconds, four times', () => timer.fire(), failed, timeouts(4)],
    [
      'no response within 15 seconds, then one',
      (response, request, count) => (count === 1 ? timer.fire() : thanks(response, request, count)),
      { ...delivered, title: 'Thanks' },
      [...timeouts(1), 200],
    ],
    [
      'a response that does not end within 15 seconds',
      response => {
        response.writeHead(200);
        response.write('{"title":', () => setTimeout(() => timer.fire(), 20));
      },
      failed,
      timeouts(4),
    ],
  ])('%s', async (_, answer, expected, attempts) => {
    timer = takeAttemptTimers();
    cleanups.push(timer.restore);
    const endpoint = await startRegistered(answer);
    const result = (await send()).data.exportMarketToEndpoint;
    expect(result).toMatchObject(expected);
    expect(result.attempts.map(({ status, fault }: Record<string, unknown>) => fault ?? status)).toEqual(attempts);
    expect(timer.set).toBe(attempts.length);
    const keys = endpoint.received.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual(attempts.map(() => result.exportId));
  });

  test('endless 1xx responses', async () => {
    let announced = 0;
    await startRegistered(response => {
      const more = () => {
        if (response.destroyed || announced >= 400_000) return;
        for (let index = 0; index < 1_000; index += 1) response.writeProcessing();
        announced += 1_000;
        setImmediate(more);
      };
      more();
    });
    const result = (await send()).data.exportMarketToEndpoint;
    expect(result).toMatchObject(failed);
    expect(result.attempts.map((attempt: { fault: string }) => attempt.fault)).toEqual(Array(4).fill('BROKEN'));
    expect(announced).toBeLessThan(400_000);
  });

  test('ten 1xx responses, then the final one', async () => {
    await startRegistered((response, request, count) => {
      for (let index = 0; index < 10; index += 1) response.writeProcessing();
      thanks(response, request, count);
    });
    expect((await send()).data.exportMarketToEndpoint).toMatchObject({ ...delivered, title: 'Thanks' });
  });

  test('no server at the address', async () => {
    await register('http://127.0.0.1:1/');
    const result = (await send()).data.exportMarketToEndpoint;
    expect(result).toMatchObject(failed);
    expect(result.attempts.map((attempt: { fault: string }) => attempt.fault)).toEqual(Array(4).fill('BROKEN'));
  });

  test('markup is sanitized, and also returned as plain text', async () => {
    const message =
      'Done &amp; <b>dusted</b>.<br/>See <a href="https://crm.example/" onclick="steal()">there</a> or ' +
      '<a href="javascript:steal()">not</a>.<script>steal()</script><img src=x onerror=steal()><p>End</p><ul><li>1</li><li>2</li></ul>';
    await startRegistered(json(200, { title: 'A < B', message }));
    const result = (await send()).data.exportMarketToEndpoint;
    expect(result.title).toBe('A < B');
    expect(result.message).toBe(
      'Done &amp; <b>dusted</b>.<br />See <a href="https://crm.example/" rel="noopener noreferrer">there</a> or ' +
        '<a rel="noopener noreferrer">not</a>.<p>End</p><ul><li>1</li><li>2</li></ul>',
    );
    expect(result.messageText).toBe('Done & dusted.\nSee there or not.End\n1\n2');
  });

  test('contains only web URLs, even if another program changed the store before it was signed', async () => {
    await startRegistered(json(200, { redirectUrl: 'https://crm.example/done' }));
    await send();
    await rewrite(state => JSON.parse(JSON.stringify(state).replace('https://crm.example/done', 'javascript:steal()')));
    const answer = await gateway.query(
      '{ exports { nodes { result { ... on ExportDelivered { redirectUrl } } } } }',
      {},
      admin,
    );
    expect(answer.data.exports.nodes).toEqual([{ result: { redirectUrl: null } }]);
  });

  test.each([
    ['redirectUrl', 200, (url: string) => ({ redirectUrl: url })],
    ['references', 207, (url: string) => ({ references: [{ title: 'R', message: 'M', url }] })],
  ])('that is longer than 65,536 characters is shown once, then without its URLs: %s', async (_, status, bodyOf) => {
    const urls = [60_000, 66_000].map(length => `https://crm.example/${'u'.repeat(length)}`);
    const endpoint = await startRegistered((response, request, count) =>
      json(status, { title: 'T', message: 'M', ...bodyOf(urls[count - 1] ?? '') })(response, request, count),
    );
    const urlIn = (result: { redirectUrl?: string; references?: { url: string }[] }) =>
      result.redirectUrl ?? result.references?.[0]?.url ?? null;
    const shown: (string | null)[] = [];
    const repeated: (string | null)[] = [];
    for (const idempotencyKey of ['short', 'long'].map(each => `${crm} ${each}`)) {
      shown.push(urlIn((await send({ idempotencyKey })).data.exportMarketToEndpoint));
      const again = (await send({ idempotencyKey })).data.exportMarketToEndpoint;
      expect(again).toMatchObject({ title: 'T', messageText: 'M' });
      repeated.push(urlIn(again));
    }
    expect(endpoint.received).toHaveLength(2);
    expect(shown).toEqual(urls);
    expect(repeated).toEqual([urls[0], null]);
  });

  test('texts that are too long are cut, and URLs never', async () => {
    const longUrl = `https://crm.example/${'u'.repeat(5_000)}`;
    const references = Array.from({ length: 60 }, () => ({
      ...{ title: 't'.repeat(300), message: 'm'.repeat(600), url: longUrl },
    }));
    await startRegistered(json(422, { title: 't'.repeat(300), message: '<b>'.repeat(9_000), references }));
    const result = (await send()).data.exportMarketToEndpoint;
    expect(result.title).toHaveLength(255);
    expect(result.message.length).toBeLessThan(12_000);
    expect(result.references).toHaveLength(50);
    expect(result.references[0]).toMatchObject({
      ...{ title: 't'.repeat(255), message: 'm'.repeat(500), url: longUrl },
    });
  });
});

describe('what an endpoint answers', () => {
  test('reaches clients in well-formed Unicode, however it was written and wherever it is cut', async () => {
    const reference = { title: `${'t'.repeat(254)}😀😀`, message: `${'m'.repeat(499)}😀😀` };
    const words = { title: `${'x'.repeat(254)}😀😀`, message: `${'m'.repeat(3_999)}😀😀`, references: [reference] };
    const whole = await startEndpoint(json(422, words));
    const broken = await startEndpoint(response => {
      response.writeHead(422, { 'content-type': 'application/json' });
      response.end('{"title":"Half \\ud83d","message":"&#xD83D; \\udE00","references":[{"title":"\\uD83D"}]}');
    });
    await register(whole.url);
    const cut = (await send()).data.exportMarketToEndpoint;
    expect(cut.title).toBe(`${'x'.repeat(254)}😀`);
    expect(cut.messageText).toBe(`${'m'.repeat(3_999)}😀`);
    expect(cut.references[0]).toMatchObject({ title: `${'t'.repeat(254)}😀`, message: `${'m'.repeat(499)}😀` });
    const other = `${crm} half`;
    await register(broken.url, { name: other });
    const repaired = (await send({ endpoint: other })).data.exportMarketToEndpoint;
    expect(repaired).toMatchObject({ title: 'Half \ufffd', messageText: '\ufffd \ufffd' });
    expect(repaired.references[0].title).toBe('\ufffd');
  });
});

describe('an export that gets no answer', () => {
  test.each<[string, boolean, () => Promise<string>]>([
    ['where nothing listens', false, async () => `http://${await freeAddress()}`],
    ['that breaks the connection', true, async () => (await startEndpoint((_, { socket }) => socket.destroy())).url],
  ])('of an endpoint %s is said to have sent what it selects: %s', async (_, isSent, start) => {
    await register(await start());
    await send();
    const numbers =
      '{ exports { nodes { selected sent result { ... on ExportEnding { delivered attempts { fault } } } } } }';
    const attempts = Array(4).fill({ fault: 'BROKEN' });
    const { data } = await gateway.query(numbers, {}, admin);
    const [{ selected, ...counts }] = data.exports.nodes;
    const sent = isSent ? selected : 0;
    expect(selected).toBeGreaterThan(0);
    expect(counts).toEqual({ sent, result: { delivered: sent, attempts } });
  });
});

test.each([
  ['HTTP', 'OverHttp'],
  ['a WebSocket', 'OverWebSocket'],
  // A name becomes known with its first success.
  ['HTTP, whose client leaves', 'other'],
])('the time that an endpoint takes is none of the operation, over %s', async (transport, operation) => {
  const measured = (what: string) => counted(gateway.url, `gateway_request_seconds_${what}`, { operation });
  const [countBefore, sumBefore] = [await measured('count'), await measured('sum')];
  let calledAt = 0;
  let answerCall = () => {};
  await startRegistered((response, ...rest) => {
    calledAt = performance.now();
    answerCall = () => thanks(response, ...rest);
  });
  const name = operation === 'other' ? 'Abandoned' : operation;
  const request = { query: exportMutation.replace('mutation', `mutation ${name}`), variables: { input: order() } };
  const leaving = new AbortController();
  const headers = { ...admin, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(request), signal: leaving.signal };
  const startedAt = performance.now();
  const ended =
    transport === 'a WebSocket'
      ? overWebsocket(gateway.url, request, { params: admin }).ended
      : fetch(`${gateway.url}/graphql`, init).catch(() => {});
  await until(() => calledAt > 0 && performance.now() - calledAt > 1_000);
  if (operation === 'other') leaving.abort();
  else answerCall();
  await ended;
  await until(async () => (await measured('count')) > countBefore);
  if (operation === 'other') answerCall();
  expect((await measured('sum')) - sumBefore).toBeLessThanOrEqual((calledAt - startedAt) / 1_000);
});

describe('an export to an internal address', () => {
  test('is refused before a byte is sent, even if the endpoint was registered while it was allowed', async () => {
    const endpoint = await startRegistered(thanks);
    gateway = await gatewayWith({ EXPORT_ALLOW_PRIVATE_ADDRESSES: 'false' });
    const result = (await send()).data.exportMarketToEndpoint;
    expect(result).toMatchObject({
      __typename: 'ExportFailed',
      attempts: [{ status: null, fault: 'ADDRESS_REFUSED' }],
    });
    expect(result.message).toMatch(/^Nothing was sent: .*EXPORT_ALLOW_PRIVATE_ADDRESSES/);
    expect(endpoint.received).toEqual([]);
    const counted = '{ exports { nodes { selected sent result { ... on ExportEnding { delivered matching } } } } }';
    const [{ selected, ...counts }] = (await gateway.query(counted, {}, admin)).data.exports.nodes;
    expect(selected).toBeGreaterThan(0);
    expect(counts).toEqual({ sent: 0, result: { delivered: 0, matching: selected } });
  });

  test('is refused if the name resolves there only since the registration', async () => {
    const endpoint = await startEndpoint(thanks);
    const answers = ['93.184.215.14'];
    gateway = await gatewayWith(
      { EXPORT_ALLOW_PRIVATE_ADDRESSES: 'false' },
      { seams: { resolve: async () => [answers.shift() ?? '127.0.0.1'] } },
    );
    const port = new URL(endpoint.url).port;
    expect(fault(await register(`http://rebinding.example:${port}/`))).toBeUndefined();
    expect((await send()).data.exportMarketToEndpoint.attempts).toMatchObject([{ fault: 'ADDRESS_REFUSED' }]);
    expect(endpoint.received).toEqual([]);
  });

  test('is not said to have sent nothing if an earlier attempt went out', async () => {
    const endpoint = await startEndpoint(json(500, {}));
    const answers = ['127.0.0.1', '127.0.0.1'];
    gateway = await gatewayWith({}, { seams: { resolve: async () => [answers.shift() ?? '169.254.1.1'] } });
    const port = new URL(endpoint.url).port;
    expect(fault(await register(`http://rebinding.example:${port}/`))).toBeUndefined();
    const { message, attempts } = (await send()).data.exportMarketToEndpoint;
    expect(attempts).toMatchObject([{ status: 500 }, { fault: 'ADDRESS_REFUSED' }]);
    expect(endpoint.received).toHaveLength(1);
    expect(message).not.toContain('Nothing was sent');
  });

  test('is refused in production without https', async () => {
    const endpoint = await startRegistered(thanks);
    gateway = await gatewayWith({ NODE_ENV: 'production' });
    expect(fault(await send())).toBe('BAD_USER_INPUT input.endpoint');
    expect(endpoint.received).toEqual([]);
  });
});

describe('an endpoint that takes nothing', () => {
  beforeEach(afresh);
  const failingSince = async (on = gateway) =>
    (await on.query('{ exportEndpoints { failingSince } }', {}, admin)).data.exportEndpoints[0].failingSince;

  test.each([
    ['HTTP 503', json(503, {})],
    ['BROKEN', (response: ServerResponse) => response.destroy()],
    ['HTTP 302', json(302, {}), 1],
  ])(
    'is a line of the log, a metric, and a field until it takes something: %s',
    async (fault, answer, attempts = 4) => {
      const log = takeLog();
      let failing = true;
      const endpoint = await startEndpoint((...call) => (failing ? answer : thanks)(...call));
      gateway = await gatewayWith({ LOG_LEVEL: 'warn' }, { seams: { log } });
      const [other, third] = [await gatewayWith(), await gatewayWith()];
      await register(endpoint.url);
      expect(await failingSince()).toBeNull();

      await send({}, admin, other);
      const { startedAt } = (await listed()).nodes[0];
      await send();
      expect([await failingSince(), await failingSince(other)]).toEqual([startedAt, startedAt]);
      const seconds = (at: TestGateway) => counted(at.url, 'gateway_endpoint_failing_seconds');
      await until(async () => (await seconds(gateway)) > 0 && (await seconds(other)) > 0);
      // As in the log, without a path or a query, which may be secret.
      const text = await (await fetch(`${gateway.url}/metrics`)).text();
      const series = new RegExp(
        `^gateway_endpoint_failing_seconds\\{name="Endpoint \\\\"${crm}\\\\" of team ${sandbox.demo.team.name}"\\} [\\d.]+$`,
        'm',
      );
      expect(text).toMatch(series);
      const { host } = new URL(endpoint.url);
      const line = `Endpoint "${crm}" of team ${sandbox.demo.team.name}: ${host} does not take what is sent (attempts: ${attempts}, ${fault})`;
      expect(log.lines.map(text => JSON.parse(text).msg)).toContain(line);

      // The endpoint answers, and the team can see it.
      failing = false;
      await send({}, admin, third);
      expect([await failingSince(), await failingSince(other)]).toEqual([null, null]);
      // The alert takes the smallest.
      const shown = await (await fetch(`${third.url}/metrics`)).text();
      expect(series.exec(shown)?.[0]).toMatch(/ 0$/);
      await send();
      expect(await seconds(gateway)).toBe(0);
    },
  );

  test.each([
    ['is changed', async (on: TestGateway) => update({ url: 'http://127.0.0.1:9/new' }, admin, on)],
    ['is deleted', (on: TestGateway) => on.query(deleteMutation, { name: crm }, admin)],
  ])('is no alert any more once it %s through another gateway', async (_, change) => {
    await startRegistered(json(503, {}));
    await send();
    expect(await counted(gateway.url, 'gateway_endpoint_failing_seconds')).toBeGreaterThan(0);
    const other = await gatewayWith();
    expect(fault(await change(other))).toBeUndefined();
    // The alert takes the smallest.
    expect(await (await fetch(`${other.url}/metrics`)).text()).toMatch(/^gateway_endpoint_failing_seconds\{.*\} 0$/m);
  });

  test.each([
    ['changed', () => update({ url: 'http://127.0.0.1:9/new' })],
    ['deleted', () => gateway.query(deleteMutation, { name: crm }, admin)],
  ])('is no alert where it was %s during the last call', async (_, change) => {
    await startRegistered(async response => {
      await change();
      response.writeHead(302).end();
    });
    expect((await send()).data.exportMarketToEndpoint.__typename).toBe('ExportFailed');
    expect(await counted(gateway.url, 'gateway_endpoint_failing_seconds')).toBe(0);
  });

  test('begins anew with another address, and is not to blame where it was changed meanwhile', async () => {
    const endpoint = await startEndpoint(async response => {
      if (endpoint.received.length > 4) await update({ description: 'Ours', url: `${endpoint.url}/new` });
      response.writeHead(503).end();
    });
    await register(endpoint.url);
    await send();
    const since = await failingSince();
    await update({ description: 'The same' });
    expect([since, await failingSince()]).toEqual([expect.any(String), since]);
    expect((await send()).data.exportMarketToEndpoint.message).toMatch(/^The endpoint was changed/);
    expect(await failingSince()).toBeNull();
  });
});

describe('an export to an endpoint that is changed meanwhile', () => {
  const idempotencyKey = 'the changed one';
  const remove = (on: TestGateway) => on.query(deleteMutation, { name: crm }, admin);
  const changes: [string, (url: string, on: TestGateway) => Promise<unknown>][] = [
    ['updated', (url, on) => update({ url: `${url}/new` }, admin, on)],
    ['given other headers', (_, on) => update({ headers: [{ name: 'X-Token', value: 'new' }] }, admin, on)],
    [
      'updated and updated back',
      async (url, on) => {
        await update({ url: `${url}/new` }, admin, on);
        await update({ url: `${url}/old` }, admin, on);
      },
    ],
    ['deleted', (_, on) => remove(on)],
    [
      'registered anew',
      async (url, on) => {
        await remove(on);
        await register(`${url}/new`, {}, admin, on);
      },
    ],
  ];
  const reason = expect.stringMatching(/^The endpoint was changed or deleted/);
  const query = `query ($id: ID!) { export(by: { id: $id }) { endpointUrl outcome finishedAt attempts { status }
    result { ... on ExportFailed { message } } } }`;
  const recordOf = async (id: string) => (await gateway.query(query, { id }, member)).data.export;

  test.each(changes)('ends at the next attempt through any gateway, and shows where it went: %s', async (_, change) => {
    const endpoint = await startRegistered(async (response, request, count) => {
      await change(endpoint.url, other);
      json(500, {})(response, request, count);
    }, '/old');
    const { data } = await send({ idempotencyKey });
    expect(data.exportMarketToEndpoint).toMatchObject({
      __typename: 'ExportFailed',
      message: reason,
      outcome: 'FAILED',
    });
    expect(endpoint.received.map(({ url }) => url)).toEqual(['/old']);
    expect(await recordOf(data.exportMarketToEndpoint.exportId)).toEqual({
      endpointUrl: `${endpoint.url}/old`,
      outcome: 'FAILED',
      finishedAt: expect.any(String),
      attempts: [{ status: 500 }],
      result: { message: reason },
    });
    expect((await send({ idempotencyKey }, member, other)).data).toEqual(data);
    expect(endpoint.received).toHaveLength(1);
  });

  test.each(changes)('sends nothing if it happens before the first attempt: %s', async (_, change) => {
    await afresh();
    const another = await gatewayWith();
    const endpoint = await startRegistered(thanks, '/old');
    const release = hold(sandbox, /companies/);
    const sending = send({ idempotencyKey });
    await until(() => sandbox.calls.list().some(({ path }) => /companies/.test(path)));
    await change(endpoint.url, another);
    release();
    const { data } = await sending;
    expect(data.exportMarketToEndpoint).toMatchObject({ __typename: 'ExportFailed', attempts: [], message: reason });
    expect(await recordOf(data.exportMarketToEndpoint.exportId)).toMatchObject({
      endpointUrl: `${endpoint.url}/old`,
      outcome: 'FAILED',
      attempts: [],
    });
    expect((await send({ idempotencyKey })).data).toEqual(data);
    expect(endpoint.received).toEqual([]);
    expect(await counted(gateway.url, 'gateway_exports_total', { outcome: 'FAILED' })).toBe(1);
  });

  test('goes to the new address when it is retried', async () => {
    const endpoint = await startRegistered(async (response, request, count) => {
      if (count === 1) await update({ url: `${endpoint.url}/new` });
      json(count === 1 ? 500 : 200, { title: 'T', message: 'M' })(response, request, count);
    }, '/old');
    const { exportId } = (await send()).data.exportMarketToEndpoint;
    const { data } = await retry(exportId);
    expect(endpoint.received.map(({ url }) => url)).toEqual(['/old', '/new']);
    expect(await recordOf(data.retryExport.exportId)).toMatchObject({ endpointUrl: `${endpoint.url}/new` });
  });

  test('ends when it is a test, too', async () => {
    const endpoint = await startRegistered(async (response, request, count) => {
      await remove(gateway);
      json(500, {})(response, request, count);
    });
    const mutation = `mutation ($endpoint: String!) { testExportEndpoint(input: { endpoint: $endpoint }) {
      __typename ... on ExportFailed { message } } }`;
    const { data } = await gateway.query(mutation, { endpoint: crm }, admin);
    expect(data.testExportEndpoint).toEqual({ __typename: 'ExportFailed', message: reason });
    expect(endpoint.received).toHaveLength(1);
  });

  test.each([
    ['its description', () => ({ description: 'A new one' })],
    ['its description, and given its URL again', (url: string) => ({ description: 'A new one', url })],
    ['nothing', () => ({})],
  ])('goes on if only this was changed: %s', async (_, change) => {
    const faults: unknown[] = [];
    const endpoint = await startEndpoint(async (response, request, count) => {
      if (count === 1) faults.push(fault(await update(change(endpoint.url), admin, other)));
      json(count === 1 ? 500 : 200, { title: 'T', message: 'M' })(response, request, count);
    });
    await register(endpoint.url, { headers: [{ name: 'X-Token', value: 'kept' }] });
    expect((await send()).data.exportMarketToEndpoint.__typename).toBe('ExportDelivered');
    expect(faults).toEqual([undefined]);
    expect(endpoint.received.map(({ headers }) => headers['x-token'])).toEqual(['kept', 'kept']);
  });

  test('goes on with the new secret if only that was replaced', async () => {
    let fresh = '';
    const endpoint = await startEndpoint(async (response, request, count) => {
      if (count === 1) {
        const { data } = await gateway.query(rotateMutation, { name: crm }, admin);
        fresh = data.rotateExportEndpointSecret.signingSecret;
      }
      json(count === 1 ? 500 : 200, { title: 'T', message: 'M' })(response, request, count);
    });
    const { data } = await register(endpoint.url);
    const old = data.registerExportEndpoint.signingSecret;
    expect((await send()).data.exportMarketToEndpoint.__typename).toBe('ExportDelivered');
    const [first, second] = endpoint.received as [ReceivedCall, ReceivedCall];
    expect(verified(first, old) && verified(second, old) && verified(second, fresh)).toBe(true);
  });
});

describe('the record of exports', () => {
  const idempotencyKey = 'the monthly one';

  test.each([
    ['DELIVERED', 200],
    ['REJECTED', 422],
  ])(
    'returns the first outcome (%s) for the same key and input, sends nothing, and counts one',
    async (outcome, status) => {
      await afresh();
      const endpoint = await startRegistered((response, request, count) =>
        json(status, { title: `Answer ${count}`, message: 'M', references: [{ title: 'r' }] })(
          response,
          request,
          count,
        ),
      );
      const first = await send({ idempotencyKey });
      const calls = sandbox.calls.list().length;
      expect((await send({ idempotencyKey }, member)).data).toEqual(first.data);
      expect((await send({ idempotencyKey }, admin, await gatewayWith())).data).toEqual(first.data);
      expect(endpoint.received).toHaveLength(1);
      expect(sandbox.calls.list()).toHaveLength(calls);
      expect(await counted(gateway.url, 'gateway_exports_total')).toBe(1);
      await send();
      expect(endpoint.received).toHaveLength(2);
      expect((await listed()).totalCount).toBe(2);
      expect(await counted(gateway.url, 'gateway_exports_total', { outcome })).toBe(2);
    },
  );

  test('contains each call before it is made', async () => {
    const recorded: number[] = [];
    await startRegistered(async (response, request, count) => {
      const state = JSON.parse(await readFile(join(folder, 'data', 'exports.json'), 'utf8'));
      recorded.push(state.teams['name:Demo Team'].exports[0].attempts.length);
      json(count < 3 ? 500 : 200, {})(response, request, count);
    });
    await send();
    expect(recorded).toEqual([1, 2, 3]);
  });

  test.each<object>([
    { marketId: '3' },
    { endpoint: 'other' },
    { companies: { visible: { first: 3 } } },
    { onBehalfOf: { name: 'Zoë' } },
  ])('returns CONFLICT for the same key with different input: %j', async change => {
    const endpoint = await startRegistered(thanks);
    await register(endpoint.url, { name: 'other' });
    await send({ idempotencyKey });
    expect(fault(await send({ idempotencyKey, ...change }))).toBe('CONFLICT input.idempotencyKey');
    expect(endpoint.received).toHaveLength(1);
  });

  test('accepts the key of an export that was refused before it started', async () => {
    await startRegistered(thanks);
    expect(fault(await send({ idempotencyKey, companies: { domains: ['unknown.example'] } }))).toMatch(
      /BAD_USER_INPUT/,
    );
    expect((await send({ idempotencyKey })).data.exportMarketToEndpoint.__typename).toBe('ExportDelivered');
  });

  test('allows a team at most 5 running exports, without affecting other teams', async () => {
    const waiting: (() => void)[] = [];
    let arrived = () => {};
    const all = new Promise<void>(resolve => {
      arrived = resolve;
    });
    const endpoint = await startEndpoint((response, request, count) => {
      waiting.push(() => thanks(response, request, count));
      if (count === 5) arrived();
    });
    gateway = await gatewayWith({ TEAMS_FILE: '' });
    for (const headers of [admin, member]) await register(endpoint.url, {}, headers);
    const running = Array.from({ length: 5 }, () => send());
    await all;
    expect((await listed()).nodes.map(({ outcome }: { outcome: string }) => outcome)).toEqual(Array(5).fill('RUNNING'));
    expect((await listed()).nodes[0]).toMatchObject({ finishedAt: null, result: null });
    expect(fault(await send())).toBe('RATE_LIMITED');
    const other = send({}, member);
    await until(() => waiting.length === 6);
    for (const answer of waiting) answer();
    for (const answer of await Promise.all([...running, other])) expect(fault(answer)).toBeUndefined();
  });

  test('is read once for all fields of an operation that ask for it, and again for the next operation', async () => {
    const place = forTest(await startRedis());
    gateway = await gatewayWith({}, { redisUrl: place.url });
    const redis = forTest(new Redis(place.url));
    const reads = async () => Number(/^cmdstat_hmget:calls=(\d+)/m.exec(await redis.info('commandstats'))?.[1] ?? 0);
    const aliases = Array.from(
      { length: 50 },
      (_, index) => `a${index}: exportEndpoints { name } b${index}: export(by: { id: "${index}" }) { id }`,
    );
    const before = await reads();
    expect((await gateway.query(`{ ${aliases.join(' ')} }`, {}, member)).errors).toBeUndefined();
    expect((await reads()) - before).toBe(1);
    await gateway.query('{ exportEndpoints { name description } }', {}, member);
    expect((await reads()) - before).toBe(2);

    // The poll reads it, and its message only where the endpoint or another export is selected.
    await register((await startEndpoint(thanks)).url);
    await send();
    const [{ id }] = (await listed()).nodes;
    const nested = await reads();
    await gateway.query('{ exports { nodes { endpoint { name } retriedBy { retriedBy { id } } } } }', {}, member);
    expect((await reads()) - nested).toBe(1);
    const earlier = await reads();
    const query = `subscription { exportProgress(exportId: "${id}") { outcome attempts { status } } }`;
    await overSse(gateway.url, { query }, member).ended;
    expect((await reads()) - earlier).toBe(1);
  });

  test('is followed by exportProgress from call to call until the end, through another gateway too', async () => {
    const place = forTest(await startRedis());
    const answers: (() => void)[] = [];
    const endpoint = await startEndpoint((response, request, count) => {
      answers.push(() => (count < 3 ? json(500, {}) : thanks)(response, request, count));
    });
    const start = () => gatewayWith({ POLL_INTERVAL_MS: '100' }, { redisUrl: place.url });
    gateway = await start();
    const other = await start();
    await register(endpoint.url);
    const sending = send();
    await until(() => answers.length === 1);
    const [{ id }] = (await listed()).nodes;
    const query = `subscription { exportProgress(exportId: "${id}") { id outcome endpoint { name } retryOf { id } attempts { startedAt status } result { __typename } } }`;
    const listeners = [overWebsocket(gateway.url, { query }, { params: admin }), overSse(other.url, { query }, member)];
    for (const call of [1, 2, 3]) {
      await until(() => answers.length === call);
      const isSeen = ({ results }: Heard) => results.at(-1)?.data?.exportProgress.attempts.length === call;
      await until(() => listeners.every(isSeen));
      answers[call - 1]?.();
    }
    for (const { ended, results } of listeners) {
      expect(await ended).toBeUndefined();
      expect(results.at(-1)).toEqual({
        data: {
          exportProgress: {
            id,
            outcome: 'DELIVERED',
            endpoint: { name: crm },
            retryOf: null,
            attempts: [500, 500, 200].map(status => expect.objectContaining({ status })),
            result: { __typename: 'ExportDelivered' },
          },
        },
      });
      const firstStarts = results.map(({ data }) => data.exportProgress.attempts[0].startedAt);
      expect(new Set(firstStarts).size).toBe(1);
    }
    expect((await sending).errors).toBeUndefined();
    const late = overSse(other.url, { query });
    expect(await late.ended).toBeUndefined();
    expect(late.results.map(({ data }) => data.exportProgress.outcome)).toEqual(['DELIVERED']);
    const unknown = overSse(other.url, { query: query.replace(id, 'x') });
    await unknown.ended;
    expect(unknown.results.at(-1)?.errors?.[0]?.extensions.code).toBe('NOT_FOUND');
    const refused = overSse(other.url, { query }, stranger);
    await refused.ended;
    expect(refused.results.at(-1)?.errors?.[0]?.extensions.code).toBe('FORBIDDEN');
  });

  /** An export whose first call was sent, and which made no other. */
  async function expectStopped(endpoint: Awaited<ReturnType<typeof startEndpoint>>) {
    await register(endpoint.url);
    const { data, errors } = await send();
    expect(data.exportMarketToEndpoint).toBeNull();
    expect(errors?.[0].extensions).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', retryable: false });
    expect(endpoint.received).toHaveLength(1);
  }

  test('returns an error that is not retryable if an export started and cannot be recorded', async () => {
    await afresh();
    const file = join(folder, 'data', 'exports.json');
    const endpoint = await startEndpoint(async (response, request, count) => {
      await rename(file, `${file}.away`);
      await mkdir(file);
      json(500, {})(response, request, count);
    });
    await expectStopped(endpoint);
    expect(await counted(gateway.url, 'gateway_exports_total', { outcome: 'UNKNOWN' })).toBe(1);
  });

  test('that cannot be stored is refused, and a metric says so until one can', async () => {
    const data = join(folder, 'data');
    await startRegistered(thanks);
    await rename(data, `${data}.away`);
    await writeFile(data, 'no folder');
    expect(fault(await send())).toBe('UPSTREAM_UNAVAILABLE');
    expect(await counted(gateway.url, 'gateway_data_dir_failing')).toBe(1);
    await rm(data);
    await rename(`${data}.away`, data);
    expect(fault(await send())).toBeUndefined();
    expect((await listed()).totalCount).toBe(1);
    expect(await counted(gateway.url, 'gateway_data_dir_failing')).toBe(0);
  });

  test('gets the outcome later that could not be recorded when it ended', async () => {
    const file = join(folder, 'data', 'exports.json');
    await startRegistered(async (response, request, count) => {
      await rename(file, `${file}.away`);
      await mkdir(file);
      thanks(response, request, count);
    });
    const { data } = await send();
    const { __typename: sent } = data.exportMarketToEndpoint;
    await rm(file, { recursive: true });
    await rename(`${file}.away`, file);
    await until(async () => (await listed()).nodes[0].outcome === 'DELIVERED');
    expect(sent).toBe('ExportDelivered');
  });

  test('is followed by no call that could still run when it says UNKNOWN', async () => {
    await afresh();
    let lateMs = 0;
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + lateMs);
    cleanups.push(() => clock.mockRestore());
    const endpoint = await startEndpoint((response, request, count) => {
      // As if this process had been paused.
      lateMs = 60_000;
      json(500, {})(response, request, count);
    });
    await expectStopped(endpoint);
    lateMs = 80_000;
    expect((await listed()).nodes[0].outcome).toBe('UNKNOWN');
  });

  test('keeps an export as RUNNING while it is sent, also where the clock of the host makes a step', async () => {
    const { setInterval: start } = globalThis;
    const checks: (() => void)[] = [];
    const interval = jest.spyOn(globalThis, 'setInterval');
    interval.mockImplementation(((run: () => void, every: number, ...given: []) => {
      if (every === 10_000) checks.push(() => run(...given));
      return start(run, every, ...given);
    }) as typeof setInterval);
    cleanups.push(() => interval.mockRestore());
    await afresh();
    let answer = () => {};
    const endpoint = await startRegistered((...call) => {
      answer = () => thanks(...call);
    });
    const sent = send();
    await until(() => endpoint.received.length > 0);
    const now = Date.now.bind(Date);
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + 120_000);
    cleanups.push(() => clock.mockRestore());
    for (let time = 0; time < 3; time += 1) for (const check of checks) check();
    expect(fault(await retry((await listed()).nodes[0].id))).toBe('CONFLICT input.exportId');
    answer();
    expect((await sent).data.exportMarketToEndpoint.__typename).toBe('ExportDelivered');
  });

  test('contains the outcome of an export whose client disconnected', async () => {
    let answer = () => {};
    let arrived = () => {};
    const receivedCall = new Promise<void>(resolve => {
      arrived = resolve;
    });
    await startRegistered((response, request, count) => {
      answer = () => thanks(response, request, count);
      arrived();
    });
    const client = new AbortController();
    const request = postJson(
      `${gateway.url}/graphql`,
      { query: exportMutation, variables: { input: order({ idempotencyKey }) } },
      admin,
      client.signal,
    );
    await receivedCall;
    client.abort();
    await expect(request).rejects.toThrow();
    answer();
    await until(async () => (await listed()).nodes[0].outcome !== 'RUNNING');
    const { data } = await gateway.query(
      `{ export(by: { idempotencyKey: "${idempotencyKey}" }) { outcome result { __typename } } }`,
      {},
      admin,
    );
    expect(data.export).toEqual({ outcome: 'DELIVERED', result: { __typename: 'ExportDelivered' } });
  });

  test('lists client, user, endpoint, market, times and outcome, newest first, in pages', async () => {
    const endpoint = await startRegistered(thanks);
    const since = new Date().toISOString();
    for (const name of ['first', 'second', 'third'])
      await send({ idempotencyKey: name, companies: { visible: { first: 2 } } });
    const page = (await gateway.query(exportsQuery, { first: 2 }, member)).data.exports;
    expect(page.totalCount).toBe(3);
    expect(page.nodes.map((node: { idempotencyKey: string }) => node.idempotencyKey)).toEqual(['third', 'second']);
    const { startedAt, finishedAt, ...rest } = page.nodes[0];
    expect(startedAt >= since && finishedAt >= startedAt).toBe(true);
    expect(rest).toEqual({
      id: endpoint.received[2]?.headers['idempotency-key'],
      by: expect.stringMatching(/^API key [\da-f]{8}$/),
      user: null,
      endpointName: crm,
      marketId: '2',
      selected: 2,
      sent: 2,
      idempotencyKey: 'third',
      outcome: 'DELIVERED',
      attempts: [{ status: 200, fault: null, milliseconds: expect.any(Number) }],
      result: { __typename: 'ExportDelivered' },
    });
    const { endCursor: after } = page.pageInfo;
    const next = (await gateway.query(exportsQuery, { first: 2, after }, member)).data.exports;
    expect(next.nodes.map((node: { idempotencyKey: string }) => node.idempotencyKey)).toEqual(['first']);
    expect(next.pageInfo.hasNextPage).toBe(false);
  });

  test('is read by identifier, by idempotency key, by nodeId and through a filter, and only by its own team', async () => {
    // Each API key is a team of its own.
    gateway = await gatewayWith({ TEAMS_FILE: '' });
    const redirectUrl = `https://crm.example/${'r'.repeat(50_000)}`;
    const endpoint = await startRegistered((response, request, count) =>
      json(count === 2 ? 422 : 200, { title: 'T', redirectUrl })(response, request, count),
    );
    await register(endpoint.url, { name: 'other' });
    for (const [index, change] of [{}, { marketId: '1' }, { endpoint: 'other' }].entries()) {
      expect((await send({ ...change, idempotencyKey: `key ${index}` })).errors).toBeUndefined();
    }
    const one = 'nodeId id endpointName marketId market { id } idempotencyKey outcome';
    const read = async (field: string, headers: Headers = admin) => {
      const { data, errors } = await gateway.query(`{ found: ${field} }`, {}, headers);
      expect(errors).toBeUndefined();
      return data.found;
    };
    const keysOf = async (filter: string) =>
      (await read(`exports(filter: { ${filter} }, last: 100) { nodes { idempotencyKey } }`)).nodes.map(
        (node: { idempotencyKey: string }) => node.idempotencyKey,
      );
    expect(await keysOf(`endpoint: "${crm}"`)).toEqual(['key 1', 'key 0']);
    expect(await keysOf('marketId: 2')).toEqual(['key 2', 'key 0']);
    expect(await keysOf('outcome: REJECTED')).toEqual(['key 1']);
    expect(await keysOf('outcome: DELIVERED, endpoint: "other", marketId: 2')).toEqual(['key 2']);
    expect(await keysOf('outcome: FAILED')).toEqual([]);
    const cursorAt = (index: number) => cursorOf(index, listId('exports', '[null,null,null]'));
    const windowed = await read(
      `exports(first: 100, before: "${cursorAt(2)}", after: "${cursorAt(0)}") { nodes { idempotencyKey } }`,
    );
    expect(windowed.nodes).toEqual([{ idempotencyKey: 'key 1' }]);

    const byKey = await read(
      `export(by: { idempotencyKey: "key 0" }) { ${one} result { ... on ExportEnding { exportId attempts { status } } ... on ExportDelivered { redirectUrl } } }`,
    );
    expect(byKey).toMatchObject({ market: { id: '2' }, marketId: '2', endpointName: crm, outcome: 'DELIVERED' });
    const { result, ...rest } = byKey;
    expect(result).toEqual({ exportId: byKey.id, attempts: [{ status: 200 }], redirectUrl });
    expect(await read(`export(by: { id: "${byKey.id}" }) { ${one} }`)).toEqual(rest);
    const node = `node(nodeId: "${byKey.nodeId}") { ... on Export { ${one} } }`;
    expect(await read(node)).toEqual(rest);
    const [{ nodeId: endpointId }] = await read('exportEndpoints { nodeId }');
    expect(await read(`node(nodeId: "${endpointId}") { ... on ExportEndpoint { nodeId } }`)).toEqual({
      nodeId: endpointId,
    });

    expect(await read('export(by: { id: "unknown" }) { id }')).toBeNull();
    expect(await read('export(by: { idempotencyKey: "unknown" }) { id }')).toBeNull();
    expect(await read(`export(by: { id: "${byKey.id}" }) { id }`, member)).toBeNull();
    expect(await read(`export(by: { idempotencyKey: "key 0" }) { id }`, member)).toBeNull();
    expect(await read(node, member)).toBeNull();
    const refused = await gateway.query('{ exports(filter: { marketId: "x" }) { totalCount } }', {}, admin);
    expect(fault(refused)).toBe('BAD_USER_INPUT filter.marketId');
  });

  test('is never cached, even next to cached fields', async () => {
    const endpoint = await startRegistered(thanks);
    await send();
    const beside =
      '{ exports { totalCount } exportEndpoints { name } market(id: 2) { name companies { totalCount } } }';
    expect((await gateway.query(beside, {}, admin)).data).toMatchObject({ exports: { totalCount: 1 } });
    await send();
    await register(endpoint.url, { name: 'z' });
    expect((await gateway.query(beside, {}, admin)).data).toMatchObject({
      exports: { totalCount: 2 },
      exportEndpoints: [{ name: crm }, { name: 'z' }],
    });
  });

  test('of a process that ended before it becomes UNKNOWN when its calls cannot last longer, and is not repeated', async () => {
    await afresh();
    const endpoint = await startRegistered(thanks);
    const first = await send({ idempotencyKey });
    await gateway.close();
    await rewrite(state => {
      const [record] = state.exports;
      // Of an export that was delivered, no selection is kept.
      expect(record.repeatable).toBeNull();
      const repeatable = { companies: order().companies, user: { name: null, email: null } };
      Object.assign(record, { outcome: null, finishedAt: null, expiresAt: new Date().toISOString(), repeatable });
      Object.assign(record.attempts[0], { status: null, milliseconds: null });
      return state;
    });
    gateway = await gatewayWith();
    const { exportId } = first.data.exportMarketToEndpoint;
    expect((await listed()).nodes).toMatchObject([
      { id: exportId, outcome: 'UNKNOWN', idempotencyKey, finishedAt: null },
    ]);
    expect((await send({ idempotencyKey })).data.exportMarketToEndpoint).toMatchObject({
      __typename: 'ExportFailed',
      exportId,
      outcome: 'UNKNOWN',
      message: expect.stringMatching(/not known whether/),
    });
    expect(endpoint.received).toHaveLength(1);
    expect((await retry(exportId)).data.retryExport.__typename).toBe('ExportDelivered');
    expect(endpoint.received).toHaveLength(2);
  });
});

describe('a test of an endpoint', () => {
  const testMutation =
    'mutation ($endpoint: String!) { testExportEndpoint(input: { endpoint: $endpoint }) { __typename ... on ExportEnding { exportId attempts { status } } ... on ExportRejected { title } } }';

  test('has a body of the shape of an export, and the documents for partners show both whole', async () => {
    const endpoint = await startRegistered(thanks);
    await send({ marketId: '3', companies: { visible: { first: 1 } } });
    await gateway.query(testMutation, { endpoint: crm }, member);
    const [real, trial] = endpoint.received.map(({ body }) => body);
    for (const file of ['docs/exports.md', 'docs/partners.md']) {
      const shown = [...(await readFile(file, 'utf8')).matchAll(/(?<=^\n)( {4}\{ "meta".*\n)( {4}.*\n)*/gm)];
      expect(shown.map(([block]) => JSON.parse(block))).toEqual([real, trial]);
    }
    expect(Object.entries(trial.market).map(([name, value]) => [name, typeof value])).toEqual(
      Object.entries(real.market).map(([name, value]) => [name, typeof value]),
    );
  });

  test('sends no companies, is marked, recorded and signed, and has the results of an export', async () => {
    const endpoint = await startEndpoint((response, request, count) =>
      (count === 1 ? thanks : json(422, { title: 'No', message: 'M' }))(response, request, count),
    );
    const registered = await register(`${endpoint.url}/in?for={user.email}`);
    const secret = registered.data.registerExportEndpoint.signingSecret;
    sandbox.calls.clear();
    const { testExportEndpoint } = (await gateway.query(testMutation, { endpoint: crm }, member)).data;
    expect(testExportEndpoint).toMatchObject({ __typename: 'ExportDelivered', attempts: [{ status: 200 }] });
    expect(sandbox.calls.list()).toEqual([]);
    const [call] = endpoint.received as [ReceivedCall];
    expect(call.url).toBe('/in?for=test%40example.com');
    expect(call.body).toEqual({ meta: { totalItems: 0, isTest: true }, market: { id: 0, name: 'Test' }, data: [] });
    new Webhook(secret).verify(call.bytes, call.headers as Record<string, string>);
    const { data } = await gateway.query(
      '{ exports { nodes { id isTest marketId market { id } sent retryOf { id } } } }',
      {},
      admin,
    );
    expect(data.exports.nodes).toEqual([
      { id: testExportEndpoint.exportId, isTest: true, marketId: null, market: null, sent: 0, retryOf: null },
    ]);
    expect((await gateway.query(testMutation, { endpoint: crm }, member)).data.testExportEndpoint).toMatchObject({
      title: 'No',
    });
    expect(fault(await gateway.query(testMutation, { endpoint: 'no such' }, member))).toBe('NOT_FOUND input.endpoint');
    expect(fault(await gateway.query(testMutation, { endpoint: crm }, stranger))).toBe('FORBIDDEN');
    const [rejected] = (await listed()).nodes;
    const retried = await retry(rejected.id);
    expect(fault(retried)).toBe('CONFLICT input.exportId');
    expect(retried.errors?.[0].message).toBe('A test is not retried; call testExportEndpoint again');
  });
});

describe('a retry of an export', () => {
  test('makes the same call under a new identifier, and names the first export', async () => {
    const answers = [400, 502, 502, 502, 502, 200];
    const endpoint = await startRegistered(
      (response, request, count) =>
        json(answers[count - 1] ?? 200, { title: 'T', message: 'M' })(response, request, count),
      '/in?for={user.email}',
    );
    const change = {
      companies: { visible: { first: 3 } },
      onBehalfOf: { email: 'zoe@team.example' },
      idempotencyKey: 'k',
    };
    const first = (await send(change)).data.exportMarketToEndpoint;
    expect(first.__typename).toBe('ExportRejected');
    const second = (await retry(first.exportId, {}, member)).data.retryExport;
    expect(second.__typename).toBe('ExportFailed');
    expect(fault(await retry(first.exportId))).toBe('CONFLICT input.exportId');
    const third = (await retry(second.exportId, { idempotencyKey: 'again' })).data.retryExport;
    expect(third.__typename).toBe('ExportDelivered');
    // The same key again, and the same export again: nothing is sent.
    expect((await retry(second.exportId, { idempotencyKey: 'again' })).data.retryExport).toEqual(third);
    expect(fault(await retry(second.exportId, { idempotencyKey: 'k' }))).toBe('CONFLICT input.idempotencyKey');
    expect(fault(await retry(third.exportId))).toBe('CONFLICT input.exportId');
    expect(fault(await retry('no such'))).toBe('NOT_FOUND input.exportId');
    expect(fault(await retry(first.exportId, {}, stranger))).toBe('FORBIDDEN');
    expect(endpoint.received).toHaveLength(6);
    const [{ url, bytes }] = endpoint.received as [ReceivedCall];
    for (const call of endpoint.received) expect([call.url, call.bytes]).toEqual([url, bytes]);
    const ids = [first, second, third].map(({ exportId }) => exportId);
    expect([...new Set(endpoint.received.map(({ headers }) => headers['idempotency-key']))]).toEqual(ids);
    const { data } = await gateway.query(
      '{ exports { nodes { id retryOf { id retriedBy { id } } retriedBy { id retryOf { id } } marketId } } }',
      {},
      admin,
    );
    const expected = ids.map((id, index) => {
      const [before, after] = [ids[index - 1], ids[index + 1]];
      const retryOf = before === undefined ? null : { id: before, retriedBy: { id } };
      const retriedBy = after === undefined ? null : { id: after, retryOf: { id } };
      return { id, retryOf, retriedBy, marketId: '2' };
    });
    expect(data.exports.nodes).toEqual(expected.reverse());
  });

  test('names its own argument where the selection is not there any more', async () => {
    const endpoint = await startRegistered(json(400, { title: 'T', message: 'M' }));
    const { domain } = sandbox.data.markets.find(({ record }) => record.id === 2)?.companies[0] ?? { domain: '' };
    const { exportId } = (await send({ companies: { domains: [domain] } })).data.exportMarketToEndpoint;
    sandbox.tell({ path: '/v2/markets/2/companies', body: '{"data":[{"domain":"other.example"}]}', times: 1 });
    // It has cached nothing.
    const other = await gatewayWith();
    expect(fault(await retry(exportId, {}, admin, other))).toBe('BAD_USER_INPUT input.exportId');
    expect(endpoint.received).toHaveLength(1);
  });

  test('is refused if the selection was too long to be stored', async () => {
    const endpoint = await startRegistered(json(400, { title: 'T', message: 'M' }));
    const { domain } = sandbox.data.markets.find(({ record }) => record.id === 2)?.companies[0] ?? { domain: '' };
    const domains = Array.from({ length: 3_000 }, () => domain);
    const long = (await send({ companies: { domains } })).data.exportMarketToEndpoint;
    expect(fault(await retry(long.exportId))).toBe('CONFLICT input.exportId');
    expect(endpoint.received).toHaveLength(1);
  });
});

describe('the receiver', () => {
  const printed: string[] = [];
  async function receiving(mode: Mode) {
    printed.length = 0;
    const server = createReceiver(mode, lines => printed.push(lines));
    await register(`http://127.0.0.1:${await listening(server)}/try?me={user.email}`);
    return (await send({ onBehalfOf: { email: 'zoe@team.example' } })).data.exportMarketToEndpoint;
  }

  test('accepts an export and prints it', async () => {
    const result = await receiving('accept');
    expect(result).toMatchObject({ __typename: 'ExportDelivered', redirectUrl: 'https://example.com/companies' });
    expect(result.messageText).toMatch(/^\d+ companies were imported\.\nThey will be visible in a minute\.$/);
    expect(printed).toHaveLength(1);
    for (const part of ['POST /try?me=zoe%40team.example', 'content-type: application/json', result.exportId]) {
      expect(printed[0]).toContain(part);
    }
  });

  test.each<[Mode, number, object]>([
    ['reject', 1, { __typename: 'ExportRejected', references: [{ type: 'INFO' }, { type: 'INFO' }, { type: 'INFO' }] }],
    ['fail', 4, { __typename: 'ExportFailed' }],
    ['redirect', 1, { __typename: 'ExportFailed' }],
  ])('can %s exports', async (mode, calls, expected) => {
    expect(await receiving(mode)).toMatchObject(expected);
    expect(printed).toHaveLength(calls);
  });

  test('can hang', async () => {
    const timer = takeAttemptTimers();
    cleanups.push(timer.restore);
    const result = receiving('hang');
    for (let calls = 1; calls <= 4; calls++) {
      await until(() => printed.length === calls);
      timer.fire();
    }
    expect(await result).toMatchObject({ __typename: 'ExportFailed' });
  });
});
