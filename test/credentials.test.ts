import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { request } from 'undici';
import { WebSocket } from 'ws';
import { type Credential, hashOfKey } from '../src/auth/credentials.js';
import { createTeams, memberName, readTeams } from '../src/auth/teams.js';
import { Secret } from '../src/config/values.js';
import { type Sandbox, startSandbox } from '../src/sandbox/server.js';
import { forSuite, forTest } from './support/cleanups.js';
import { apiKey, user } from './support/credentials.js';
import { ask, demoHeaders, signedIn, startGateway, type TestGateway } from './support/gateway.js';
import { overWebsocket } from './support/streams.js';
import { eventPage, fakeWire } from './support/wire.js';

const service = fakeWire(({ url }) => {
  if (url.pathname.endsWith('/sign-in')) {
    return { body: { name: 'Ada' }, headers: { 'set-cookie': 'svc=abc123; Path=/; HttpOnly' } };
  }
  return url.pathname.endsWith('/events') ? eventPage([]) : { body: { suggested: [] } };
});
const gateway = forSuite(await startGateway({ wire: service.wire }));
const { cookie } = await signedIn(gateway);

beforeEach(() => {
  service.calls.length = 0;
});

let question = 0;

/** Asks for one read by GET and one by POST; gives back how the gateway took the caller, and how each read went upstream. */
async function upstreamOf(headers: Record<string, string>, search = '') {
  question += 1;
  const { data, errors, extensions } = await ask(
    `${gateway.url}/graphql${search}`,
    `{ viewer { authentication email } events(filter: { search: "q${question}" }) { totalCount } suggestMarkets(keyword: "q${question}") }`,
    {},
    { ...headers, 'x-explain': '1' },
  );
  expect(errors).toBeUndefined();
  // What is told of the calls has no credential.
  expect(JSON.stringify(extensions)).not.toMatch(/sessionId|key-1|token-1|abc123/);
  const calls = service.calls
    .map(({ method, path, headers: sent }) => {
      const ofEachCall = ['accept', 'accept-encoding', 'content-type', 'user-agent', 'x-request-id'];
      const credentials = Object.fromEntries(Object.entries(sent).filter(([name]) => !ofEachCall.includes(name)));
      return { method, search: path.split('?')[1] ?? '', credentials };
    })
    .sort((a, b) => (a.method < b.method ? -1 : 1));
  return { viewer: data.viewer, calls };
}

const eventsSearch = () => `pageSize=10&page=1&search=q${question}`;

describe('a credential is sent upstream unchanged', () => {
  test('an API key in its header', async () => {
    const { viewer, calls } = await upstreamOf({ 'x-api-key': 'key-1' });
    expect(viewer.authentication).toBe('API_KEY');
    expect(calls).toEqual([
      { method: 'GET', search: eventsSearch(), credentials: { 'x-api-key': 'key-1' } },
      { method: 'POST', search: '', credentials: { 'x-api-key': 'key-1' } },
    ]);
  });

  test.each(['Bearer token-1', 'bearer token-1', 'BEARER   token-1'])(
    'a bearer token (%s) in its header',
    async given => {
      const { viewer, calls } = await upstreamOf({ authorization: given });
      expect(viewer.authentication).toBe('BEARER');
      expect(calls).toEqual([
        { method: 'GET', search: eventsSearch(), credentials: { authorization: 'Bearer token-1' } },
        { method: 'POST', search: '', credentials: { authorization: 'Bearer token-1' } },
      ]);
    },
  );

  test('a session id as an encoded query parameter, after the others', async () => {
    const { viewer, calls } = await upstreamOf({}, `?sessionId=${encodeURIComponent('a+b/c=&page=9')}`);
    expect(viewer.authentication).toBe('SESSION_ID');
    expect(calls).toEqual([
      { method: 'GET', search: `${eventsSearch()}&sessionId=a%2Bb%2Fc%3D%26page%3D9`, credentials: {} },
      { method: 'POST', search: 'sessionId=a%2Bb%2Fc%3D%26page%3D9', credentials: {} },
    ]);
  });

  test("the cookie of the service by its own name, from the gateway's cookie", async () => {
    const { viewer, calls } = await upstreamOf({ cookie: `other=1; ${cookie}; svc=planted` });
    expect(viewer).toEqual({ authentication: 'COOKIE', email: 'ada@team.example' });
    expect(calls).toEqual([
      { method: 'GET', search: eventsSearch(), credentials: { cookie: 'svc=abc123' } },
      { method: 'POST', search: '', credentials: { cookie: 'svc=abc123' } },
    ]);
  });
});

