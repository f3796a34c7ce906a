import { createHash } from 'node:crypto';
import type { RedisClient } from '../redis.js';
import type { Telemetry } from '../telemetry.js';
import type { Entry } from './entry.js';
import { createRedisGuard, type RedisGuard } from './redis-guard.js';
import { partsOf, type ScopedKey } from './scoped-key.js';

/** One entry on its way to Redis. */
export interface Write {
  readonly key: ScopedKey;
  readonly entry: Entry;
}

/** With its scope. */
const longestKey = 250;

/**
 * The tier that the processes of a fleet share. It only ever saves time: a Redis that is gone, slow or full reads as an empty one.
 * The keys of one call are of one scope: they share a Cluster slot, so that one command reads them all.
 */
export class RedisTier {
  readonly #redis: RedisClient;
  readonly #guarded: RedisGuard;

  constructor(redis: RedisClient, telemetry: Telemetry) {
    this.#redis = redis;
    this.#guarded = createRedisGuard(telemetry);
  }

  /** One round trip for all keys; undefined for each that is missing, unreadable, or not to be had now. */
  async getMany(keys: readonly ScopedKey[]): Promise<readonly (Entry | undefined)[]> {
    const texts = await this.#guarded('MGET', () => this.#redis.mget(keys.map(redisKey)));
    return keys.map((_, index) => parsed(texts?.[index]));
  }

  /** One pipeline for all entries; one whose time is over replaces what is there by nothing. Never rejects. */
  async setMany(writes: readonly Write[]): Promise<void> {
    const pipeline = this.#redis.pipeline();
    for (const { key, entry } of writes) {
      const milliseconds = Math.ceil(entry.usableUntil - Date.now());
      if (milliseconds > 0) pipeline.set(redisKey(key), JSON.stringify(entry), 'PX', milliseconds);
      else pipeline.unlink(redisKey(key));
    }
    await this.#guarded('SET', async () => {
      const failed = (await pipeline.exec())?.find(([error]) => error !== null);
      if (failed !== undefined) throw failed[0];
    });
  }
}

function redisKey(key: ScopedKey): string {
  if (key.length <= longestKey) return `mig:${key}`;
  const [scope, asked] = partsOf(key);
  return `mig:${scope}:${createHash('sha256').update(asked).digest('base64url')}`;
}

function parsed(text: string | null | undefined): Entry | undefined {
  if (text == null) return undefined;
  try {
    const entry = JSON.parse(text);
    return [entry.freshUntil, entry.usableUntil, entry.bytes].every(Number.isFinite) ? entry : undefined;
  } catch {
    return undefined;
  }
}
