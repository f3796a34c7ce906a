import type { Read } from '../../data/reader.js';
import type { EventQuery, EventsClient, Vectors } from './client.js';
import type { EventPage, ListPosition } from './model.js';
import { follow, readBetween, updateTime } from './tail.js';

/**
 * A page of events with the position of the list, which is read just before the page: what comes between the two is behind the position, and perhaps
 * on the page.
 */
export function positionedPage(
  client: EventsClient,
  query: EventQuery,
  page: number,
  pageSize: number,
  vectors: boolean,
): Read<EventPage, Vectors> {
  const read = client.page(query, page, pageSize, vectors);
  return {
    ...read,
    async before(fetch): Promise<ListPosition> {
      const { from, seen } = await follow(readBetween(client, query, false, fetch), undefined, Date.now());
      return { from, seen };
    },
    parse(body, position) {
      const { value, embeddings } = read.parse(body, undefined);
      return { value: { ...value, position: position as ListPosition }, embeddings };
    },
  };
}

/** What the list had before each of these pages was read, which may have been at different times. Undefined if that was not wanted. */
export function commonPosition(pages: readonly EventPage[]): ListPosition | undefined {
  const positions = pages.flatMap(({ position }) => position ?? []);
  if (positions.length < 2) return positions[0];
  const known = positions.map(({ from, seen }) => ({ from, keys: new Set(seen) }));
  const isInEach = (key: string) => known.every(({ from, keys }) => updateTime(key) < from || keys.has(key));
  const seen = new Set(positions.flatMap(position => position.seen));
  return { from: Math.min(...positions.map(({ from }) => from)), seen: [...seen].filter(isInEach) };
}
