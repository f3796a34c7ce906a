const { runnableTests } = require('./ensure.mjs');

/** Jest asks which of the test files it found are to run. */
module.exports = async files => ({ filtered: runnableTests(files) });
