// The fields of events, their updates and observations; how a filter becomes a query of the service.
import type { GraphQLResolveInfo } from 'graphql';
import type { Context } from '../../context.js';
import { isLeftOut, known, present } from '../../data/parsing.js';
import { BadUserInput, NotQueryable, UpstreamInvalidResponse } from '../../errors.js';
import type { Resolvers } from '../../generated/resolver-types.js';
import type { EventFilter, SubscriptionEventUpdatesArgs } from '../../generated/schema-types.js';
import {
  Connection,
  type ConnectionPage,
  type ListId,
  listId,
  maxIndex,
  type PageArguments,
  type PageRequest,
  pageRequest,
  placedFrom,
} from '../../graphql/connection.js';
import {
  endpointName,
  isObservationId,
  maxPageSize,
  namedIfRejected,
  observationId,
  pageSize,
  plainText,
  selectsField,
  selectsMember,
  withinInput,
} from '../../graphql/input.js';
import { boundedList } from '../../graphql/list-bounds.js';
import type { NodeTypes } from '../../graphql/node.js';
import { oncePerValue } from '../../lib/run.js';
import { instantOf, isCalendarDay, readTime } from '../../lib/time.js';
import { type EventQuery, endOf, filterParameters, isDay } from './client.js';
import { withNames } from './company-events.js';
import { eventChanges, eventUpdates } from './feed.js';
import type { EventWindowWithCursor } from './loaders.js';
import { type Event, type EventExtras, highestScore, impactOn, newestVersions, type Observation } from './model.js';
import type { EventUpdate } from './updates.js';

export const eventsResolvers: Resolvers = {
  Query: {
    async events(_, args, context, info) {
      const query = queryOf(args.filter);
      const request = requestOf(args, eventListId(query));
      const window = await context.loaders.events.window(query, request, extrasOf(info));
      warnOfNames(args.filter, context, window.totalItems === 0);
      return connection(request, window, query.impactedEntity);
    },
    event: (_, { id }, { loaders }, info) =>
      namedIfRejected('id', loaders.events.event(eventId(id), undefined, selectsField(info, 'embeddings'))),
    observation: (_, { id }, context, info) => observationBy(id, 'id', context, info),
    observations: (_, { ids }, context, info) =>
      boundedList('Query.observations(ids:)', ids, 'ids').map((id, index) =>
        observationBy(id, `ids.${index}`, context, info),
      ),
    eventChanges(_, { filter, after, first }, context, info) {
      // What is new is read anew.
      context.metadata.forbidCaching();
      const size = pageSize(first ?? 100, 'first', maxChanges);
      const query = updatesQuery(filter);
      warnOfNames(filter, context);
      const polls = pollsOf(context);
      const name = JSON.stringify([query, after, size]);
      const poll =
        polls.get(name) ??
        context.watch(eventChanges(query, selectsField(info, 'embeddings'), after ?? undefined, size));
      polls.set(name, poll);
      return poll;
    },
    eventStatistics(_, { filter, interval }, context) {
      warnOfNames(filter, context);
      return context.loaders.events.statistics(queryOf(filter), interval);
    },
  },
  Subscription: {
    eventUpdates: {
      subscribe(_, { filter, after }, context, info) {
        // An EventSource repeats its address with every reconnect: its header is newer than the argument.
        const cursor = context.identity.lastEventId ?? after ?? undefined;
        return context.watch(eventUpdates(updatesQuery(filter), selectsField(info, 'embeddings'), cursor));
      },
      resolve(update: EventUpdate, { filter }: SubscriptionEventUpdatesArgs, context: Context) {
        if (update.event === null) warnOfNames(filter, context);
        return update;
      },
    },
  },
  Mutation: {
    async watchEvents(_, { input: { filter, after, ...input } }, context) {
      const endpoint = endpointName(input.endpoint);
      const query = withinInput(() => updatesQuery(filter));
      warnOfNames(filter, context, false, 'input.filter');
      const subject = { kind: 'events', query: { ...query } } as const;
      return {
        watch: await context.watch(({ watches }, auth) => watches.begin(auth, subject, endpoint, after ?? null)),
      };
    },
  },
  Event: {
    severity: event => highestScore(event, 'severity'),
    likelihood: event => highestScore(event, 'likelihood'),
  },
  EventReference: {
    observation({ id }, _, { loaders }, info) {
      // An identifier from the service is checked like one from a client before it becomes part of a path.
      if (!isObservationId(id)) throw new UpstreamInvalidResponse('The service sent an invalid observation identifier');
      return loaders.events.observation(id, selectsField(info, 'textEmbedding'));
    },
  },
  Company: {
    async events(company, { first, filter }, context, info) {
      if (filter?.impactedEntities?.length) {
        throw new BadUserInput('filter.impactedEntities', 'cannot be set here, because it is the name of the company');
      }
      const name = searchable(company.name ?? '');
      const request = { query: queryOf(filter), first: pageSize(first), extras: extrasOf(info) };
      const list = eventListId(withNames(request.query, [name]));
      warnOfNames(filter, context);
      return connection({ list, isLast: false }, await context.loaders.events.ofCompany(name, request), [name]);
    },
  },
};

