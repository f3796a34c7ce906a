import { type ReactNode, useId } from 'react';
import styles from './Popover.module.css';
import { Button } from './parts';

interface PopoverProps {
  readonly label: string;
  /** What the button says. Left out: the label. */
  readonly title?: string;
  readonly pressed?: boolean;
  readonly onOpen?: () => void;
  readonly children: ReactNode;
}

/** A button that opens what belongs to it. Escape and a click beside it close it. */
export function Popover({ label, title = label, pressed, onOpen, children }: PopoverProps) {
  const id = useId();
  return (
    <>
      <Button label={`${title} ▾`} popoverTarget={id} aria-pressed={pressed} onClick={onOpen} />
      <fieldset id={id} popover="auto" aria-label={label} className={`panel ${styles.popup}`}>
        {children}
      </fieldset>
    </>
  );
}
