import type { FragmentType } from '@apollo/client';
import { useQuery } from '@apollo/client/react';
import { useRef, useState } from 'react';
import { graphql } from '../gql';
import type { EventFilter, EventRowFragment } from '../gql/graphql';
import { useNextPage } from '../graphql/useNextPage';
import { formatCount } from '../ui/format';
import { useVisible } from '../ui/hooks';
import { Problems } from '../ui/Problems';
import { Skeleton } from '../ui/Skeleton';
import { EventRow } from './EventRow';
import styles from './Monitor.module.css';
import { type EventSearch, updatesFilter } from './search';
import { useEventUpdates } from './useEventUpdates';

const EventsDocument = graphql(`
  query Events($filter: EventFilter, $after: String) {
    events(first: 25, after: $after, filter: $filter) {
      totalCount
      edges { node { id ...EventRow } }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

interface FeedProps {
  readonly filter: EventFilter;
  readonly search: EventSearch;
  readonly open: (id: string, lastUpdated: string) => void;
}

type Row = { id: string } & FragmentType<EventRowFragment>;

/** The list of events. New ones arrive above it, unless the user reads further down or has paused it. */
export function Feed({ filter, search, open }: FeedProps) {
  const { data, error, loading, fetchMore, refetch } = useQuery(EventsDocument, {
    variables: { filter },
    notifyOnNetworkStatusChange: true,
  });
  const [paused, setPaused] = useState(false);
  const [arrived, setArrived] = useState<readonly Row[]>([]);
  const [waiting, setWaiting] = useState<readonly Row[]>([]);

  const edges = data?.events?.edges ?? [];
  const listed = edges.map(({ node }) => node);
  const rows = withoutRepeats([...arrived, ...listed]);
  const added = withoutRepeats(waiting).filter(({ id }) => !rows.some(row => row.id === id));

  useEventUpdates(updatesFilter(search), {
    // An event of the list changes in place: the cache has its new version. A range in the past gets no new events.
    onEvent(event) {
      if (search.to || rows.some(({ id }) => id === event.id)) return;
      if (paused || scrollY > 300) setWaiting([event, ...waiting]);
      else setArrived([event, ...arrived]);
    },
    onGap: refetch,
  });

  const heading = useRef<HTMLHeadingElement>(null);
  const showWaiting = () => {
    setArrived([...added, ...arrived]);
    setWaiting([]);
    scrollTo({ top: 0, behavior: 'smooth' });
    // The button that had the focus is gone.
    heading.current?.focus({ preventScroll: true });
  };

  const next = useNextPage(fetchMore, data?.events?.pageInfo);
  const end = useVisible<HTMLDivElement>(() => {
    if (next.canRead && !loading) next.read();
  });

  return (
    <section aria-label="Events" aria-busy={loading}>
      <div className={styles.feedHead}>
        <h2 ref={heading} tabIndex={-1}>
          {data?.events ? formatCount(data.events.totalCount, 'event') : 'Events'}
        </h2>
        {added.length > 0 && (
          <button type="button" className="primary" onClick={showWaiting}>
            {added.length} new
          </button>
        )}
        <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? 'Resume' : 'Pause'}
        </button>
      </div>
      <Problems error={error} retry={refetch} />
      <ol className={styles.feed}>
        {rows.map(row => (
          <EventRow key={row.id} event={row} isNew={arrived.includes(row)} open={open} />
        ))}
      </ol>
      {loading && <Skeleton lines={rows.length === 0 ? 12 : 3} />}
      {!loading && data?.events && rows.length === 0 && <p className="empty">No event matches these filters.</p>}
      <Problems error={next.error} retry={next.retry} />
      <div ref={end} />
    </section>
  );
}

/** Rows by id. While new events come in, the pages of the service move, and a page can repeat an event. */
function withoutRepeats(rows: readonly Row[]): Row[] {
  return [...new Map(rows.toReversed().map(row => [row.id, row])).values()].toReversed();
}