/** How events and observations are identified. An event is found from its last update on. */
export const eventsNodes = {
  Event: {
    parts: ({ id }: Event) => [id],
    hint: ({ lastUpdated }: Event) => [known(lastUpdated)].filter(time => time !== null).map(instantOf),
    // As of `Query.event`, and that of its last update.
    calls: limit => 24 + Math.ceil(limit / maxPageSize),
    async find([id = '', since, ...rest], { loaders }, info) {
      const time = since === undefined ? undefined : readTime(since);
      if ((since !== undefined && time === undefined) || rest.length > 0) throw new BadUserInput('since', 'is no time');
      // A copy: the cached event is also that of identifiers with another hint.
      return { ...(await loaders.events.event(eventId(id), time, selectsField(info, 'embeddings'))) };
    },
  },
  Observation: {
    parts: ({ id }: Observation) => [id],
    calls: () => 1,
    find: ([id = ''], { loaders }, info) =>
      loaders.events.observation(observationId(id), selectsField(info, 'textEmbedding')),
  },
} satisfies NodeTypes<Context>;

/** What `eventChanges` reads in a request, by its arguments: equal fields are one read, as they cost one. */
const pollsOf = oncePerValue((_context: Context) => new Map<string, ReturnType<ReturnType<typeof eventChanges>>>());

async function observationBy(id: string, argument: string, { loaders }: Context, info: GraphQLResolveInfo) {
  const read = loaders.events.observation(observationId(id, argument), selectsField(info, 'textEmbedding'));
  return namedIfRejected(argument, read);
}

const maxChanges = 1_000;

const eventId = (id: string) => plainText(id, 'id', maxNameLength);

const eventListId = (query: EventQuery): ListId => listId('events', filterParameters(query).toString());

function requestOf(
  { page, ...args }: PageArguments & { readonly page?: number | null | undefined },
  list: ListId,
): PageRequest {
  if (page == null) return pageRequest(args, list);
  if (args.after != null || args.last != null || args.before != null) {
    throw new BadUserInput('page', 'cannot be combined with after, last or before');
  }
  const request = pageRequest(args, list);
  const lastPage = Math.floor(maxIndex / request.size);
  if (page < 1 || page > lastPage) {
    throw new BadUserInput('page', `must be between 1 and ${lastPage} with ${request.size} events on each page`);
  }
  return { ...request, start: (page - 1) * request.size };
}

class EventConnection extends Connection<Event> {
  /** Whose impact its edges have. */
  readonly entities: readonly string[] = [];

  readonly #impactOf = oncePerValue((event: Event) => impactOn(event, this.entities));

  override get edges() {
    const impactOf = this.#impactOf;
    return super.edges.map(edge => {
      if (isLeftOut(edge)) return edge;
      return {
        ...edge,
        /** Only where it is selected. */
        get impact() {
          return impactOf(edge.node);
        },
      };
    });
  }
}

function connection(
  page: ConnectionPage,
  { events, isJoined, start, totalItems, unfilteredTotalItems, updatesCursor }: EventWindowWithCursor,
  entities: readonly string[] = [],
) {
  return Object.assign(
    new EventConnection(page, { start, end: start + events.length }, totalItems, () => placed(events, start, isJoined)),
    // Undefined only where it is not selected.
    { entities, unfilteredTotalCount: unfilteredTotalItems, updatesCursor: updatesCursor as string },
  );
}

/** The events of a window, each once if it is of two pages. */
const placed = (events: EventWindowWithCursor['events'], start: number, isJoined: boolean) => {
  const all = placedFrom(start, events);
  if (!isJoined) return all;
  const newest = new Map(newestVersions(present(events)).map(event => [event.id, event] as const));
  return all.flatMap(event => {
    if (isLeftOut(event)) return event;
    const once = newest.get(event.id);
    newest.delete(event.id);
    return once ?? [];
  });
};

const extrasOf = (info: GraphQLResolveInfo): EventExtras => ({
  vectors: selectsField(info, 'embeddings'),
  position: selectsMember(info, 'updatesCursor'),
});

const maxNameLength = 255;
/** In a URL, where a letter outside ASCII takes up to twelve characters. Most servers accept 8 KB for the whole head. */
const maxQueryLength = 7_000;
const maxScore = 3;

