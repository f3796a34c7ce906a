import { SearchBox } from '../ui';
import styles from './Market.module.css';

interface RangeProps {
  readonly label: string;
  /** As the gateway names the filter. */
  readonly name: string;
  readonly min: number | undefined;
  readonly max: number | undefined;
  /** How many companies have which values, for the small plot. */
  readonly counts: readonly { start: number; end: number; count: number }[] | undefined;
  readonly onChange: (min: number | undefined, max: number | undefined) => void;
}

/** Two fields for the ends of a range, and how the values are distributed. An empty field is no end. */
export function Range({ label, name, min, max, counts = [], onChange }: RangeProps) {
  const numberIn = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  const most = Math.max(1, ...counts.map(({ count }) => count));
  const isChosen = (start: number, end: number) => end >= (min ?? start) && start <= (max ?? end);
  return (
    <fieldset className={styles.range}>
      <legend>{label}</legend>
      <SearchBox
        type="number"
        name={`${name}.min`}
        label={`${label}, at least`}
        placeholder="min"
        value={min?.toString()}
        onChange={text => onChange(numberIn(text), max)}
      />
      <SearchBox
        type="number"
        name={`${name}.max`}
        label={`${label}, at most`}
        placeholder="max"
        value={max?.toString()}
        onChange={text => onChange(min, numberIn(text))}
      />
      <span className={styles.bars} aria-hidden="true">
        {counts.map(({ start, end, count }) => (
          <span key={start} data-chosen={isChosen(start, end)} style={{ '--share': count / most }} />
        ))}
      </span>
    </fieldset>
  );
}
