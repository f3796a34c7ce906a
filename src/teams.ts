import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Credential } from './credentials.js';

const keyHash = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hexadecimal digits');
const email = z.string().transform(text => text.toLowerCase());

const teamList = z.array(
  z.object({
    name: z.string().min(1),
    /** Hashes of API keys. */
    keys: z.array(keyHash).default([]),
    emails: z.array(email).default([]),
  }),
);

/** Teams as the teams file lists them. */
export type TeamList = z.output<typeof teamList>;

/** Who belongs to which team. */
export interface Teams {
  /** The team of a credential; null where it has none. */
  teamOf(credential: Credential): string | null;
}

/** How a teams file names an API key, so that it holds no secret: `sha256:` and 64 hexadecimal digits. */
export function hashOfKey(key: string): string {
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

/** The teams in a file. @throws Error that says what is wrong with it. */
export function readTeams(file: string): TeamList {
  try {
    return teamList.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
    throw new Error(`TEAMS_FILE: ${file} is no list of teams: ${reason}`);
  }
}

/** @param list undefined: each API key is a team of its own, and a signed-in user has none. */
export function createTeams(list: TeamList | undefined): Teams {
  const byKey = new Map((list ?? []).flatMap(team => team.keys.map(key => [key, team.name] as const)));
  const byEmail = new Map((list ?? []).flatMap(team => team.emails.map(member => [member, team.name] as const)));
  return {
    teamOf(credential) {
      if (credential.kind === 'cookie') return byEmail.get(credential.email.toLowerCase()) ?? null;
      if (credential.kind !== 'apiKey') return null;
      const hash = hashOfKey(credential.secret.reveal());
      return list === undefined ? hash.slice(0, 'sha256:'.length + 12) : (byKey.get(hash) ?? null);
    },
  };
}
