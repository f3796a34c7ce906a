import { Readable } from 'node:stream';
import {
  type ApolloServer,
  type ApolloServerPlugin,
  type BaseContext,
  type GraphQLRequest,
  type GraphQLResponse,
  HeaderMap,
  type HTTPGraphQLRequest,
} from '@apollo/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type DocumentNode, GraphQLError, type GraphQLFormattedError, Kind } from 'graphql';
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import type { Context } from '../../context.js';
import type { PlanExecutor } from '../../graphql/executor/execute.js';
import type { Admission } from '../../graphql/limits/admission.js';
import { type ReadDocument, RefusedOperation } from '../../graphql/limits/documents.js';
import { hasDocumentHash } from '../../graphql/limits/trusted-documents.js';
import { wellFormedJson } from '../../lib/text.js';
import { operationName, outcomeOfErrors } from '../../observability/operation-info.js';
import { addResponseMetadata, type ResponseMetadata } from '../../observability/response-metadata.js';
import { documentErrors, toGraphqlError } from '../mask-error.js';
import { stateOf } from '../request-state.js';
import { acceptsParts, MultipartResponse, multipartResponse, partsContentType, withoutParts } from './parts.js';

/** How requests are executed, and what is done before and after. */
interface ApolloAdapterOptions<C extends BaseContext> {
  readonly apollo: ApolloServer<C>;
  readonly admission: Pick<Admission, 'documentText' | 'untrustedHash'>;
  /** The context of a request. @throws the error that refuses the request. */
  createContext(request: FastifyRequest, reply: FastifyReply): Promise<C>;
  /**
   * Sends a whole response, or returns what Fastify is to send.
   * @param body what `stringifyResult` returned.
   * @param context undefined where the request was refused before it had one.
   * @throws GatewayError where the response cannot be sent.
   */
  send(request: FastifyRequest, reply: FastifyReply, body: string, context: C | undefined): unknown;
}

/** GraphQL over HTTP: passes requests from Fastify to Apollo's server, and its responses back. */
export function serveApollo<C extends BaseContext>(
  app: FastifyInstance,
  url: string,
  { apollo, admission, createContext, send }: ApolloAdapterOptions<C>,
): void {
  app.route({
    url,
    method: ['GET', 'POST'],
    handler: async (request, reply) => {
      const { operation: info } = stateOf(request.raw);
      let made: C | undefined;
      const refused = (error: unknown) => {
        const refusal = toGraphqlError(error);
        if (refusal instanceof GraphQLError && typeof refusal.extensions.code === 'string')
          info.outcome = refusal.extensions.code;
        return refusal;
      };
      let context = async () => {
        try {
          made = await createContext(request, reply);
          return made;
        } catch (error) {
          throw refused(error);
        }
      };
      let httpGraphQLRequest = toApolloRequest(request);
      const documentText: Admission['documentText'] = params => {
        const text = admission.documentText(params);
        if (text !== undefined) info.untrusted = admission.untrustedHash(params, text);
        return text;
      };
      try {
        httpGraphQLRequest = withDocument(httpGraphQLRequest, { documentText });
      } catch (error) {
        // Apollo throws it when it asks for the context, after its check against forged requests.
        context = () => Promise.reject(refused(error));
      }
      const response = await apollo.executeHTTPGraphQLRequest({ httpGraphQLRequest, context });
      const { headers, body, status = 200 } = response;
      const types = { accept: request.headers.accept, contentType: headers.get('content-type') };
      const outcome = made === undefined ? undefined : info.outcome;
      reply.code(statusFor(status, outcome, types)).headers(Object.fromEntries(headers));
      return body.kind === 'complete'
        ? send(request, reply, body.string, made)
        : reply.send(Readable.from(body.asyncIterator));
    },
  });
}

