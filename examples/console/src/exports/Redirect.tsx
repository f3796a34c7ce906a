import { useEffect, useState } from 'react';
import { Button, ExternalLink } from '../ui';

const SECONDS = 5;

/** Opens the page that an endpoint answers with, in a new window after five seconds, unless the user opens it before or cancels. */
export function Redirect({ url }: { url: string }) {
  const [left, setLeft] = useState(SECONDS);
  const [state, setState] = useState<'waiting' | 'open' | 'cancelled' | 'blocked'>('waiting');
  useEffect(() => {
    if (state !== 'waiting') return;
    const timer = setTimeout(() => {
      if (left > 1) return setLeft(left - 1);
      const opened = window.open(url, '_blank');
      // Not by `noopener`: that hides whether the browser has blocked the window.
      if (opened) opened.opener = null;
      setState(opened ? 'open' : 'blocked');
    }, 1_000);
    return () => clearTimeout(timer);
  }, [state, left, url]);
  const when = state === 'waiting' ? 'now' : state === 'open' ? 'again' : '';
  return (
    <p className="row" role="status">
      {state === 'waiting' && `The page of the endpoint opens in ${left} s.`}
      {state === 'blocked' && 'Your browser has blocked the window.'}
      <ExternalLink href={url} label={`Open it ${when}`} onClick={() => setState('open')} />
      {state === 'waiting' && <Button label="Cancel" onClick={() => setState('cancelled')} />}
    </p>
  );
}
