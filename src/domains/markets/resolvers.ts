// The fields of markets and their topics.
import type { Context } from '../../context.js';
import { listed, present } from '../../data/parsing.js';
import type { Resolvers } from '../../generated/resolver-types.js';
import { marketId, plainText } from '../../graphql/input.js';
import { boundedList } from '../../graphql/list-bounds.js';
import type { NodeTypes } from '../../graphql/node.js';
import { andThen } from '../../lib/run.js';
import type { Market, MarketTopic, MarketTopicGroup } from './model.js';

const recordOf = ({ id }: Market, { loaders }: Context) => loaders.markets.record(id);

export const marketsResolvers: Resolvers = {
  Query: {
    market: (_, { id }) => ({ id: marketId(id), argument: 'id' }),
    markets: (_, { ids }) =>
      // Each in a promise, so that an invalid identifier is an error of its own.
      boundedList('Query.markets(ids:)', ids, 'ids').map(async (id, index) => {
        const argument = `ids.${index}`;
        return { id: marketId(id, argument), argument };
      }),
    suggestMarkets: (_, { keyword }, { loaders }) =>
      andThen(loaders.markets.suggestions(plainText(keyword, 'keyword')), listed),
  },
  Market: {
    name: (market, _, context) => andThen(recordOf(market, context), record => record.name),
    subtitle: (market, _, context) => andThen(recordOf(market, context), record => record.subtitle),
    description: (market, _, context) => andThen(recordOf(market, context), record => record.description),
    dateCreated: (market, _, context) => andThen(recordOf(market, context), record => record.dateCreated),
    companyCount: (market, _, context) => andThen(recordOf(market, context), record => record.companyCount),
    headerImageUrl: (market, _, context) => andThen(recordOf(market, context), record => record.headerImageUrl),
    reviewStatus: (market, _, context) => andThen(recordOf(market, context), record => record.reviewStatus),
    topics: ({ id }, { orderBy }, { loaders }) =>
      andThen(loaders.markets.topics(id, orderBy != null), topics =>
        // The service documents no descending order.
        listed(orderBy?.direction === 'DESC' ? topics.toReversed() : topics),
      ),
  },
};

export const marketsNodes = {
  Market: { parts: ({ id }: Market) => [id], find: ([id = '']) => ({ id: marketId(id) }), calls: () => 0 },
  Topic: {
    parts: ({ marketId, id }: MarketTopic) => [marketId, id],
    calls: () => 1,
    find: async ([market, id], context) => (await topicsOf(market, context)).find(topic => topic.id === id),
  },
  TopicGroup: {
    parts: ({ marketId, id }: MarketTopicGroup) => [marketId, id],
    calls: () => 1,
    find: async ([market, id], context) =>
      (await topicsOf(market, context)).flatMap(({ groups }) => present(groups)).find(group => group.id === id),
  },
} satisfies NodeTypes<Context>;

const topicsOf = async (market = '', { loaders }: Context) =>
  present(await loaders.markets.topics(marketId(market), false));
