import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { hashOfKey } from '../../src/auth/credentials.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.js';
import { cleanups, listening, temporaryFolder } from '../support/cleanups.js';
import { ask, demoHeaders, postJson, startGateway, type TestGateway } from '../support/gateway.js';
import { counted } from '../support/metrics.js';
import { buildProgram } from '../support/program.js';
import { type Heard, overSse, overWebsocket } from '../support/streams.js';
import { reply, startStubService } from '../support/stub-service.js';
import { until } from '../support/until.js';

const [demoKey, otherKey] = [demoHeaders['x-api-key'], 'demo-key-unsubscribed'];
const byOther = { 'x-api-key': otherKey };
const team = (name: string, ...keys: string[]) => {
  const hashes = keys.map(hashOfKey);
  return { name, keys: hashes, admins: hashes };
};
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const manifestOf = (...documents: string[]) => Object.fromEntries(documents.map(text => [sha256(text), text]));

let folder: string;
let teamsFile: string;
let documentsFile: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  teamsFile = join(folder, 'teams.json');
  documentsFile = join(folder, 'documents.json');
});

const write = (file: string, content: unknown) =>
  writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));

/** The codes of the errors with which a subscription ends, in a result of its own (SSE) or instead of one (WebSocket). */
async function codesOf({ results, ended }: Heard): Promise<string[]> {
  const end = (await ended) ?? [];
  return [...results.flatMap(result => result.errors ?? []), ...end].map(({ extensions }) => extensions.code);
}

const messagesIn = (stderr: string): string[] =>
  stderr
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line).msg)
    .filter(message => /TEAMS_FILE|PERSISTED_DOCUMENTS/.test(message));

describe('SIGHUP', () => {
  const viewer = '{ viewer { team } }';
  const env = () => ({
    TEAMS_FILE: teamsFile,
    PERSISTED_DOCUMENTS: documentsFile,
    PERSISTED_DOCUMENTS_MODE: 'allow',
    DATA_DIR: join(folder, 'data'),
  });

  test('reads the teams file and the trusted documents again; an invalid file changes nothing, and one line says why', async () => {
    await write(teamsFile, [team('Buyers', demoKey), team('Sellers', otherKey)]);
    await write(documentsFile, manifestOf('{ __typename }'));
    const running = await (await buildProgram()).start(env());
    cleanups.push(() => running.kill());
    const teamNow = async () => (await ask(`${running.url}/graphql`, viewer)).data.viewer.team;
    const logged = () => messagesIn(running.stderr());
    expect(await teamNow()).toBe('Buyers');

    await write(teamsFile, [{ ...team('Sellers', demoKey), admins: ['eve@team.example'] }]);
    await write(documentsFile, '{"half": "a file');
    running.signal('SIGHUP');
    await until(() => logged().length === 2);
    expect(logged()).toEqual([
      `Invalid configuration: TEAMS_FILE: ${teamsFile} is not a valid list of teams: [0].admins: must be among the keys and emails of the team; 2 teams from before stay in use`,
      expect.stringMatching(
        /^Invalid configuration: PERSISTED_DOCUMENTS: \S+ must contain an object of documents by their hash: [^\n]+; 1 document from before stay in use$/,
      ),
    ]);
    expect(await teamNow()).toBe('Buyers');
    expect(await counted(running.url, 'gateway_reload_success', { file: 'TEAMS_FILE' })).toBe(0);

    await write(teamsFile, [team('Sellers', demoKey), team('Sales', 'another key'), team('Research', 'a third key')]);
    await write(documentsFile, manifestOf('{ __typename }', viewer));
    running.signal('SIGHUP');
    await until(() => logged().length === 4);
    expect(logged().slice(2)).toEqual([
      'TEAMS_FILE was read again: 3 teams (2 added, 1 changed, 1 removed)',
      'PERSISTED_DOCUMENTS was read again: 2 documents (1 added, 0 changed, 0 removed)',
    ]);
    expect(await teamNow()).toBe('Sellers');
    expect(await counted(running.url, 'gateway_reload_success', { file: 'TEAMS_FILE' })).toBe(1);
    expect(await running.stop()).toMatchObject({ code: 0 });
  });

  test('before the gateway is ready is applied as soon as it is', async () => {
    await write(teamsFile, [team('Buyers', demoKey)]);
    await write(documentsFile, {});
    const silent = createServer();
    const redis = `redis://127.0.0.1:${await listening(silent)}`;
    const connected = once(silent, 'connection');
    const starting = (await buildProgram()).launch({ ...env(), REDIS_URL: redis });
    await connected;
    await write(teamsFile, [team('Buyers', demoKey), team('Sellers', otherKey)]);
    starting.signal('SIGHUP');
    await until(() => starting.stderr().includes('TEAMS_FILE was read again: 2 teams (1 added, 0 changed, 0 removed)'));
    starting.signal('SIGTERM');
    expect(await starting.ended).toMatchObject({ code: 0 });
  });
});

