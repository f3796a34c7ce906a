import { ApolloServer } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { GraphQLError, GraphQLFormattedError, GraphQLSchema } from 'graphql';
import type { Config } from '../../config/config.js';
import { type Context, createContext, type Services } from '../../context.js';
import { Abandoned, UpstreamTimeout } from '../../errors.js';
import { createPlanExecutor } from '../../graphql/executor/execute.js';
import type { Admission } from '../../graphql/limits/admission.js';
import { responseBytes } from '../../graphql/response-text.js';
import type { Claim, MemoryBudget } from '../../lib/memory-budget.js';
import type { RequestTelemetry } from '../../observability/request-telemetry.js';
import type { Authentication } from '../authentication.js';
import { causeOf, maskError, withoutSuggestions } from '../mask-error.js';
import type { RequestScope } from '../request-scope.js';
import type { ResponseCache } from '../response-cache/response-cache.js';
import { sendParts } from '../response-cache/send-parts.js';
import { admissionPlugin } from './admission-plugin.js';
import { documentErrorsPlugin } from './document-errors-plugin.js';
import { createDocumentStore } from './document-store.js';
import { executionPlugin } from './execution-plugin.js';
import { lapseSession } from './lapsed-session.js';
import { receiptPlugin } from './receipt-plugin.js';
import { serveGraphql } from './serve-graphql.js';
import { subscriptionPlugin } from './subscription-plugin.js';
import { trailPlugin } from './trail-plugin.js';

/** What the door to GraphQL needs. */
export interface GraphqlRouteDeps {
  readonly schema: GraphQLSchema;
  readonly services: Services;
  /** How long a whole request may take, in milliseconds. */
  readonly deadlineMs: number;
  /** Whether `x-explain: 1` is answered. */
  readonly explains: boolean;
  readonly authentication: Authentication;
  readonly scopeOf: RequestScope;
  /** Undefined: no answer is kept. */
  readonly answers: Pick<ResponseCache, 'finish'> | undefined;
  readonly admission: Admission;
  readonly executor: Config['executor'];
  readonly requestTelemetry: RequestTelemetry;
  readonly budget: MemoryBudget;
  /** Whether the schema may be asked for, and is spoken of in errors. */
  readonly introspection: boolean;
}

/** GraphQL over HTTP at `/graphql`: POST, and GET for queries. Returns what executes it. */
export async function registerGraphql(app: FastifyInstance, door: GraphqlRouteDeps): Promise<ApolloServer<Context>> {
  /** By whose request an error was caused. */
  const culprits = new WeakMap<object, string>();
  const mask = (formatted: GraphQLFormattedError, error: unknown) => {
    const masked = maskError(formatted, error, cause => {
      const requestId = cause instanceof Error ? culprits.get(cause) : undefined;
      app.log.error({ err: cause, requestId }, 'Unexpected');
    });
    return door.introspection ? masked : withoutSuggestions(masked);
  };
  const heed = (errors: readonly GraphQLError[], context: Context) => {
    for (const cause of errors.map(causeOf)) {
      if (cause instanceof Error) culprits.set(cause, context.metadata.operation.id);
    }
    lapseSession(errors, context);
  };
  const apollo = new ApolloServer<Context>({
    schema: door.schema,
    // The admission's rules forbid it where it is off.
    introspection: true,
    parseOptions: door.admission.parseOptions,
    validationRules: [...door.admission.validationRules],
    validationOptions: door.admission.validationOptions,
    documentStore: createDocumentStore(),
    // The admission knows the documents that clients persisted.
    persistedQueries: false,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    includeStacktraceInErrorResponses: false,
    // Apollo hands it on as it is: it is written once there is room for it.
    stringifyResult: result => result as string,
    stopOnTerminationSignals: false,
    logger: app.log,
    formatError: mask,
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
      documentErrorsPlugin,
      admissionPlugin(door.admission),
      receiptPlugin(door.explains),
      trailPlugin(door.requestTelemetry.accept),
      subscriptionPlugin,
      executionPlugin({
        executePlanned: door.executor === 'plan' ? createPlanExecutor(door.schema, door.admission) : undefined,
        heed,
        shown: error => mask(error.toJSON(), error),
      }),
    ],
  });
  await apollo.start();
  app.addHook('onClose', () => apollo.stop());

  serveGraphql(app, '/graphql', {
    apollo,
    admission: door.admission,
    requestTelemetry: door.requestTelemetry,
    async context(request, reply) {
      const scope = await door.scopeOf(request.raw);
      const visitor = { ...(await door.authentication.receive(request, reply)), scope };
      const claim = door.budget.claim(scope ?? visitor.address);
      const lifetime = lifetimeOf(reply, door.deadlineMs, claim);
      const trail = door.requestTelemetry.of(request.raw);
      trail.scope = scope;
      return createContext(door.services, visitor, lifetime, trail, claim);
    },
    finish(request, reply, result, context) {
      const answer = responseBytes(result, context?.metadata.claim);
      return context === undefined || door.answers === undefined
        ? sendParts(reply, answer)
        : door.answers.finish(request, reply, answer, context.metadata);
    },
  });
  return apollo;
}

/** Made once: nobody is ever shown where it was made. */
const gone = new Abandoned('The client has gone');

/** What aborts when the client hangs up, or when the time for its request is over. The claim is released as the answer has been sent. */
function lifetimeOf(reply: FastifyReply, milliseconds: number, claim: Claim): AbortController {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new UpstreamTimeout(`The request took longer than ${milliseconds} ms`)),
    milliseconds,
  );
  if (reply.raw.destroyed) claim.release();
  reply.raw.once('close', () => {
    clearTimeout(timer);
    claim.release();
    if (!reply.raw.writableFinished) controller.abort(gone);
  });
  return controller;
}
