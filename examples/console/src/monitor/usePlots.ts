import { useQuery } from '@apollo/client/react';
import { useRef } from 'react';
import { graphql } from '../gql';
import type { PlotsQuery } from '../gql/graphql';
import { useLast } from '../ui';
import { cellsFilter, type EventSearch, intervalOf, listFilter, windowFilter } from './search';

const PlotsDocument = graphql(`
  query Plots($window: EventFilter, $interval: EventInterval!, $cells: EventFilter, $list: EventFilter) {
    histogram: eventStatistics(filter: $window, interval: $interval) {
      total counted
      buckets { start count bySeverity { severity count } }
    }
    cells: eventStatistics(filter: $cells) { scores { severity likelihood count } }
    list: events(first: 1, filter: $list) { totalCount }
  }
`);

export type Plot = NonNullable<PlotsQuery['histogram']>;

/** At most this often, in milliseconds, the plots follow the events that arrive. */
const PACE = 1_000;

/** The numbers of the monitor. `readSoon` reads them again, once for all events that arrive at about the same time. */
export function usePlots(search: EventSearch) {
  const { data, error, refetch } = useQuery(PlotsDocument, {
    variables: {
      window: windowFilter(search),
      interval: intervalOf(search),
      cells: cellsFilter(search),
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
  return { plots: useLast(data), readSoon, error, retry: refetch };
}