test('a gateway ends when its terminal is closed', async () => {
  const { folder: built } = await buildProgram();
  const command = `echo pid $$; exec '${process.execPath}' '${join(built, 'main.js')}'`;
  // Makes a terminal, which is closed when it is killed.
  const terminal = spawn('script', ['--quiet', '--flush', '--command', command, '/dev/null'], {
    env: { PATH: process.env.PATH, PORT: '0', DATA_DIR: join(folder, 'data') },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let stdout = '';
  terminal.stdout.on('data', chunk => {
    stdout += chunk;
  });
  await until(() => stdout.includes('/graphql'));
  const [url = ''] = /http:\/\/\S+:\d+/.exec(stdout) ?? [];
  const pid = Number(/pid (\d+)/.exec(stdout)?.[1]);
  cleanups.push(() => isAlive(pid) && process.kill(pid, 'SIGKILL'));
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  terminal.kill('SIGKILL');
  await until(() =>
    fetch(`${url}/healthz`).then(
      () => false,
      () => true,
    ),
  );
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('after a reload', () => {
  let sandbox: Sandbox;
  let gateway: TestGateway;
  beforeEach(async () => {
    sandbox = await startSandbox();
    cleanups.push(() => sandbox.close());
  });

  async function start(env: Record<string, string>) {
    const fixed = { RESPONSE_CACHE: 'true', EXPORT_ALLOW_PRIVATE_ADDRESSES: 'true', POLL_INTERVAL_MS: '100' };
    gateway = await startGateway({ sandbox, env: { DATA_DIR: join(folder, 'data'), ...fixed, ...env } });
    cleanups.push(() => gateway.close());
  }

  test('the next request has the new team, also where its response was cached', async () => {
    await write(teamsFile, [team('Buyers', demoKey)]);
    await start({ TEAMS_FILE: teamsFile });
    const query = '{ viewer { team canExport } events(first: 1) { totalCount } }';
    const viewerNow = async () => {
      const { data, headers } = await gateway.query(query);
      expect(headers.get('etag')).not.toBeNull();
      return data.viewer;
    };
    expect(await viewerNow()).toEqual({ team: 'Buyers', canExport: true });
    for (const [list, viewer] of [
      [[team('Sellers', demoKey)], { team: 'Sellers', canExport: true }],
      [[team('Sellers', otherKey)], { team: null, canExport: false }],
      [[team('Buyers', demoKey)], { team: 'Buyers', canExport: true }],
    ]) {
      await write(teamsFile, list);
      gateway.reload();
      expect(await viewerNow()).toEqual(viewer);
    }
  });

  test('a client sees nothing more of the exports of the team that it left, and others keep their streams', async () => {
    await write(teamsFile, [team('Buyers', demoKey, otherKey)]);
    await start({ TEAMS_FILE: teamsFile });
    const answers: (() => void)[] = [];
    const endpoint = await startStubService((_, response) => {
      answers.push(() => reply(response, 200, { message: 'Thanks' }));
    });
    cleanups.push(() => endpoint.close());
    const input = { name: 'crm', url: `${endpoint.origin}/`, description: 'CRM' };
    const register =
      'mutation ($input: RegisterExportEndpointInput!) { registerExportEndpoint(input: $input) { endpoint { name } } }';
    expect((await gateway.query(register, { input })).errors).toBeUndefined();
    const sending = gateway.query('mutation { testExportEndpoint(input: { endpoint: "crm" }) { __typename } }');
    await until(() => answers.length === 1);
    const list = '{ exports { nodes { id } } exportEndpoints { name } }';
    const { data } = await gateway.query(list);
    const [{ id }] = data.exports.nodes;
    const query = `subscription { exportProgress(exportId: "${id}") { id outcome } }`;
    const leaving = [overSse(gateway.url, { query }), overWebsocket(gateway.url, { query }, { params: demoHeaders })];
    const staying = overSse(gateway.url, { query }, byOther);
    await until(() => [...leaving, staying].every(({ results }) => results.length === 1));

    await write(teamsFile, [team('Sellers', demoKey), team('Buyers', otherKey)]);
    gateway.reload();
    const later = overSse(gateway.url, { query });
    for (const listener of leaving) expect(await codesOf(listener)).toEqual(['FORBIDDEN']);
    expect(await codesOf(later)).toEqual(['NOT_FOUND']);
    expect([...leaving, later].map(({ results }) => results.filter(result => result.data).length)).toEqual([1, 1, 0]);
    expect((await gateway.query(list)).data).toEqual({ exports: { nodes: [] }, exportEndpoints: [] });
    expect((await gateway.query(list, {}, byOther)).data).toEqual(data);

    answers[0]?.();
    // The export that ran goes on, for the team that it belongs to.
    expect((await sending).data.testExportEndpoint).toEqual({ __typename: 'ExportDelivered' });
    expect(await staying.ended).toBeUndefined();
    expect(staying.results.map(result => result.data.exportProgress.outcome)).toEqual(['RUNNING', 'DELIVERED']);
  });

  test('only the new trusted documents are executed, also where a response was cached', async () => {
    const [kept, removed, added] = ['one', 'two', 'three'].map(
      alias => `{ ${alias}: events(first: 1) { totalCount } }`,
    );
    await write(documentsFile, manifestOf(kept ?? '', removed ?? ''));
    await start({ PERSISTED_DOCUMENTS: documentsFile, PERSISTED_DOCUMENTS_MODE: 'only' });
    const codeOf = async (document = '') => {
      const response = await postJson(`${gateway.url}/graphql`, { documentId: sha256(document) });
      return ((await response.json()) as { errors?: { extensions: { code: string } }[] }).errors?.[0]?.extensions.code;
    };
    const unknown = 'PERSISTED_QUERY_NOT_FOUND';
    const codes = async () => [await codeOf(kept), await codeOf(removed), await codeOf(added)];
    for (let round = 0; round < 2; round += 1) expect(await codes()).toEqual([undefined, undefined, unknown]);
    await write(documentsFile, manifestOf(kept ?? '', added ?? ''));
    gateway.reload();
    expect(await codes()).toEqual([undefined, unknown, undefined]);
  });
});
