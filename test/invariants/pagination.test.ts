import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Connection, type PageArguments, pageRequest, windowOf } from '../../src/graphql/connection.js';
import { cursorOf, eventsWith } from '../support/calls-table.js';

/** The page of a list as the Relay specification describes it: first the cursors cut the list, then `first` or `last` cuts the rest. */
function relayPage(list: readonly number[], { first, after, last, before }: PageArguments): readonly number[] {
  const isInRange = (item: number) =>
    list.every(other => cursorOf(other) !== after || item > other) &&
    list.every(other => cursorOf(other) !== before || item < other);
  const range = list.filter(isInRange);
  return last == null ? range.slice(0, first ?? 10) : range.slice(-last);
}

const size = fc.integer({ min: 1, max: 100 });
const cursor = fc.option(fc.nat(130), { nil: undefined });

describe('the window of a page', () => {
  test('is what the Relay specification says, for any cursors and sizes', () => {
    fc.assert(
      fc.property(
        fc.nat(130),
        fc.option(size),
        fc.boolean(),
        cursor,
        cursor,
        (length, count, isLast, after, before) => {
          const items = Array.from({ length }, (_, index) => index);
          // Indexes beyond the list belong to a list that has become shorter.
          const ends = {
            after: after === undefined ? null : cursorOf(after),
            before: before === undefined ? null : cursorOf(before),
          };
          const page = { ...(isLast ? { last: count } : { first: count }), ...ends };
          const expected = after !== undefined && after >= length ? [] : relayPage(items, page);
          const request = pageRequest(page, eventsWith());
          const window = windowOf(request, length);
          const shown = items.slice(window.start, window.end);
          expect(shown).toEqual(expected);
          const { pageInfo, nodes } = new Connection(request, window, length, () => shown);
          expect(nodes).toEqual(expected);
          const [head, tail] = [expected[0], expected.at(-1)];
          if (head === undefined || tail === undefined) {
            expect(pageInfo[isLast && count !== null ? 'hasPreviousPage' : 'hasNextPage']).toBe(false);
            return;
          }
          expect(pageInfo).toEqual({
            hasPreviousPage: head > 0,
            hasNextPage: tail < length - 1,
            startCursor: cursorOf(head),
            endCursor: cursorOf(tail),
          });
        },
      ),
      { seed: 20, numRuns: 2_000 },
    );
  });

  test('visits each item once, forward and backward', () => {
    const length = 57;
    for (const size of [1, 7, 10, 57, 100]) {
      const seen: number[] = [];
      let last: string | null = null;
      for (let more = true; more; ) {
        const request = pageRequest({ last: size, before: last }, eventsWith());
        const window = windowOf(request, length);
        const indexes = Array.from({ length: window.end - window.start }, (_, index) => window.start + index);
        const { pageInfo } = new Connection(request, window, length, () => indexes);
        seen.unshift(...indexes);
        [more, last] = [pageInfo.hasPreviousPage, pageInfo.startCursor];
      }
      expect(seen).toEqual(Array.from({ length }, (_, index) => index));
    }
  });

  test.each<[PageArguments, string]>([
    [{ first: 0 }, 'in.first'],
    [{ first: 101 }, 'in.first'],
    [{ last: 0 }, 'in.last'],
    [{ last: 101 }, 'in.last'],
    [{ first: 3, last: 3 }, 'in.last'],
    [{ after: 'x' }, 'in.after'],
    [{ before: cursorOf(1_000_000_000) }, 'in.before'],
    [{ before: cursorOf(1, eventsWith('steel')) }, 'in.before'],
  ])('is refused for %j', (page, argument) => {
    expect(() => pageRequest(page, eventsWith(), 'in.')).toThrow(
      expect.objectContaining({ extensions: expect.objectContaining({ argument }) }),
    );
  });
});
