import type { EventQuery } from './client.js';
import { belongs } from './impact.js';
import type { CompanyEvents, EventWindow, ReadPage, ReadWindow } from './loaders.js';

const largestPage = 100;
/** How long the names of one call may be in its address. */
const longestNames = 6_000;

/**
 * The first events of many entities, each exactly as a call of its own would give them, in as few calls as that takes. The names that are asked
 * for alike go into one call, since the service combines them with OR (spec.md: GET events, rule 1), and its events are told apart by the
 * entities they name. Whatever cannot be told apart for certain is asked for by itself.
 */
export async function shareCalls(
  asked: readonly CompanyEvents[],
  page: ReadPage,
  window: ReadWindow,
): Promise<(EventWindow | Error)[]> {
  const own = ({ name, query, first, vectors }: CompanyEvents) => window(named(query, [name]), 0, first, vectors);
  const found = new Map<CompanyEvents, Promise<EventWindow>>();
  for (const group of groupsOf(asked)) {
    const shared = group.length > 1 ? sharedWindows(group, page) : Promise.resolve(nothing);
    for (const one of group)
      found.set(
        one,
        shared.then(windows => windows.get(one) ?? own(one)),
      );
  }
  return Promise.all(asked.map(async one => (await found.get(one)?.catch(asError)) ?? new Error('Not asked for')));
}

type Group = readonly [CompanyEvents, ...CompanyEvents[]];
type Windows = ReadonlyMap<CompanyEvents, EventWindow>;

const nothing: Windows = new Map();

/** What can be told for certain from calls for all names of the group together; the rest is missing. */
async function sharedWindows(group: Group, page: ReadPage): Promise<Windows> {
  const [{ query, first, vectors }] = group;
  const together = named(
    query,
    group.map(({ name }) => name),
  );
  const firstPage = await page(together, 1, largestPage, vectors);
  const pageCount = Math.ceil(firstPage.totalItems / largestPage);
  if (pageCount > group.length) return nothing;

  const numbers = Array.from({ length: Math.max(pageCount - 1, 0) }, (_, index) => index + 2);
  const pages = [
    firstPage,
    ...(await Promise.all(numbers.map(number => page(together, number, largestPage, vectors)))),
  ];
  const events = pages.flatMap(each => each.events);
  // A list that changed between two calls, or lost a record, does not add up.
  const addsUp = new Set(events.map(({ id }) => id)).size === firstPage.totalItems;
  if (!addsUp || !pages.every(each => each.totalItems === firstPage.totalItems)) return nothing;
  // A name that the service matched in a way of its own: then names tell nothing.
  if (!events.every(event => group.some(({ name }) => belongs(event, name, query) !== 'no'))) return nothing;

  const windows = new Map<CompanyEvents, EventWindow>();
  for (const one of group) {
    const candidates = events.map(event => ({ event, belonging: belongs(event, one.name, query) }));
    if (candidates.some(({ belonging }) => belonging === 'unclear')) continue;
    const its = candidates.flatMap(({ event, belonging }) => (belonging === 'yes' ? [event] : []));
    const { unfilteredTotalItems } = firstPage;
    windows.set(one, { events: its.slice(0, first), totalItems: its.length, unfilteredTotalItems });
  }
  return windows;
}

/** Those asked for alike, as many together as one address holds. */
function groupsOf(asked: readonly CompanyEvents[]): Group[] {
  const open = new Map<string, { group: [CompanyEvents, ...CompanyEvents[]]; length: number }>();
  const groups: Group[] = [];
  for (const one of asked) {
    const likeness = JSON.stringify([one.query, one.first, one.vectors]);
    const length = encodeURIComponent(`${one.name},`).length;
    const last = open.get(likeness);
    if (last !== undefined && last.length + length <= longestNames) {
      last.group.push(one);
      last.length += length;
    } else {
      const group: [CompanyEvents] = [one];
      open.set(likeness, { group, length });
      groups.push(group);
    }
  }
  return groups;
}

const named = (query: EventQuery, names: readonly string[]): EventQuery => ({ ...query, impactedEntity: names });

const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));
