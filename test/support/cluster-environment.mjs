import { TestEnvironment } from 'jest-environment-node';

/** Repeats over a Redis Cluster what a suite runs over Redis, and nothing else of the suite. */
export default class ClusterEnvironment extends TestEnvironment {
  async setup() {
    await super.setup();
    this.global.process.env.REDIS_CLUSTER = '1';
  }

  handleTestEvent({ name }, state) {
    if (name === 'run_start') state.testNamePattern ??= /Redis Cluster/;
  }
}
