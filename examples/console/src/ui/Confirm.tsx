import type { ReactNode } from 'react';
import { Modal } from './Modal';

interface ConfirmProps {
  readonly title: string;
  /** What the button says. */
  readonly action: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  /** What will happen. */
  readonly children: ReactNode;
}

/** Asks before something that cannot be undone. The dialog is closed before `onConfirm` is called. */
export function Confirm({ title, action, onConfirm, onClose, children }: ConfirmProps) {
  const confirm = () => {
    onClose();
    onConfirm();
  };
  return (
    <Modal title={title} onClose={onClose}>
      <div className="stack">
        <p>{children}</p>
        <button type="button" className="primary" onClick={confirm}>
          {action}
        </button>
      </div>
    </Modal>
  );
}
