import type { ApolloServerPlugin } from '@apollo/server';
import type { Context } from '../context.js';
import { Unauthenticated } from '../errors.js';

/** Clears the session's cookie when the service turns down what it holds: it would be turned down for ever. */
export const sessionPlugin: ApolloServerPlugin<Context> = {
  async requestDidStart() {
    return {
      async didEncounterErrors({ errors, contextValue }) {
        const turnedDown = errors.some(
          ({ originalError }) => originalError instanceof Unauthenticated && originalError.upstream?.status === 401,
        );
        if (turnedDown) contextValue.session.lapse();
      },
    };
  },
};
