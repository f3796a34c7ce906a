// Answers the GraphQL requests that were read and admitted, with Apollo Server.
import { ApolloServer, type ApolloServerPlugin, type GraphQLResponse, HeaderMap } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import type { FastifyInstance } from 'fastify';
import { type DocumentNode, GraphQLError, type GraphQLFormattedError, type GraphQLSchema, Kind } from 'graphql';
import { type Components, Context } from '../../context.js';
import { Abandoned, Unauthenticated, UpstreamTimeout } from '../../errors.js';
import { executeOperation, type PlanExecutor } from '../../graphql/executor/execute.js';
import type { DocumentChecks } from '../../graphql/limits/document-checks.js';
import { type ResponseBytes, responseBytes } from '../../graphql/response-text.js';
import type { Claim, MemoryBudget } from '../../lib/memory-budget.js';
import { outcomeOfErrors } from '../../observability/operation-info.js';
import { ResponseMetadata, requestedReports, responseExtensions } from '../../observability/response-metadata.js';
import type { Authentication } from '../authentication.js';
import { causeOf, type ErrorMask, errorsIn } from '../mask-error.js';
import { type RequestState, stateOf } from '../request-state.js';
import { type ResponseCache, sendParts } from '../response-cache/response-cache.js';
import { acceptsParts, withoutParts } from '../web-safety.js';
import { multipartResponse, type PartsSender, partsContentType } from './parts.js';
import { keepResult, serveApollo } from './route.js';

export interface GraphqlRouteDeps {
  readonly schema: GraphQLSchema;
  readonly components: Components;
  readonly deadlineMs: number;
  /** Whether the header `x-explain: 1` is honored. */
  readonly explains: boolean;
  readonly authentication: Authentication;
  readonly responseCache: Pick<ResponseCache, 'finish'> | undefined;
  readonly documentChecks: DocumentChecks;
  /** Undefined: graphql-js executes everything. */
  readonly executePlanned: PlanExecutor | undefined;
  readonly budget: MemoryBudget;
  readonly mask: ErrorMask;
}

/** GraphQL over HTTP at `/graphql`: POST, and GET for queries. */
export async function registerGraphql(app: FastifyInstance, deps: GraphqlRouteDeps): Promise<void> {
  const { schema, components, authentication, documentChecks, budget, responseCache, mask } = deps;
  const apollo = new ApolloServer<Context>({
    schema,
    // Where introspection is off, `documentChecks` forbids it.
    introspection: true,
    // `documentChecks` reads the documents.
    documentStore: null,
    // `documentChecks` knows the trusted documents.
    persistedQueries: false,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    includeStacktraceInErrorResponses: false,
    stringifyResult: keepResult,
    stopOnTerminationSignals: false,
    logger: app.log,
    formatError(formatted, error) {
      const masked = mask(error as GraphQLError, undefined, formatted);
      return masked.message.includes('Cross-Site Request Forgery') ? { ...masked, message: forgeryMessage } : masked;
    },
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginInlineTraceDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
      createApolloPlugin(deps),
    ],
  });
  await apollo.start();
  app.addHook('onClose', () => apollo.stop());

  serveApollo(app, '/graphql', {
    apollo,
    documentText: documentChecks.documentText,
    createContext(request, reply) {
      const identity = authentication.identify(request, reply);
      const state = stateOf(request.raw);
      const { operation, scope, address } = state;
      const claim = budget.claim({ scope, address });
      operation.scope = scope;
      // What may be a mutation is no result for others to wait for.
      if (operation.document?.includes('mutation')) state.flight?.settle(undefined);
      const controller = abortController(state, deps.deadlineMs, claim);
      const reports = requestedReports(request.headers, deps.explains);
      return new Context(components, identity, controller, new ResponseMetadata(operation, claim, reports));
    },
    send(reply, body, context) {
      // As `keepResult` left it.
      const result: unknown = body;
      const { data } = result as { data?: unknown };
      if (typeof data === 'function') return data(reply);
      const bytes = data instanceof WrittenResponse ? data.bytes : responseBytes(result, context?.metadata.claim);
      if (bytes instanceof Error) throw bytes;
      return context === undefined || responseCache === undefined
        ? sendParts(reply, bytes)
        : responseCache.finish(reply, bytes, context.metadata);
    },
  });
}

/** A response as bytes, or the error for which it cannot be sent. It stands in place of the data of an ordinary response. */
class WrittenResponse {
  readonly bytes: ResponseBytes | Error;

  constructor(result: object, claim: Claim | undefined, counted: number) {
    try {
      this.bytes = responseBytes(result, claim, counted);
    } catch (error) {
      this.bytes = error as Error;
    }
  }
}

/** A response of status 200 for Apollo, with something else in place of its data. */
const inPlaceOfData = (data: WrittenResponse | PartsSender, headers = new HeaderMap()): GraphQLResponse => ({
  http: { headers },
  body: { kind: 'single', singleResult: { data: data as never } },
});

type FormattedResult = {
  extensions?: Record<string, unknown> | undefined;
  readonly errors?: readonly GraphQLFormattedError[] | undefined;
};

/** Adds a response's metadata, forbids caching where something is missing or was written, and notes its outcome. */
function complete(result: FormattedResult, metadata: ResponseMetadata): void {
  const { operation } = metadata;
  if (operation.type !== 'query' || result.errors !== undefined) metadata.forbidCaching();
  const extensions = responseExtensions(metadata);
  if (extensions !== undefined) result.extensions = { ...result.extensions, ...extensions };
  operation.outcome = outcomeOfErrors(result.errors);
}

