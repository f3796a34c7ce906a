import type { ApolloServerPlugin } from '@apollo/server';
import type { Context } from '../../context.js';
import { operationName, outcomeOfErrors } from '../../observability/operation-info.js';
import type { RequestTelemetry } from '../../observability/request-telemetry.js';
import type { ResponseMetadata } from '../../observability/response-metadata.js';

/** Notes for those who watch which operation a request asked for and what came of it. */
export function trailPlugin(accept: RequestTelemetry['accept']): ApolloServerPlugin<Context> {
  return {
    async requestDidStart() {
      return {
        async didResolveOperation({ operation, contextValue }) {
          contextValue.metadata.operation.name = operationName(operation?.name?.value);
        },
        async willSendResponse({ response, contextValue }) {
          if (response.body.kind !== 'single') return;
          const { operation: trail } = contextValue.metadata;
          trail.outcome = outcomeOfErrors(response.body.singleResult.errors);
          if (trail.scope !== undefined && hasAnswerOfUpstream(contextValue.metadata)) accept(trail.scope);
        },
      };
    },
  };
}

/** Whether the upstream has answered, now or when it was read for the cache: it does so only for a credential that it accepts. */
function hasAnswerOfUpstream({ upstreamCalls }: ResponseMetadata): boolean {
  return upstreamCalls.some(({ status }) => status !== null && status >= 200 && status < 300);
}
