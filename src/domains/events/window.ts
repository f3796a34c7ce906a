import { largestPage } from '../../graphql/input.js';
import type { EventQuery } from './client.js';
import type { Event, EventPage } from './model.js';

/** A range of the event list, and the size of the list. */
export interface EventWindow {
  /** Null in place of an event that could not be parsed. */
  readonly events: readonly (Event | null)[];
  readonly totalItems: number;
  readonly unfilteredTotalItems: number | null;
}

/** Reads one page of the event list. */
export type ReadPage = (query: EventQuery, page: number, pageSize: number, vectors: boolean) => Promise<EventPage>;

/** Reads a range of the event list. */
export type ReadWindow = (query: EventQuery, offset: number, first: number, vectors: boolean) => Promise<EventWindow>;

/** One page of the service that holds a part of a window. */
export interface PagePart {
  readonly page: number;
  readonly pageSize: number;
  /** How many items at the start of the page precede the window. */
  readonly skip: number;
}

/**
 * The pages that hold items `offset` to `offset + first` of the list: the smallest single page that holds them all, otherwise two neighbors.
 * @param first 1 to 100.
 */
export function pagesFor(offset: number, first: number): readonly PagePart[] {
  for (let pageSize = first; pageSize <= largestPage; pageSize += 1) {
    const skip = offset % pageSize;
    if (skip + first <= pageSize) return [{ page: (offset - skip) / pageSize + 1, pageSize, skip }];
  }
  const skip = offset % first;
  const page = (offset - skip) / first + 1;
  return [
    { page, pageSize: first, skip },
    { page: page + 1, pageSize: first, skip: 0 },
  ];
}
