/** Runs once after all test files: ends what `setup.mjs` started. */
export default async function teardown() {
  await globalThis.sharedRedis?.stop();
}
