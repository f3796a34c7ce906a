import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { UpstreamUnavailable } from '../errors.js';
import type { RedisClient } from '../redis.js';
import type { Telemetry } from '../telemetry.js';
import { emptyTeam, teamState } from './model.js';
import type { TeamStore } from './store.js';

/** Replaces a team's state if it is still the one that was read. */
const replaceScript = `
if (redis.call('HGET', KEYS[1], 'version') or '0') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[1] + 1, 'state', ARGV[2])
return 1`;

const mostTries = 50;
const longestPauseMs = 20;

/**
 * Keeps each team's state under one key, without an expiry. What is confirmed is in Redis; how long it lasts there is for the
 * persistence of Redis to say, and an eviction policy must spare keys without expiry (`volatile-*` or `noeviction`).
 */
export function createRedisStore(redis: RedisClient, telemetry: Telemetry): TeamStore {
  async function attempt<T>(command: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch {
      telemetry.redisFault(command);
      throw new UpstreamUnavailable('The registry of exports cannot be reached now');
    }
  }

  async function load(key: string) {
    const [version, text] = await attempt('HMGET', () => redis.hmget(key, 'version', 'state'));
    return { version: version ?? '0', state: text == null ? emptyTeam : teamState.parse(JSON.parse(text)) };
  }

  return {
    read: async team => (await load(keyOf(team))).state,
    async change(team, change) {
      const key = keyOf(team);
      for (let tries = 1; tries <= mostTries; tries++) {
        const { version, state: before } = await load(key);
        const { state, result } = change(before);
        if (state === undefined) return result;
        const text = JSON.stringify(state);
        if ((await attempt('EVAL', () => redis.eval(replaceScript, 1, key, version, text))) === 1) return result;
        await pause(Math.random() * longestPauseMs);
      }
      throw new UpstreamUnavailable('The registry of exports is too busy now');
    },
  };
}

function keyOf(team: string): string {
  return `mig:exports:${createHash('sha256').update(team).digest('base64url')}`;
}
