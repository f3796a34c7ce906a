import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { TeamKey } from '../../auth/teams.js';
import { countFaults, type RedisClient } from '../../data/redis.js';
import { UpstreamUnavailable } from '../../errors.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { emptyTeam, teamState } from './model.js';
import { sealsIn, type TeamStore } from './team-state.js';

/** Replaces the state of a team if its version is still the one that was read. */
const replaceScript = `
if (redis.call('HGET', KEYS[1], 'version') or '0') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[1] + 1, 'state', ARGV[2], 'seals', ARGV[3])
return 1`;

/** The set of keys of all teams with sealed headers. */
const teamsKey = 'mig:exports:with-seals';
const teamsAtATime = 500;
/** How long the seals are cached. They are needed for each scrape of the metrics. */
const sealsAgeMs = 5_000;

const mostTries = 50;
const longestPauseMs = 20;

/**
 * Stores the state of each team under one key without an expiry. A confirmed change is in Redis; its durability depends on how Redis
 * persists its data. The eviction policy must spare keys without an expiry (`volatile-*` or `noeviction`).
 */
export function createRedisStore(redis: RedisClient, telemetry: Telemetry): TeamStore {
  const attempt = <T>(command: string, run: () => Promise<T>): Promise<T> =>
    countFaults(telemetry, command, run).catch(() => {
      throw new UpstreamUnavailable('The export store is not available');
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

  let seals: { readonly at: number; readonly read: Promise<readonly string[]> } | undefined;

  async function load(key: string) {
    const [version, text] = await attempt('HMGET', () => redis.hmget(key, 'version', 'state'));
    return { version: version ?? '0', state: text == null ? emptyTeam : teamState.parse(JSON.parse(text)) };
  }

  return {
    seals() {
      const now = performance.now();
      if (seals === undefined || now - seals.at > sealsAgeMs) seals = { at: now, read: readSeals() };
      return seals.read;
    },
    read: async team => (await load(redisKey(team))).state,
    async change(team, change) {
      const key = redisKey(team);
      for (let tries = 1; tries <= mostTries; tries++) {
        const { version, state: before } = await load(key);
        const { state, result } = change(before);
        if (state === undefined) return result;
        const text = JSON.stringify(state);
        const sealed = JSON.stringify(sealsIn(state));
        // Before the state is replaced, so that no team with sealed headers is ever missing from the set.
        if (sealed !== '[]') await attempt('SADD', () => redis.sadd(teamsKey, key));
        const replaced = await attempt('EVAL', () => redis.eval(replaceScript, 1, key, version, text, sealed));
        if (replaced === 1) return result;
        await pause(Math.random() * longestPauseMs);
      }
      throw new UpstreamUnavailable('The export store is too busy');
    },
  };
}

function redisKey(team: TeamKey): string {
  return `mig:exports:${createHash('sha256').update(team).digest('base64url')}`;
}
