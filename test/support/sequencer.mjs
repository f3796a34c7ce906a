import TestSequencer from '@jest/test-sequencer';

/** Suites that take long, the longest first: begun last, they would be what everybody waits for. */
const longest = [
  'fleet',
  'explorer',
  'live',
  'start',
  'subscriptions',
  'sessions',
  'isolation',
  'exports',
  'balancer',
  'executor',
  'memory',
  'warnings',
  'graphiql',
  'connections',
];

/** Jest's own order, which goes by the size of files where it has not yet seen how long they take, but for the longest. */
export default class Sequencer extends TestSequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const index = longest.findIndex(name => path.endsWith(`/${name}.test.ts`));
      return index === -1 ? longest.length : index;
    };
    return super.sort(tests).toSorted((one, other) => rank(one) - rank(other));
  }
}
