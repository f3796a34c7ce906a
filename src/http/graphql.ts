import { ApolloServer } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import { fastifyApolloHandler } from '@as-integrations/fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import { type Context, createContext, type Services } from '../context.js';
import { type Credential, explicitCredential } from '../credentials.js';
import { Abandoned, UpstreamTimeout } from '../errors.js';
import { maskError, refusal } from './mask-error.js';
import { receiptPlugin } from './receipt-plugin.js';

/** What the door to GraphQL needs. */
export interface GraphqlDoor {
  readonly schema: GraphQLSchema;
  readonly services: Services;
  /** How long a whole request may take, in milliseconds. */
  readonly deadlineMs: number;
  /** Whether `x-explain: 1` is answered. */
  readonly explains: boolean;
  /** Who a request without a credential is taken for; undefined: nobody. */
  readonly fallback: Credential | undefined;
}

/** GraphQL over HTTP at `/graphql`: POST, and GET for queries. */
export async function registerGraphql(app: FastifyInstance, door: GraphqlDoor): Promise<void> {
  const apollo = new ApolloServer<Context>({
    schema: door.schema,
    introspection: true,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    includeStacktraceInErrorResponses: false,
    stopOnTerminationSignals: false,
    logger: app.log,
    formatError: (formatted, error) =>
      maskError(formatted, error, cause => app.log.error({ err: cause }, 'Unexpected')),
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
      receiptPlugin(door.explains),
    ],
  });
  await apollo.start();
  app.addHook('onClose', () => apollo.stop());

  const context = async (request: FastifyRequest, reply: FastifyReply): Promise<Context> => {
    try {
      const credential = explicitCredential(presentedBy(request)) ?? door.fallback;
      return createContext(door.services, credential, lifetimeOf(reply, door.deadlineMs));
    } catch (error) {
      throw refusal(error);
    }
  };
  app.route({
    url: '/graphql',
    method: ['GET', 'POST'],
    handler: fastifyApolloHandler(apollo, { context }),
  });
}

function presentedBy({ headers, query }: FastifyRequest) {
  const { sessionId } = query as { sessionId?: string | string[] };
  const apiKey = headers['x-api-key'];
  return {
    'x-api-key': Array.isArray(apiKey) ? apiKey.join(',') : apiKey,
    authorization: headers.authorization,
    sessionId: Array.isArray(sessionId) ? sessionId.join(',') : sessionId,
  };
}

/** A signal that aborts when the client hangs up, or when the time for its request is over. */
function lifetimeOf(reply: FastifyReply, milliseconds: number): AbortSignal {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new UpstreamTimeout(`The request took longer than ${milliseconds} ms`)),
    milliseconds,
  );
  reply.raw.once('close', () => {
    clearTimeout(timer);
    controller.abort(new Abandoned('The client has gone'));
  });
  return controller.signal;
}
