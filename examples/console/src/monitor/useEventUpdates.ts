import { useQuery, useSubscription } from '@apollo/client/react';
import { useState } from 'react';
import { graphql } from '../gql';
import type { EventFilter, EventUpdateKind } from '../gql/graphql';
import { errorsIn, RETRY_MS } from '../graphql/errors';
import type { Row } from './EventRow';

const EventUpdatesDocument = graphql(`
  subscription EventUpdates($filter: EventFilter, $after: String) {
    eventUpdates(filter: $filter, after: $after) {
      cursor gap kind
      event { nodeId id lastUpdated ...EventRow }
    }
  }
`);

/** A subscription is silent without news and without a service: this hears of the second. */
const EventServiceDocument = graphql(
  `query EventService($filter: EventFilter) { events(first: 1, filter: $filter) { totalCount } }`,
);

/**
 * Follows the events of a filter behind a list of them, by its `updatesCursor`: no update between is lost. After a lost connection it continues
 * where it was: see `resumes` in `graphql/links.ts`. `onGap`: updates may be missing, read the list again. @returns why there are no updates
 */
export function useEventUpdates(
  filter: EventFilter,
  after: string | undefined,
  { onEvent, onGap }: { onEvent: (event: Row, kind: EventUpdateKind | null) => void; onGap: () => void },
) {
  useQuery(EventServiceDocument, { variables: { filter }, fetchPolicy: 'no-cache', pollInterval: RETRY_MS });
  const [failure, setFailure] = useState<{ after: string | undefined; error: Error }>();
  useSubscription(EventUpdatesDocument, {
    variables: { filter, after },
    skip: after === undefined,
    ignoreResults: true,
    onData({ data: { data } }) {
      const update = data?.eventUpdates;
      if (update?.gap) onGap();
      if (update?.event) onEvent(update.event, update.kind);
    },
    onError(error) {
      setFailure({ after, error });
      // Not at once, for the next cursor can be refused, too.
      if (errorsIn(error).some(({ argument }) => argument === 'after')) setTimeout(onGap, RETRY_MS);
    },
  });
  return failure?.after === after ? failure?.error : undefined;
}
