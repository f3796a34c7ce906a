import type { ApolloServerPlugin } from '@apollo/server';
import type { Context } from '../../context.js';
import { addResponseMetadata } from '../receipt-notes.js';

/**
 * Says in each answer what it was made of, and whether it may be kept: an error for every record that had to be left out, `extensions.stale` where something is
 * older than it may be, and `extensions.explain` for who sends `x-explain: 1`.
 * @param explains whether that header is answered.
 */
export function receiptPlugin(explains: boolean): ApolloServerPlugin<Context> {
  return {
    async requestDidStart() {
      return {
        async willSendResponse({ request, operation, response, contextValue: { metadata } }) {
          if (response.body.kind !== 'single') return;
          const result = response.body.singleResult;
          if (operation?.operation !== 'query' || result.errors !== undefined || metadata.skipped.length > 0) {
            metadata.forbidCaching();
          }
          const explain = explains && request.http?.headers.get('x-explain') === '1';
          addResponseMetadata(result, metadata, explain);
        },
      };
    },
  };
}
