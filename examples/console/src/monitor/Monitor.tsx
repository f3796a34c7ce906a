import { useNavigate, useSearch } from '@tanstack/react-router';
import { Heading } from '../ui';
import { StaleNotice } from '../ui/StaleNotice';
import { Feed } from './Feed';
import { Filters } from './Filters';
import { Histogram } from './Histogram';
import { Matrix } from './Matrix';
import styles from './Monitor.module.css';
import { type EventSearch, listFilter } from './search';
import { usePlots } from './usePlots';

/** What happens now: a live feed of events, and plots that filter it. */
export function Monitor() {
  const search = useSearch({ from: '/' });
  const navigate = useNavigate({ from: '/' });
  const change = (patch: EventSearch, replace = false) =>
    navigate({ search: last => ({ ...last, ...patch }), resetScroll: false, replace });
  const { plots, readSoon, error, retry } = usePlots(search);
  const filter = listFilter(search);
  return (
    <div className="stack">
      <div className="row">
        <Heading>Monitor</Heading>
        <Filters search={search} change={change} />
      </div>
      <StaleNotice />
      <div className={styles.plots}>
        <Histogram plot={plots?.histogram} error={error} retry={retry} search={search} change={change} />
        <Matrix scores={plots?.cells?.scores} search={search} change={change} />
      </div>
      <Feed
        key={JSON.stringify(filter)}
        filter={filter}
        search={search}
        change={change}
        total={plots?.list?.totalCount}
        onUpdate={readSoon}
      />
    </div>
  );
}
