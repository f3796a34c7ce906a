import { BadUserInput, UpstreamInvalidResponse } from '../../errors.js';
import type { Resolvers } from '../../generated/schema-types.js';
import { connectionOf, offsetAfter } from '../../graphql/connection.js';
import { isObservationId, observationId, pageSize, selectsField } from '../../graphql/input.js';
import { entityName, queryOf } from './filter.js';
import type { Event } from './model.js';
import type { EventWindow } from './window.js';

/** The fields of the events monitor. */
export const eventsResolvers: Resolvers = {
  Query: {
    async events(_, { first, after, filter }, { loaders }, info) {
      const size = pageSize(first);
      const offset = offsetAfter(after);
      return connection(
        await loaders.events.window(queryOf(filter), offset, size, selectsField(info, 'embeddings')),
        offset,
      );
    },
    observation: (_, { id }, { loaders }, info) =>
      loaders.events.observation(observationId(id), selectsField(info, 'textEmbedding')),
  },
  Subscription: {
    eventUpdates: {
      subscribe(_, { filter }, { feeds }, info) {
        for (const bound of ['from', 'to'] as const) {
          if (filter?.[bound] != null) {
            throw new BadUserInput(
              `filter.${bound}`,
              'cannot be set here, because the subscription sends only new updates',
            );
          }
        }
        return feeds.events.eventUpdates(queryOf(filter), selectsField(info, 'embeddings'));
      },
      resolve: (event: Event) => event,
    },
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
      if (filter?.impactedEntities != null) {
        throw new BadUserInput('filter.impactedEntities', 'cannot be set here, because it is the name of the company');
      }
      const vectors = selectsField(info, 'embeddings');
      const request = { name: entityName(name ?? '', 'name'), query: queryOf(filter), first: pageSize(first), vectors };
      return connection(await loaders.events.ofCompany(request), 0);
    },
  },
};

function connection({ events, totalItems, unfilteredTotalItems }: EventWindow, offset: number) {
  return { ...connectionOf(events, offset, totalItems), unfilteredTotalCount: unfilteredTotalItems };
}
