import { type ReactNode, type SyntheticEvent, useId, useLayoutEffect, useRef } from 'react';
import styles from './Modal.module.css';
import { Button } from './parts';

interface ModalProps {
  readonly title: string;
  /** A drawer stands at the right edge, over the full height. */
  readonly drawer?: boolean;
  /** The words of its only way out, for what is never shown again: neither Escape nor a click beside it closes it. */
  readonly close?: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog that is open as long as it is rendered. Its first field, if it has one, has the focus. It asks before it drops what was typed. */
export function Modal({ title, drawer = false, close, onClose, children }: ModalProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    element?.querySelector<HTMLElement>('input, select')?.focus();
    // The focus goes back to where it was.
    return () => element?.close();
  }, []);
  const leave = (event: SyntheticEvent) => {
    const fields = [...(dialog.current?.querySelectorAll<HTMLInputElement>('input, textarea') ?? [])];
    const isTyped = fields.some(({ type, value, defaultValue }) => type !== 'radio' && value !== defaultValue);
    event.preventDefault();
    if (!isTyped || confirm('Close without sending what you have typed?')) onClose();
  };
  return (
    <dialog
      ref={dialog}
      className={drawer ? styles.drawer : styles.dialog}
      closedby={close ? 'none' : 'any'}
      aria-labelledby={id}
      onCancel={leave}
      // No page can prevent a second Escape.
      onClose={() => dialog.current?.showModal()}
    >
      <div className="row">
        <h2 id={id} className={styles.title}>
          {title}
        </h2>
        {!close && <Button label="✕" className="quiet" aria-label="Close" onClick={leave} />}
      </div>
      <div className="stack">{children}</div>
      {close && <Button label={close} onClick={onClose} />}
    </dialog>
  );
}
