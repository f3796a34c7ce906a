import { useSuspenseQuery } from '@apollo/client/react';
import type { EventFilter } from './gql/graphql.js';
import { graphql } from './gql/index.js';

const eventHistogram = graphql(`
  query EventHistogram($filter: EventFilter) {
    eventStatistics(filter: $filter, interval: DAY) {
      total
      counted
      buckets {
        start
        count
        bySeverity {
          severity
          count
        }
      }
      alertTypes {
        value
        count
      }
    }
  }
`);

const barHeight = 80;
const barWidth = 12;

interface EventHistogramProps {
  readonly filter: EventFilter;
  onFilter(filter: EventFilter): void;
}

/** Events by day as stacked bars, one color for each severity. A click on an alert type filters by it. */
export function EventHistogram({ filter, onFilter }: EventHistogramProps) {
  const { data } = useSuspenseQuery(eventHistogram, { variables: { filter } });
  const statistics = data.eventStatistics;
  if (statistics == null) return <p>The statistics cannot be shown.</p>;
  const { buckets, alertTypes, counted, total } = statistics;
  const most = Math.max(1, ...buckets.map(({ count }) => count));
  return (
    <figure>
      <svg viewBox={`0 0 ${buckets.length * barWidth} ${barHeight}`} role="img" aria-label="Events by day">
        {buckets.map(({ start, bySeverity }, index) => {
          let top = barHeight;
          return bySeverity.map(({ severity, count }) => {
            const height = (count / most) * barHeight;
            top -= height;
            const x = index * barWidth;
            return (
              <rect
                key={`${start} ${severity}`}
                {...{ x, y: top, height }}
                width={barWidth - 1}
                data-severity={severity}
              />
            );
          });
        })}
      </svg>
      <figcaption>{counted < total ? `${counted} of ${total} events` : `${total} events`}</figcaption>
      <ul>
        {alertTypes.map(({ value, count }) => (
          <li key={value}>
            <button type="button" onClick={() => onFilter({ ...filter, alertTypes: [value] })}>
              {value} ({count})
            </button>
          </li>
        ))}
      </ul>
    </figure>
  );
}
