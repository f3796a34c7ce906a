import { Dialog } from '@base-ui/react/dialog';
import { type ReactNode, useRef } from 'react';
import styles from './Modal.module.css';

interface ModalProps {
  readonly title: string;
  /** A drawer stands at the right edge, over the full height. */
  readonly drawer?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog that is open as long as it is rendered. Its first field, if it has one, has the focus. */
export function Modal({ title, drawer = false, onClose, children }: ModalProps) {
  const popup = useRef<HTMLDivElement>(null);
  const firstField = () => popup.current?.querySelector<HTMLElement>('input, select') ?? true;
  return (
    <Dialog.Root open onOpenChange={open => open || onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.backdrop} />
        <Dialog.Popup ref={popup} className={drawer ? styles.drawer : styles.dialog} initialFocus={firstField}>
          <header className="row">
            <Dialog.Title className={styles.title}>{title}</Dialog.Title>
            <Dialog.Close className="quiet" aria-label="Close">
              ✕
            </Dialog.Close>
          </header>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
