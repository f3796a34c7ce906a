import { useFragment, useQuery } from '@apollo/client/react';
import { Link } from '@tanstack/react-router';
import { graphql } from '../gql';
import type { EventDetailQuery } from '../gql/graphql';
import { Button, ExternalLink, Facts, formatTime, Modal, Problems, Skeleton, words } from '../ui';
import { Score } from './EventRow';
import styles from './Monitor.module.css';
import type { EventSearch } from './search';

/** The service cannot read one event, so this reads the events that were updated at the same time. */
const EventDetailDocument = graphql(`
  query EventDetail($at: DateOrDateTime!) {
    events(first: 100, filter: { from: $at, to: $at, severity: null, likelihood: null }) {
      edges {
        node {
          id title summary
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

type Event = NonNullable<EventDetailQuery['events']>['edges'][number]['node'];

interface EventDetailProps {
  readonly id: string;
  readonly lastUpdated: string;
  /** Show the events beside this one. Undefined: there is none. */
  readonly previous: (() => void) | undefined;
  readonly next: (() => void) | undefined;
  readonly onClose: () => void;
}

export function EventDetail({ id, lastUpdated, previous, next, onClose }: EventDetailProps) {
  const { data, error, loading, refetch } = useQuery(EventDetailDocument, { variables: { at: lastUpdated } });
  const event = data?.events?.edges.find(({ node }) => node.id === id)?.node;
  return (
    <Modal drawer title={event?.title ?? 'Event'} onClose={onClose}>
      <div className="stack">
        <div className="row">
          <Button label="← Previous" disabled={!previous} onClick={previous} />
          <Button label="Next →" disabled={!next} onClick={next} />
        </div>
        <Problems error={error} retry={refetch} />
        {!event && loading && <Skeleton lines={10} />}
        {!event && data?.events && <p className="empty">This event has changed since. Open it again from the list.</p>}
        {event && <Content event={event} lastUpdated={lastUpdated} />}
      </div>
    </Modal>
  );
}

function Content({ event, lastUpdated }: { event: Event; lastUpdated: string }) {
  const { published, recordedStart, recordedEnd, projectedStart, projectedEnd } = event.timestamps;
  const rankOf = ({ impact }: Event['impactedEntities'][number]) =>
    (impact?.severity ?? -1) * 10 + (impact?.likelihood ?? -1);
  const facts = {
    Happened: spanOf(recordedStart, recordedEnd),
    Expected: spanOf(projectedStart, projectedEnd),
    Published: published && formatTime(published),
    Updated: formatTime(lastUpdated),
  };
  return (
    <>
      <p>{event.summary}</p>
      <Facts facts={facts} />
      <section aria-label="Impact">
        <h2>Impact</h2>
        <ul className="stack">
          {event.impactedEntities
            .toSorted((a, b) => rankOf(b) - rankOf(a) || a.name.localeCompare(b.name))
            .map(({ name, impact }) => (
              <li key={name} className={styles.impact}>
                <Score name="Severity" value={impact?.severity} />
                <Score name="Likelihood" value={impact?.likelihood} />
                <Named filter={{ impactedEntities: [name] }} name={name} text={impact?.rationale} />
              </li>
            ))}
        </ul>
      </section>
      <section>
        <h2>Alerts and datapoints</h2>
        <ul className="stack">
          {event.alertTypes.map(({ name, rationale }) => (
            <li key={name}>
              <Named filter={{ alertTypes: [name] }} name={name} text={rationale} />
            </li>
          ))}
          {event.affectedDatapoints.map(datapoint => (
            <li key={`${datapoint.name} ${datapoint.subject}`}>
              <Named
                filter={{ affectedDatapoints: [datapoint.name] }}
                name={datapoint.name}
                text={changeOf(datapoint)}
              />
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h2>Sources</h2>
        <Sources event={event} />
      </section>
    </>
  );
}

/** A name that leads to the other events that have it, and what is said of it here. */
function Named({ filter, name, text }: { filter: EventSearch; name: string; text: string | null | undefined }) {
  return (
    <span>
      <Link to="/" search={filter} title={`Show the events with ${name}`}>
        {name}
      </Link>{' '}
      <small>{text}</small>
    </span>
  );
}

function Sources({ event }: { event: Event }) {
  const { data } = useFragment({ fragment: EventSourcesDocument, from: { __typename: 'Event', id: event.id } });
  return (
    <ul className="stack">
      {event.references.map(({ id, title, url }) => {
        const observation = data.references?.find(reference => reference?.id === id)?.observation;
        const { sourceService, publishedAt, content } = observation ?? {};
        return (
          <li key={id}>
            {url ? <ExternalLink href={url} label={title} /> : title}
            {observation === undefined && <Skeleton lines={2} />}
            {observation === null && <small> This source could not be read.</small>}
            {observation && <br />}
            {observation && (
              <small>
                {words(sourceService ?? '')} · {formatTime(publishedAt)}. {content?.join(' ')}
              </small>
            )}
          </li>
        );
      })}
    </ul>
  );
}

const DIRECTIONS = { UP: 'rises', DOWN: 'falls', FLUCTUATE: 'rises and falls', UNKNOWN: '' };
const LIMITS = {
  GREATER_THAN: 'more than ',
  LESS_THAN: 'less than ',
  GREATER_THAN_OR_EQUAL: 'at least ',
  LESS_THAN_OR_EQUAL: 'at most ',
  APPROXIMATELY: 'about ',
  EQUAL: '',
  RANGE: '',
};

/** `Copper, rises, more than 12 %`. */
function changeOf({ subject, direction, quantity }: Event['affectedDatapoints'][number]): string {
  const { operator, values = [], unit = '' } = quantity ?? {};
  const size = quantity && `${operator ? LIMITS[operator] : ''}${values.join(' to ')} ${unit}`;
  return [subject, direction && DIRECTIONS[direction], size].filter(Boolean).join(', ');
}

/** A time or two, as text. Empty if neither is known. */
const spanOf = (start: string | null, end: string | null) =>
  [...new Set([start, end])].flatMap(time => (time ? formatTime(time) : [])).join(' to ');
