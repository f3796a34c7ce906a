import { Menu } from '@base-ui/react/menu';
import styles from './FacetList.module.css';
import { type FacetMenuProps, facetTitle } from './FacetMenu';

/** The part of a `FacetMenu` that is loaded when it is opened first. */
export default function FacetList(props: FacetMenuProps) {
  const { options = [], selected = [], onChange, onOpen } = props;
  // What is selected stays in the menu, even if nothing matches it now.
  const missing = selected.filter(value => !options.some(option => option.value === value));
  const toggle = (value: string, on: boolean) => {
    const others = selected.filter(other => other !== value);
    onChange(on ? [...others, value] : others.length > 0 ? others : undefined);
  };
  return (
    <Menu.Root defaultOpen onOpenChange={open => open && onOpen?.()}>
      <Menu.Trigger aria-pressed={selected.length > 0}>{facetTitle(props)} ▾</Menu.Trigger>
      <Menu.Portal container={document.getElementById('content')}>
        <Menu.Positioner className={styles.positioner} sideOffset={4} align="start">
          <Menu.Popup className={`panel ${styles.popup}`}>
            {options.length + missing.length === 0 && (
              <p className="empty">{props.options ? 'Nothing to select' : 'Loading'}</p>
            )}
            {[...missing.map(value => ({ value, label: value, count: 0 })), ...options].map(
              ({ value, label, count }) => (
                <Menu.CheckboxItem
                  key={value}
                  className={styles.item}
                  checked={selected.includes(value)}
                  onCheckedChange={on => toggle(value, on)}
                  closeOnClick={false}
                >
                  <span>
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
