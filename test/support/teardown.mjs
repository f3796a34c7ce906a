import { rmSync } from 'node:fs';

/** Runs once after all test files: ends what `setup.mjs` started, and says which tests did not run. */
export default async function teardown() {
  await globalThis.sharedRedis?.stop();
  rmSync(process.env.TEST_PROGRAM_FOLDER, { recursive: true, force: true });
  const { skippedTests } = globalThis;
  if (skippedTests === undefined) return;
  const { files, needs } = skippedTests;
  process.stderr.write(`Skipped ${files.length} test files (${needs.join('; ')}): ${files.join(', ')}\n`);
}
