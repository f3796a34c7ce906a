import type { ErrorLike } from '@apollo/client';
import { type KeyboardEvent, type PointerEvent, useState } from 'react';
import { Button, formatCount, formatDay, formatRange, formatTime, formatUtcDay, Problems } from '../ui';
import { severityColor } from './EventRow';
import styles from './Monitor.module.css';
import { INTERVALS, intervalOf, useEventSearch, windowOf } from './search';
import { leftOut, type Plot } from './usePlots';

/** Width of the numbers at the left, in pixels. */
const AXIS = 26;

interface HistogramProps {
  /** Undefined: not known yet. */
  readonly plot: Plot | undefined | null;
  readonly error: ErrorLike | undefined;
  readonly retry: () => void;
}

/** Events by time, with their severity as color. Dragging over it, or the keyboard, selects a range of time. */
export function Histogram({ plot, error, retry }: HistogramProps) {
  const { search, change } = useEventSearch();
  const interval = intervalOf(search);
  const length = INTERVALS[interval];
  const [start, end] = windowOf(search);
  const bars = Math.round((end - start) / length);
  const barOf = (time: string) => Math.floor((Date.parse(time) - start) / length);
  const buckets = new Map(plot?.buckets.map(bucket => [barOf(bucket.start), bucket]));
  const missing = plot && leftOut(plot);
  const most = 2 * Math.ceil(Math.max(4, ...[...buckets.values()].map(({ count }) => count)) / 2);

  /** The bars from one to another that the user is selecting, and the bar that is described. */
  const [drag, setDrag] = useState<[number, number]>();
  const [cursor, setCursor] = useState<number>();
  const clamp = (bar: number) => Math.max(0, Math.min(bars - 1, bar));
  const range = search.from && search.to && barOf(search.to) >= 0 ? [search.from, search.to] : undefined;
  const chosen = drag ?? range?.map(time => clamp(barOf(time)));
  const leave = () => {
    setCursor(undefined);
    setDrag(undefined);
  };
  const clear = () => change({ from: undefined, to: undefined });
  const select = ([a, b]: [number, number]) => {
    setDrag(undefined);
    const timeOf = (bar: number) => start + bar * length;
    const [from, to] = [timeOf(Math.min(a, b)), timeOf(Math.max(a, b) + 1) - 1];
    change({ from: new Date(from).toISOString(), to: new Date(to).toISOString() });
  };

  const barAt = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return clamp(Math.floor((bars * (clientX - left - AXIS)) / (width - AXIS)));
  };
  /** Arrows move, and with Shift select; Enter takes the selection or the bar. */
  const onKeyDown = (event: KeyboardEvent) => {
    const at = cursor ?? bars - 1;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: bars - 1 }[event.key];
    if (event.key === 'Enter') select(drag ?? [at, at]);
    else if (event.key === 'Escape' && search.from) clear();
    else if (event.key === 'Escape') leave();
    else if (to !== undefined) {
      setCursor(clamp(to));
      setDrag(event.shiftKey ? [drag?.[0] ?? at, clamp(to)] : undefined);
    } else return;
    event.preventDefault();
  };
  const dayOf = (bar: number) => (interval === 'DAY' ? formatUtcDay : formatDay)(start + bar * length);
  const summaryOf = (bar: number) => {
    const time = interval === 'DAY' ? `${dayOf(bar)} (UTC)` : formatTime(start + bar * length);
    if (missing && bar < Math.min(...buckets.keys())) return `${time}: not counted`;
    return `${time}: ${formatCount(buckets.get(bar)?.count ?? 0, 'event')}`;
  };
  const textOf = (bar: number) => {
    const parts = buckets.get(bar)?.bySeverity ?? [];
    return [summaryOf(bar), ...parts.map(part => `${part.count} of severity ${part.severity ?? 'unknown'}`)].join(', ');
  };
  const days = Array.from({ length: bars }, (_, bar) => bar).filter(bar => dayOf(bar) !== dayOf(bar - 1));
  const today = days.at(-1) ?? 0;
  const step = Math.ceil(days.length / 7);
  const ticks = days.filter((_, index) => (days.length - 1 - index) % step === 0);

  return (
    <section className="panel" aria-label="Events by time and severity">
      <div className={`row ${styles.plotHead}`}>
        <h2>Events by {interval.toLowerCase()}</h2>
        {search.from && search.to && (
          <Button
            label={`${formatRange(Date.parse(search.from), Date.parse(search.to), interval)} ✕`}
            className="chip"
            onClick={clear}
          />
        )}
      </div>
      <Problems error={error} retry={retry} />
      {(plot || !error) && (
        <div
          className={styles.histogram}
          role="slider"
          tabIndex={0}
          aria-label="Range of time. Arrow keys move, with Shift they select, Enter filters, Escape shows all"
          aria-valuemin={0}
          aria-valuemax={bars - 1}
          aria-valuenow={cursor ?? bars - 1}
          aria-valuetext={textOf(cursor ?? bars - 1)}
          onKeyDown={onKeyDown}
          onBlur={leave}
          onPointerDown={event => {
            if (event.button !== 0) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            setDrag([barAt(event), barAt(event)]);
          }}
          onPointerMove={event => {
            setCursor(barAt(event));
            if (drag && event.buttons > 0) setDrag([drag[0], barAt(event)]);
          }}
          onPointerUp={() => drag && select(drag)}
          onPointerCancel={leave}
          onPointerLeave={() => setCursor(undefined)}
        >
          {[0, most / 2, most].map(count => (
            <span key={count} className={styles.level} style={{ '--at': count / most }}>
              {count}
            </span>
          ))}
          <div className={styles.plot} style={{ '--bars': bars, '--today': today }} aria-hidden="true">
            {[...buckets].map(([bar, { bySeverity }]) => (
              <span key={bar} className={styles.bar} style={{ '--from': bar, '--count': 1 }}>
                {bySeverity.map(({ severity, count }) => (
                  <i key={severity} style={{ ...severityColor(severity), height: `${(100 * count) / most}%` }} />
                ))}
              </span>
            ))}
            {ticks.map(bar => (
              <span key={bar} className={styles.tick} data-today={bar === today} style={{ '--from': bar }}>
                {bar === today ? 'Today' : dayOf(bar)}
              </span>
            ))}
            {chosen && <span className={styles.brush} style={spanOf(chosen)} />}
          </div>
          {cursor !== undefined && plot && (
            <div className={styles.tip} style={{ '--at': cursor / bars }} aria-hidden="true">
              {summaryOf(cursor)}
              {buckets.get(cursor)?.bySeverity.map(({ severity, count }) => (
                <span key={severity} className={styles.key} style={severityColor(severity)}>
                  {count}
                </span>
              ))}
            </div>
          )}
          {plot?.buckets.length === 0 && <p className="empty">No events in this time</p>}
        </div>
      )}
      <small className="row" aria-hidden="true">
        Severity
        {[3, 2, 1, 0].map(severity => (
          <span key={severity} className={styles.key} style={severityColor(severity)}>
            {severity}
          </span>
        ))}
      </small>
      {missing && <small>{missing}</small>}
    </section>
  );
}

const spanOf = (bars: readonly number[]) => ({
  '--from': Math.min(...bars),
  '--count': Math.max(...bars) - Math.min(...bars) + 1,
});
