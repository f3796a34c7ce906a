import type { FragmentType } from '@apollo/client';
import { useSubscription } from '@apollo/client/react';
import { graphql } from '../gql';
import type { EventFilter, EventRowFragment } from '../gql/graphql';
import { errorCode, isRetryable } from '../graphql/errors';
import { connection } from '../graphql/socket';

const EventUpdatesDocument = graphql(`
  subscription EventUpdates($filter: EventFilter, $after: String) {
    eventUpdates(filter: $filter, after: $after) {
      cursor
      gap
      event { id ...EventRow }
    }
  }
`);

interface Listener {
  readonly onEvent: (event: { id: string } & FragmentType<EventRowFragment>) => void;
  /** Updates may be missing: read the list again. */
  readonly onGap: () => void;
}

/** Follows the events of a filter. After a lost connection it continues where it was: see `resumes` in `graphql/links.ts`. */
export function useEventUpdates(filter: EventFilter, { onEvent, onGap }: Listener): void {
  const { restart } = useSubscription(EventUpdatesDocument, {
    variables: { filter },
    ignoreResults: true,
    onData({ data: { data } }) {
      const update = data?.eventUpdates;
      if (update?.gap) onGap();
      if (update?.event) onEvent(update.event);
    },
    onError(error) {
      if (errorCode(error) === 'UNAUTHENTICATED') connection('refused');
      else if (isRetryable(error)) setTimeout(restart, 5_000);
    },
  });
}
