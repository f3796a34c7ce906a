import { Modal } from './Modal';
import { Button } from './parts';

interface ConfirmProps {
  readonly title: string;
  /** What the button says. */
  readonly action: string;
  /** What will happen. */
  readonly text: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks before something that cannot be undone. The dialog is closed before `onConfirm` is called. */
export function Confirm({ title, action, text, onConfirm, onClose }: ConfirmProps) {
  const confirm = () => {
    onClose();
    onConfirm();
  };
  return (
    <Modal title={title} onClose={onClose}>
      <div className="stack">
        <p>{text}</p>
        <Button label={action} className="primary" onClick={confirm} />
      </div>
    </Modal>
  );
}
