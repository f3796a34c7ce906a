import type { ApolloServerPlugin } from '@apollo/server';
import { GraphQLError } from 'graphql';

/** Tells who sends a subscription as a plain request where subscriptions are to be had. */
export const subscriptionPlugin: ApolloServerPlugin = {
  async requestDidStart({ request }) {
    return {
      async didResolveOperation({ operation }) {
        if (operation?.operation !== 'subscription' || request.http === undefined) return;
        throw new GraphQLError(
          'Subscriptions are served over WebSocket at /graphql, and as events at /graphql/stream',
          {
            extensions: { code: 'BAD_REQUEST', http: { status: 400 } },
          },
        );
      },
    };
  },
};