/** A request in Apollo's form, as it came. */
export function toApolloRequest({ method, url, headers, body }: FastifyRequest): HTTPGraphQLRequest {
  const map = new HeaderMap();
  for (const [name, value] of Object.entries(headers)) {
    if (value) map.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  const query = url.indexOf('?');
  return { method, headers: map, body, search: query === -1 ? '' : url.slice(query) };
}

/** The request with the text of its trusted document in place of the document's hash. @throws what `admission.documentText` throws. */
function withDocument(request: HTTPGraphQLRequest, admission: Pick<Admission, 'documentText'>): HTTPGraphQLRequest {
  if (request.method === 'GET') {
    return { ...request, search: searchWithDocument(request.search, admission) };
  }
  const { body } = request;
  const params: Record<string, unknown> =
    typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body } : {};
  const text = admission.documentText(params);
  if (text === undefined || !hasDocumentHash(params)) return request;
  const { extensions: _, documentId: __, ...rest } = params;
  return { ...request, body: { ...rest, query: text } };
}

/** The same for a query string. Its variables become well-formed Unicode. */
function searchWithDocument(search: string, admission: Pick<Admission, 'documentText'>): string {
  const params = new URLSearchParams(search);
  const variables = params.get('variables');
  if (variables !== null) params.set('variables', wellFormedJson(variables));
  const named = {
    query: params.get('query') ?? undefined,
    documentId: params.get('documentId') ?? undefined,
    extensions: parsed(params.get('extensions')),
    variables: parsed(params.get('variables')),
  };
  const text = admission.documentText(named);
  if (text !== undefined && hasDocumentHash(named)) {
    params.set('query', text);
    params.delete('extensions');
    params.delete('documentId');
  }
  return `?${params}`;
}

