import type { ApolloServerPlugin } from '@apollo/server';
import type { GraphQLFormattedError } from 'graphql';
import type { Context } from '../../context.js';
import type { LeftOut, Receipt } from '../../receipt.js';

/**
 * Says in each answer what it was made of, and whether it may be kept: an error for every record that had to be left out, `extensions.stale` where something is
 * older than it may be, and `extensions.explain` for who sends `x-explain: 1`.
 * @param explains whether that header is answered.
 */
export function receiptPlugin(explains: boolean): ApolloServerPlugin<Context> {
  return {
    async requestDidStart() {
      return {
        async willSendResponse({ request, operation, response, contextValue: { receipt } }) {
          if (response.body.kind !== 'single') return;
          const result = response.body.singleResult;
          if (operation?.operation !== 'query' || result.errors !== undefined || receipt.leftOut.length > 0) {
            receipt.forbidKeeping();
          }
          const explain = explains && request.http?.headers.get('x-explain') === '1';
          noteReceipt(result, receipt, explain);
        },
      };
    },
  };
}

/** Writes into an answer what its receipt has to say. */
export function noteReceipt(
  answer: { errors?: readonly GraphQLFormattedError[] | undefined; extensions?: Record<string, unknown> | undefined },
  receipt: Receipt,
  explain: boolean,
): void {
  if (receipt.leftOut.length > 0) answer.errors = [...(answer.errors ?? []), ...receipt.leftOut.map(errorOf)];
  if (!receipt.stale && !explain) return;
  answer.extensions = {
    ...answer.extensions,
    ...(receipt.stale && { stale: true }),
    ...(explain && { explain: receipt.lines }),
  };
}

function errorOf({ record, id, fields }: LeftOut): GraphQLFormattedError {
  const which = id === null ? `One ${record}` : `${record} ${id}`;
  const why = fields.every(field => field === '') ? '' : ` (${fields.join(', ')})`;
  return {
    message: `${which} was left out: the service sent it in a shape that it does not document${why}`,
    extensions: { code: 'UPSTREAM_INVALID_RESPONSE', record, id, fields },
  };
}
