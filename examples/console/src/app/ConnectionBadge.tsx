import { type Connection, connection } from '../graphql/socket';
import { useStore } from '../ui/store';
import styles from './Shell.module.css';

const WORDS: Record<Connection, string> = {
  idle: 'Not connected',
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  refused: 'Sign in for live updates',
};

/** Whether live updates arrive. */
export function ConnectionBadge() {
  const state = useStore(connection);
  return (
    <span className={styles.badge} data-state={state} role="status">
      {WORDS[state]}
    </span>
  );
}
