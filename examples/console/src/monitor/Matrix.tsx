import type { PlotsQuery } from '../gql/graphql';
import { formatCount, formatNumber } from '../ui';
import styles from './Monitor.module.css';
import { useEventSearch } from './search';
import { leftOut } from './usePlots';

const SCORES = [0, 1, 2, 3] as const;

/** Number of events for each likelihood and severity, unless they are not known yet. A cell is a filter. */
export function Matrix({ cells }: { cells: PlotsQuery['cells'] | undefined }) {
  const { search, change } = useEventSearch();
  const most = Math.max(1, ...(cells?.scores ?? []).map(({ count }) => count));
  const cell = (severity: number, likelihood: number) => {
    const pair = cells?.scores.find(pair => pair.severity === severity && pair.likelihood === likelihood);
    const count = cells && (pair?.count ?? 0);
    const pressed = search.severity === severity && search.likelihood === likelihood;
    return (
      <button
        key={likelihood}
        type="button"
        className={styles.cell}
        aria-pressed={pressed}
        aria-label={`Severity ${severity}, likelihood ${likelihood}: ${cells ? formatCount(count, 'event') : 'unknown'}`}
        style={{ '--share': count ? 0.15 + (0.85 * count) / most : 0 }}
        onClick={() => change(pressed ? { severity: undefined, likelihood: undefined } : { severity, likelihood })}
      >
        {formatNumber(count)}
      </button>
    );
  };
  return (
    <section className="panel" aria-label="Events by likelihood and severity">
      <h2>Severity and likelihood</h2>
      <fieldset className={styles.matrix} aria-label="Filter by likelihood and severity">
        {SCORES.toReversed().map(severity => [
          <span key={`s${severity}`} className={styles.axis}>
            {severity}
          </span>,
          ...SCORES.map(likelihood => cell(severity, likelihood)),
        ])}
        <span />
        {SCORES.map(likelihood => (
          <span key={likelihood} className={styles.axis}>
            {likelihood}
          </span>
        ))}
        <span className={styles.axisName} data-axis="y">
          Severity
        </span>
        <span className={styles.axisName}>Likelihood</span>
      </fieldset>
      <small className={styles.note}>
        An event counts in each cell that it has an entity in. The list shows its highest scores.{' '}
        {cells && leftOut(cells)}
      </small>
    </section>
  );
}
