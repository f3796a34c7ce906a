import { socket } from './socket.js';

interface Update {
  readonly eventUpdates: { cursor: string; gap: boolean; event: { id: string; title: string | null } | null };
}

const query = 'subscription ($after: String) { eventUpdates(after: $after) { cursor gap event { id title } } }';

/** @param updatesCursor of the list that is shown. */
export function listen(updatesCursor: string, show: (event: object) => void, readAgain: () => void) {
  // graphql-ws sends this object again after each reconnect.
  const variables = { after: updatesCursor };
  return socket.subscribe<Update>(
    { query, variables },
    {
      next({ data }) {
        if (data == null) return;
        const { cursor, gap, event } = data.eventUpdates;
        if (gap) readAgain();
        if (event !== null) show(event);
        variables.after = cursor;
      },
      error: console.error,
      complete() {},
    },
  );
}
