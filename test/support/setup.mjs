import { ensureTools } from './ensure.mjs';
import { startRedis } from './redis-server.mjs';

/** Runs once before all test files: the tools are there, and one Redis is up for `sharedRedisUrl`. */
export default async function setup() {
  try {
    process.env.CHROME_PATH = ensureTools().chromium;
  } catch (error) {
    // Thrown, it would drown in Jest's own report.
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
  const given = process.env.REDIS_URL;
  // A gateway that a test starts with this environment must not find a Redis that the test did not give it.
  delete process.env.REDIS_URL;
  if (!given) globalThis.sharedRedis = await startRedis();
  process.env.TEST_REDIS_URL = given ?? globalThis.sharedRedis.url;
}
