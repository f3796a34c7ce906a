// Which cached entries are still valid, in a whole fleet: a write replaces the token of its tag, a purge the epoch of its scope.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Scope } from '../../auth/credentials.js';
import { atMost } from '../../lib/memory-budget.js';
import { sharedRun } from '../../lib/run.js';
import { countFaults, createRedisGuard, moveMs, onServerLost, type RedisClient, replacingOtherType } from '../redis.js';
import type { FleetNamespace, SharedStore } from '../shared-store.js';

/**
 * The state of what has a tag, such as `market:7`: a random token that every write to this market replaces. An entry is valid only under the
 * token with which it was stored, so a new token invalidates all older entries, for every credential. A counter would not do: if Redis lost it,
 * it would begin again, and old entries would become valid.
 */
export interface Generation {
  readonly token: string;
  /**
   * Entries are stored and used while it is `settled`. `unsettled`: a write has not ended or may still be carried out. `proposed`: the fleet has no token
   * yet. This one is for what is read now, until the service has accepted somebody: anyone can make up a credential.
   */
  readonly state: 'settled' | 'unsettled' | 'proposed';
}

/** The generations of all tags, and the epochs of all scopes. */
export type Generations = ReturnType<typeof sharedGenerations>;

/** What a write has done. After an unknown effect, it may still be carried out: nothing may be cached until a minute after the last write. */
export type WriteEffect = 'done' | 'unknown' | 'none';

/** How long a gateway may not know of a purge, in milliseconds. */
export const refreshMs = 1_000;
/** How long Redis keeps a token after it was set, and the epochs after the last purge: longer than any entry lives. */
const lifetimeSeconds = 24 * 60 * 60;
/** How many tokens a process keeps without Redis. A dropped token only costs cache misses. */
const maxTags = 100_000;
/** For how long one is proposed after it was last asked for: longer than a read takes, and shorter than a write without its process counts. */
const proposedMs = 30_000;
/** Between two attempts to write a token to Redis, in milliseconds. */
const payPauseMs = 100;

/** How long a write whose outcome is unknown may still be carried out, in seconds. */
const unsettledSeconds = 60;
/** Of `unsettled-<token>+<write>+<write>`: the token, and the writes that have not ended. A question mark stands for those that may still be carried out. */
const unsettledPrefix = 'unsettled-';

const generationSchema = z.stringFormat('generation', /^(?:unsettled-)?[\da-f-]{36}(?:\+[\da-f?]+)*$/).transform(
  (text): Generation => ({
    token: text.replace(/^unsettled-|\+.*/g, ''),
    state: text.startsWith(unsettledPrefix) ? 'unsettled' : 'settled',
  }),
);

/** The generations of a process that shares its cache with no other process. A restart purges what it caches. */
export function localGenerations(): Generations {
  const generations = new LRUCache<string, Generation>(atMost(maxTags));
  const renewed = (tag: string, write?: WriteEffect) => {
    const state = write === 'unknown' || generations.get(tag)?.state === 'unsettled' ? 'unsettled' : 'settled';
    const generation: Generation = { token: randomUUID(), state };
    // Without a write, the minute does not begin anew.
    const noUpdateTTL = write === undefined;
    generations.set(tag, generation, { ttl: state === 'unsettled' ? unsettledSeconds * 1_000 : 0, noUpdateTTL });
    return generation;
  };
  const known = (tag: string) => generations.get(tag) ?? renewed(tag);
  return {
    known,
    current: async tag => known(tag),
    renew: async tag => void renewed(tag),
    // With this process, what it has cached is gone too.
    begin: async tag => async effect => {
      if (effect !== 'none') renewed(tag, effect);
    },
    epochOf: () => '',
    async refresh() {},
  };
}

const keyOf = (namespace: FleetNamespace, tag: string) => `mig:generation:${namespace}:${tag}`;

interface Change {
  /** Replaces the token, which invalidates all entries. */
  readonly renews: boolean;
  /** A write that begins or ends. */
  readonly write?: string | undefined;
  /** What is in the list of writes instead of it. */
  readonly mark?: string | undefined;
  /** Whether a token that is missing stays so. */
  readonly onlyExisting?: boolean;
}

/**
 * Changes a token, and returns it. KEYS: the token. ARGV: a new one; whether that takes its place; a write that is taken from the list; what is added to the
 * list; for how many seconds Redis keeps a token without writes, and one with writes, from the last write on; whether a missing one stays so.
 */
const changeScript = `
  local value = redis.call('GET', KEYS[1])
  if not value and ARGV[7] == 'true' then
    redis.call('SET', KEYS[1], ARGV[1], 'XX')
    return ''
  end
  value = value or ARGV[1]
  local token, writes = value:match('^unsettled%-([^+]+)(.*)')
  if not token then token, writes = value, '' end
  if ARGV[2] == 'true' then token = ARGV[1] end
  writes = writes:gsub('%+' .. ARGV[3], '')
  if not writes:find(ARGV[4], 1, true) then writes = writes .. ARGV[4] end
  if writes ~= '' then token = 'unsettled-' .. token .. writes end
  if writes ~= '' and ARGV[3] == 'none' and ARGV[4] == '' then
    redis.call('SET', KEYS[1], token, 'KEEPTTL')
  else
    redis.call('SET', KEYS[1], token, 'EX', ARGV[writes == '' and 5 or 6])
  end
  return token`;

