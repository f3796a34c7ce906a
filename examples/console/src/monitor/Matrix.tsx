import { useQuery } from '@apollo/client/react';
import { graphql } from '../gql';
import type { EventMatrixQueryVariables } from '../gql/graphql';
import { formatCount, formatNumber } from '../ui/format';
import { Problems } from '../ui/Problems';
import styles from './Monitor.module.css';
import { type EventSearch, listFilter } from './search';

/** One count for each cell: a call for a single event is much smaller than a call for all events of the cell. */
const EventMatrixDocument = graphql(`
  query EventMatrix(
    $s0l0: EventFilter $s0l1: EventFilter $s0l2: EventFilter $s0l3: EventFilter
    $s1l0: EventFilter $s1l1: EventFilter $s1l2: EventFilter $s1l3: EventFilter
    $s2l0: EventFilter $s2l1: EventFilter $s2l2: EventFilter $s2l3: EventFilter
    $s3l0: EventFilter $s3l1: EventFilter $s3l2: EventFilter $s3l3: EventFilter
  ) {
    s0l0: events(first: 1, filter: $s0l0) { totalCount }
    s0l1: events(first: 1, filter: $s0l1) { totalCount }
    s0l2: events(first: 1, filter: $s0l2) { totalCount }
    s0l3: events(first: 1, filter: $s0l3) { totalCount }
    s1l0: events(first: 1, filter: $s1l0) { totalCount }
    s1l1: events(first: 1, filter: $s1l1) { totalCount }
    s1l2: events(first: 1, filter: $s1l2) { totalCount }
    s1l3: events(first: 1, filter: $s1l3) { totalCount }
    s2l0: events(first: 1, filter: $s2l0) { totalCount }
    s2l1: events(first: 1, filter: $s2l1) { totalCount }
    s2l2: events(first: 1, filter: $s2l2) { totalCount }
    s2l3: events(first: 1, filter: $s2l3) { totalCount }
    s3l0: events(first: 1, filter: $s3l0) { totalCount }
    s3l1: events(first: 1, filter: $s3l1) { totalCount }
    s3l2: events(first: 1, filter: $s3l2) { totalCount }
    s3l3: events(first: 1, filter: $s3l3) { totalCount }
  }
`);

const SCORES = [0, 1, 2, 3] as const;
type Score = (typeof SCORES)[number];

interface MatrixProps {
  readonly search: EventSearch;
  readonly change: (patch: EventSearch) => void;
}

/** Number of events for each likelihood and severity. A cell is a filter. */
export function Matrix({ search, change }: MatrixProps) {
  const variables: EventMatrixQueryVariables = Object.fromEntries(
    SCORES.flatMap(severity =>
      SCORES.map(likelihood => [`s${severity}l${likelihood}`, listFilter({ ...search, severity, likelihood })]),
    ),
  );
  const { data, previousData, error, refetch } = useQuery(EventMatrixDocument, { variables });
  const countOf = (severity: Score, likelihood: Score) =>
    (data ?? previousData)?.[`s${severity}l${likelihood}`]?.totalCount;
  const most = Math.max(1, ...SCORES.flatMap(severity => SCORES.map(likelihood => countOf(severity, likelihood) ?? 0)));
  return (
    <>
      <h2>Severity × likelihood</h2>
      <fieldset className={styles.matrix} aria-label="Filter by likelihood and severity">
        {SCORES.toReversed().map(severity => [
          <span key={`s${severity}`} className={styles.axis}>
            {severity}
          </span>,
          ...SCORES.map(likelihood => {
            const count = countOf(severity, likelihood);
            const pressed = search.severity === severity && search.likelihood === likelihood;
            return (
              <button
                key={likelihood}
                type="button"
                className={styles.cell}
                data-severity={severity}
                aria-pressed={pressed}
                aria-label={`Severity ${severity}, likelihood ${likelihood}: ${count === undefined ? 'unknown' : formatCount(count, 'event')}`}
                style={{ '--share': !count ? 0 : 0.25 + (0.75 * count) / most }}
                onClick={() =>
                  change(pressed ? { severity: undefined, likelihood: undefined } : { severity, likelihood })
                }
              >
                {formatNumber(count)}
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
      <small>Up: severity. Right: likelihood. An event counts for each entity that it impacts.</small>
      <Problems error={error} retry={refetch} />
    </>
  );
}
