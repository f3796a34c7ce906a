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
import { Abandoned, UpstreamTimeout } from '../errors.js';
import type { Receipt } from '../receipt.js';
import { stringifyResult } from '../vector-text.js';
import type { KeptAnswers } from './answers/kept-answers.js';
import { maskError, refusal } from './mask-error.js';
import { receiptPlugin } from './receipt-plugin.js';
import { sessionPlugin } from './session-plugin.js';
import { subscriptionPlugin } from './subscription-plugin.js';
import type { Reception } from './visitor.js';

/** What the door to GraphQL needs. */
export interface GraphqlDoor {
  readonly schema: GraphQLSchema;
  readonly services: Services;
  /** How long a whole request may take, in milliseconds. */
  readonly deadlineMs: number;
  /** Whether `x-explain: 1` is answered. */
  readonly explains: boolean;
  readonly reception: Reception;
  /** Undefined: no answer is kept. */
  readonly answers: Pick<KeptAnswers, 'finish'> | undefined;
}

/** GraphQL over HTTP at `/graphql`: POST, and GET for queries. Returns what executes it. */
export async function registerGraphql(app: FastifyInstance, door: GraphqlDoor): Promise<ApolloServer<Context>> {
  const apollo = new ApolloServer<Context>({
    schema: door.schema,
    introspection: true,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    includeStacktraceInErrorResponses: false,
    stringifyResult,
    stopOnTerminationSignals: false,
    logger: app.log,
    formatError: (formatted, error) =>
      maskError(formatted, error, cause => app.log.error({ err: cause }, 'Unexpected')),
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
      receiptPlugin(door.explains),
      sessionPlugin,
      subscriptionPlugin,
    ],
  });
  await apollo.start();
  app.addHook('onClose', () => apollo.stop());

  const receipts = new WeakMap<FastifyRequest, Receipt>();
  const context = async (request: FastifyRequest, reply: FastifyReply): Promise<Context> => {
    try {
      const visitor = await door.reception.receive(request, reply);
      const made = createContext(door.services, visitor, lifetimeOf(reply, door.deadlineMs));
      receipts.set(request, made.receipt);
      return made;
    } catch (error) {
      throw refusal(error);
    }
  };
  const execute = fastifyApolloHandler(apollo, { context });
  app.route({
    url: '/graphql',
    method: ['GET', 'POST'],
    async handler(request, reply) {
      const body = await execute.call(app, request, reply);
      const receipt = receipts.get(request);
      return typeof body === 'string' && receipt !== undefined && door.answers !== undefined
        ? door.answers.finish(request, reply, body, receipt)
        : body;
    },
  });
  return apollo;
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
