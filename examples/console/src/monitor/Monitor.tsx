import { ViewMenu } from '../app/ViewMenu';
import { Heading } from '../ui';
import { EventsDocument, Feed } from './Feed';
import { Filters } from './Filters';
import { Histogram } from './Histogram';
import { Matrix } from './Matrix';
import styles from './Monitor.module.css';
import { listFilter, useEventSearch } from './search';
import { usePlots } from './usePlots';

/** What happens now: a live feed of events, and plots that filter it. */
export function Monitor() {
  const { search } = useEventSearch();
  const { plots, total, readSoon, error, retry } = usePlots(search);
  const { event, version, ...filters } = search;
  return (
    <div className="stack">
      <div className="row">
        <Heading>Monitor</Heading>
        <ViewMenu document={EventsDocument} variables={{ filter: listFilter(search) }} />
      </div>
      <Filters />
      <div className={styles.plots}>
        <Histogram plot={plots?.histogram} error={error} retry={retry} />
        <Matrix cells={plots?.cells} />
      </div>
      <Feed key={JSON.stringify(filters)} total={total} onUpdate={readSoon} />
    </div>
  );
}
