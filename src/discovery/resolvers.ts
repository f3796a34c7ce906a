import type { Resolvers } from '../generated/schema-types.js';

/** The fields of a market that its discovery answers. */
export const discoveryResolvers: Resolvers = {
  Market: {
    jobs: ({ id }, { phase }, { loaders }) => loaders.discovery.jobs(id, phase),
    searchCriteria: ({ id }, _, { loaders }) => loaders.discovery.criteria(id),
    searchCriteriaHistory: ({ id }, _, { loaders }) => loaders.discovery.criteriaHistory(id),
  },
};
