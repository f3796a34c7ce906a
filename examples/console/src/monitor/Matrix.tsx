import { useQuery } from '@apollo/client/react';
import { graphql } from '../gql';
import { Problems } from '../ui/Problems';
import styles from './Monitor.module.css';
import { type EventSearch, listFilter } from './search';

const EventMatrixDocument = graphql(`
  query EventMatrix($l0: EventFilter, $l1: EventFilter, $l2: EventFilter, $l3: EventFilter) {
    l0: eventStatistics(filter: $l0, interval: MONTH) { buckets { bySeverity { severity count } } }
    l1: eventStatistics(filter: $l1, interval: MONTH) { buckets { bySeverity { severity count } } }
    l2: eventStatistics(filter: $l2, interval: MONTH) { buckets { bySeverity { severity count } } }
    l3: eventStatistics(filter: $l3, interval: MONTH) { buckets { bySeverity { severity count } } }
  }
`);

const SCORES = [0, 1, 2, 3];

interface MatrixProps {
  readonly search: EventSearch;
  readonly change: (patch: EventSearch) => void;
}

/** Number of events for each likelihood and severity. A cell is a filter. */
export function Matrix({ search, change }: MatrixProps) {
  const withLikelihood = (likelihood: number) => listFilter({ ...search, severity: undefined, likelihood });
  const { data, previousData, error, refetch } = useQuery(EventMatrixDocument, {
    variables: { l0: withLikelihood(0), l1: withLikelihood(1), l2: withLikelihood(2), l3: withLikelihood(3) },
  });
  const { l0, l1, l2, l3 } = data ?? previousData ?? {};
  const columns = [l0, l1, l2, l3];
  const countOf = (likelihood: number, severity: number) =>
    (columns[likelihood]?.buckets ?? [])
      .flatMap(({ bySeverity }) => bySeverity)
      .reduce((sum, each) => (each.severity === severity ? sum + each.count : sum), 0);
  const most = Math.max(1, ...SCORES.flatMap(severity => SCORES.map(likelihood => countOf(likelihood, severity))));
  return (
    <>
      <h2>Severity × likelihood</h2>
      <fieldset className={styles.matrix} aria-label="Filter by likelihood and severity">
        {SCORES.toReversed().map(severity => [
          <span key={`s${severity}`} className={styles.axis}>
            {severity}
          </span>,
          ...SCORES.map(likelihood => {
            const count = countOf(likelihood, severity);
            const pressed = search.severity === severity && search.likelihood === likelihood;
            return (
              <button
                key={likelihood}
                type="button"
                className={styles.cell}
                data-severity={severity}
                aria-pressed={pressed}
                aria-label={`Severity ${severity}, likelihood ${likelihood}: ${count} events`}
                style={{ '--share': count === 0 ? 0 : 0.25 + (0.75 * count) / most }}
                onClick={() =>
                  change(pressed ? { severity: undefined, likelihood: undefined } : { severity, likelihood })
                }
              >
                {count}
              </button>
            );
          }),
        ])}
        <span />
        {SCORES.map(likelihood => (
          <span key={likelihood} className={styles.axis}>
            {likelihood}
          </span>
        ))}
      </fieldset>
      <Problems error={error} retry={refetch} />
    </>
  );
}
