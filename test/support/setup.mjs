import { mkdirSync, mkdtempSync } from 'node:fs';
import { resolve } from 'node:path';
import { ensureTools } from './ensure.mjs';
import { startRedis } from './redis-server.mjs';

/** Runs once before all test files: the tools are there, one Redis is up for `sharedRedisUrl`, and there is a folder for `buildProgram`. */
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
  // Within the project, since the program finds its packages above itself.
  mkdirSync('dist', { recursive: true });
  process.env.TEST_PROGRAM_FOLDER = mkdtempSync(resolve('dist/program-'));
}
