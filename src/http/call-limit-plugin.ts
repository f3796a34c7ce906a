import type { ApolloServerPlugin } from '@apollo/server';
import type { Context } from '../context.js';
import type { Admission } from '../limits/admission.js';
import { refusal } from './mask-error.js';

/** Refuses an operation that could cause more upstream calls than one may, before any is made. */
export function callLimitPlugin(admission: Admission): ApolloServerPlugin<Context> {
  return {
    async requestDidStart() {
      return {
        async didResolveOperation({ document, request: { operationName, variables } }) {
          try {
            admission.checkCalls(document, operationName, variables);
          } catch (error) {
            throw refusal(error);
          }
        },
      };
    },
  };
}