/**
 * Reads a token, and sets a first one if ARGV[3] allows that. Runs as a script whose commands are those of `changeScript`, even where they change nothing,
 * so that a Redis in which this user cannot renew a token, such as a replica, a full one, or one that runs no scripts, is not trusted: it would miss the
 * next renewal.
 */
const readScript = `
  local value = redis.call('GET', KEYS[1])
  local isSet = value or ARGV[3] == 'true'
  redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2], isSet and 'NX' or 'XX')
  return value or isSet and ARGV[1] or ''`;

/** Changes the token of a tag in Redis, by default to a new one. Returns its generation, if there is one now. @throws an error of Redis. */
export async function changeGeneration(
  redis: RedisClient,
  namespace: FleetNamespace,
  tag: string,
  { renews, write = 'none', mark = '', onlyExisting = false }: Change = { renews: true },
): Promise<Generation | undefined> {
  const key = keyOf(namespace, tag);
  const seconds = [lifetimeSeconds, unsettledSeconds];
  const run = () =>
    redis.eval(changeScript, 1, key, randomUUID(), `${renews}`, write, mark, ...seconds, `${onlyExisting}`);
  const text = await replacingOtherType(redis, key, run);
  return text === '' ? undefined : generationSchema.parse(text);
}

/** The field of the purge of all scopes. */
const all = 'all';
const epochsSchema = z.record(z.string(), z.uuid());
const epochsKey = (namespace: FleetNamespace) => `mig:purge:${namespace}`;

/** Starts a new epoch for these scopes, or for all. @throws an error of Redis. */
export async function writePurge(
  redis: RedisClient,
  namespace: FleetNamespace,
  scopes: readonly Scope[] | typeof all,
): Promise<void> {
  const key = epochsKey(namespace);
  const epochs = Object.fromEntries((scopes === all ? [all] : scopes).map(scope => [scope, randomUUID()]));
  await replacingOtherType(redis, key, () => redis.hset(key, epochs));
  await redis.expire(key, lifetimeSeconds);
}

/** The purges of a fleet, read once a second; while Redis is away, the process uses those that it knows. */
function followEpochs({ redis, namespace, telemetry }: SharedStore) {
  const guarded = createRedisGuard(telemetry);
  let epochs: Readonly<Record<string, string>> = {};
  /** Reads the epochs from Redis. Never rejects. */
  async function refresh(): Promise<void> {
    if (redis.status !== 'ready') return;
    const found = await guarded('HGETALL', () => redis.hgetall(epochsKey(namespace)));
    if (found === undefined) return;
    const { data } = epochsSchema.safeParse(found);
    if (data === undefined) telemetry.malformed('generation');
    else epochs = data;
  }
  redis.on('ready', () => void refresh());
  const timer = setInterval(() => void refresh(), refreshMs).unref();
  redis.once('end', () => clearInterval(timer));
  return {
    /**
     * The epoch of a scope, which each purge of this scope, or of all, replaces; empty if nothing was purged. It is a part of the keys of records and
     * responses, so that nothing from before the purge is found again: neither in memory nor in Redis, nor what a call brings that was running at the time.
     */
    epochOf: (scope: Scope) => `${epochs[all] ?? ''}${epochs[scope] ?? ''}`,
    refresh,
  };
}

