import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { hashOfKey } from '../../src/auth/credentials.js';
import { createTeams, type TeamList } from '../../src/auth/teams.js';
import { apiKey, user } from '../support/credentials.js';
import { fuzz } from '../support/fuzz.js';

/** The digests of team keys, so that a long run needs little memory. */
const digest = (text: string) => createHash('sha256').update(text).digest('base64').slice(0, 12);

test('equal team keys imply equal credentials, and nothing that is shown is a team key', async () => {
  const alone = createTeams(undefined);
  const keyOf = new Map<string, string>();
  await fuzz(draw => {
    const key = `key-${draw.below(2 ** 31)}-${draw.below(2 ** 31)}`;
    const team = alone.teamOf(apiKey(key));
    if (team === null) throw new Error('An API key has no team');
    const known = keyOf.get(digest(team.key));
    if (known !== undefined) expect(known).toBe(key);
    else if (keyOf.size < 200_000) keyOf.set(digest(team.key), key);
    expect(team.key).toBe(`key:${hashOfKey(key)}`);

    // A file may give a team any name, even one that reads like a key.
    const name = draw.pick([team.key, team.name, hashOfKey(key), key, `name:${key}`]);
    const list: TeamList = [{ name, keys: [], emails: ['ada@team.example'], admins: [] }];
    const named = createTeams(list).teamOf(user('ada@team.example'));
    expect(named?.name).toBe(name);
    expect(named?.key).not.toBe(team.key);
  });
});
