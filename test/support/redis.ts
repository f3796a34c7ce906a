export { type RedisServer, startRedis } from './redis-server.mjs';

/**
 * The Redis that all test files of this run share: `REDIS_URL` where it was given to `npm test`, else a server that
 * lives as long as the run. It may be somebody's own, so no one flushes it: a test keeps apart by a random key prefix
 * (`new Redis(sharedRedisUrl(), { keyPrefix: `${randomUUID()}:` })`) and lets its keys expire. A test that needs an
 * empty server, or kills, pauses or restarts one, starts its own with `startRedis`.
 */
export function sharedRedisUrl(): string {
  const url = process.env.TEST_REDIS_URL;
  if (!url) throw new Error('TEST_REDIS_URL is not set: the global setup of Jest did not run');
  return url;
}
