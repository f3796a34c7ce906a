import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { atMost } from '../../lib/lru-bounds.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { countFaults, createRedisGuard, type RedisClient } from '../redis.js';
import type { FleetNamespace } from './keys.js';

/**
 * The generation of each tag, such as `market:7`: a random token that every write to this market replaces. An entry is valid only under the
 * token with which it was stored, so a new token invalidates all older entries, for every credential. A counter would not do: if Redis lost it,
 * it would begin again, and old entries would become valid.
 */
export interface Generations {
  /** The current tokens. A token is undefined if Redis cannot be asked for it; entries with this tag must not be used then. */
  current(tags: readonly string[]): Promise<ReadonlyMap<string, string | undefined>>;
  /** The current token if this process knows it without a call to Redis; undefined if it is in Redis, where another process may replace it. */
  known(tag: string): string | undefined;
  /** Replaces the token of a tag, which invalidates all entries with this tag. */
  renew(tag: string): Promise<void>;
}

/** How long Redis keeps a token after it was set: longer than any entry lives. */
const lifetimeSeconds = 24 * 60 * 60;
/** How many tokens a process keeps without Redis. A dropped token only costs cache misses. */
const mostTags = 100_000;

const tokenSchema = z.uuid();
const isToken = (text: string | null): text is string => tokenSchema.safeParse(text).success;

/** The generations of a process that shares its cache with no other process. */
export function localGenerations(): Generations {
  const tokens = new LRUCache<string, string>(atMost(mostTags));
  const renewed = (tag: string) => {
    const token = randomUUID();
    tokens.set(tag, token);
    return token;
  };
  const known = (tag: string) => tokens.get(tag) ?? renewed(tag);
  return {
    known,
    async current(tags) {
      return new Map(tags.map(tag => [tag, known(tag)]));
    },
    async renew(tag) {
      renewed(tag);
    },
  };
}

const keyOf = (namespace: FleetNamespace, tag: string) => `mig:generation:${namespace}:${tag}`;

/** Replaces the token of a tag in Redis. @throws an error of Redis. */
export async function renewGeneration(redis: RedisClient, namespace: FleetNamespace, tag: string): Promise<void> {
  await redis.set(keyOf(namespace, tag), randomUUID(), 'EX', lifetimeSeconds);
}

/**
 * The generations of a fleet, in Redis. Each batch of look-ups reads them again, so that the next query through any process sees a write; an
 * announcement could arrive too late. Gateways with another `modelVersion` share them: a write through one invalidates the entries of all.
 */
export function sharedGenerations(redis: RedisClient, namespace: FleetNamespace, telemetry: Telemetry): Generations {
  /** Tags whose new token could not be written to Redis yet. */
  const owed = new Set<string>();

  const guarded = createRedisGuard(telemetry);

  const currentOf = (tag: string) =>
    guarded('GET', async () => {
      const known = await redis.get(keyOf(namespace, tag));
      if (isToken(known)) return known;
      const token = randomUUID();
      if (known !== null) {
        telemetry.malformed('generation');
        await redis.set(keyOf(namespace, tag), token, 'EX', lifetimeSeconds);
        return token;
      }
      const before = await redis.set(keyOf(namespace, tag), token, 'EX', lifetimeSeconds, 'NX', 'GET');
      return before ?? token;
    });

  async function renew(tag: string): Promise<void> {
    try {
      await countFaults(telemetry, 'SET', () => renewGeneration(redis, namespace, tag));
      owed.delete(tag);
    } catch {
      owed.add(tag);
    }
  }
  // Without this, the other processes would use entries from before the write again as soon as Redis is back.
  redis.on('ready', () => {
    for (const tag of owed) void renew(tag);
  });

  return {
    known: () => undefined,
    async current(tags) {
      await Promise.all(tags.filter(tag => owed.has(tag)).map(renew));
      const known = tags.map(async tag => [tag, owed.has(tag) ? undefined : await currentOf(tag)] as const);
      return new Map(await Promise.all(known));
    },
    renew,
  };
}
