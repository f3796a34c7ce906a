import type { Context } from '../context.js';
import type { Resolvers } from '../generated/schema-types.js';
import { marketId, plainText } from '../input.js';
import type { Market } from './model.js';

/** The record that a market's own fields share. */
const recordOf = ({ id }: Market, { loaders }: Context) => loaders.markets.record(id);

/** The fields of a market that its record and its topics answer. */
export const marketsResolvers: Resolvers = {
  Query: {
    market: (_, { id }) => ({ id: marketId(id) }),
    suggestMarkets: (_, { keyword }, { loaders }) => loaders.markets.suggestions(plainText(keyword, 'keyword')),
  },
  Market: {
    name: async (market, _, context) => (await recordOf(market, context)).name,
    subtitle: async (market, _, context) => (await recordOf(market, context)).subtitle,
    description: async (market, _, context) => (await recordOf(market, context)).description,
    dateCreated: async (market, _, context) => (await recordOf(market, context)).dateCreated,
    companyCount: async (market, _, context) => (await recordOf(market, context)).companyCount,
    headerImageUrl: async (market, _, context) => (await recordOf(market, context)).headerImageUrl,
    reviewStatus: async (market, _, context) => (await recordOf(market, context)).reviewStatus,
    topics: ({ id }, { sort }, { loaders }) => loaders.markets.topics(id, sort === 'LABEL_ASC'),
  },
};
