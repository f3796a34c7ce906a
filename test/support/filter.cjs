const { runnableTests } = require('./ensure.mjs');

/** Jest asks which of the test files it found are to run. `teardown.mjs` says last which ones cannot. */
module.exports = async found => {
  const { files, skipped, needs } = runnableTests(found);
  if (skipped.length > 0) {
    globalThis.skippedTests = { needs, files: [...(globalThis.skippedTests?.files ?? []), ...skipped] };
  }
  return { filtered: files };
};
