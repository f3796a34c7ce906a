import type { FragmentType } from '@apollo/client';
import { useFragment } from '@apollo/client/react';
import { graphql } from '../gql';
import type { EventRowFragment } from '../gql/graphql';
import { formatTime } from '../ui/format';
import styles from './Monitor.module.css';

const EventRowDocument = graphql(`
  fragment EventRow on Event {
    id
    title
    lastUpdated
    severity
    likelihood
    alertTypes { name }
    impactedEntities { name }
  }
`);

interface EventRowProps {
  readonly event: FragmentType<EventRowFragment>;
  readonly isNew: boolean;
  readonly open: (id: string, lastUpdated: string) => void;
}

/** One event in the feed. It shows each new version of the event as soon as the page has it. */
export function EventRow({ event, isNew, open }: EventRowProps) {
  const { data, complete } = useFragment({ fragment: EventRowDocument, from: event });
  if (!complete) return null;
  const { id, title, lastUpdated, severity, likelihood, alertTypes, impactedEntities } = data;
  return (
    <li className={styles.event} data-new={isNew || undefined}>
      <Score name="Severity" value={severity} />
      <button
        type="button"
        className={styles.title}
        disabled={!lastUpdated}
        onClick={() => lastUpdated && open(id, lastUpdated)}
      >
        {title ?? 'Event without a title'}
      </button>
      <small className={styles.facts}>
        {formatTime(lastUpdated)} · likelihood {likelihood ?? 'unknown'}
        {[...alertTypes, ...impactedEntities].slice(0, 4).map(({ name }) => ` · ${name}`)}
      </small>
    </li>
  );
}

/** A score from 0 to 3 as a colored number. */
export function Score({ name, value }: { name: string; value: number | null | undefined }) {
  return (
    <span className={styles.score} data-severity={value ?? 0} title={`${name} ${value ?? 'unknown'}`}>
      <span className="hidden">{name} </span>
      {value ?? '?'}
    </span>
  );
}
