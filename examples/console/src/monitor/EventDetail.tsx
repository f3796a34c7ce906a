import { useFragment, useQuery } from '@apollo/client/react';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { graphql } from '../gql';
import type { EventContentFragment as Event } from '../gql/graphql';
import { Button, ExternalLink, Facts, Modal, Problems, Skeleton, Time, useLast, words } from '../ui';
import { type Row, Score } from './EventRow';
import styles from './Monitor.module.css';
import { type EventSearch, useEventSearch } from './search';

/** A version is found at once, an event alone only by a search. What was updated since comes in its newest version. */
const EventDetailDocument = graphql(`
  query EventDetail($id: ID!, $version: ID!, $isVersion: Boolean!) {
    node(nodeId: $version) @include(if: $isVersion) { ... on Event { nodeId ...EventContent } }
    event(id: $id) @skip(if: $isVersion) { nodeId ...EventContent }
  }
`);

const EventContentDocument = graphql(`
  fragment EventContent on Event {
    nodeId id title summary lastUpdated
    timestamps { published recordedStart recordedEnd projectedStart projectedEnd }
    alertTypes { name rationale }
    affectedDatapoints { name subject direction quantity { operator values unit } }
    impactedEntities { name impact { likelihood severity rationale } }
    references { id title url }
    ...EventSources @defer
  }
`);

/** Each observation is a call of its own to the service: it arrives later. */
const EventSourcesDocument = graphql(`
  fragment EventSources on Event {
    nodeId
    references { id observation { id title content sourceService publishedAt } }
  }
`);

/** An event in the version that was opened, with the ways to a newer one and to those beside it in the list. @param end reads more rows once it is seen */
export function EventDetail({ id, rows, end }: { id: string; rows: readonly Row[]; end: ReactNode }) {
  const { search, change } = useEventSearch();
  const { version } = search;
  const { data, error, loading, refetch } = useQuery(EventDetailDocument, {
    variables: { id, version: version ?? '', isVersion: version !== undefined },
  });
  const from = data?.event ?? (data?.node?.__typename === 'Event' ? data.node : null);
  const read = useFragment({ fragment: EventContentDocument, fragmentName: 'EventContent', from });
  const event = useLast(read.complete ? read.data : null);
  const place = rows.findIndex(row => row.id === id);
  const newest = rows[place];
  const isOld = event && newest && Date.parse(newest.lastUpdated ?? '') > Date.parse(event.lastUpdated ?? '');
  /** Takes the place in the history, too, so that Back closes the details. */
  const show = (row: Row | undefined) => change({ event: row?.id, version: row?.nodeId }, true);
  const [previous, next] = place < 0 ? [] : [rows[place - 1], rows[place + 1]];
  return (
    <Modal drawer title={event?.title ?? 'Event'} onClose={() => show(undefined)}>
      <div className={`stack ${styles.detail}`}>
        <div className="row">
          <Button label="← Previous" aria-keyshortcuts="k" disabled={!previous} onClick={() => show(previous)} />
          <Button label="Next →" aria-keyshortcuts="j" disabled={!next} onClick={() => show(next)} />
          {newest && !next && end}
        </div>
        <Problems error={error} retry={refetch} />
        {!event && loading && <Skeleton lines={10} />}
        {isOld && (
          <div className="problems" role="status">
            <p>There is a newer version of this event.</p>
            <Button label="Show it" onClick={() => show(newest)} />
          </div>
        )}
        {event && <Content event={event} />}
      </div>
    </Modal>
  );
}

function Content({ event }: { event: Event }) {
  const { published, recordedStart, recordedEnd, projectedStart, projectedEnd } = event.timestamps;
  const rankOf = ({ impact }: Event['impactedEntities'][number]) =>
    (impact?.severity ?? -1) * 10 + (impact?.likelihood ?? -1);
  const facts = {
    Happened: spanOf(recordedStart, recordedEnd),
    Expected: spanOf(projectedStart, projectedEnd),
    Published: published && <Time at={published} />,
    Updated: <Time at={event.lastUpdated} />,
  };
  return (
    <>
      <p>{event.summary}</p>
      <Facts facts={facts} />
      <section aria-label="Impact">
        <h2>
          Impact <small>severity, likelihood</small>
        </h2>
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

/** A name that leads to the other events of these days that have it, and what is said of it here. */
function Named({ filter, name, text }: { filter: EventSearch; name: string; text: string | null | undefined }) {
  const { search } = useEventSearch();
  return (
    <span>
      <Link to="/" search={{ ...filter, days: search.days }} title={`Show the events with ${name}`}>
        {name}
      </Link>{' '}
      <small>{text}</small>
    </span>
  );
}

function Sources({ event }: { event: Event }) {
  const { data } = useFragment({ fragment: EventSourcesDocument, from: { __typename: 'Event', nodeId: event.nodeId } });
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
                {words(sourceService ?? '')} · <Time at={publishedAt} />. {content?.join(' ')}
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

/** A time or two. Nothing if neither is known. */
const spanOf = (start: string | null, end: string | null) =>
  (start || end) && (
    <>
      <Time at={start ?? end} />
      {start && end && start !== end && [' to ', <Time key="end" at={end} />]}
    </>
  );
