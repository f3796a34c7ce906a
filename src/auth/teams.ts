// The teams file, and who belongs to which team.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ConfigurationError, reasonOf } from '../config/configuration-error.js';
import { Forbidden } from '../errors.js';
import { readTextFile } from '../lib/read-file.js';
import { type Credential, hashOfKey, holderOf, lowerCase } from './credentials.js';

const keyHash = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hexadecimal digits');
const email = z.string().transform(lowerCase);

const limits = z.strictObject({
  /** Requests a minute: of the whole team, or of one member in place of `RATE_LIMIT_PER_CREDENTIAL`. */
  requestsPerMinute: z.int().min(1).optional(),
  /** Upstream calls of one operation, in place of `QUERY_CALL_LIMIT`. Those of a member come before those of the team. */
  upstreamCalls: z.int().min(1).optional(),
});

const teamList = z
  .array(
    z
      .strictObject({
        name: z.string().min(1),
        keys: z.array(keyHash).default([]),
        emails: z.array(email).default([]),
        admins: z.array(email).default([]),
        limits: limits.optional(),
        memberLimits: z
          .record(z.string(), limits)
          .superRefine(refuseRepeated(byMember => Object.keys(byMember).map(lowerCase), 'must name each member once'))
          .pipe(z.record(email, limits))
          .optional(),
      })
      .superRefine(({ keys, emails, admins, memberLimits = {} }, context) => {
        const isStrange = (name: string) => ![...keys, ...emails].includes(name);
        const refuse = (member: string, message: string) =>
          context.addIssue({ code: 'custom', path: [member], message });
        if (admins.some(isStrange)) refuse('admins', 'must be among the keys and emails of the team');
        if (Object.keys(memberLimits).some(isStrange)) refuse('memberLimits', 'must name keys and emails of the team');
      }),
  )
  .superRefine(refuseRepeated(teams => teams.map(({ name }) => name), 'must have a different name for each team'))
  .superRefine(
    refuseRepeated(
      teams => teams.flatMap(({ keys, emails }) => [...new Set([...keys, ...emails])]),
      'must list each key and each email in one team only',
    ),
  );

function refuseRepeated<T>(valuesOf: (input: T) => readonly string[], words: string) {
  return (input: T, context: z.RefinementCtx): void => {
    const seen = new Set<string>();
    const repeated = valuesOf(input).find(value => seen.size === seen.add(value).size);
    if (repeated !== undefined) context.addIssue(`${words}: ${repeated} is there twice`);
  };
}

export type TeamList = z.output<typeof teamList>;

declare const teamKeyBrand: unique symbol;

/** The storage key of a team's data. Only `teamOf` makes one, so that no text from a client can be used as a key. It is never shown. */
export type TeamKey = string & { readonly [teamKeyBrand]: true };

export interface Team {
  readonly key: TeamKey;
  readonly name: string;
}

/** What the teams file limits for a credential: see `limits`. `ofTeam` is for all members together, `ofMember` for all sessions of one. */
export type ClientLimits = Partial<ReturnType<Teams['limitsOf']>>;

/** Assigns credentials to teams. It never changes: a teams file that is read again makes another one. */
export type Teams = ReturnType<typeof createTeams>;

/** The name of a member in the team's records: the e-mail, or a name for the API key. */
export function memberName(credential: Credential): string {
  return credential.kind === 'cookie' ? credential.email : keyName(hashOfKey(credential.secret.reveal()));
}

/** A name by which people recognize an API key. It reveals neither the key nor its hash, and need not be unique: nothing is stored under it. */
function keyName(keyHash: string): string {
  return `API key ${createHash('sha256').update(`market-intelligence-gateway key name ${keyHash}`).digest('hex').slice(0, 8)}`;
}

/** How a line of the log names who sent something: the e-mail, or the beginning of the secret's hash, as in a teams file. */
export function loggedMember(credential: Credential | Error | undefined): string | undefined {
  if (credential === undefined || credential instanceof Error) return undefined;
  return credential.kind === 'cookie' ? credential.email : holderOf(credential).slice(0, 15);
}

