import type { ApolloServerPlugin } from '@apollo/server';
import type { Context } from '../../context.js';
import { outcomeOf } from '../../trail.js';
import type { OperationNames } from '../observability/operation-names.js';

/** Notes for those who watch which operation a request asked for and what came of it. */
export function trailPlugin(nameOf: OperationNames): ApolloServerPlugin<Context> {
  return {
    async requestDidStart() {
      return {
        async didResolveOperation({ operation, contextValue }) {
          contextValue.receipt.trail.operation = nameOf(operation?.name?.value);
        },
        async willSendResponse({ response, contextValue }) {
          if (response.body.kind !== 'single') return;
          contextValue.receipt.trail.outcome = outcomeOf(response.body.singleResult.errors);
        },
      };
    },
  };
}
