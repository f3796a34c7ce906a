import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Credential } from './credentials.js';
import { InvalidConfig, reasonOf } from './invalid-config.js';

const keyHash = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hexadecimal digits');
const email = z.string().transform(text => text.toLowerCase());

const teamList = z.array(
  z
    .object({
      name: z.string().min(1),
      /** Hashes of API keys. */
      keys: z.array(keyHash).default([]),
      emails: z.array(email).default([]),
      /** Those of the keys and e-mails that may manage the team. */
      admins: z.array(email).default([]),
    })
    .refine(({ keys, emails, admins }) => admins.every(admin => keys.includes(admin) || emails.includes(admin)), {
      path: ['admins'],
      message: 'must be among the keys and emails of the team',
    }),
);

/** Teams as the teams file lists them. */
export type TeamList = z.output<typeof teamList>;

/** Who belongs to which team. */
export interface Teams {
  /** The team of a credential; null where it has none. */
  teamOf(credential: Credential): string | null;
  /** Whether a credential may manage its team: register and delete endpoints. */
  isAdmin(credential: Credential): boolean;
}

/** How a teams file names an API key, so that it holds no secret: `sha256:` and 64 hexadecimal digits. */
export function hashOfKey(key: string): string {
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

/** What a member is called where a team reads who did something: the e-mail, or the beginning of the key's hash. */
export function memberName(credential: Credential): string {
  return credential.kind === 'cookie' ? credential.email : shortHash(hashOfKey(credential.secret.reveal()));
}

const shortHash = (hash: string) => hash.slice(0, 'sha256:'.length + 12);

/** The teams in a file. @throws InvalidConfig that says what is wrong with it. */
export function readTeams(file: string): TeamList {
  try {
    return teamList.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw new InvalidConfig(`TEAMS_FILE: ${file} is no list of teams: ${reasonOf(error)}`);
  }
}

/** @param list undefined: each API key is a team of its own and its own admin, and a signed-in user has none. */
export function createTeams(list: TeamList | undefined): Teams {
  const byKey = new Map((list ?? []).flatMap(team => team.keys.map(key => [key, team] as const)));
  const byEmail = new Map((list ?? []).flatMap(team => team.emails.map(member => [member, team] as const)));

  function memberOf(credential: Credential) {
    if (credential.kind === 'cookie') {
      const member = credential.email.toLowerCase();
      return { member, team: byEmail.get(member) };
    }
    if (credential.kind !== 'apiKey') return undefined;
    const member = hashOfKey(credential.secret.reveal());
    return { member, team: list === undefined ? soleMember(member) : byKey.get(member) };
  }

  return {
    teamOf: credential => memberOf(credential)?.team?.name ?? null,
    isAdmin(credential) {
      const found = memberOf(credential);
      return found?.team?.admins.includes(found.member) ?? false;
    },
  };
}

function soleMember(hash: string): TeamList[number] {
  return { name: shortHash(hash), keys: [hash], emails: [], admins: [hash] };
}