describe('an explicit credential outranks the cookie', () => {
  test.each<[string, Record<string, string>, string, string, Record<string, string>]>([
    ['an API key', { 'x-api-key': 'key-1' }, '', 'API_KEY', { 'x-api-key': 'key-1' }],
    ['a bearer token', { authorization: 'Bearer t-1' }, '', 'BEARER', { authorization: 'Bearer t-1' }],
    ['a session id', {}, '?sessionId=s-1', 'SESSION_ID', {}],
  ])('%s', async (_, headers, search, authentication, credentials) => {
    const { viewer, calls } = await upstreamOf({ ...headers, cookie }, search);
    expect(viewer).toEqual({ authentication, email: null });
    expect(calls.map(call => call.credentials)).toEqual([credentials, credentials]);
  });

  test.each([
    ['x-api-key', '', 'x-api-key: a\r\nx-api-key: a'],
    ['authorization', '', 'authorization: Bearer a\r\nauthorization: Bearer a'],
    ['sessionId', '?sessionId=a&sessionId=a', ''],
    ['sessionId', '?sessionId=a&a=b&session%49d=b', ''],
  ])('but %s twice is refused', async (argument, search, lines) => {
    const headers = lines
      .split('\r\n')
      .filter(Boolean)
      .flatMap(line => line.split(': '));
    const { body, statusCode } = await request(`${gateway.url}/graphql${search}`, {
      method: 'POST',
      headers: ['content-type', 'application/json', ...headers],
      body: JSON.stringify({ query: '{ viewer { email } }' }),
    });
    const { errors } = (await body.json()) as { errors: { message: string; extensions: object }[] };
    expect([statusCode, errors[0]?.extensions]).toEqual([400, { code: 'BAD_USER_INPUT', argument }]);
    expect(errors[0]?.message).toContain('must be sent once');
  });

  test('but two explicit credentials are refused, with or without the cookie', async () => {
    const headers = { 'x-api-key': 'key-1', authorization: 'Bearer t-1', cookie };
    const { status, errors } = await ask(`${gateway.url}/graphql`, '{ viewer { email } }', {}, headers);
    expect(status).toBe(400);
    expect(errors?.[0].extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'authorization' });
  });
});

/** The status of a GET that a page of the same origin sends: browsers send no `Origin` with it. */
async function statusOfGet(url: string, headers: Record<string, string>): Promise<number> {
  const { statusCode, body } = await request(`${url}/graphql?query={events{totalCount}}`, {
    headers: { 'apollo-require-preflight': '1', 'sec-fetch-site': 'same-origin', ...headers },
  });
  await body.dump();
  return statusCode;
}

