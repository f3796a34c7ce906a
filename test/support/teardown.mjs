import { rmSync } from 'node:fs';

/** Runs once after all test files: ends what `setup.mjs` started. */
export default async function teardown() {
  await globalThis.sharedRedis?.stop();
  rmSync(process.env.TEST_PROGRAM_FOLDER, { recursive: true, force: true });
}
