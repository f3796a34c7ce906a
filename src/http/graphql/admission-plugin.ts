import type { ApolloServerPlugin } from '@apollo/server';
import type { Context } from '../../context.js';
import type { Admission } from '../../graphql/limits/admission.js';
import { refusal } from '../mask-error.js';

/** Refuses an operation that is not admitted before any call is made for it. */
export function admissionPlugin(admission: Admission): ApolloServerPlugin<Context> {
  return {
    async requestDidStart() {
      return {
        async didResolveOperation({ document, request: { operationName, variables } }) {
          try {
            admission.checkOperation(document, operationName, variables);
          } catch (error) {
            throw refusal(error);
          }
        },
      };
    },
  };
}
