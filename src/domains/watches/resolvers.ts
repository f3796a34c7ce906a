// The fields of watches, which belong to their client. Those that begin one are with what it watches.
import type { Resolvers } from '../../generated/resolver-types.js';
import { iso } from '../../lib/time.js';

export const watchesResolvers: Resolvers = {
  Query: {
    watches: (_, __, context) => context.watch(({ watches }, auth) => watches.list(auth)),
  },
  Mutation: {
    renewWatch: async (_, { input }, context) => ({
      watch: await context.watch(({ watches }, auth) => watches.renew(auth, input.watch, input.after ?? null)),
    }),
    stopWatching: async (_, { input }, context) => ({
      watch: await context.watch(({ watches }, auth) => watches.stop(auth, input.watch)),
    }),
  },
  Watch: {
    until: ({ until }) => iso(until),
  },
};