/** The teams in a file. @throws ConfigurationError for an invalid file. */
export function readTeams(file: string): TeamList {
  try {
    return teamList.parse(JSON.parse(readTextFile(file), refuseProto));
  } catch (error) {
    throw new ConfigurationError(`TEAMS_FILE: ${file} is not a valid list of teams: ${reasonOf(error)}`);
  }
}

/** For `JSON.parse`: zod would leave such a member out in silence. */
function refuseProto(name: string, value: unknown): unknown {
  if (name === '__proto__') throw new Error('it has a member __proto__');
  return value;
}

/** @param list undefined: each API key is a team of its own and its own admin, and a signed-in user has none. */
export function createTeams(list: TeamList | undefined) {
  const byMember = new Map<string | undefined, TeamList[number]>(
    (list ?? []).flatMap(team => [...team.keys, ...team.emails].map(member => [member, team] as const)),
  );

  /** So that nothing is computed for each request where nothing is limited. */
  const isLimited = (list ?? []).some(({ limits, memberLimits }) => limits !== undefined || memberLimits !== undefined);

  return {
    /** Undefined without a teams file. */
    list,
    teamOf(credential: Credential): Team | null {
      const member = memberOf(credential);
      if (list === undefined) return credential.kind === 'apiKey' && member !== undefined ? soleTeam(member) : null;
      const name = byMember.get(member)?.name;
      return name === undefined ? null : { key: listedKey(name), name };
    },
    /** What is limited for a credential. An invalid one has no limits of its own. */
    limitsOf(credential: Credential | Error | undefined) {
      if (!isLimited || credential === undefined || credential instanceof Error) return {};
      const member = memberOf(credential);
      const team = byMember.get(member);
      if (member === undefined || team === undefined) return {};
      const own = team.memberLimits?.[member];
      const requestsPerMinute = team.limits?.requestsPerMinute;
      return {
        ofMember:
          own?.requestsPerMinute === undefined ? undefined : { key: member, requestsPerMinute: own.requestsPerMinute },
        ofTeam: requestsPerMinute === undefined ? undefined : { key: listedKey(team.name), requestsPerMinute },
        upstreamCalls: own?.upstreamCalls ?? team.limits?.upstreamCalls,
      };
    },
    /** Whether a credential may manage its team: register and delete endpoints. */
    isAdmin(credential: Credential): boolean {
      if (list === undefined) return credential.kind === 'apiKey';
      const member = memberOf(credential);
      return byMember.get(member)?.admins.some(admin => admin === member) ?? false;
    },
  };
}

/** The storage key of the team that a client must have. @throws Forbidden */
export function requiredTeamOf(teams: Teams, credential: Credential): TeamKey {
  const team = teams.teamOf(credential);
  if (team !== null) return team.key;
  const reason =
    credential.kind === 'apiKey' || credential.kind === 'cookie'
      ? 'This client belongs to no team; the operator of the gateway assigns clients to teams in TEAMS_FILE'
      : 'Only API keys and signed-in users belong to teams';
  throw new Forbidden(`${reason}. Export endpoints, exports and watches belong to a team`);
}

/** The entry of a credential in a teams file; undefined where it cannot have one. */
function memberOf(credential: Credential): string | undefined {
  const member = holderOf(credential);
  // The service decides which addresses can sign in. An address that looks like a key's hash, which is not secret, must not match the key.
  const kind = keyHash.safeParse(member).success ? 'apiKey' : 'cookie';
  return credential.kind === kind ? member : undefined;
}

const listedKey = (name: string) => `name:${name}` as TeamKey;

/** How a line of the log names a team: as the file does, or, as `loggedMember`, by the API key that is its only member. */
export const loggedTeam = (team: TeamKey) => team.replace(/^name:|^key:(sha256:.{8}).*$/, '$1');

/** An API key's own team is stored under the whole hash. The prefix keeps it apart from every team that a file names. */
const soleTeam = (keyHash: string): Team => ({ key: `key:${keyHash}` as TeamKey, name: keyName(keyHash) });
