import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import styles from './Modal.module.css';
import { Button } from './parts';

interface ModalProps {
  readonly title: string;
  /** A drawer stands at the right edge, over the full height. */
  readonly drawer?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog that is open as long as it is rendered. Its first field, if it has one, has the focus. */
export function Modal({ title, drawer = false, onClose, children }: ModalProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    element?.querySelector<HTMLElement>('input, select')?.focus();
    // The focus goes back to where it was.
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={drawer ? styles.drawer : styles.dialog}
      closedby="any"
      aria-labelledby={id}
      onCancel={onClose}
    >
      <header className="row">
        <h2 id={id} className={styles.title}>
          {title}
        </h2>
        <Button label="✕" className="quiet" aria-label="Close" onClick={onClose} />
      </header>
      {children}
    </dialog>
  );
}
