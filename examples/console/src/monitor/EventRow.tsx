import type { FragmentType } from '@apollo/client';
import { useFragment } from '@apollo/client/react';
import { graphql } from '../gql';
import type { EventRowFragment } from '../gql/graphql';
import { Button, Time } from '../ui';
import styles from './Monitor.module.css';

const EventRowDocument = graphql(`
  fragment EventRow on Event {
    nodeId id title lastUpdated severity likelihood
    alertTypes { name }
    impactedEntities { name }
  }
`);

/** A version of an event in a list. */
export type Row = { nodeId: string; id: string; lastUpdated: string | null } & FragmentType<EventRowFragment>;

interface EventRowProps {
  readonly event: Row;
  /** What a live update has made of it. */
  readonly mark: 'new' | 'updated' | undefined;
  readonly open: () => void;
}

/** One event in the feed. */
export function EventRow({ event, mark, open }: EventRowProps) {
  const { data, complete } = useFragment({ fragment: EventRowDocument, from: event });
  if (!complete) return null;
  const { title, lastUpdated, severity, likelihood, alertTypes, impactedEntities } = data;
  const namesOf = (list: readonly { name: string }[]) => list.map(({ name }) => name).join(', ');
  return (
    <li className={styles.event} data-mark={mark}>
      <Score name="Severity" value={severity} />
      <span data-wide="">
        <Score name="Likelihood" value={likelihood} />
      </span>
      <Button label={title ?? 'Event without a title'} className={`link cover ${styles.title}`} onClick={open} />
      <small>{namesOf(alertTypes)}</small>
      <small data-wide="">{namesOf(impactedEntities)}</small>
      <small>
        {mark} <Time at={lastUpdated} />
      </small>
    </li>
  );
}

/** Gives an element the color of a severity, as `--severity`. */
export const severityColor = (severity: number | null | undefined) => ({
  '--severity': `var(--severity-${severity ?? 0})`,
});

/** A score from 0 to 3. That of the severity has its color. */
export function Score({ name, value }: { name: 'Severity' | 'Likelihood'; value: number | null | undefined }) {
  return (
    <span
      className={styles.score}
      style={name === 'Severity' ? severityColor(value) : undefined}
      title={`${name} ${value ?? 'unknown'}`}
    >
      <span className="hidden">{name} </span>
      {value ?? '?'}
    </span>
  );
}
