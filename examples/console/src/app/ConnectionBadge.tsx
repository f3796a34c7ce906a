import { useReactiveVar } from '@apollo/client/react';
import { type Connection, connection } from '../graphql/socket';
import styles from './Shell.module.css';

const WORDS: Record<Exclude<Connection, 'idle'>, string> = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  refused: 'Sign in for live updates',
};

/** Whether live updates arrive. Nothing if the screen has none. */
export function ConnectionBadge() {
  const state = useReactiveVar(connection);
  if (state === 'idle') return null;
  return (
    <span className={`muted ${styles.badge}`} data-state={state} role="status">
      {WORDS[state]}
    </span>
  );
}
