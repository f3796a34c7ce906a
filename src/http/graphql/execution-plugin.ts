import { type ApolloServerPlugin, HeaderMap } from '@apollo/server';
import type { GraphQLError, GraphQLFormattedError } from 'graphql';
import type { Context } from '../../context.js';
import type { PlanExecutor } from '../../graphql/executor/execute.js';

/** What the execution of operations needs of its door. */
export interface ExecutionDeps {
  /** Undefined: graphql-js executes everything. */
  readonly executePlanned: PlanExecutor | undefined;
  /** Does what is to be done about errors besides showing them. */
  heed(errors: readonly GraphQLError[], context: Context): void;
  /** An error as the client may see it. */
  shown(error: GraphQLError): GraphQLFormattedError;
}

/** Executes queries by a plan where there is one. Apollo executes the rest with graphql-js. */
export function executionPlugin({ executePlanned, heed, shown }: ExecutionDeps): ApolloServerPlugin<Context> {
  return {
    async requestDidStart() {
      return {
        async responseForOperation({ document, request, contextValue: context }) {
          const { operationName, variables } = request;
          const result = await executePlanned?.({ document, operationName, variables, context });
          if (result === undefined) return null;
          const { data = null, errors } = result;
          if (errors !== undefined) heed(errors, context);
          const singleResult = { data, ...(errors && { errors: errors.map(shown) }) };
          return { http: { headers: new HeaderMap() }, body: { kind: 'single', singleResult } };
        },
        async didEncounterErrors({ errors, contextValue }) {
          heed(errors, contextValue);
        },
      };
    },
  };
}
