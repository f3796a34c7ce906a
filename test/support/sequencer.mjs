import TestSequencer from '@jest/test-sequencer';

/** Suites that take long, the slowest first: begun last, they would be what everybody waits for. */
const slow = [
  'start',
  'fleet',
  'warnings',
  'graphiql',
  'explorer',
  'memory',
  'export-kills',
  'forged-exports',
  'simulation',
  'exports',
  'watches',
  'event-updates',
  'drift',
  'memory-budget',
  'subscriptions',
  'calls',
  'company-events',
  'mcp',
  'sessions',
];

/** Jest's own order, which goes by the size of files where it has not yet seen how long they take, but for the slow. */
export default class Sequencer extends TestSequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const index = slow.findIndex(name => path.endsWith(`/${name}.test.ts`));
      return index === -1 ? slow.length : index;
    };
    return super.sort(tests).toSorted((one, other) => rank(one) - rank(other));
  }
}
