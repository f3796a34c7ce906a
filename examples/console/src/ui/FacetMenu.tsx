import { Popover } from './Popover';
import styles from './Popover.module.css';

interface FacetMenuProps {
  readonly label: string;
  /** Undefined: not read yet. */
  readonly options: readonly FacetOption[] | undefined;
  /** Undefined: nothing. */
  readonly selected: readonly string[] | undefined;
  readonly onChange: (selected: string[] | undefined) => void;
  /** Called when the menu is opened, so that its options can be read then. */
  readonly onOpen?: () => void;
}

interface FacetOption {
  readonly value: string;
  /** Left out or null: the value itself. */
  readonly label?: string | null;
  readonly count: number;
}

/** A menu of values with their counts, of which several can be selected. */
export function FacetMenu({ label, options, selected = [], onChange, onOpen }: FacetMenuProps) {
  // What is selected stays in the menu, even if nothing matches it now.
  const missing = selected.filter(value => !options?.some(option => option.value === value));
  const shown: FacetOption[] = [...missing.map(value => ({ value, count: 0 })), ...(options ?? [])];
  const toggle = (value: string, on: boolean) => {
    const others = selected.filter(other => other !== value);
    onChange(on ? [...others, value] : others.length > 0 ? others : undefined);
  };
  const title = selected.length > 0 ? `${label} (${selected.length})` : label;
  return (
    <Popover label={label} title={title} pressed={selected.length > 0} onOpen={onOpen}>
      {shown.length === 0 && <p className="empty">{options ? 'Nothing to select' : 'Loading'}</p>}
      {shown.map(({ value, label, count }) => (
        <label key={value} className={styles.item}>
          <input
            type="checkbox"
            checked={selected.includes(value)}
            onChange={({ target }) => toggle(value, target.checked)}
          />
          <span>{label ?? value}</span>
          <span className="muted">{count}</span>
        </label>
      ))}
    </Popover>
  );
}
