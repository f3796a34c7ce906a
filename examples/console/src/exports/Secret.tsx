import { useState } from 'react';
import { Button, Modal } from '../ui';
import styles from './Exports.module.css';

/** Shows a signing secret, which the gateway never shows again. */
export function Secret({ secret, onClose }: { secret: string; onClose: () => void }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(secret);
    setCopied(true);
  };
  return (
    <Modal title="Signing secret" close="I have stored it" onClose={onClose}>
      <div className="stack">
        <p>
          Store this secret where you receive exports. It proves that a call comes from this gateway. It is not shown
          again.
        </p>
        <code className={`panel ${styles.secret}`}>{secret}</code>
        <Button label={copied ? 'Copied' : 'Copy'} className="primary" onClick={copy} />
      </div>
    </Modal>
  );
}