/** Warns of names for which a filter looks in vain, as far as that is known. @param isVain whether it found nothing. @param path of the filter in the arguments. */
function warnOfNames(
  filter: EventFilter | null | undefined,
  { loaders, metadata }: Context,
  isVain = false,
  path = 'filter',
): void {
  const unknown = filter == null ? [] : loaders.events.unknownNames(filter, { query: preparedQuery(filter), isVain });
  for (const { name, member, count } of unknown) {
    const events = `None of the ${count} events that the filter selects without its names`;
    metadata.warn(`${path}.${member}`, `${events} has "${name}"; eventStatistics lists the names that occur`);
  }
}

/** Converts a filter to a query of the service. @throws BadUserInput that names the member: `filter.severity.min`. */
function queryOf(filter: EventFilter | null | undefined): EventQuery {
  return filter == null ? {} : preparedQuery(filter);
}

/** The query for updates. @throws BadUserInput if its filter has a range of times. */
function updatesQuery(filter: EventFilter | null | undefined): EventQuery {
  for (const bound of ['from', 'to'] as const) {
    if (filter?.[bound] == null) continue;
    throw new BadUserInput(`filter.${bound}`, 'cannot be set here, where only what is new is sent');
  }
  return queryOf(filter);
}

/** Converted once for each filter object: a hundred companies may share it. */
const preparedQuery = oncePerValue((filter: EventFilter): EventQuery => {
  const [minLikelihood, maxLikelihood] = bounds(filter.likelihood, 'filter.likelihood');
  const [minSeverity, maxSeverity] = bounds(filter.severity, 'filter.severity');
  const query: EventQuery = {
    from: time(filter.from, 'filter.from'),
    to: time(filter.to, 'filter.to'),
    affectedDatapoint: names(filter.affectedDatapoints, 'affectedDatapoints'),
    alertType: names(filter.alertTypes, 'alertTypes'),
    impactedEntity: names(filter.impactedEntities, 'impactedEntities'),
    minLikelihood,
    maxLikelihood,
    minSeverity,
    maxSeverity,
    search: filter.search == null ? undefined : plainText(filter.search, 'filter.search'),
  };
  if (query.from !== undefined && query.to !== undefined && Date.parse(query.from) > endOf(query.to)) {
    throw new BadUserInput('filter.from', 'must not be after filter.to');
  }
  if (filterParameters(query).toString().length > maxQueryLength) throw tooLong();
  return query;
});

const tooLong = () =>
  new BadUserInput('filter', `is too long: as parameters of a URL it must have at most ${maxQueryLength} characters`);

/** The name of a company. @throws NotQueryable if the service cannot search for it. */
function searchable(name: string): string {
  try {
    return entityName(name, 'name');
  } catch {
    throw new NotQueryable(
      'The service cannot search for this company, because its name is empty, too long, or contains a comma or a control character',
    );
  }
}

/** Checks a name for a comma-separated list of the service. @throws BadUserInput */
function entityName(name: string, argument: string): string {
  if (name.includes(','))
    throw new BadUserInput(argument, 'must not contain a comma, because the service cannot search for such a name');
  return plainText(name, argument, maxNameLength);
}

function names(
  list: readonly string[] | null | undefined,
  member: 'affectedDatapoints' | 'alertTypes' | 'impactedEntities',
): readonly string[] | undefined {
  if (list == null || list.length === 0) return undefined;
  const bounded = boundedList(`EventFilter.${member}`, list, `filter.${member}`);
  const checked = bounded.map((name, index) => entityName(name, `filter.${member}.${index}`));
  // Before they are encoded, which takes longer.
  if (checked.join().length > maxQueryLength) throw tooLong();
  return checked;
}

/**
 * The ends of a range of scores. An open one is the end of the scale, because the service cannot express "no bound". None for the default of the schema, which
 * is that of the service: so it is one list with that of a filter which is left out. @throws BadUserInput
 */
function bounds(range: EventFilter['severity'], argument: string): [min?: number, max?: number] {
  const [min, max] = [range?.min ?? 0, range?.max ?? maxScore];
  for (const [end, score] of Object.entries({ min, max })) {
    if (score < 0 || score > maxScore)
      throw new BadUserInput(`${argument}.${end}`, `must be between 0 and ${maxScore}`);
  }
  if (min > max) throw new BadUserInput(`${argument}.min`, 'must not be above max');
  return range?.min === 2 && range.max === maxScore ? [] : [min, max];
}

/** Keeps a day as it is, because the service interprets it. */
function time(text: string | null | undefined, argument: string): string | undefined {
  if (text == null) return undefined;
  const checked = isDay(text) && isCalendarDay(text) ? text : readTime(text);
  if (checked !== undefined) return checked;
  throw new BadUserInput(argument, 'must be a day (2026-01-31) or a point in time (2026-01-31T08:30:00Z)');
}
