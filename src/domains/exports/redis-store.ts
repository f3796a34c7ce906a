// The endpoints and exports of teams in Redis, one key for each team.
import { hash, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import { z } from 'zod';
import {
  countFaults,
  firstContact,
  type RedisClient,
  type RedisTelemetry,
  replacingOtherType,
} from '../../data/redis.js';
import { UpstreamUnavailable } from '../../errors.js';
import { sealsIn, type TextStore } from './team-store.js';

/** Replaces the state of a team if its version is still the one that was read. The last 50 changes are known by their names: a Cluster may send one again. */
const replaceScript = `
local changes = redis.call('HGET', KEYS[1], 'changes') or ''
if string.find(changes, ARGV[4], 1, true) then return 1 end
if (redis.call('HGET', KEYS[1], 'version') or '0') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[1] + 1, 'state', ARGV[2], 'seals', ARGV[3], 'changes', string.sub(ARGV[4] .. changes, 1, 50 * 36))
return 1`;

const teamsKey = 'mig:exports:with-seals';
const teamsAtATime = 500;
/** How long the seals are cached. They are needed for each scrape of the metrics. */
const sealsAgeMs = 5_000;

const maxTries = 50;
const maxPauseMs = 20;

/**
 * Stores the text of each team under one key without an expiry. A confirmed change is in Redis; its durability depends on how Redis
 * persists its data. The eviction policy must spare keys without an expiry (`volatile-*` or `noeviction`).
 */
export function createRedisStore(redis: RedisClient, telemetry: RedisTelemetry): TextStore {
  /** @param retryable whether it is certain that nothing has changed if the command fails. */
  const attempt = <T>(command: string, run: () => Promise<T>, retryable = true): Promise<T> =>
    countFaults(telemetry, command, run).catch(() => {
      throw new UpstreamUnavailable('The export store is not available', undefined, retryable);
    });

  /** Reads in batches, so that many teams do not delay other Redis commands. */
  async function readSeals(): Promise<readonly string[]> {
    const keys = await attempt('SMEMBERS', () => redis.smembers(teamsKey));
    const all: string[] = [];
    for (let start = 0; start < keys.length; start += teamsAtATime) {
      const batch = keys.slice(start, start + teamsAtATime);
      const texts = await attempt('HGET', () => Promise.all(batch.map(key => redis.hget(key, 'seals'))));
      all.push(...texts.flatMap(text => z.array(z.string()).parse(JSON.parse(text ?? '[]'))));
    }
    return all;
  }

  /** By team: the read that runs, which never rejects, and the one behind it, which all share who ask meanwhile. */
  const running = new Map<string, Promise<unknown>>();
  const waiting = new Map<string, Promise<readonly (string | null)[]>>();

  /** The version and the text of a team. One read at a time: megabytes delay all other commands. */
  function read(key: string): Promise<readonly (string | null)[]> {
    const next = waiting.get(key) ?? Promise.resolve(running.get(key)).then(() => begin(key));
    waiting.set(key, next);
    return next;
  }

  function begin(key: string): Promise<readonly (string | null)[]> {
    waiting.delete(key);
    const reading = attempt('HMGET', () => redis.hmget(key, 'version', 'state'));
    const ended: Promise<unknown> = reading
      .catch(() => {})
      .then(() => running.get(key) === ended && running.delete(key));
    running.set(key, ended);
    return reading;
  }

  let seals: { readonly at: number; readonly read: Promise<readonly string[]> } | undefined;

  return {
    seals() {
      const now = performance.now();
      if (seals === undefined || now - seals.at > sealsAgeMs) seals = { at: now, read: readSeals() };
      return seals.read;
    },
    nameOf: team => `mig:exports:${hash('sha256', team, 'base64url')}`,
    async names() {
      const found = new Set<string>();
      for (const node of redis instanceof Cluster ? redis.nodes('master') : [redis]) {
        const scan = node.scanStream({ match: 'mig:exports:*', type: 'hash', count: 1_000 });
        for await (const keys of scan as AsyncIterable<string[]>) for (const key of keys) found.add(key);
      }
      return [...found];
    },
    async change(key, change) {
      for (let tries = 1; tries <= maxTries; tries++) {
        const [version, before] = await read(key);
        const { value, result } = await change(before ?? undefined);
        if (value === undefined) return result;
        // Before the state is replaced, so that no team is ever missing from the set.
        await attempt('SADD', () => replacingOtherType(redis, teamsKey, () => redis.sadd(teamsKey, key)));
        const name = randomUUID();
        // A text would be copied twice more on its way.
        const values = [version ?? '0', Buffer.from(value), JSON.stringify(sealsIn(value)), name];
        const replace = () => redis.eval(replaceScript, 1, key, ...values);
        const changes = async () => {
          await firstContact(redis);
          return attempt('HGET', () => redis.hget(key, 'changes'), false);
        };
        const replaced = await attempt('EVAL', replace).catch(async error => {
          // Perhaps only the reply was lost. Twice, because a connection that is gone may still look as if it were there.
          if (!(await changes().catch(changes))?.includes(name)) throw error;
          return 1;
        });
        if (replaced === 1) return result;
        await pause(Math.random() * maxPauseMs);
      }
      throw new UpstreamUnavailable('The export store is too busy');
    },
  };
}
