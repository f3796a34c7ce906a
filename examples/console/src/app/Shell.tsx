import { useReactiveVar } from '@apollo/client/react';
import { Link, Outlet } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { ConnectionBadge } from './ConnectionBadge';
import styles from './Shell.module.css';
import { Account, session } from './session';

const CostDrawer = lazy(() => import('../cost/CostDrawer'));

/** The frame of every screen. A new session begins with new components, so nothing of the last user stays. */
export function Shell() {
  const number = useReactiveVar(session);
  const [costOpen, setCostOpen] = useState(false);
  return (
    <>
      <a className={styles.skip} href="#content">
        Skip to content
      </a>
      <header className={styles.header}>
        <Link to="/" className={styles.brand}>
          <img src="/icon.svg" alt="" width="24" height="24" />
          <span>Market intelligence</span>
        </Link>
        <nav className={styles.nav} aria-label="Screens">
          <Link to="/" activeOptions={{ exact: true, includeSearch: false }}>
            Monitor
          </Link>
          <Link to="/discover">Discover</Link>
          <Link to="/markets">Markets</Link>
          <Link to="/exports">Exports</Link>
        </nav>
        <div className={styles.tools}>
          <ConnectionBadge />
          <button type="button" onClick={() => setCostOpen(true)}>
            Cost
          </button>
          {number && <Account key={number} />}
        </div>
      </header>
      <main id="content" className={styles.main} tabIndex={-1}>
        {number && <Outlet key={number} />}
      </main>
      {costOpen && (
        <Suspense>
          <CostDrawer onClose={() => setCostOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