/** In place of a document that is refused. */
const emptyDocument: DocumentNode = { kind: Kind.DOCUMENT, definitions: [] };

/** Everything that the gateway adds to Apollo's own handling of a request, one method for each phase. */
function createApolloPlugin(deps: GraphqlRouteDeps): ApolloServerPlugin<Context> {
  const { schema, components, documentChecks, executePlanned, mask } = deps;
  const formatAll = (errors: readonly GraphQLError[], { metadata, identity }: Context) =>
    errors.map(error => {
      const cause = causeOf(error);
      // The service would refuse the credential in the session's cookie again each time.
      if (cause instanceof Unauthenticated && cause.upstream !== undefined) identity.session.expire();
      return mask(error, metadata.operation.id);
    });
  return {
    async requestDidStart() {
      let refused: readonly GraphQLError[] | undefined;
      return {
        /**
         * Refuses an operation that is not admitted, before any upstream call is made for it. Apollo parses and validates nothing where there is a
         * document.
         */
        async didResolveSource(apolloRequest) {
          const { source, request, contextValue } = apolloRequest;
          const { identity, metadata } = contextValue;
          const { operationName, variables } = request;
          let document = emptyDocument;
          try {
            const turn = components.acceptedScopes.turnOf(identity.scope);
            // What is known is not awaited: that would be a promise, and the requests of the same turn would run in between.
            const read = documentChecks.read(turn, source, metadata.claim);
            document = read instanceof Promise ? await read : read;
            const asked = { document, operationName, variables };
            const client = { credential: identity.credential, scope: turn };
            const checked = documentChecks.checkOperation(client, asked, metadata.operation);
            const { operation } = checked instanceof Promise ? await checked : checked;
            if (operation === 'subscription') throw subscriptionRefused();
          } catch (error) {
            refused = errorsIn(error);
          }
          Object.assign(apolloRequest, { document });
        },

        async responseForOperation({ document, request, contextValue: context }) {
          const { operationName, variables, http } = request;
          if (refused !== undefined) {
            const { status } = { status: 400, ...(refused[0]?.extensions.http as object | undefined) };
            const singleResult = { errors: formatAll(refused, context) };
            return { http: { status, headers: new HeaderMap() }, body: { kind: 'single', singleResult } };
          }
          const defers = acceptsParts(http?.headers.get('accept'));
          const { metadata } = context;
          const client = components.acceptedScopes.turnOf(metadata.operation.scope);
          const counted = { length: Number.NaN };
          const input = { document, operationName, variables, context, client, defers, counted };
          const executed = executeOperation({ schema, executePlanned }, input);
          const result = executed instanceof Promise ? await executed : executed;
          const { data = null, errors, deferred } = result;
          if (deferred !== undefined) {
            const inParts = multipartResponse(result, deferred, metadata, found => formatAll(found, context));
            // With its type given, Apollo does not look for one that the client takes.
            return inPlaceOfData(inParts, new HeaderMap([['content-type', partsContentType]]));
          }
          // Errors first, as Apollo has them.
          const whole: FormattedResult & { data?: unknown } = { errors: errors && formatAll(errors, context), data };
          complete(whole, metadata);
          // What stands beside the data is not counted.
          if ((whole.errors ?? whole.extensions) !== undefined) counted.length = Number.NaN;
          // Written at once, while the processor's caches have what it is made of.
          return inPlaceOfData(new WrittenResponse(whole, metadata.claim, counted.length));
        },

        async willSendResponse({ request, response, contextValue: { metadata } }) {
          if (response.body.kind !== 'single') return;
          const { singleResult: result } = response.body;
          if (typeof result.data === 'function') return;
          request.http?.headers.set('accept', withoutParts(request.http.headers.get('accept')));
          // What is not written yet refuses the request.
          if (!(result.data instanceof WrittenResponse)) complete(result, metadata);
        },
      };
    },
  };
}

const subscriptionRefused = () =>
  new GraphQLError(
    'Subscriptions are served over WebSocket or as multipart/mixed;subscriptionSpec=1.0 at /graphql, and as Server-Sent Events at /graphql/stream',
    { extensions: { code: 'BAD_REQUEST', http: { status: 400 } } },
  );

/** In place of Apollo's message, which is long and names the way out last. */
const forgeryMessage =
  'A page of another site could send this request (CSRF). Add the header "apollo-require-preflight: 1", or send a POST with "content-type: application/json"';

/** Made once, because its stack is never shown. */
const clientGone = new Abandoned('The client has gone');

/** So long a command of Redis may take, with which a request begins. */
const joiningMs = 250;

/** Aborts when the client hangs up, or at the deadline of its request. The claim is released once the response has been sent. */
function abortController(state: RequestState, milliseconds: number, claim: Claim): AbortController {
  const controller = new AbortController();
  const timer = startDeadline(controller, milliseconds);
  state.whenClosed(() => {
    clearTimeout(timer);
    claim.release();
    if (state.response.writableFinished) return;
    // Equal requests that waited for its result join its calls first.
    if (state.flight?.isShared) setTimeout(() => controller.abort(clientGone), joiningMs);
    else controller.abort(clientGone);
  });
  return controller;
}

/** Aborts at the deadline of a request. */
export function startDeadline(controller: AbortController, milliseconds: number): NodeJS.Timeout {
  const late = () => controller.abort(new UpstreamTimeout(`The request took longer than ${milliseconds} ms`));
  return setTimeout(late, milliseconds);
}
