import { useFragment, useQuery } from '@apollo/client/react';
import { graphql } from '../gql';
import type { QuantityOperator } from '../gql/graphql';
import { formatTime } from '../ui/format';
import { Modal } from '../ui/Modal';
import { Problems } from '../ui/Problems';
import { Skeleton } from '../ui/Skeleton';
import { Score } from './EventRow';
import styles from './Monitor.module.css';
import { Times } from './Times';

/** The service cannot read one event, so this reads the events that were updated at the same time. */
const EventDetailDocument = graphql(`
  query EventDetail($at: DateOrDateTime!) {
    events(first: 100, filter: { from: $at, to: $at, minSeverity: 0, minLikelihood: 0 }) {
      edges {
        node {
          id
          title
          summary
          lastUpdated
          timestamps { published recordedStart recordedEnd projectedStart projectedEnd }
          alertTypes { name rationale }
          affectedDatapoints { name subject direction quantity { operator values unit } }
          impactedEntities { name impact { likelihood severity rationale } }
          references { id title url }
          ...EventSources @defer
        }
      }
    }
  }
`);

/** Each observation is a call of its own to the service: it arrives later. */
const EventSourcesDocument = graphql(`
  fragment EventSources on Event {
    id
    references { id observation { id title content sourceService publishedAt } }
  }
`);

interface EventDetailProps {
  readonly id: string;
  readonly lastUpdated: string;
  readonly onClose: () => void;
}

export default function EventDetail({ id, lastUpdated, onClose }: EventDetailProps) {
  const { data, error, loading, refetch } = useQuery(EventDetailDocument, { variables: { at: lastUpdated } });
  const event = data?.events?.edges.find(({ node }) => node.id === id)?.node;
  return (
    <Modal drawer title={event?.title ?? 'Event'} onClose={onClose}>
      <div className="stack">
        <Problems error={error} retry={refetch} />
        {!event && loading && <Skeleton lines={10} />}
        {!event && data?.events && (
          <p className="empty">There is no such event, or it was updated since: open it again from the list.</p>
        )}
        {event && (
          <>
            <p>{event.summary}</p>
            <Times timestamps={event.timestamps} lastUpdated={lastUpdated} />
            <section>
              <h2>Impact</h2>
              <ul className={styles.list}>
                {event.impactedEntities.map(({ name, impact }) => (
                  <li key={name}>
                    <Score name="Severity" value={impact?.severity} /> {name}
                    <small>
                      {' '}
                      likelihood {impact?.likelihood ?? 'unknown'}. {impact?.rationale}
                    </small>
                  </li>
                ))}
              </ul>
            </section>
            <section>
              <h2>Alerts and datapoints</h2>
              <ul className={styles.list}>
                {event.alertTypes.map(({ name, rationale }) => (
                  <li key={name}>
                    {name} <small>{rationale}</small>
                  </li>
                ))}
                {event.affectedDatapoints.map(({ name, subject, direction, quantity }) => (
                  <li key={`${name} ${subject}`}>
                    {name}{' '}
                    <small>
                      {[subject, direction?.toLowerCase(), quantity && quantityText(quantity)]
                        .filter(Boolean)
                        .join(', ')}
                    </small>
                  </li>
                ))}
              </ul>
            </section>
            <section>
              <h2>Sources</h2>
              <Sources eventId={id} titles={event.references} />
            </section>
          </>
        )}
      </div>
    </Modal>
  );
}

interface SourcesProps {
  readonly eventId: string;
  /** What is known of the sources before their observations arrive. */
  readonly titles: readonly { id: string; title: string; url: string | null }[];
}

function Sources({ eventId, titles }: SourcesProps) {
  const { data } = useFragment({ fragment: EventSourcesDocument, from: { __typename: 'Event', id: eventId } });
  return (
    <ul className={styles.list}>
      {titles.map(({ id, title, url }) => {
        const observation = data.references?.find(reference => reference?.id === id)?.observation;
        return (
          <li key={id}>
            {url ? (
              <a href={url} rel="noreferrer" target="_blank">
                {title}
              </a>
            ) : (
              title
            )}
            {observation === undefined && <Skeleton lines={2} />}
            {observation === null && <small> This source could not be read.</small>}
            {observation && (
              <small className={styles.source}>
                {observation.sourceService}, {formatTime(observation.publishedAt)}. {observation.content?.join(' ')}
              </small>
            )}
          </li>
        );
      })}
    </ul>
  );
}

const OPERATORS: Partial<Record<QuantityOperator, string>> = {
  GREATER_THAN: '> ',
  LESS_THAN: '< ',
  GREATER_THAN_OR_EQUAL: '≥ ',
  LESS_THAN_OR_EQUAL: '≤ ',
  APPROXIMATELY: '≈ ',
};

function quantityText(quantity: { operator: QuantityOperator | null; values: number[]; unit: string }): string {
  const { operator, values, unit } = quantity;
  return `${(operator && OPERATORS[operator]) ?? ''}${values.join(' to ')} ${unit}`;
}
