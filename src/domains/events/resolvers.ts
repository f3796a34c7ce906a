import type { GraphQLResolveInfo } from 'graphql';
import type { Context } from '../../context.js';
import { BadUserInput, NotQueryable, UpstreamInvalidResponse } from '../../errors.js';
import type { Resolvers } from '../../generated/schema-types.js';
import {
  connectionOf,
  type ListId,
  listId,
  maxIndex,
  type PageArguments,
  type PageRequest,
  pageRequest,
} from '../../graphql/connection.js';
import { isObservationId, observationId, pageSize, selectsField } from '../../graphql/input.js';
import { maxBuckets } from '../../graphql/limits/cost-table.js';
import { boundedList } from '../../graphql/limits/list-bounds.js';
import type { NodeTypes } from '../../graphql/node.js';
import { type EventQuery, filterParameters } from './client.js';
import { withNames } from './company-events.js';
import { eventUpdates } from './feed.js';
import { isEntityName, queryOf } from './filter.js';
import type { EventWindowWithCursor } from './loaders.js';
import { type Event, type EventExtras, highestScore, type Observation } from './model.js';
import { bucketsIn, rangeOf } from './statistics.js';
import type { EventUpdate } from './updates.js';

/** The fields of the events monitor. */
export const eventsResolvers: Resolvers = {
  Query: {
    async events(_, args, { loaders }, info) {
      const query = queryOf(args.filter);
      const request = requestOf(args, eventListId(query));
      return connection(request.list, await loaders.events.window(query, request, extrasOf(info)));
    },
    observation: (_, { id }, { loaders }, info) =>
      loaders.events.observation(observationId(id), selectsField(info, 'textEmbedding')),
    observations: (_, { ids }, { loaders }, info) =>
      boundedList('Query.observations(ids:)', ids, 'ids').map(async (id, index) =>
        loaders.events.observation(observationId(id, `ids.${index}`), selectsField(info, 'textEmbedding')),
      ),
    eventStatistics(_, { filter, interval }, { loaders }) {
      const query = queryOf(filter);
      const range = rangeOf(query, Date.now());
      if (bucketsIn(range, interval) > maxBuckets) {
        throw new BadUserInput(
          'interval',
          `must divide the range of the filter into at most ${maxBuckets} buckets; choose a longer interval or a shorter range`,
        );
      }
      return loaders.events.statistics(query, { interval, range });
    },
  },
  Subscription: {
    eventUpdates: {
      subscribe(_, { filter, after }, context, info) {
        for (const bound of ['from', 'to'] as const) {
          if (filter?.[bound] != null) {
            throw new BadUserInput(
              `filter.${bound}`,
              'cannot be set here, because the subscription sends only new updates',
            );
          }
        }
        // An EventSource repeats its address with every reconnect: its header is newer than the argument.
        const cursor = context.lastEventId ?? after ?? undefined;
        return context.watch(eventUpdates(queryOf(filter), selectsField(info, 'embeddings'), cursor));
      },
      resolve: (update: EventUpdate) => update,
    },
  },
  Event: {
    severity: event => highestScore(event, 'severity'),
    likelihood: event => highestScore(event, 'likelihood'),
  },
  EventReference: {
    observation({ id }, _, { loaders }, info) {
      // An identifier from the service is checked like one from a client before it becomes part of a path.
      if (!isObservationId(id)) {
        throw new UpstreamInvalidResponse('The service sent an invalid observation identifier', undefined, false);
      }
      return loaders.events.observation(id, selectsField(info, 'textEmbedding'));
    },
  },
  Company: {
    async events({ name }, { first, filter }, { loaders }, info) {
      if (filter?.impactedEntities?.length) {
        throw new BadUserInput('filter.impactedEntities', 'cannot be set here, because it is the name of the company');
      }
      if (!isEntityName(name ?? '')) {
        throw new NotQueryable(
          'The service cannot search for this company, because its name is empty, too long, or contains a comma',
        );
      }
      const request = { name: name ?? '', query: queryOf(filter), first: pageSize(first), extras: extrasOf(info) };
      const list = eventListId(withNames(request.query, [request.name]));
      return connection(list, await loaders.events.ofCompany(request));
    },
  },
};

/** How events and observations are identified. The service has no endpoint for a single event. */
export const eventsNodes = {
  Event: { parts: ({ id }: Event) => [id] },
  Observation: {
    parts: ({ id }: Observation) => [id],
    find: ([id = ''], { loaders }, info) =>
      loaders.events.observation(observationId(id), selectsField(info, 'textEmbedding')),
  },
} satisfies NodeTypes<Context>;

/** The list that `Query.events` pages through. */
const eventListId = (query: EventQuery): ListId => listId('events', filterParameters(query).toString());

/** @throws BadUserInput */
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

function connection(
  list: ListId,
  { events, start, totalItems, unfilteredTotalItems, updatesCursor }: EventWindowWithCursor,
) {
  return {
    ...connectionOf(list, events, start, totalItems),
    unfilteredTotalCount: unfilteredTotalItems,
    // Undefined only where it is not selected.
    updatesCursor: updatesCursor as string,
  };
}

const extrasOf = (info: GraphQLResolveInfo): EventExtras => ({
  vectors: selectsField(info, 'embeddings'),
  position: selectsField(info, 'updatesCursor'),
});
