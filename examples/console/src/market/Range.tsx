import { formatAmount, formatExact, SearchBox } from '../ui';
import styles from './Market.module.css';
import type { range } from './search';

interface RangeProps {
  readonly label: string;
  /** As the gateway names the filter. */
  readonly name: string;
  readonly value: ReturnType<typeof range>;
  /** How many companies have which values, for the small plot. */
  readonly counts: readonly { start: number; end: number; count: number }[] | undefined;
  readonly onChange: (end: 'min' | 'max', number: number | undefined) => void;
}

const UNITS: Readonly<Record<string, number>> = { '': 1, K: 1e3, M: 1e6, B: 1e9, T: 1e12 };

/** The number that a text means: `145.5M`, `1,200`. NaN: none. Undefined: no text. */
function numberIn(text: string): number | undefined {
  if (text === '') return;
  const [, digits = 'none', unit = ''] = /^(-?[\d,]*\.?\d+)\s*([KMBT]?)$/i.exec(text) ?? [];
  return Number(digits.replaceAll(',', '')) * (UNITS[unit.toUpperCase()] ?? 1);
}

/** Two fields for the ends of a range, and how the values are distributed. An empty field is no end. */
export function Range({ label, name, value = {}, counts = [], onChange }: RangeProps) {
  const most = Math.max(1, ...counts.map(({ count }) => count));
  const isChosen = (start: number, end: number) => end >= (value.min ?? start) && start <= (value.max ?? end);
  return (
    <fieldset className={styles.range}>
      <legend>{label}</legend>
      {(['min', 'max'] as const).map(end => (
        <SearchBox
          key={end}
          name={`${name}.${end}`}
          label={`${label}, at ${end === 'min' ? 'least' : 'most'}`}
          placeholder={end}
          title="A number, such as 1,200, 90K, 145.5M or 2B"
          meaning={numberIn}
          value={value[end] === undefined ? undefined : formatExact(value[end])}
          onChange={text => onChange(end, numberIn(text ?? ''))}
        />
      ))}
      <span className={styles.bars} aria-hidden="true">
        {counts.map(({ start, end, count }) => (
          <span key={start} data-chosen={isChosen(start, end)} style={{ '--share': count / most }} />
        ))}
      </span>
      <small className={styles.axis} aria-hidden="true">
        <span>{formatAmount(counts[0]?.start)}</span>
        <span>{formatAmount(counts.at(-1)?.end)}</span>
      </small>
    </fieldset>
  );
}
