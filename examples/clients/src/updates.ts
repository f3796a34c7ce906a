import { socket } from './socket.js';

interface Update {
  readonly eventUpdates: { gap: boolean; event: { id: string; title: string | null } | null };
}

// `socket.ts` continues behind `cursor`.
const query = 'subscription ($after: String) { eventUpdates(after: $after) { cursor gap event { id title } } }';

/** @param updatesCursor of the list that is shown. */
export function listen(updatesCursor: string, show: (event: object) => void, readAgain: () => void) {
  return socket.subscribe<Update>(
    { query, variables: { after: updatesCursor } },
    {
      next({ data }) {
        if (data == null) return;
        const { gap, event } = data.eventUpdates;
        if (gap) readAgain();
        if (event !== null) show(event);
      },
      error: console.error,
      complete() {},
    },
  );
}
