import { Menu } from '@base-ui/react/menu';
import styles from './FacetList.module.css';
import { type FacetMenuProps, facetTitle } from './FacetMenu';

/** The part of a `FacetMenu` that is loaded when it is opened first. */
export default function FacetList(props: FacetMenuProps) {
  const { options, selected, onChange, onOpen } = props;
  // What is selected stays in the menu, even if nothing matches it now.
  const missing = selected.filter(value => !options.some(option => option.value === value));
  const toggle = (value: string, on: boolean) =>
    onChange(on ? [...selected, value] : selected.filter(other => other !== value));
  return (
    <Menu.Root defaultOpen onOpenChange={open => open && onOpen?.()}>
      <Menu.Trigger aria-pressed={selected.length > 0}>{facetTitle(props)} ▾</Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className={styles.positioner} sideOffset={4} align="start">
          <Menu.Popup className={styles.popup}>
            {options.length + missing.length === 0 && <p className="empty">Nothing to select</p>}
            {[...missing.map(value => ({ value, label: value, count: 0 })), ...options].map(
              ({ value, label, count }) => (
                <Menu.CheckboxItem
                  key={value}
                  className={styles.item}
                  checked={selected.includes(value)}
                  onCheckedChange={on => toggle(value, on)}
                  closeOnClick={false}
                >
                  <span className={styles.mark}>
                    <Menu.CheckboxItemIndicator>✓</Menu.CheckboxItemIndicator>
                  </span>
                  <span>{label ?? value}</span>
                  <span className="muted">{count}</span>
                </Menu.CheckboxItem>
              ),
            )}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
