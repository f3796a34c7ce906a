import { readdirSync, readFileSync } from 'node:fs';

// What `npm run test:system` runs: the suites of this folder and of test/invariants, and over a Redis Cluster what `npm test` runs over Redis.
const { testPathIgnorePatterns, testTimeout, maxWorkers, workerIdleMemoryLimit, filter, testSequencer, ...project } =
  JSON.parse(readFileSync('package.json', 'utf8')).jest;
const overRedis = readdirSync('test').filter(
  name => name.endsWith('.test.ts') && /redisPlaces|isClusterRun/.test(readFileSync(`test/${name}`, 'utf8')),
);

export default {
  rootDir: '../..',
  testTimeout,
  maxWorkers,
  workerIdleMemoryLimit,
  filter,
  testSequencer,
  projects: [
    { ...project, displayName: 'system', roots: ['<rootDir>/test/system', '<rootDir>/test/invariants'] },
    {
      ...project,
      displayName: 'cluster',
      testMatch: overRedis.map(name => `<rootDir>/test/${name}`),
      testEnvironment: '<rootDir>/test/support/cluster-environment.mjs',
    },
  ].map(each => ({ ...each, rootDir: '.' })),
};
