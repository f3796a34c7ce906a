// The route `/graphql`.
import { Readable } from 'node:stream';
import { type ApolloServer, type BaseContext, HeaderMap, type HTTPGraphQLRequest } from '@apollo/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GraphQLError } from 'graphql';
import { checkedJson, jsonValueOf } from '../../graphql/limits/bounds.js';
import { type DocumentText, givenHash } from '../../graphql/limits/documents.js';
import { documentErrors, toGraphqlError } from '../mask-error.js';
import { stateOf } from '../request-state.js';

interface ApolloAdapterOptions<C extends BaseContext> {
  readonly apollo: ApolloServer<C>;
  readonly documentText: DocumentText;
  /** The context of a request. @throws the error that refuses the request. */
  createContext(request: FastifyRequest, reply: FastifyReply): C;
  /**
   * Sends a whole response, or returns what Fastify is to send.
   * @param body what `stringifyResult` returned.
   * @param context undefined where the request was refused before it had one.
   * @throws GatewayError where the response cannot be sent.
   */
  send(reply: FastifyReply, body: string, context: C | undefined): unknown;
}

/** GraphQL over HTTP: passes requests from Fastify to Apollo's server, and its responses back. */
export function serveApollo<C extends BaseContext>(
  app: FastifyInstance,
  url: string,
  { apollo, documentText, createContext, send }: ApolloAdapterOptions<C>,
): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const { operation: info } = stateOf(request.raw);
    const httpGraphQLRequest = toApolloRequest(request);
    let made: C | undefined;
    // Apollo calls it after its check against forged requests, and before it reads the request.
    const context = async () => {
      try {
        const read = request.method === 'GET' ? readSearch : readBody;
        read(httpGraphQLRequest, params => documentText(params, info));
        made = createContext(request, reply);
        return made;
      } catch (error) {
        const refused = toGraphqlError(error);
        if (refused instanceof GraphQLError) info.outcome = String(refused.extensions.code);
        throw refused;
      }
    };
    const response = await apollo.executeHTTPGraphQLRequest({ httpGraphQLRequest, context });
    const { headers, body, status = 200 } = response;
    const types = { accept: request.headers.accept, contentType: headers.get('content-type') };
    const outcome = made === undefined ? undefined : info.outcome;
    reply.code(statusFor(status, outcome, types)).headers(Object.fromEntries(headers));
    return body.kind === 'complete' ? send(reply, body.string, made) : reply.send(Readable.from(body.asyncIterator));
  };
  // Two routes, because a browser may get a page in place of the first.
  app.get(url, handler);
  app.post(url, handler);
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

/** Puts the text of a trusted document in place of its hash. An empty name is as good as none, as in a query string. @throws what `documentText` throws. */
function readBody(request: HTTPGraphQLRequest, documentText: DocumentText): void {
  const body = request.body as Record<string, unknown> | null | undefined;
  if (body?.operationName === '') body.operationName = null;
  const params = { ...(typeof body === 'object' && !Array.isArray(body) && body) };
  const text = documentText(params);
  if (text === undefined || givenHash(params) === undefined) return;
  const { extensions: _, documentId: __, ...rest } = params;
  request.body = { ...rest, query: text };
}

/** The same for a query string. Its variables, which Apollo parses, become well-formed Unicode. @throws also QueryTooComplex */
function readSearch(request: HTTPGraphQLRequest, documentText: DocumentText): void {
  const params = new URLSearchParams(request.search);
  // As if they were left out (GraphQL over HTTP, GET).
  for (const name of ['operationName', 'variables', 'extensions']) params.delete(name, '');
  for (const name of ['variables', 'extensions']) params.delete(name, 'null');
  const variables = params.get('variables');
  if (variables !== null) params.set('variables', checkedJson(Buffer.from(variables)));
  // What is not JSON, Apollo refuses later.
  const named = {
    query: params.get('query') ?? undefined,
    documentId: params.get('documentId') ?? undefined,
    extensions: jsonValueOf(params.get('extensions') ?? ''),
    onError: params.get('onError'),
  };
  const text = documentText(named);
  if (text !== undefined && givenHash(named) !== undefined) {
    params.set('query', text);
    params.delete('extensions');
    params.delete('documentId');
  }
  request.search = `?${params}`;
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

/** Apollo's `stringifyResult`: leaves a result as it is, which is written already or by `send`. */
export const keepResult = (result: unknown): string => result as string;
