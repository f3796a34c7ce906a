// The clients that use this gateway most, and those that an operator blocks or slows for a time, in the whole fleet.
import type { ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import { holderOf, plainEmail, type Scope } from '../../auth/credentials.js';
import type { Teams } from '../../auth/teams.js';
import type { Reloadable } from '../../config/values.js';
import { createRedisGuard, type RedisClient } from '../../data/redis.js';
import { Restricted } from '../../errors.js';
import { bounds } from '../../graphql/limits/bounds.js';
import { timeNow } from '../../lib/clock.js';
import { jsonObject } from '../../lib/json.js';
import { atMost, type MemoryBudget } from '../../lib/memory-budget.js';
import { networkOf, shownNetwork } from '../../lib/network.js';
import { andThen, type MaybePromise } from '../../lib/run.js';
import { dayMs, iso, minuteMs } from '../../lib/time.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { ClientConnection, Connections } from '../connections.js';
import { type Client, stateOf } from '../request-state.js';
import type { RateLimits } from './rate-limits.js';

const maxMinutes = 7 * 24 * 60;
/** Of what the refusals say. */
const reasonPattern = /^[^\p{C}]{1,200}$/u;

/** What an operator sends to restrict a client. 0 requests block it. */
const order = z.strictObject({
  requestsPerMinute: z.int().min(0).max(1_000_000),
  minutes: z.int().min(1).max(maxMinutes),
  reason: z.string().trim().regex(reasonPattern),
});

/** As Redis has it. `until` is in milliseconds since 1970, by the clock of the fleet: that of a gateway without Redis may differ by a day. */
const until = z.number().refine(time => time <= timeNow() + maxMinutes * minuteMs + dayMs);
const restriction = z.object({ ...order.omit({ minutes: true }).shape, until });

type Restriction = z.output<typeof restriction>;

const isBlock = (each: Restriction | undefined) => each?.requestsPerMinute === 0;

/** Null for one that no gateway has written. */
const restrictionIn = (text: string) => restriction.safeParse(jsonObject(Buffer.from(text), bounds)).data ?? null;

interface ClientsDeps {
  readonly redis: RedisClient | undefined;
  readonly limits: RateLimits;
  readonly teams: Pick<Reloadable<Pick<Teams, 'teamOf'>>, 'current' | 'onReload'>;
  readonly acceptedScopes: AcceptedScopes;
  readonly budget: MemoryBudget;
  readonly connections: Pick<Connections, 'open'>;
  readonly telemetry: Pick<Telemetry, 'warn' | 'works'>;
  readonly log: { warn(facts: object, words: string): void };
}

interface Name {
  readonly id: string;
  readonly team: string | null;
}

/** A hash of the restrictions, by the client's name. It has no expiry, so that Redis does not evict it first. */
const redisKey = 'mig:clients';
const followMs = 1_000;
const maxNamed = 10_000;
const measures = ['connections', 'requests', 'requestsInFlight', 'heldBytes', 'upstreamCalls'] as const;
/** How many clients are shown by each measure. */
const shown = 10;
const subject = 'Restricted clients';

/**
 * What an operator has restricted, in the whole fleet.
 * @param whileBlocked is called at once when a client is blocked, and each second as long as one is.
 */
function createRestrictions({ redis, telemetry, log }: ClientsDeps, whileBlocked: () => void) {
  // It reads each second, mostly for nothing: the log has the faults of the commands that clients wait for.
  const guard = createRedisGuard({ redisFault() {}, redisWorks() {} });
  let known: ReadonlyMap<string, Restriction> = new Map();
  /** What Redis does not have yet; null: the restriction is undone. */
  const unsaved = new Map<string, Restriction | null>();

  /** @param restrictions of several for one client, the last counts. */
  function replace(restrictions: Iterable<readonly [string, Restriction | null]>): void {
    const before = known;
    const now = timeNow();
    const latest = [...new Map(restrictions)];
    known = new Map(latest.flatMap(([id, each]) => (each === null || each.until <= now ? [] : [[id, each]])));
    const added = [...known].filter(([id, { until }]) => before.get(id)?.until !== until);
    for (const [id, each] of added) log.warn(shownRestriction(id, each), 'A client is restricted');
    for (const id of before.keys())
      if (!known.has(id)) log.warn({ id: shownId(id) }, 'A client is no longer restricted');
    if ([...known.values()].some(isBlock)) whileBlocked();
  }

  /** Sends Redis what it does not have, and follows what other gateways have changed. Never rejects. */
  async function follow(): Promise<void> {
    if (redis === undefined) return replace(known);
    const changes = [...unsaved];
    const found = await guard('HGETALL', async () => {
      for (const [id, change] of changes) {
        if (change === null) await redis.hdel(redisKey, id);
        else await redis.hset(redisKey, id, JSON.stringify(change));
      }
      return redis.hgetall(redisKey);
    });
    if (found === undefined) {
      const hasSome = known.size + unsaved.size > 0;
      if (hasSome) telemetry.warn(subject, 'not shared, because Redis fails: each gateway goes by those that it knows');
      return replace(known);
    }
    telemetry.works(subject);
    for (const [id, change] of changes) if (unsaved.get(id) === change) unsaved.delete(id);
    const shared = Object.entries(found).map(([id, text]) => [id, restrictionIn(text)] as const);
    for (const [id, each] of shared) if (each === null || each.until < timeNow() - dayMs) unsaved.set(id, null);
    replace([...shared, ...unsaved]);
  }

  return {
    follow,

    change(id: string, to: Restriction | null): void {
      unsaved.set(id, to);
      replace([...known, [id, to]]);
      void follow();
    },

    /** By the ids of clients. They hold until `until`. */
    get known(): ReadonlyMap<string, Restriction> {
      return known;
    },
  };
}

function createNames({ teams, acceptedScopes, budget }: ClientsDeps) {
  /** How many came from each owner of memory, in at most a minute. */
  const requests = new LRUCache<string, number>({ ...atMost(maxNamed), ttl: minuteMs, perf: performance });
  /** Those of accepted credentials, whose use may outlast their connections: the credential and its team. */
  const named = new LRUCache<Scope, readonly Name[]>(atMost(maxNamed));
  teams.onReload(() => named.clear());

  function ofCredential({ scope, credential }: Omit<Client, 'address'>): readonly Name[] {
    if (scope === undefined || credential === undefined || credential instanceof Error) return [];
    const found = named.get(scope);
    if (found !== undefined) return found;
    const id = credential.kind === 'cookie' ? memberId(credential.email) : `key:${holderOf(credential)}`;
    const team = teams.current.teamOf(credential)?.name ?? null;
    const names = [{ id, team }, ...(team === null ? [] : [{ id: `team:${team}`, team }])];
    if (acceptedScopes.has(scope)) named.set(scope, names);
    return names;
  }

  return {
    ofCredential,

    of: (client: Client): readonly Name[] => [...ofCredential(client), namedNetwork(networkOf(client.address))],

    requests,

    /** Counts a request, whether it is refused or not, and remembers the names of an accepted credential. */
    count(client: Client): void {
      const owner = budget.ownerOf(client);
      if (owner === client.scope) ofCredential(client);
      requests.set(owner, (requests.get(owner) ?? 0) + 1, { noUpdateTTL: true });
    },

    /** @param owner of memory or calls: a scope, which has no dot, or a network. */
    ofOwner: (owner: string): readonly Name[] =>
      named.get(owner as Scope) ?? (owner.includes('.') ? [namedNetwork(owner)] : []),
  };
}

export type Clients = ReturnType<typeof createClients>;

export function createClients(deps: ClientsDeps) {
  const { limits, acceptedScopes, budget, connections } = deps;
  const names = createNames(deps);
  const restrictions = createRestrictions(deps, endStreams);
  const timer = setInterval(restrictions.follow, followMs).unref();

  function restrictionOf(own: readonly Name[]): (Restriction & { readonly id: string }) | undefined {
    const found = own.flatMap(({ id }) => {
      const restriction = restrictions.known.get(id);
      return restriction === undefined || restriction.until <= timeNow() ? [] : [{ id, ...restriction }];
    });
    return found.sort((one, other) => one.requestsPerMinute - other.requestsPerMinute)[0];
  }

  /**
   * Ends the streams of clients that are blocked, also those that have begun since, with a request or a WebSocket from before. Other requests may come
   * through the same connection, also behind a stream.
   */
  function endStreams(): void {
    for (const connection of connections.open) {
      const { socket, isUpgraded, unanswered } = connection;
      const users = isUpgraded ? [clientOf(connection)] : unanswered.filter(isOfStream).map(({ req }) => stateOf(req));
      if (users.some(user => isBlock(restrictionOf(names.of(user))))) socket.destroy();
    }
  }

  return {
    follow: restrictions.follow,
    count: names.count,
    close: () => clearInterval(timer),

    /** Whether a client is blocked that is at no address now. */
    isBlocked: (client: Omit<Client, 'address'>) => isBlock(restrictionOf(names.ofCredential(client))),

    /** Counts a request of a client that is slowed. @throws Restricted for one that is blocked, or sends too many. */
    check(client: Client): MaybePromise<void> {
      const restriction = restrictions.known.size === 0 ? undefined : restrictionOf(names.of(client));
      if (restriction === undefined) return;
      const { id, requestsPerMinute, until, reason } = restriction;
      const refusal = (seconds: number) =>
        new Restricted(`${reason} (try again in ${seconds} seconds)`, undefined, seconds);
      if (requestsPerMinute === 0) throw refusal(Math.ceil((until - timeNow()) / 1_000));
      return andThen(limits.countClient(id, requestsPerMinute), verdict => {
        if (verdict?.isOver) throw refusal(verdict.resetSeconds);
      });
    },

    /** Restricts a client. @returns the restriction; undefined if the name or the order is not valid. */
    restrict(name: string, body: unknown): object | undefined {
      const id = validId(name);
      const { success, data } = order.safeParse(body);
      if (id === undefined || !success) return undefined;
      const { minutes, ...rest } = data;
      const restriction = { ...rest, until: timeNow() + minutes * 60_000 };
      restrictions.change(id, restriction);
      return shownRestriction(id, restriction);
    },

    /** Ends the restriction of a client, also one that another gateway has just made. False if it has none. */
    async release(name: string): Promise<boolean> {
      const id = validId(name);
      if (id === undefined) return false;
      if (!restrictions.known.has(id)) await restrictions.follow();
      if (!restrictions.known.has(id)) return false;
      restrictions.change(id, null);
      return true;
    },

    /** Those that use this gateway most, by each measure, and the restrictions of the fleet. */
    view() {
      const rows = new Map<string, Name & Record<(typeof measures)[number], number>>();
      const add = (measure: (typeof measures)[number], users: readonly Name[], by = 1) => {
        for (const name of users) {
          const none = { connections: 0, requests: 0, requestsInFlight: 0, heldBytes: 0, upstreamCalls: 0 };
          const row = rows.get(name.id) ?? { ...name, ...none };
          row[measure] += by;
          rows.set(name.id, row);
        }
      };
      for (const connection of connections.open) {
        add('connections', names.of(clientOf(connection)));
        for (const response of connection.unanswered)
          if (!isOfStream(response)) add('requestsInFlight', names.of(stateOf(response.req)));
      }
      for (const [owner, count] of names.requests.entries()) add('requests', names.ofOwner(owner), count);
      for (const [owner, bytes] of budget.owners) add('heldBytes', names.ofOwner(owner), bytes);
      for (const [scope, calls] of acceptedScopes.calls()) add('upstreamCalls', names.ofOwner(scope), calls);
      const top = measures.flatMap(measure => {
        const users = [...rows.values()].filter(row => row[measure] > 0);
        return users.sort((one, other) => other[measure] - one[measure]).slice(0, shown);
      });
      return {
        clients: [...new Set(top)].map(row => ({ ...row, id: shownId(row.id) })),
        restrictions: [...restrictions.known].map(each => shownRestriction(...each)),
      };
    },
  };
}

/** Of every spelling of an address, so that another one ends no restriction. */
const memberId = (email: string) => `member:${plainEmail(email)}`;

const namedNetwork = (network: string): Name => ({ id: `address:${network}`, team: null });

const clientOf = ({ address, lastScope }: ClientConnection): Client => ({
  address,
  scope: lastScope?.scope,
  credential: lastScope?.credential,
});

const isOfStream = ({ req }: ServerResponse) => stateOf(req).isStream;

const shownId = (id: string) => id.replace(/(?<=^address:).*/, shownNetwork);

const shownRestriction = (id: string, { until, ...rest }: Restriction) => ({
  id: shownId(id),
  ...rest,
  until: iso(until),
});

/** A client's name in the one spelling of this file; undefined if it is not valid. */
function validId(name: string): string | undefined {
  const [, kind, text = ''] = /^(key|member|team|address):([^\p{C}]{1,320})$/u.exec(name) ?? [];
  if (kind === 'key') return /^sha256:[0-9a-f]{64}$/.test(text) ? name : undefined;
  if (kind === 'address') return isIP(text) === 0 ? undefined : `address:${networkOf(text)}`;
  return kind === 'member' ? memberId(text) : kind && name;
}
