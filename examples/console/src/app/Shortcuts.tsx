import { lazy, Suspense, useEffect, useState } from 'react';
import { Button, Facts, loadPart, Modal } from '../ui';

const Palette = lazy(() => loadPart(() => import('./Palette')).then(({ Palette }) => ({ default: Palette })));

const HELP = {
  'Ctrl K': 'Go to a screen, a market, or a company of the market',
  '/': 'Search',
  j: 'Next row or event',
  k: 'Previous row or event',
  Enter: 'Open the row',
  Escape: 'Close',
  '?': 'Show these keys',
};

/** The keys that work on every screen, and buttons for those who do not know them. */
export function Shortcuts() {
  const [open, setOpen] = useState<'help' | 'palette'>();
  const close = () => setOpen(undefined);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, target } = event;
      const isTyping = target instanceof Element && target.matches('textarea, select, input:not([type=checkbox])');
      if ((ctrlKey || metaKey) && key === 'k') setOpen('palette');
      else if (isTyping || ctrlKey || metaKey || altKey) return;
      else if (key === '?') setOpen('help');
      else if (key === '/') document.querySelector<HTMLElement>('main [type=search]')?.focus();
      else if (key === 'j' || key === 'k') move(key);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <>
      <Button label="Go to" aria-keyshortcuts="Control+K" onClick={() => setOpen('palette')} />
      <Button label="?" title="Keys" aria-label="Keys" className="quiet" onClick={() => setOpen('help')} />
      {open === 'help' && (
        <Modal title="Keys" onClose={close}>
          <Facts facts={HELP} />
        </Modal>
      )}
      <Suspense>{open === 'palette' && <Palette onClose={close} />}</Suspense>
    </>
  );
}

/** Goes to the next or the previous row of a list, or to what an open dialog offers for the key. */
function move(key: 'j' | 'k'): void {
  const dialog = document.querySelector('dialog[open]');
  dialog?.querySelector<HTMLElement>(`[aria-keyshortcuts=${key}]`)?.click();
  if (dialog) return;
  const rows = [...document.querySelectorAll<HTMLElement>('main .cover')];
  const at = rows.findIndex(row => row.closest('li, tr')?.contains(document.activeElement));
  rows[key === 'j' ? at + 1 : at - 1]?.focus();
}
