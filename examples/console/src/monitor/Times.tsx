import { scaleLinear } from '@visx/scale';
import { daysBetween, formatDay, formatTime } from '../ui/format';
import { useWidth } from '../ui/hooks';
import styles from './Monitor.module.css';

const HEIGHT = 74;
const MARGIN = 30;

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
    { name: 'Happened', start: recordedStart, end: recordedEnd, y: 18 },
    { name: 'Expected', start: projectedStart, end: projectedEnd, y: 18 },
    { name: 'Published', start: published, end: null, y: 34 },
    { name: 'Updated', start: lastUpdated, end: null, y: 50 },
  ].flatMap(({ start, end, ...span }) =>
    start || end ? [{ ...span, from: start ?? end ?? '', to: end ?? start ?? '' }] : [],
  );
  const points = spans.flatMap(({ from, to }) => [Date.parse(from), Date.parse(to)]);
  const x = scaleLinear({ domain: [Math.min(...points), Math.max(...points)], range: [MARGIN, width - MARGIN] });
  return (
    <section>
      <h2>When</h2>
      <div ref={ref}>
        {width > 0 && (
          <svg width={width} height={HEIGHT} aria-hidden="true">
            {spans.map(({ name, from, to, y }) => {
              const start = x(Date.parse(from));
              return (
                <g key={name} data-span={name} className={styles.span}>
                  <rect x={start - 4} y={y - 5} width={x(Date.parse(to)) - start + 8} height={10} rx={5} />
                  <text className={styles.tick} x={start} y={y - 8} textAnchor={start > width / 2 ? 'end' : 'start'}>
                    {name}
                  </text>
                </g>
              );
            })}
            {daysBetween(x.domain(), width / 120).map(tick => (
              <text key={tick} className={styles.tick} x={x(tick)} y={HEIGHT - 4} textAnchor="middle">
                {formatDay(tick)}
              </text>
            ))}
          </svg>
        )}
      </div>
      <small>
        {spans
          .map(({ name, from, to }) => `${name} ${formatTime(from)}${to === from ? '' : ` to ${formatTime(to)}`}`)
          .join(' · ')}
      </small>
    </section>
  );
}
