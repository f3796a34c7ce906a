import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Telemetry } from '../../observability/telemetry.js';
import { createRedisGuard, type RedisClient } from '../redis.js';
import type { FleetNamespace } from './keys.js';

/**
 * The generation of each tag: a token that changes with every write to what the tag stands for, and voids at one stroke whatever was
 * kept under the one before, for every credential. A token and no number, so that one lost in Redis never comes back.
 */
export interface Generations {
  /** The tokens of today; undefined for a tag whose token is not to be had, whose entries must then not be trusted. */
  current(tags: readonly string[]): Promise<ReadonlyMap<string, string | undefined>>;
  /** The token, where it is certain without asking anybody; undefined where the fleet has to be asked. */
  known(tag: string): string | undefined;
  /** Begins a new generation. */
  renew(tag: string): Promise<void>;
}

/** Longer than any entry lives. */
const lifetimeSeconds = 24 * 60 * 60;
const mostTags = 100_000;

const tokenSchema = z.uuid();
const isToken = (text: string | null): text is string => tokenSchema.safeParse(text).success;

/** The generations of a process that shares its cache with none. */
export function localGenerations(): Generations {
  const tokens = new LRUCache<string, string>({ max: mostTags });
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

/**
 * The generations of a fleet. They are read again for each batch of look-ups, not announced: only then does the next query through
 * any process certainly see a write. Gateways with other models share them: a write of one invalidates the entries of the others.
 */
export function sharedGenerations(redis: RedisClient, namespace: FleetNamespace, telemetry: Telemetry): Generations {
  const keyOf = (tag: string) => `mig:generation:${namespace}:${tag}`;
  /** Tags whose new generation Redis has not heard of. */
  const owed = new Set<string>();

  const guarded = createRedisGuard(telemetry);

  const currentOf = (tag: string) =>
    guarded('GET', async () => {
      const known = await redis.get(keyOf(tag));
      if (isToken(known)) return known;
      const token = randomUUID();
      if (known !== null) {
        telemetry.malformed('generation');
        await redis.set(keyOf(tag), token, 'EX', lifetimeSeconds);
        return token;
      }
      const before = await redis.set(keyOf(tag), token, 'EX', lifetimeSeconds, 'NX', 'GET');
      return before ?? token;
    });

  async function renew(tag: string): Promise<void> {
    try {
      await redis.set(keyOf(tag), randomUUID(), 'EX', lifetimeSeconds);
      owed.delete(tag);
    } catch (error) {
      telemetry.redisFault('SET', error);
      owed.add(tag);
    }
  }
  // A write that Redis did not hear of must not be forgotten: what others keep would seem good again when it is back.
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
