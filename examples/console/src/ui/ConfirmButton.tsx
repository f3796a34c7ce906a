import { type ComponentProps, useState } from 'react';
import { Modal } from './Modal';
import { Button } from './parts';

interface ConfirmButtonProps extends ComponentProps<typeof Button> {
  readonly title: string;
  /** What will happen. Undefined: there is nothing to ask. */
  readonly text: string | undefined;
  readonly onConfirm: () => void;
}

/** A button that asks before it does something that cannot be undone. */
export function ConfirmButton({ title, text, onConfirm, ...button }: ConfirmButtonProps) {
  const [asking, setAsking] = useState(false);
  const confirm = () => {
    setAsking(false);
    onConfirm();
  };
  return (
    <>
      <Button {...button} onClick={text ? () => setAsking(true) : onConfirm} />
      {asking && (
        <Modal title={title} onClose={() => setAsking(false)}>
          <p>{text}</p>
          <Button label={button.label} className="primary" onClick={confirm} />
        </Modal>
      )}
    </>
  );
}
