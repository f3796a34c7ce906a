import { useQuery } from '@apollo/client/react';
import { useRef, useState } from 'react';
import { graphql } from '../gql';
import { useNextPage } from '../graphql/useNextPage';
import { Button, formatCount, Problems, Skeleton, useLast, whenVisible } from '../ui';
import { EventDetail } from './EventDetail';
import { EventRow, type Row } from './EventRow';
import styles from './Monitor.module.css';
import { conditionsOf, listFilter, updatesFilter, useEventSearch } from './search';
import { useEventUpdates } from './useEventUpdates';
import { Watches } from './Watches';

export const EventsDocument = graphql(`
  query Events($filter: EventFilter, $after: String, $isFirst: Boolean = true) {
    events(first: 25, after: $after, filter: $filter) {
      totalCount
      updatesCursor @include(if: $isFirst)
      edges { node { nodeId id lastUpdated ...EventRow } }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

interface FeedProps {
  /** Number of events by the newest count. Undefined: the list knows it. */
  readonly total: number | undefined;
  /** Called for each event that is new or has a new version. */
  readonly onUpdate: () => void;
}

/** The list of events. New ones arrive above it, unless the user has paused it, reads further down, or is about to use a row, which must not move. */
export function Feed({ total, onUpdate }: FeedProps) {
  const { search, change } = useEventSearch();
  // Another day changes nothing: what waits, and whether it is paused, stays.
  const [filter] = useState(() => listFilter(search));
  const { data, error, loading, fetchMore, refetch } = useQuery(EventsDocument, {
    variables: { filter },
    notifyOnNetworkStatusChange: true,
  });
  const [paused, setPaused] = useState(false);
  const [watching, setWatching] = useState(false);
  const [arrived, setArrived] = useState<readonly Row[]>([]);
  const [waiting, setWaiting] = useState<readonly Row[]>([]);
  /** New versions of events that were there before, by id. */
  const [updated, setUpdated] = useState<ReadonlyMap<string, Row>>(new Map());

  const cursor = data?.events?.updatesCursor;
  const [lastCursor, setLastCursor] = useState(cursor);
  // A list that was read again has all that came before it, in its newest version.
  if (cursor && cursor !== lastCursor) {
    setLastCursor(cursor);
    setArrived([]);
    setWaiting([]);
    setUpdated(new Map());
  }

  const listed = data?.events?.edges.map(({ node }) => node) ?? [];
  const rows = withoutRepeats([...arrived, ...listed]).map(row => updated.get(row.id) ?? row);
  const added = withoutRepeats(waiting).filter(({ id }) => !rows.some(row => row.id === id));

  const failure = useEventUpdates(updatesFilter(search), cursor, {
    // Several events can arrive before the page is rendered again.
    onEvent(event, kind) {
      onUpdate();
      const isListed = rows.some(({ id }) => id === event.id);
      // A range that has ended gets no new events.
      if (!isListed && Date.parse(event.lastUpdated ?? '') > Date.parse(search.to ?? '')) return;
      if (isListed || kind === 'UPDATED') setUpdated(others => new Map(others).set(event.id, event));
      // One of the list changes in place.
      if (isListed) return;
      const isInUse = list.current?.matches(':hover, :focus-within');
      const add = paused || isInUse || scrollY > 300 ? setWaiting : setArrived;
      add(others => [event, ...others]);
    },
    onGap() {
      onUpdate();
      void refetch();
    },
  });

  const heading = useRef<HTMLHeadingElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const showWaiting = () => {
    setArrived([...added, ...arrived]);
    setWaiting([]);
    scrollTo({ top: 0, behavior: 'smooth' });
    // The button that had the focus is gone.
    heading.current?.focus({ preventScroll: true });
  };

  const next = useNextPage(
    ({ variables, errorPolicy }) => fetchMore({ variables: { ...variables, isFirst: false }, errorPolicy }),
    data?.events?.pageInfo,
  );
  const end = next.canRead && !loading && <div ref={whenVisible(next.read)} />;
  const count = useLast(total) ?? data?.events?.totalCount;
  const news = added.some(({ id }) => updated.has(id)) ? 'new or updated' : 'new';

  return (
    <section aria-label="Events" aria-busy={loading}>
      <div className={`row ${styles.feedHead}`}>
        <h2 ref={heading} tabIndex={-1}>
          {count === undefined ? 'Events' : formatCount(count, 'event')}
        </h2>
        <small>{[conditionsOf(search), 'newest first'].filter(Boolean).join(', ')}</small>
        {added.length > 0 && <Button label={`${added.length} ${news}`} className="primary" onClick={showWaiting} />}
        <Button label={paused ? 'Resume' : 'Pause'} aria-pressed={paused} onClick={() => setPaused(!paused)} />
        <Button label="Watch" onClick={() => setWatching(true)} />
      </div>
      <Problems error={error ?? failure} retry={refetch} />
      {rows.length > 0 && (
        <div className={`${styles.event} ${styles.columns}`} aria-hidden="true">
          {['Severity', 'Likelihood', 'Event', 'Alert type', 'Impact on', 'Updated'].map(name => (
            <small key={name}>{name}</small>
          ))}
        </div>
      )}
      <ol className="feed" ref={list}>
        {rows.map(row => (
          <EventRow
            key={row.id}
            event={row}
            mark={updated.has(row.id) ? 'updated' : arrived.includes(row) ? 'new' : undefined}
            open={() => change({ event: row.id, version: row.nodeId })}
          />
        ))}
      </ol>
      {loading && <Skeleton lines={rows.length === 0 ? 14 : 3} />}
      {!loading && data?.events && rows.length === 0 && <p className="empty">No event matches these filters.</p>}
      <Problems error={next.error} retry={next.retry} />
      {end}
      {watching && <Watches search={search} onClose={() => setWatching(false)} />}
      {search.event && <EventDetail key={search.event} id={search.event} rows={[...added, ...rows]} end={end} />}
    </section>
  );
}

/** Rows by id. While new events come in, the pages of the service move, and a page can repeat an event. */
function withoutRepeats(rows: readonly Row[]): Row[] {
  return [...new Map(rows.toReversed().map(row => [row.id, row])).values()].toReversed();
}
