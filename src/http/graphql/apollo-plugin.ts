import { type ApolloServerPlugin, HeaderMap } from '@apollo/server';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import type { Context } from '../../context.js';
import type { PlanExecutor } from '../../graphql/executor/execute.js';
import type { Admission } from '../../graphql/limits/admission.js';
import { operationName, outcomeOfErrors } from '../../observability/operation-info.js';
import type { RequestTelemetry } from '../../observability/request-telemetry.js';
import { addResponseMetadata, type ResponseMetadata } from '../../observability/response-metadata.js';
import { toGraphqlError } from '../mask-error.js';

/** What the gateway does in the course of Apollo's request. */
export interface ApolloPluginDeps {
  readonly admission: Pick<Admission, 'checkOperation'>;
  /** Executes queries by a plan where there is one. Apollo executes the rest with graphql-js, or everything where this is undefined. */
  readonly executePlanned: PlanExecutor | undefined;
  /** Whether the header `x-explain: 1` is honored. */
  readonly explains: boolean;
  readonly accept: RequestTelemetry['accept'];
  /** Called with the errors of a request before they are formatted. */
  onErrors(errors: readonly GraphQLError[], context: Context): void;
  /** An error as the client may see it. */
  formatError(error: GraphQLError): GraphQLFormattedError;
}

/** Everything that the gateway adds to Apollo's own handling of a request, one method for each phase. */
export function createApolloPlugin(deps: ApolloPluginDeps): ApolloServerPlugin<Context> {
  const { admission, executePlanned, explains, accept, onErrors, formatError } = deps;
  return {
    async requestDidStart() {
      return {
        parsingDidStart: async () => async error => dropStacks(error && [error]),
        validationDidStart: async () => dropStacks,

        /** Refuses an operation that is not admitted, before any upstream call is made for it. */
        async didResolveOperation({ document, operation, request, contextValue }) {
          contextValue.metadata.operation.name = operationName(operation?.name?.value);
          try {
            admission.checkOperation(document, request.operationName, request.variables);
          } catch (error) {
            throw toGraphqlError(error);
          }
          if (operation?.operation === 'subscription' && request.http !== undefined) throw subscriptionRefused();
        },

        async responseForOperation({ document, request, contextValue: context }) {
          const { operationName, variables } = request;
          const result = await executePlanned?.({ document, operationName, variables, context });
          if (result === undefined) return null;
          const { data = null, errors } = result;
          if (errors !== undefined) onErrors(errors, context);
          const singleResult = { data, ...(errors && { errors: errors.map(formatError) }) };
          return { http: { headers: new HeaderMap() }, body: { kind: 'single', singleResult } };
        },

        async didEncounterErrors({ errors, contextValue }) {
          onErrors(errors, contextValue);
        },

        /** Adds the response's metadata, decides whether the response may be cached, and notes its outcome. */
        async willSendResponse({ request, operation, response, contextValue: { metadata } }) {
          if (response.body.kind !== 'single') return;
          const result = response.body.singleResult;
          if (operation?.operation !== 'query' || result.errors !== undefined || metadata.skipped.length > 0) {
            metadata.forbidCaching();
          }
          addResponseMetadata(result, metadata, explains && request.http?.headers.get('x-explain') === '1');
          const info = metadata.operation;
          info.outcome = outcomeOfErrors(result.errors);
          if (info.scope !== undefined && isCredentialAccepted(metadata)) accept(info.scope);
        },
      };
    },
  };
}

/**
 * Drops the stacks from the errors of a document before Apollo wraps them. Formatting a stack costs as much as a small query, and no client
 * sees it.
 */
async function dropStacks(errors: readonly Error[] = []): Promise<void> {
  for (const error of errors) error.stack = '';
}

const subscriptionRefused = () =>
  new GraphQLError('Subscriptions are served over WebSocket at /graphql, and as events at /graphql/stream', {
    extensions: { code: 'BAD_REQUEST', http: { status: 400 } },
  });

/** Whether the service answered, now or when the cache was filled: it answers only a credential that it accepts. */
function isCredentialAccepted({ upstreamCalls }: ResponseMetadata): boolean {
  return upstreamCalls.some(({ status }) => status !== null && status >= 200 && status < 300);
}
