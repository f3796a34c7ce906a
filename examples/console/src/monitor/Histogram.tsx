import { useQuery } from '@apollo/client/react';
import { scaleLinear } from '@visx/scale';
import { type PointerEvent, useState } from 'react';
import { graphql } from '../gql';
import { daysBetween, formatCount, formatDay, formatHour, formatTime } from '../ui/format';
import { useWidth } from '../ui/hooks';
import { Problems } from '../ui/Problems';
import styles from './Monitor.module.css';
import { type EventSearch, INTERVALS, intervalOf, windowFilter, windowOf } from './search';

const EventHistogramDocument = graphql(`
  query EventHistogram($filter: EventFilter, $interval: EventInterval!) {
    eventStatistics(filter: $filter, interval: $interval) {
      total
      counted
      buckets { start count bySeverity { severity count } }
    }
  }
`);

const HEIGHT = 160;
const AXIS = 20;

interface HistogramProps {
  readonly search: EventSearch;
  readonly change: (patch: EventSearch) => void;
}

/** Events by time, with their severity as color. Dragging over it selects a range of time. */
export function Histogram({ search, change }: HistogramProps) {
  const interval = intervalOf(search);
  const { data, previousData, loading, error, refetch } = useQuery(EventHistogramDocument, {
    variables: { filter: windowFilter(search), interval },
  });
  const { ref, width } = useWidth<HTMLDivElement>();
  const statistics = (data ?? previousData)?.eventStatistics;
  const buckets = statistics?.buckets ?? [];

  const length = INTERVALS[interval];
  const x = scaleLinear({ domain: windowOf(search), range: [0, width] });
  const most = Math.max(4, ...buckets.map(({ count }) => count));
  const y = scaleLinear({ domain: [0, most], range: [0, HEIGHT - AXIS - 14] });
  const barWidth = Math.max(1, x(length) - x(0) - 1);

  /** From where to where the user is dragging, in pixels. */
  const [drag, setDrag] = useState<[number, number]>();
  const selected: [number, number] | undefined =
    drag ?? (search.from && search.to ? [x(Date.parse(search.from)), x(Date.parse(search.to))] : undefined);

  /** Selects whole bars. A click without dragging selects nothing. */
  const select = (x0: number, x1: number) => {
    if (x(x1) - x(x0) < 3) return change({ from: undefined, to: undefined });
    const from = Math.floor(x0 / length) * length;
    const to = Math.ceil(x1 / length) * length - 1;
    return change({ from: new Date(from).toISOString(), to: new Date(to).toISOString() });
  };

  return (
    <>
      <h2>{statistics ? formatCount(statistics.total, 'event') : 'Events'} by time and severity</h2>
      {search.from && search.to && (
        <button type="button" onClick={() => change({ from: undefined, to: undefined })}>
          {formatHour(search.from)} to {formatHour(Date.parse(search.to) + 1)} ✕
        </button>
      )}
      <div ref={ref} className={styles.histogram} aria-busy={loading}>
        {width > 0 && (
          <svg width={width} height={HEIGHT} role="img" aria-label={statistics ? summaryOf(buckets) : 'Loading'}>
            {buckets.map(({ start, bySeverity }) => {
              let top = HEIGHT - AXIS;
              return bySeverity.map(({ severity, count }) => {
                const height = y(count);
                top -= height;
                return (
                  <rect
                    key={`${start} ${severity}`}
                    className={styles.bar}
                    data-severity={severity ?? 0}
                    x={x(Date.parse(start))}
                    y={top}
                    width={barWidth}
                    height={height}
                  />
                );
              });
            })}
            {daysBetween(windowOf(search), width / 80).map(tick => (
              <text key={tick} className={styles.tick} x={x(tick)} y={HEIGHT - 4}>
                {formatDay(tick)}
              </text>
            ))}
            <text className={styles.tick} x={0} y={10}>
              {statistics && most}
            </text>
            {selected && (
              <rect
                className={styles.brush}
                x={Math.min(...selected)}
                width={Math.abs(selected[1] - selected[0])}
                height={HEIGHT - AXIS}
              />
            )}
            <rect
              className={styles.stage}
              width={width}
              height={HEIGHT - AXIS}
              onPointerDown={event => {
                event.currentTarget.setPointerCapture(event.pointerId);
                setDrag([positionOf(event), positionOf(event)]);
              }}
              onPointerMove={event => drag && setDrag([drag[0], positionOf(event)])}
              onPointerUp={() => {
                if (drag) select(x.invert(Math.min(...drag)), x.invert(Math.max(...drag)));
                setDrag(undefined);
              }}
              onPointerCancel={() => setDrag(undefined)}
            />
          </svg>
        )}
      </div>
      {statistics && statistics.counted < statistics.total && (
        <small>The plot has the newest {statistics.counted} events.</small>
      )}
      <Problems error={error} retry={refetch} />
    </>
  );
}

function summaryOf(buckets: readonly { start: string; count: number }[]): string {
  const [first] = buckets;
  if (!first) return 'No events';
  const busiest = buckets.reduce((most, bucket) => (bucket.count > most.count ? bucket : most), first);
  return `Events by time. Most, ${busiest.count}, from ${formatTime(busiest.start)}.`;
}

function positionOf(event: PointerEvent<SVGRectElement>): number {
  return event.clientX - event.currentTarget.getBoundingClientRect().left;
}
