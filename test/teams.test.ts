import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Credential } from '../src/credentials.js';
import { Secret } from '../src/secret.js';
import { createTeams, hashOfKey, memberName, readTeams } from '../src/teams.js';
import { buildProgram, type Program } from './support/program.js';

const apiKey = (key: string): Credential => ({ kind: 'apiKey', secret: new Secret(key) });
const user = (email: string): Credential => ({ kind: 'cookie', secret: new Secret('s'), email, name: null });
const bearer: Credential = { kind: 'bearer', secret: new Secret('the key') };

let folder: string;
let program: Program;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'teams-'));
  program = await buildProgram();
});
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
  test('says who belongs to a team and who manages it', async () => {
    const teams = createTeams(readTeams(await fileOf([team])));
    const members = [apiKey('the key'), apiKey('another key'), user('ADA@team.example'), user('ben@team.example')];
    expect(members.map(member => teams.teamOf(member))).toEqual(Array(4).fill('Buyers'));
    expect(members.map(member => teams.isAdmin(member))).toEqual([true, false, true, false]);
    const others = [apiKey('unknown'), user('eve@team.example'), bearer];
    expect(others.map(other => teams.teamOf(other))).toEqual([null, null, null]);
    expect(others.map(other => teams.isAdmin(other))).toEqual([false, false, false]);
  });

  test.each<[string, unknown]>([
    ['is no JSON', 'teams: []'],
    ['is no list', { teams: [] }],
    ['holds a key instead of its hash', [{ ...team, keys: ['the key'] }]],
    ['has an admin who is no member', [{ ...team, admins: ['eve@team.example'] }]],
  ])('that %s is refused', async (_, content) => {
    const file = await fileOf(content);
    expect(() => readTeams(file)).toThrow(new RegExp(`^TEAMS_FILE: ${file} `));
  });

  test('that is wrong ends the start with one clear line', async () => {
    const TEAMS_FILE = await fileOf('teams: []');
    const { code, stderr } = await program.run({ PATH: process.env.PATH ?? '', TEAMS_FILE, DATA_DIR: folder });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^TEAMS_FILE: [^\n]+\n$/);
  });
});

test('without a teams file each key is a team of its own and manages it', () => {
  const teams = createTeams(undefined);
  expect(teams.teamOf(apiKey('the key'))).toBe(hashOfKey('the key').slice(0, 19));
  expect(teams.isAdmin(apiKey('the key'))).toBe(true);
  expect([user('ada@team.example'), bearer].map(other => [teams.teamOf(other), teams.isAdmin(other)])).toEqual([
    [null, false],
    [null, false],
  ]);
});

test('a member is named by e-mail, or by the beginning of the key’s hash', () => {
  expect(memberName(user('ada@team.example'))).toBe('ada@team.example');
  expect(memberName(apiKey('the key'))).toBe(hashOfKey('the key').slice(0, 19));
});

describe('the command hash-key', () => {
  const run = (args: string[], stdin?: string) => program.run({}, 'hash-key.js', args, stdin);

  test('prints the hash of its argument, or of the first line of stdin', async () => {
    const expected = { code: 0, stdout: `${hashOfKey('the key')}\n`, stderr: '' };
    expect(await run(['the key'])).toEqual(expected);
    expect(await run([], 'the key\n')).toEqual(expected);
    expect(await run([], 'the key')).toEqual(expected);
  });

  test('asks for a key where it has none', async () => {
    expect(await run([])).toMatchObject({ code: 1, stdout: '' });
  });
});

test.each(['{"version":1,', '{"version":1,"teams":[7,8]}', '{\n\n'])(
  'a damaged registry of exports ends the start with one clear line: %j',
  async content => {
    const data = await mkdtemp(join(folder, 'data-'));
    await writeFile(join(data, 'exports.json'), content);
    const { code, stderr } = await program.run({ PATH: process.env.PATH ?? '', DATA_DIR: data });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^DATA_DIR: [^\n]*exports\.json cannot be read[^\n]+\n$/);
  },
);
