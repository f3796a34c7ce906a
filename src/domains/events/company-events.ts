import { largestPage } from '../../graphql/input.js';
import type { EventQuery } from './client.js';
import { type Belonging, belongs } from './impact.js';
import type { Event } from './model.js';
import type { EventWindow, ReadPage, ReadWindow } from './window.js';

/** One company's part of the event list, as a field asks for it. */
export interface CompanyEvents {
  readonly name: string;
  readonly query: EventQuery;
  readonly first: number;
  readonly vectors: boolean;
}

/** How long the names of one call may be in its address. */
const longestNames = 6_000;

/**
 * The first events of many entities, each exactly as a call of its own would give them, in as few calls as that takes: at most one call
 * per group asked for alike more than asking separately, as long as every score is known and the list holds still. The names of a group
 * go into one call, since the service combines them with OR (docs/upstream-api.md: GET events, 1), and its events are told apart by the entities
 * they name. Whatever cannot be told apart for certain is asked for by itself.
 */
export async function shareCalls(
  asked: readonly CompanyEvents[],
  page: ReadPage,
  window: ReadWindow,
): Promise<(EventWindow | Error)[]> {
  const own: Own = ({ name, query, first, vectors }) => window(named(query, [name]), 0, first, vectors);
  const found = new Map<CompanyEvents, Promise<EventWindow>>();
  for (const group of groupsOf(asked)) {
    const shared = group.length > 1 ? sharedWindows(group, page, own) : Promise.resolve(nothing);
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
/** A call for one entity alone. */
type Own = (one: CompanyEvents) => Promise<EventWindow>;

const nothing: Windows = new Map();

/** What can be told for certain from calls for all names of the group together; the rest is missing. */
async function sharedWindows(group: Group, page: ReadPage, own: Own): Promise<Windows> {
  const [{ query, vectors }] = group;
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
  const events = pages.flatMap(each => each.events.filter(event => event !== null));
  // A list that changed between two calls, or lost a record, does not add up.
  const addsUp = new Set(events.map(({ id }) => id)).size === firstPage.totalItems;
  if (!addsUp || !pages.every(each => each.totalItems === firstPage.totalItems)) return nothing;
  // A name that the service matched in a way of its own: then names tell nothing.
  const names = new Set(group.map(({ name }) => name));
  if (!events.every(event => event.impactedEntities.some(({ name }) => names.has(name)))) return nothing;
  return toldApart(group, events, firstPage.unfilteredTotalItems, own);
}

/** What one entity would be given under each way to read the specification: name and scores in one impacted entity, or in any two. */
interface Candidate {
  readonly one: CompanyEvents;
  readonly inOne: EventWindow;
  readonly inAny: EventWindow;
}

/** Tells the events of a group apart. Where that takes knowing how the service reads its filters, one call for one of them finds out for all. */
async function toldApart(
  group: Group,
  events: readonly Event[],
  unfilteredTotalItems: number | null,
  own: Own,
): Promise<Windows> {
  const listed = byName(events);
  const candidates = group.flatMap((one): Candidate[] => {
    const named = listed.get(one.name) ?? [];
    const belongings = named.map(event => belongs(event, one.name, one.query));
    if (belongings.includes('unclear')) return [];
    const those = (...accepted: readonly Belonging[]): EventWindow => {
      const its = named.filter((_, index) => accepted.includes(belongings[index] ?? 'no'));
      return { events: its.slice(0, one.first), totalItems: its.length, unfilteredTotalItems };
    };
    return [{ one, inOne: those('yes'), inAny: those('yes', 'by reading') }];
  });
  const isOpen = ({ inOne, inAny }: Candidate) => inOne.totalItems !== inAny.totalItems;
  const certain = new Map(candidates.flatMap(each => (isOpen(each) ? [] : [[each.one, each.inOne] as const])));

  const probe = candidates.find(isOpen);
  if (probe === undefined) return certain;
  const truth = await own(probe.one).catch(() => undefined);
  const reading = (['inOne', 'inAny'] as const).find(each => truth !== undefined && alike(probe[each], truth));
  return reading === undefined ? certain : new Map(candidates.map(each => [each.one, each[reading]]));
}

/** The events under each name that they bear, in their order. */
function byName(events: readonly Event[]): ReadonlyMap<string, readonly Event[]> {
  const named = new Map<string, Event[]>();
  for (const event of events) {
    for (const name of new Set(event.impactedEntities.map(entity => entity.name))) {
      const before = named.get(name);
      if (before === undefined) named.set(name, [event]);
      else before.push(event);
    }
  }
  return named;
}

function alike(one: EventWindow, other: EventWindow): boolean {
  return (
    one.totalItems === other.totalItems && one.events.every((event, index) => event?.id === other.events[index]?.id)
  );
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
