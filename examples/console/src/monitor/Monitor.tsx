import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { Heading } from '../ui/Heading';
import { StaleNotice } from '../ui/StaleNotice';
import { Feed } from './Feed';
import { Filters } from './Filters';
import { Histogram } from './Histogram';
import { Matrix } from './Matrix';
import styles from './Monitor.module.css';
import { type EventSearch, listFilter } from './search';

const EventDetail = lazy(() => import('./EventDetail'));

/** What happens now: a live feed of events, and plots that filter it. */
export function Monitor() {
  const search = useSearch({ from: '/' });
  const navigate = useNavigate({ from: '/' });
  const change = (patch: EventSearch, replace = false) =>
    navigate({ search: last => ({ ...last, ...patch }), resetScroll: false, replace });
  /** Takes the place of the details in the history, so that Back does not open them again. */
  const close = () => change({ event: undefined, at: undefined }, true);
  const filter = listFilter(search);
  return (
    <div className="stack">
      <Heading>Monitor</Heading>
      <Filters search={search} change={change} />
      <StaleNotice />
      <div className={styles.plots}>
        <section className="panel" aria-label="Events by time and severity">
          <Histogram search={search} change={change} />
        </section>
        <section className="panel" aria-label="Events by likelihood and severity">
          <Matrix search={search} change={change} />
        </section>
      </div>
      <Feed key={JSON.stringify(filter)} filter={filter} search={search} open={(event, at) => change({ event, at })} />
      <Suspense>
        {search.event && search.at && <EventDetail id={search.event} lastUpdated={search.at} onClose={close} />}
      </Suspense>
    </div>
  );
}
