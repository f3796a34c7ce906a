import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Scope } from '../../auth/credentials.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { createRedisGuard, type RedisClient } from '../redis.js';
import type { FleetNamespace } from './keys.js';

/**
 * What an operator has purged. Each purge makes a new epoch, for all scopes or for one. The epoch is a part of the keys of records and responses, so that
 * nothing from before the purge is found again: neither in memory nor in Redis, nor what a call brings that was running at the time.
 */
export interface Purges {
  /** The epoch of a scope; empty if nothing was purged. */
  epochOf(scope: Scope): string;
  /** Reads the purges from Redis. Without Redis it does nothing. Never rejects. */
  refresh(): Promise<void>;
  close(): void;
}

/** How long a gateway may not know of a purge, in milliseconds. */
export const refreshMs = 1_000;
/** How long Redis keeps the purges after the last one: longer than any entry lives. */
const lifetimeSeconds = 24 * 60 * 60;
/** The field of the purge of all scopes. */
const all = 'all';

const purgesSchema = z.record(z.string(), z.uuid());
const keyOf = (namespace: FleetNamespace) => `mig:purge:${namespace}`;

/** Starts a new epoch for these scopes, or for all. @throws an error of Redis. */
export async function writePurge(
  redis: RedisClient,
  namespace: FleetNamespace,
  scopes: readonly Scope[] | typeof all,
): Promise<void> {
  const fields = scopes === all ? [all] : scopes;
  await redis.hset(keyOf(namespace), Object.fromEntries(fields.map(field => [field, randomUUID()])));
  await redis.expire(keyOf(namespace), lifetimeSeconds);
}

/** A process without Redis: a restart purges what it caches. */
export const noPurges: Purges = { epochOf: () => '', async refresh() {}, close() {} };

/** The purges of a fleet, which each process reads once a second. While Redis is away, the process uses those that it knows. */
export function sharedPurges(redis: RedisClient, namespace: FleetNamespace, telemetry: Telemetry): Purges {
  const guarded = createRedisGuard(telemetry);
  let purges: Readonly<Record<string, string>> = {};

  async function refresh(): Promise<void> {
    if (redis.status !== 'ready') return;
    const found = await guarded('HGETALL', () => redis.hgetall(keyOf(namespace)));
    if (found === undefined) return;
    const { data } = purgesSchema.safeParse(found);
    if (data === undefined) telemetry.malformed('generation');
    else purges = data;
  }

  redis.on('ready', () => void refresh());
  const timer = setInterval(() => void refresh(), refreshMs).unref();
  return {
    epochOf: scope => `${purges[all] ?? ''}${purges[scope] ?? ''}`,
    refresh,
    close: () => clearInterval(timer),
  };
}
