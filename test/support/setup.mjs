import { mkdirSync, mkdtempSync } from 'node:fs';
import { resolve } from 'node:path';
import { ensureTools, systemTools } from './ensure.mjs';
import { startRedis } from './redis-server.mjs';

/** Runs once before all test files. Checks the tools (`npm test` needs Redis alone), starts the Redis of `sharedRedisUrl`, and makes a folder for `buildProgram`. */
export default async function setup(_, { displayName } = {}) {
  let tools;
  try {
    tools = ensureTools(displayName === undefined ? ['redis-server'] : systemTools);
  } catch (error) {
    // Jest would bury the message in its own report.
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
  if (tools.chromium) process.env.CHROME_PATH = tools.chromium;
  const given = process.env.REDIS_URL;
  // A gateway that inherits this environment must not use a Redis that the test did not give it.
  delete process.env.REDIS_URL;
  if (!given && tools['redis-server']) globalThis.sharedRedis = await startRedis();
  process.env.TEST_REDIS_URL = given ?? globalThis.sharedRedis?.url ?? '';
  // Within the project, because Node looks for packages in the folders above the program.
  mkdirSync('dist', { recursive: true });
  process.env.TEST_PROGRAM_FOLDER = mkdtempSync(resolve('dist/program-'));
}
