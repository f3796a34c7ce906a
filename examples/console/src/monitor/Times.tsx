import { scaleLinear } from '@visx/scale';
import { daysBetween, formatDay, formatHour } from '../ui/format';
import { useWidth } from '../ui/hooks';
import styles from './Monitor.module.css';

const ROW = 18;
const LABELS = 80;
const MARGIN = 10;

interface TimesProps {
  readonly timestamps: {
    readonly published: string | null;
    readonly recordedStart: string | null;
    readonly recordedEnd: string | null;
    readonly projectedStart: string | null;
    readonly projectedEnd: string | null;
  };
  readonly lastUpdated: string;
}

/** When the event happened or is expected, when it was published, and when it was updated, on one line of time. */
export function Times({ timestamps, lastUpdated }: TimesProps) {
  const { ref, width } = useWidth<HTMLDivElement>();
  const { published, recordedStart, recordedEnd, projectedStart, projectedEnd } = timestamps;
  const spans = [
    { name: 'Happened', from: recordedStart ?? recordedEnd, to: recordedEnd ?? recordedStart },
    { name: 'Expected', from: projectedStart ?? projectedEnd, to: projectedEnd ?? projectedStart },
    { name: 'Published', from: published, to: published },
    { name: 'Updated', from: lastUpdated, to: lastUpdated },
  ].flatMap(({ name, from, to }) => (from && to ? [{ name, from, to }] : []));
  const points = spans.flatMap(({ from, to }) => [Date.parse(from), Date.parse(to)]);
  const x = scaleLinear({ domain: [Math.min(...points), Math.max(...points)], range: [LABELS, width - MARGIN] });
  return (
    <section>
      <h2>When</h2>
      <div ref={ref}>
        {width > 0 && (
          <svg width={width} height={(spans.length + 1) * ROW} aria-hidden="true">
            {spans.map(({ name, from, to }, row) => (
              <g key={name} data-span={name} className={styles.span}>
                <text className={styles.tick} y={row * ROW + 13}>
                  {name}
                </text>
                <rect
                  x={x(Date.parse(from)) - 4}
                  y={row * ROW + 4}
                  width={x(Date.parse(to)) - x(Date.parse(from)) + 8}
                  height={10}
                  rx={5}
                />
              </g>
            ))}
            {daysBetween(x.domain(), (width - LABELS) / 90).map(tick => (
              <text key={tick} className={styles.tick} x={x(tick)} y={(spans.length + 1) * ROW - 4} textAnchor="middle">
                {formatDay(tick)}
              </text>
            ))}
          </svg>
        )}
      </div>
      <small>
        {spans
          .map(({ name, from, to }) => `${name} ${formatHour(from)}${to === from ? '' : ` to ${formatHour(to)}`}`)
          .join(' · ')}
      </small>
    </section>
  );
}