describe('a request without a credential', () => {
  const everything = '{ viewer { authentication } events { totalCount } market(id: 1) { name } }';

  test('is unauthenticated if a service is configured', async () => {
    const { data, errors } = await gateway.query(everything, {}, {});
    expect(data).toEqual({ viewer: null, events: null, market: { name: null } });
    expect(errors?.map(({ path, extensions }) => `${path} ${extensions.code}`).sort()).toEqual([
      'events UNAUTHENTICATED',
      'market,name UNAUTHENTICATED',
    ]);
    expect(service.calls).toEqual([]);

    const ended = await gateway.query('{ viewer { email } }', {}, { cookie: 'mig_session=forged' });
    expect(ended.data).toEqual({ viewer: null });
    expect(ended.errors?.map(({ extensions }) => extensions.code)).toEqual(['UNAUTHENTICATED']);
  });

  test('uses the demo key only with the embedded sandbox', async () => {
    const embedded = forTest(await startGateway());
    const { data, errors } = await embedded.query(everything, {}, {});
    expect(errors).toBeUndefined();
    expect(data.viewer.authentication).toBe('API_KEY');
    expect(data.events.totalCount).toBeGreaterThan(0);
    expect(embedded.sandbox?.calls.list().map(({ credential }) => credential)).toEqual(['apiKey', 'apiKey']);

    const wrong = await embedded.query(everything, {}, { 'x-api-key': 'no-such-key' });
    expect(wrong.data).toMatchObject({ events: null, market: { name: null } });
    expect(wrong.errors?.map(({ extensions }) => extensions.code)).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED']);

    const forged = await embedded.query(everything, {}, { cookie: 'mig_session=forged' });
    expect(forged.data).toEqual({ viewer: null, events: null, market: { name: null } });

    const empty = await embedded.query(everything, {}, { 'x-api-key': '' });
    expect(empty.status).toBe(400);
  });

  test.each([{}, demoHeaders])('is nothing for a page whose name resolves to 127.0.0.1 (DNS rebinding)', async key => {
    const embedded = forTest(await startGateway());
    const accept = 'application/json, text/event-stream';
    const headers = { host: 'evil.example', 'content-type': 'application/json', accept, ...key };
    const origin = 'http://evil.example';
    const send = async (path: string, body: object) => {
      const options = { method: 'POST', headers: { ...headers, origin }, body: JSON.stringify(body) } as const;
      return (await request(`${embedded.url}${path}`, options)).body.text();
    };
    expect(await send('/graphql', { query: '{ events { totalCount } }' })).toContain('FORBIDDEN');
    const subscription = { query: 'subscription { eventUpdates { event { id } } }' };
    expect(await send('/graphql/stream', subscription)).toContain('FORBIDDEN');
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect(await send('/mcp', list)).toContain('FORBIDDEN');
    // Browsers send no origin with it.
    const { body } = await request(`${embedded.url}/graphql?query={events{totalCount}}`, {
      headers: { host: headers.host, 'apollo-require-preflight': '1' },
    });
    expect(await body.text()).toContain('UNAUTHENTICATED');
    expect(await statusOfGet(embedded.url, { host: headers.host, ...key })).toBe(403);

    const socket = new WebSocket(`${embedded.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', {
      headers: { host: headers.host, origin },
    });
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'connection_init', payload: key }));
    expect((await once(socket, 'close'))[0]).toBe(4403);
    expect(embedded.sandbox?.calls.list()).toEqual([]);
  });

  test('a page of the gateway itself may send a GET from an address, and from a name that is listed', async () => {
    const embedded = forTest(await startGateway({ env: { CORS_ORIGINS: 'https://demo.example' } }));
    for (const host of ['localhost:4000', '192.0.2.1:4000', 'demo.example'])
      expect(await statusOfGet(embedded.url, { host, ...demoHeaders })).toBe(200);
  });
});

const bearer: Credential = { kind: 'bearer', secret: new Secret('the key') };

const folder = await mkdtemp(join(tmpdir(), 'teams-'));

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function fileOf(content: unknown): Promise<string> {
  const file = join(folder, 'teams.json');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const team = {
  name: 'Buyers',
  keys: [hashOfKey('the key'), hashOfKey('another key')],
  emails: ['Ada@Team.example', 'ben@team.example'],
  admins: ['ada@team.example', hashOfKey('the key')],
};

describe('a teams file', () => {
  test('defines the members and admins of a team', async () => {
    const teams = createTeams(readTeams(await fileOf([team])));
    const members = [apiKey('the key'), apiKey('another key'), user('ADA@team.example'), user('ben@team.example')];
    expect(members.map(member => teams.teamOf(member)?.name)).toEqual(Array(4).fill('Buyers'));
    expect(members.map(member => teams.isAdmin(member))).toEqual([true, false, true, false]);
    const others = [apiKey('unknown'), user('eve@team.example'), bearer];
    expect(others.map(other => teams.teamOf(other))).toEqual([null, null, null]);
    expect(others.map(other => teams.isAdmin(other))).toEqual([false, false, false]);
  });

  test('never confuses users with keys or with other users', async () => {
    const kate = { name: 'Sellers', emails: ['kate@team.example'], admins: ['kate@team.example'] };
    const teams = createTeams(readTeams(await fileOf([team, kate])));
    const others = [
      user(hashOfKey('the key')),
      user(hashOfKey('the key').toUpperCase()),
      user('\u212aate@team.example'),
    ];
    expect(others.map(other => teams.teamOf(other))).toEqual([null, null, null]);
    expect(others.map(other => teams.isAdmin(other))).toEqual([false, false, false]);
    expect(teams.isAdmin(user('KATE@team.example'))).toBe(true);
  });

  test.each<[string, unknown, ...words: string[]]>([
    ['is no JSON', 'teams: []'],
    ['is no list', { teams: [] }],
    ['holds a key instead of its hash', [{ ...team, keys: ['the key'] }]],
    ['has an admin who is no member', [{ ...team, admins: ['eve@team.example'] }]],
    ['gives two teams one name', [team, { name: team.name }], 'Buyers is there twice'],
    [
      'lists a key in two teams',
      [team, { name: 'Sellers', keys: [hashOfKey('the key')] }],
      `${hashOfKey('the key')} is there twice`,
    ],
    [
      'limits a member that it does not have',
      [{ ...team, memberLimits: { 'eve@team.example': { upstreamCalls: 1 } } }],
    ],
    [
      'limits a member twice',
      [
        {
          ...team,
          memberLimits: { 'ada@team.example': { upstreamCalls: 1 }, 'Ada@team.example': { upstreamCalls: 2 } },
        },
      ],
      '[0].memberLimits: must name each member once: ada@team.example is there twice',
    ],
    ['has a member of a name that no team has', [{ ...team, admin: [] }]],
    ['has a member of the name of a prototype', '[{ "name": "Buyers", "__proto__": { "admins": [] } }]', '__proto__'],
    [
      'limits the name of a prototype',
      '[{ "name": "Buyers", "memberLimits": { "__proto__": { "upstreamCalls": 1 } } }]',
    ],
    ['has a limit of no request', [{ ...team, limits: { requestsPerMinute: 0 } }]],
    ['has a limit of an unknown name', [{ ...team, limits: { requestsPerHour: 1 } }]],
    [
      'lists an e-mail in two teams',
      [team, { name: 'Sellers', emails: ['ADA@team.example'] }],
      'ada@team.example is there twice',
    ],
  ])('that %s is refused, and the error names what is wrong', async (_, content, words = '') => {
    const file = await fileOf(content);
    expect(() => readTeams(file)).toThrow(new RegExp(`^Invalid configuration: TEAMS_FILE: ${file} `));
    expect(() => readTeams(file)).toThrow(words);
  });
});

describe('the limits of a teams file', () => {
  const send = (gateway: TestGateway, key: string, query = '{ viewer { team } }') =>
    gateway.query(query, {}, { 'x-api-key': key });
  const team = { name: 'Buyers', keys: [hashOfKey('one-key'), hashOfKey('another-key')] };
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  /** Runs a gateway with the teams of a file. */
  async function withTeams(content: unknown, use: (gateway: TestGateway) => Promise<void>): Promise<void> {
    const env = { TEAMS_FILE: await fileOf(content), RATE_LIMIT_PER_CREDENTIAL: '5', QUERY_CALL_LIMIT: '3' };
    const gateway = await startGateway({ sandbox, env });
    try {
      await use(gateway);
    } finally {
      await gateway.close();
    }
  }

  const statuses = async (gateway: TestGateway, ...keys: string[]) => {
    const found = [];
    for (const key of keys) found.push((await send(gateway, key)).status);
    return found;
  };

  test('hold for the requests of all members together, and for no other credential', () =>
    withTeams([{ ...team, limits: { requestsPerMinute: 3 } }], async gateway => {
      const keys = ['one-key', 'another-key', 'one-key', 'another-key', 'a-third-key'];
      expect(await statuses(gateway, ...keys)).toEqual([200, 200, 200, 429, 200]);
    }));

  test('of one member replace RATE_LIMIT_PER_CREDENTIAL', () =>
    withTeams([{ ...team, memberLimits: { [hashOfKey('one-key')]: { requestsPerMinute: 7 } } }], async gateway => {
      expect(await statuses(gateway, ...Array(8).fill('one-key'))).toEqual([...Array(7).fill(200), 429]);
      expect(await statuses(gateway, ...Array(6).fill('another-key'))).toEqual([...Array(5).fill(200), 429]);
    }));

  test('of one member hold for all sessions of a user together', () => {
    const [user] = sandbox.demo.users;
    const { email = '', password = '' } = user ?? {};
    return withTeams(
      [{ ...team, emails: [email], memberLimits: { [email]: { requestsPerMinute: 3 } } }],
      async gateway => {
        const found = [];
        for (let session = 0; session < 4; session += 1) {
          const headers = await signedIn(gateway, { email, password });
          found.push((await gateway.query('{ viewer { team } }', {}, headers)).status);
        }
        expect(found).toEqual([200, 200, 200, 429]);
      },
    );
  });

  test('replace QUERY_CALL_LIMIT on every transport, the one of a member before that of the team', () => {
    const limited = { limits: { upstreamCalls: 2 }, memberLimits: { [hashOfKey('one-key')]: { upstreamCalls: 4 } } };
    return withTeams([{ ...team, ...limited }], async gateway => {
      const limitOf = async (key: string) => {
        const query = `{ ${[1, 2, 3, 4, 5].map(id => `m${id}: market(id: ${id}) { name }`).join(' ')} }`;
        const { errors } = await send(gateway, key, query);
        return errors?.[0]?.extensions.limit;
      };
      expect([await limitOf('one-key'), await limitOf('another-key'), await limitOf('a-third-key')]).toEqual([4, 2, 3]);
      const watching =
        'subscription { jobProgress(marketId: 1) { market { name topics { id } companies { totalCount } } } }';
      const { ended } = overWebsocket(gateway.url, { query: watching }, { params: { 'x-api-key': 'another-key' } });
      expect(await ended).toMatchObject([{ extensions: { code: 'QUERY_TOO_COMPLEX', limit: 2 } }]);
    });
  });

  test('change when the file is read again', () =>
    withTeams([team], async gateway => {
      expect(await statuses(gateway, 'one-key', 'one-key')).toEqual([200, 200]);
      await fileOf([{ ...team, limits: { requestsPerMinute: 1 } }]);
      gateway.reload();
      expect(await statuses(gateway, 'one-key', 'another-key')).toEqual([200, 429]);
    }));
});

/** Found by a search of 36 million keys: their SHA-256 hashes share the first 48 bits. */
const [oneKey, otherKey] = ['key-6efa4008a328', 'key-55c07b987079'] as const;

test('two keys whose hashes share a prefix have separate endpoints', async () => {
  expect(hashOfKey(oneKey).slice(0, 19)).toBe(hashOfKey(otherKey).slice(0, 19));
  const { wire } = fakeWire(() => eventPage([]));
  const env = { DATA_DIR: await mkdtemp(join(folder, 'data-')), EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true' };
  const gateway = forTest(await startGateway({ wire, env }));
  const register =
    'mutation ($input: RegisterExportEndpointInput!) { registerExportEndpoint(input: $input) { endpoint { name } } }';
  const input = { name: 'crm', url: 'http://127.0.0.1:9/', description: 'a test' };
  for (const key of [oneKey, otherKey]) {
    const { errors } = await gateway.query(register, { input }, { 'x-api-key': key });
    expect(errors).toBeUndefined();
  }
  const remove = 'mutation { deleteExportEndpoint(input: { endpoint: "crm" }) { endpoint { name } } }';
  expect((await gateway.query(remove, {}, { 'x-api-key': oneKey })).errors).toBeUndefined();
  const { data } = await gateway.query('{ exportEndpoints { name } }', {}, { 'x-api-key': otherKey });
  expect(data.exportEndpoints).toEqual([{ name: 'crm' }]);
});

test('the shown name of a team or member reveals neither the key of the store nor the hash', () => {
  const hash = hashOfKey('the key');
  const team = createTeams(undefined).teamOf(apiKey('the key'));
  expect(team?.name).toMatch(/^API key [\da-f]{8}$/);
  expect(hash).not.toContain(team?.name.slice('API key '.length));
  expect(memberName(apiKey('the key'))).toBe(team?.name);
  expect(memberName(user('ada@team.example'))).toBe('ada@team.example');
});

test('a team of the file is stored apart from the teams of API keys', async () => {
  const sole = createTeams(undefined).teamOf(apiKey('the key'));
  const names = [hashOfKey('the key'), sole?.key ?? '', sole?.name ?? ''];
  const named = createTeams(readTeams(await fileOf(names.map(name => ({ name, emails: [`${name}@team.example`] })))));
  for (const name of names) expect(named.teamOf(user(`${name}@team.example`))?.key).not.toBe(sole?.key);
});

test.each([
  '',
  '\0\0\0\0',
  '{"version":1,',
  '{\n\n',
  '{"version":1,"teams":[7,8]}',
  '{"version":2,"teams":{}}',
  '{"version":1,"teams":{"name:a":{"entrypoints":[],"exports":[]}}}',
])('a damaged registry of exports ends the start with one clear line, and is not changed: %j', async content => {
  const data = await mkdtemp(join(folder, 'data-'));
  await writeFile(join(data, 'exports.json'), content);
  await expect(startGateway({ env: { DATA_DIR: data } })).rejects.toThrow(
    /^Invalid configuration: DATA_DIR: .*exports\.json cannot be read.+$/,
  );
  expect(await readFile(join(data, 'exports.json'), 'utf8')).toBe(content);
});