/** The writes of a process, as changes of tokens. One that Redis did not take is owed: the other processes would use entries from before it again. */
function createWrites({ redis, namespace, telemetry }: SharedStore) {
  /** The last write to each tag whose new token is not in Redis yet. */
  const owed = new Map<string, Change>();
  /** The tags of the last minute's writes, with the mark of those that may still be carried out. */
  const recent = new LRUCache<string, string>({ ...atMost(maxTags), ttl: unsettledSeconds * 1_000, perf: performance });
  let failingSince = Number.POSITIVE_INFINITY;

  /** Returns whether Redis has changed the token. Never rejects. */
  async function tryChange(tag: string, change: Change | undefined): Promise<boolean> {
    try {
      await countFaults(telemetry, 'EVAL', () => changeGeneration(redis, namespace, tag, change));
      failingSince = Number.POSITIVE_INFINITY;
      return true;
    } catch {
      failingSince = Math.min(failingSince, performance.now());
      return false;
    }
  }

  async function pay(tag: string): Promise<void> {
    const write = owed.get(tag);
    if ((await tryChange(tag, write)) && owed.get(tag) === write) owed.delete(tag);
  }

  const pause = () => sleep(payPauseMs, undefined, { ref: false });

  const payAll = sharedRun(async () => {
    while (owed.size > 0 && redis.status !== 'end') {
      await pause();
      if (redis.status === 'ready') await Promise.all([...owed.keys()].map(pay));
    }
  });

  // Its successor may not have had their tokens, and a gateway that starts now would trust the older ones.
  onServerLost(redis, () => {
    for (const [tag, mark] of recent) if (!owed.has(tag)) owed.set(tag, { renews: true, mark });
    void payAll();
  });

  async function renew(tag: string, write?: string, mark?: string): Promise<void> {
    // Of writes that ended while Redis was away, only the last is taken from the list: the others leave it in a minute.
    owed.set(tag, { renews: true, write, mark: mark ?? owed.get(tag)?.mark });
    recent.set(tag, mark ?? recent.get(tag) ?? '');
    await pay(tag);
    if (!owed.has(tag)) return;
    void payAll();
    // Another tag may be renewed at the same time, although this one fails.
    const giveUpAt = Math.min(failingSince, performance.now()) + moveMs;
    while (owed.has(tag) && performance.now() < giveUpAt) await pause();
  }

  return {
    isOwed: (tag: string) => owed.has(tag),
    answered(): void {
      failingSince = Number.POSITIVE_INFINITY;
    },
    /**
     * Replaces the token of a tag, which invalidates all entries with this tag. If Redis cannot be reached, waits for as long as Redis takes to move to
     * another server. Never rejects: a token that could not be replaced in this time is replaced when Redis is back.
     */
    renew: (tag: string) => renew(tag),
    /**
     * Call it before a write is sent. Until the write has ended, or for a minute if this process ends before it, the token is one under which nothing may
     * be cached. Never rejects, and waits no longer than for two commands of Redis.
     * @returns what ends the write, and renews the token if the write has done something. Never rejects.
     */
    async begin(tag: string) {
      const write = randomUUID().replaceAll('-', '');
      const isMarked = await tryChange(tag, { renews: false, mark: `+${write}` });
      // A full Redis can still forget the token: then nothing from before is used again, also if this process ends before the write.
      if (!isMarked) await countFaults(telemetry, 'UNLINK', () => redis.unlink(keyOf(namespace, tag))).catch(() => {});
      return async (effect: WriteEffect) => {
        if (effect === 'none') await tryChange(tag, { renews: false, write });
        else await renew(tag, write, effect === 'unknown' ? '+?' : undefined);
      };
    },
  };
}

/**
 * The generations of a fleet, in Redis. Each batch of look-ups reads them again, so that the next query through any process sees a write; an
 * announcement could arrive too late. Gateways with other versions of endpoints share both: a write or a purge through one invalidates the entries of all.
 */
export function sharedGenerations(shared: SharedStore) {
  const { redis, namespace, telemetry, acceptedScopes } = shared;
  const { isOwed, answered, renew, begin } = createWrites(shared);
  /** By their tags. One that Redis has had is not proposed again: if Redis lost it, what was stored under it may be older than a write. */
  const proposals = new LRUCache<string, string>({ ...atMost(maxTags), ttl: proposedMs, updateAgeOnGet: true });
  /** The tags that were renewed since a server of Redis was lost: its successor may have old tokens. Undefined until one is lost. */
  let renewed: LRUCache<string, true> | undefined;
  /** In milliseconds of `performance.now()`. */
  let trustedFrom = 0;
  const guarded = createRedisGuard(telemetry);

  // Another gateway may be later to reach the new server, and have a token for it.
  onServerLost(redis, () => {
    trustedFrom = performance.now() + moveMs;
    proposals.clear();
    renewed = new LRUCache(atMost(maxTags));
  });

  /** @returns `none` if Redis has none, and may not get one. */
  async function readGeneration(tag: string, isAccepted: boolean): Promise<Generation | 'none'> {
    if (renewed === undefined || renewed.has(tag)) {
      const key = keyOf(namespace, tag);
      const first = proposals.get(tag) ?? randomUUID();
      const read = () => redis.eval(readScript, 1, key, first, lifetimeSeconds, `${isAccepted}`);
      const text = await replacingOtherType(redis, key, read);
      if (text === '') return 'none';
      const { data } = generationSchema.safeParse(text);
      if (data !== undefined) return data;
      telemetry.malformed('generation');
    }
    const renewing = renewed;
    const generation = await changeGeneration(redis, namespace, tag, { renews: true, onlyExisting: !isAccepted });
    if (generation !== undefined) renewing?.set(tag, true);
    return generation ?? 'none';
  }

  /**
   * The current one. Undefined if Redis cannot be asked for it; entries with this tag must not be used then.
   * @param scope keeps a proposed token for the fleet, if the service has accepted it.
   */
  async function current(tag: string, scope?: Scope): Promise<Generation | undefined> {
    if (performance.now() < trustedFrom || isOwed(tag)) return undefined;
    const isAccepted = scope !== undefined && acceptedScopes.has(scope);
    const found = await guarded('EVAL', () => readGeneration(tag, isAccepted));
    if (found !== undefined) answered();
    if (found !== 'none') {
      proposals.delete(tag);
      return found;
    }
    const token = proposals.get(tag) ?? randomUUID();
    if (!proposals.has(tag)) proposals.set(tag, token);
    return { token, state: 'proposed' };
  }

  /** The current one if this process knows it without a call to Redis, where another process may replace it. */
  const known = (_tag: string): Generation | undefined => undefined;
  return { known, current, renew, begin, ...followEpochs(shared) };
}
