import type { FragmentType } from '@apollo/client';
import { useSubscription } from '@apollo/client/react';
import { graphql } from '../gql';
import type { EventFilter, EventRowFragment } from '../gql/graphql';
import { isRetryable } from '../graphql/errors';

const EventUpdatesDocument = graphql(`
  subscription EventUpdates($filter: EventFilter, $after: String) {
    eventUpdates(filter: $filter, after: $after) {
      cursor gap
      event { id lastUpdated ...EventRow }
    }
  }
`);

interface Listener {
  readonly onEvent: (event: { id: string; lastUpdated: string | null } & FragmentType<EventRowFragment>) => void;
  /** Updates may be missing: read the list again. */
  readonly onGap: () => void;
}

/**
 * Follows the events of a filter behind a list of them, by its `updatesCursor`: no update between is lost. After a lost connection it continues
 * where it was: see `resumes` in `graphql/links.ts`.
 */
export function useEventUpdates(filter: EventFilter, after: string | undefined, { onEvent, onGap }: Listener): void {
  const { restart } = useSubscription(EventUpdatesDocument, {
    variables: { filter, after },
    skip: after === undefined,
    ignoreResults: true,
    onData({ data: { data } }) {
      const update = data?.eventUpdates;
      if (update?.gap) onGap();
      if (update?.event) onEvent(update.event);
    },
    onError(error) {
      if (isRetryable(error)) setTimeout(restart, 5_000);
    },
  });
}
