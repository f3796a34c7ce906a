import { useQuery } from '@apollo/client/react';
import { useRef } from 'react';
import { graphql } from '../gql';
import type { PlotsQuery } from '../gql/graphql';
import { formatCount, formatNumber, useLast } from '../ui';
import { type EventSearch, intervalOf, listFilter, windowFilter } from './search';

const PlotsDocument = graphql(`
  query Plots($window: EventFilter, $interval: EventInterval!, $cells: EventFilter, $list: EventFilter) {
    histogram: eventStatistics(filter: $window, interval: $interval) {
      total counted
      buckets { start count bySeverity { severity count } }
    }
    cells: eventStatistics(filter: $cells) { total counted scores { severity likelihood count } }
    list: events(first: 1, filter: $list) { totalCount }
  }
`);

export type Plot = NonNullable<PlotsQuery['histogram']>;

/** What a plot has, in words, where the older of many events are not counted. A few that are missing are those that cannot be read. */
export const leftOut = ({ total, counted }: Pick<Plot, 'total' | 'counted'>) =>
  counted < 0.95 * total && `${formatNumber(counted)} of ${formatCount(total, 'event')} are counted, the newest.`;

/** At most this often, in milliseconds, the plots follow the events that arrive. */
const PACE = 1_000;

/** The numbers of the monitor: until they are read, the plots of the last filter. `readSoon` reads them again, once for all events that arrive at about the same time. */
export function usePlots(search: EventSearch) {
  const { data, error, refetch } = useQuery(PlotsDocument, {
    variables: {
      window: windowFilter(search),
      interval: intervalOf(search),
      // Whichever of the cells is selected.
      cells: listFilter({ ...search, severity: undefined, likelihood: undefined }),
      list: listFilter(search),
    },
    // The list of the feed is in the cache, with pages that this must not replace.
    fetchPolicy: 'no-cache',
  });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const readSoon = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void refetch();
    }, PACE);
  };
  return { plots: useLast(data), total: data?.list?.totalCount, readSoon, error, retry: refetch };
}
