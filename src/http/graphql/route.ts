import { ApolloServer } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { GraphQLError, GraphQLFormattedError, GraphQLSchema } from 'graphql';
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import type { Config } from '../../config/config.js';
import { type Context, createContext, type Services } from '../../context.js';
import { Abandoned, Unauthenticated, UpstreamTimeout } from '../../errors.js';
import { createPlanExecutor } from '../../graphql/executor/execute.js';
import type { Admission } from '../../graphql/limits/admission.js';
import { responseBytes } from '../../graphql/response-text.js';
import type { Claim, MemoryBudget } from '../../lib/memory-budget.js';
import type { Authentication } from '../authentication.js';
import { causeOf, maskError, withoutSuggestions } from '../mask-error.js';
import { type RequestState, stateOf } from '../request-state.js';
import { type ResponseCache, sendParts } from '../response-cache/response-cache.js';
import { createApolloPlugin, keepResult, keptResult, serveApollo } from './apollo.js';
import { partsIn, sendInParts } from './parts.js';

/** What the GraphQL route is made of. */
export interface GraphqlRouteDeps {
  readonly schema: GraphQLSchema;
  readonly services: Services;
  /** The deadline of a whole request, in milliseconds. */
  readonly deadlineMs: number;
  /** Whether the header `x-explain: 1` is honored. */
  readonly explains: boolean;
  readonly authentication: Authentication;
  /** Undefined: no response is cached. */
  readonly responseCache: Pick<ResponseCache, 'finish'> | undefined;
  readonly admission: Admission;
  readonly executor: Config['executor'];
  readonly acceptedScopes: AcceptedScopes;
  readonly budget: MemoryBudget;
  /** Whether clients may introspect the schema, and errors may name parts of it. */
  readonly introspection: boolean;
}

/** GraphQL over HTTP at `/graphql`: POST, and GET for queries. Returns the server that executes it. */
export async function registerGraphql(app: FastifyInstance, deps: GraphqlRouteDeps): Promise<ApolloServer<Context>> {
  const { schema, services, authentication, admission, budget, responseCache } = deps;
  /** The id of the request that caused an error, for the log. */
  const requestIdByError = new WeakMap<object, string>();
  const formatError = (formatted: GraphQLFormattedError, error: unknown) => {
    const masked = maskError(formatted, error, cause => {
      const requestId = cause instanceof Error ? requestIdByError.get(cause) : undefined;
      app.log.error({ err: cause, requestId }, 'Unexpected');
    });
    if (masked.message.includes('Cross-Site Request Forgery')) return { ...masked, message: forgeryMessage };
    return deps.introspection ? masked : withoutSuggestions(masked);
  };
  const apollo = new ApolloServer<Context>({
    schema,
    // Where introspection is off, the admission forbids it.
    introspection: true,
    // The admission reads the documents.
    documentStore: null,
    // The admission knows the trusted documents.
    persistedQueries: false,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    includeStacktraceInErrorResponses: false,
    stringifyResult: keepResult,
    stopOnTerminationSignals: false,
    logger: app.log,
    formatError,
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
      createApolloPlugin({
        admission,
        executePlanned: deps.executor === 'plan' ? createPlanExecutor(schema) : undefined,
        explains: deps.explains,
        acceptedScopes: deps.acceptedScopes,
        onErrors(errors, context) {
          for (const cause of errors.map(causeOf)) {
            if (cause instanceof Error) requestIdByError.set(cause, context.metadata.operation.id);
          }
          expireSession(errors, context);
        },
        formatError: error => formatError(error.toJSON(), error),
      }),
    ],
  });
  await apollo.start();
  app.addHook('onClose', () => apollo.stop());

  serveApollo(app, '/graphql', {
    apollo,
    admission,
    async createContext(request, reply) {
      const identity = authentication.identify(request, reply);
      const state = stateOf(request.raw);
      const { operation, scope, address } = state;
      const claim = budget.claim(scope ?? address);
      operation.scope = scope;
      return createContext(services, identity, abortController(state, reply, deps.deadlineMs, claim), operation, claim);
    },
    send(request, reply, body, context) {
      const result = keptResult(body);
      const inParts = partsIn(result);
      if (inParts !== undefined) return sendInParts(reply, inParts, context?.metadata.claim);
      const bytes = responseBytes(result, context?.metadata.claim);
      return context === undefined || responseCache === undefined
        ? sendParts(reply, bytes)
        : responseCache.finish(request, reply, bytes, context.metadata);
    },
  });
  return apollo;
}

/** Clears the session's cookie where the service refused the credential in it: the service would refuse it again each time. */
function expireSession(errors: readonly GraphQLError[], { session }: Pick<Context, 'session'>): void {
  const isRefused = errors.some(
    ({ originalError }) => originalError instanceof Unauthenticated && originalError.upstream !== undefined,
  );
  if (isRefused) session.expire();
}

/** In place of Apollo's message, which is long and names the way out last. */
const forgeryMessage =
  'A page of another site could send this request (CSRF). Add the header "apollo-require-preflight: 1", or send a POST with "content-type: application/json"';

/** Made once, because its stack is never shown. */
const clientGone = new Abandoned('The client has gone');

/** Aborts when the client hangs up, or at the deadline of its request. The claim is released once the response has been sent. */
function abortController(
  state: RequestState,
  { raw }: FastifyReply,
  milliseconds: number,
  claim: Claim,
): AbortController {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new UpstreamTimeout(`The request took longer than ${milliseconds} ms`)),
    milliseconds,
  );
  state.whenClosed(() => {
    clearTimeout(timer);
    claim.release();
    if (!raw.writableFinished) controller.abort(clientGone);
  });
  return controller;
}
