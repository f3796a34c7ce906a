import { useReactiveVar } from '@apollo/client/react';
import { Link, Outlet } from '@tanstack/react-router';
import { oldOperations, session } from '../graphql/links';
import { type Connection, useConnection } from '../graphql/socket';
import { useRenewal } from '../monitor/keptWatches';
import { formatSpan, Heading, useNow } from '../ui';
import { Account, SignInButton } from './Account';
import styles from './Shell.module.css';
import { Shortcuts } from './Shortcuts';
import { SCREENS } from './screens';
import { useViewer } from './session';

/** The frame of every screen. A new session begins with new components, so nothing of the last user stays. */
export function Shell() {
  const number = useReactiveVar(session);
  return (
    <>
      <a className={styles.skip} href="#content">
        Skip to content
      </a>
      <header className={`row ${styles.header}`}>
        <Link to="/" className={`row ${styles.brand}`}>
          <img src="/icon.svg" alt="" width="24" height="24" />
          <span>Market intelligence</span>
        </Link>
        <nav className={styles.nav} aria-label="Screens">
          {SCREENS.map(([name, to]) => (
            <Link key={to} to={to} activeOptions={{ exact: to === '/', includeSearch: false }}>
              {name}
            </Link>
          ))}
        </nav>
        <div className={`row ${styles.tools}`}>
          {number && <Shortcuts key={number} />}
          <ConnectionBadge />
          <div className={`row ${styles.account}`}>{number && <Account key={number} />}</div>
        </div>
      </header>
      <main id="content" className={styles.main} tabIndex={-1}>
        {number && <Screen key={number} />}
      </main>
    </>
  );
}

const WORDS: Record<Exclude<Connection, 'idle'>, string> = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  refused: 'Sign in for live updates',
};

/** Whether live updates arrive, and, while the service does not respond, how old the data is: the gateway says so. Nothing if the screen has no updates. */
function ConnectionBadge() {
  const state = useConnection();
  const old = useReactiveVar(oldOperations);
  const now = useNow(old.size > 0);
  if (old.size > 0)
    return (
      <span
        className={`muted ${styles.badge}`}
        data-state="old"
        title="The service does not respond. It is tried again by itself."
      >
        Data is over {formatSpan(now - Math.min(...old.values()))} old
      </span>
    );
  if (state === 'idle') return null;
  return (
    <span className={`muted ${styles.badge}`} data-state={state} role="status">
      {WORDS[state]}
    </span>
  );
}

/** The screen of the address, unless it would have nothing to show. */
function Screen() {
  const { viewer, isKnown } = useViewer();
  useRenewal();
  if (!isKnown || viewer) return <Outlet />;
  return (
    <div className="empty stack">
      <Heading>Welcome</Heading>
      <p>Events, markets and exports are those of your account.</p>
      <div>
        <SignInButton className="primary" />
      </div>
    </div>
  );
}