/** The value of a JSON text; undefined where it is not JSON, which Apollo refuses later. */
function parsed(json: string | null): unknown {
  try {
    return json === null ? undefined : JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * The status of an executed request. A client that asks for `application/json` by name does not know the statuses of GraphQL over HTTP, and may
 * take any status but 200 for the response of a proxy (GraphQL over HTTP: application/json).
 * @param status by the rules of `application/graphql-response+json`: 400 where the document cannot be run.
 * @param outcome the code of the first error.
 */
function statusFor(
  status: number,
  outcome: string | undefined,
  { accept = '', contentType = '' }: { readonly accept: string | undefined; readonly contentType: string | undefined },
): number {
  const isLegacyJson = contentType.startsWith('application/json') && /\bapplication\/json\b/i.test(accept);
  return isLegacyJson && status === 400 && outcome !== undefined && documentErrors.has(outcome) ? 200 : status;
}

/** Apollo's `stringifyResult`: leaves a result as it is, so that it is written later, once there is memory for it. See `keptResult`. */
export const keepResult = (result: unknown): string => result as string;

/** Takes the result that `keepResult` left in the body of Apollo's response. @throws Error where Apollo has turned it into text. */
export function keptResult(body: string): unknown {
  if (typeof body === 'string') throw new Error('Apollo did not keep the result of stringifyResult in the body');
  return body;
}

/** What the gateway does in the course of Apollo's request. */
interface ApolloPluginDeps {
  readonly admission: Pick<Admission, 'read' | 'checkOperation'>;
  /** Executes queries by a plan where there is one. Apollo executes the rest with graphql-js, or everything where this is undefined. */
  readonly executePlanned: PlanExecutor | undefined;
  /** Whether the header `x-explain: 1` is honored. */
  readonly explains: boolean;
  readonly acceptedScopes: Pick<AcceptedScopes, 'add'>;
  /** Called with the errors of a request before they are formatted. */
  onErrors(errors: readonly GraphQLError[], context: Context): void;
  /** An error as the client may see it. */
  formatError(error: GraphQLError): GraphQLFormattedError;
}

/** Executes an operation whose document has been read. */
export function executeRead(
  apollo: ApolloServer<Context>,
  operation: {
    readonly query: string;
    readonly document: DocumentNode;
    readonly operationName?: string | null | undefined;
    readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
  },
  contextValue: Context,
): Promise<GraphQLResponse> {
  const { query, document, operationName, variables } = operation;
  contextValue.document = document;
  const request = { query, ...(operationName != null && { operationName }), ...(variables != null && { variables }) };
  return apollo.executeOperation(request, { contextValue });
}

/** In place of a document that is refused. */
const nothing: DocumentNode = { kind: Kind.DOCUMENT, definitions: [] };

/** Everything that the gateway adds to Apollo's own handling of a request, one method for each phase. */
export function createApolloPlugin(deps: ApolloPluginDeps): ApolloServerPlugin<Context> {
  const { admission, executePlanned, explains, acceptedScopes, onErrors, formatError } = deps;
  const isExplained = ({ http }: GraphQLRequest) => explains && http?.headers.get('x-explain') === '1';
  const noteAccepted = (metadata: ResponseMetadata) => {
    const { scope } = metadata.operation;
    if (scope !== undefined && isCredentialAccepted(metadata)) acceptedScopes.add(scope);
  };
  return {
    async requestDidStart() {
      let refused: readonly GraphQLError[] | undefined;
      const read = async (client: string | undefined, text: string): Promise<ReadDocument> => {
        try {
          return await admission.read(client, text);
        } catch (error) {
          const refusal = toGraphqlError(error);
          if (refusal instanceof GraphQLError) return new RefusedOperation([refusal]);
          throw error;
        }
      };
      return {
        /** Apollo parses and validates nothing where there is a document. */
        async didResolveSource(request) {
          const { contextValue, source } = request;
          const { scope } = contextValue.metadata.operation;
          const document = contextValue.document ?? (await read(scope, source));
          const isRefused = document instanceof RefusedOperation;
          if (isRefused) refused = document.errors;
          Object.assign(request, { document: isRefused ? nothing : document });
        },

        /** Refuses an operation that is not admitted, before any upstream call is made for it. */
        async didResolveOperation({ document, operation, request, contextValue }) {
          if (refused !== undefined) return;
          const { scope } = contextValue.metadata.operation;
          contextValue.metadata.operation.name = operationName(operation?.name?.value);
          if (operation !== undefined) contextValue.metadata.operation.type = operation.operation;
          try {
            await admission.checkOperation(scope, document, request.operationName, request.variables);
          } catch (error) {
            throw toGraphqlError(error);
          }
          if (operation?.operation === 'subscription' && request.http !== undefined) throw subscriptionRefused();
        },

        async responseForOperation({ document, request, contextValue: context }) {
          const { operationName, variables, http } = request;
          const format = (found: readonly GraphQLError[]) => {
            if (found.length > 0) onErrors(found, context);
            return found.map(formatError);
          };
          if (refused !== undefined) {
            const { status } = { status: 400, ...(refused[0]?.extensions.http as object | undefined) };
            const singleResult = { errors: format(refused) };
            return { http: { status, headers: new HeaderMap() }, body: { kind: 'single', singleResult } };
          }
          const defers = acceptsParts(http?.headers.get('accept'));
          const client = context.metadata.operation.scope;
          const result = await executePlanned?.({ document, operationName, variables, context, client, defers });
          if (result === undefined) return null;
          const { data = null, errors, deferred } = result;
          if (deferred === undefined) {
            const singleResult = { data, ...(errors && { errors: format(errors) }) };
            return { http: { headers: new HeaderMap() }, body: { kind: 'single', singleResult } };
          }
          const { metadata } = context;
          const inParts = multipartResponse(result, deferred, {
            metadata,
            explain: isExplained(request),
            format,
            onEnd: () => noteAccepted(metadata),
          });
          // With its type given, Apollo does not look for one that the client takes.
          const headers = new HeaderMap([['content-type', partsContentType]]);
          return { http: { headers }, body: { kind: 'single', singleResult: { data: inParts as never } } };
        },

        async didEncounterErrors({ errors, contextValue }) {
          onErrors(errors, contextValue);
        },

        /** Adds the response's metadata, decides whether the response may be cached, and notes its outcome. */
        async willSendResponse({ request, operation, response, contextValue: { metadata } }) {
          if (response.body.kind !== 'single') return;
          const result = response.body.singleResult;
          if (result.data instanceof MultipartResponse) return;
          request.http?.headers.set('accept', withoutParts(request.http.headers.get('accept')));
          if (operation?.operation !== 'query' || result.errors !== undefined || metadata.skipped.length > 0) {
            metadata.forbidCaching();
          }
          addResponseMetadata(result, metadata, isExplained(request));
          metadata.operation.outcome = outcomeOfErrors(result.errors);
          noteAccepted(metadata);
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

/** Whether the service answered, now or when the cache was filled: it answers only a credential that it accepts. */
function isCredentialAccepted({ upstreamCalls }: ResponseMetadata): boolean {
  return upstreamCalls.some(({ status }) => status !== null && status >= 200 && status < 300);
}
