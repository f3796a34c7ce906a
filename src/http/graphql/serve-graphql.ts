import { Readable } from 'node:stream';
import type { ApolloServer, BaseContext } from '@apollo/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Admission } from '../../graphql/limits/admission.js';
import type { RequestTelemetry } from '../../observability/request-telemetry.js';
import { refusal } from '../mask-error.js';
import { admitted, asApollo } from './admitted.js';
import { statusFor } from './status.js';

/** What executes the requests that come in, and what is done before and after. */
export interface Served<C extends BaseContext> {
  readonly apollo: ApolloServer<C>;
  readonly admission: Admission;
  readonly requestTelemetry: Pick<RequestTelemetry, 'of'>;
  /** The context of a request. @throws what it is refused for. */
  context(request: FastifyRequest, reply: FastifyReply): Promise<C>;
  /** Sends a whole answer, or gives back what is to be sent. @throws GatewayError where it cannot be sent. `context` is undefined where the request was refused before it had one. */
  finish(request: FastifyRequest, reply: FastifyReply, result: unknown, context: C | undefined): unknown;
}

/** GraphQL over HTTP between Fastify and Apollo's server. */
export function serveGraphql<C extends BaseContext>(
  app: FastifyInstance,
  url: string,
  { apollo, admission, requestTelemetry, context, finish }: Served<C>,
): void {
  const refused = (request: FastifyRequest, error: unknown) => {
    if (error instanceof GatewayError) requestTelemetry.of(request.raw).outcome = error.code;
    return refusal(error);
  };
  /** What is not admitted goes the way of all errors, after the check against forged requests. */
  const asked = (request: FastifyRequest, context: () => Promise<C>) => {
    try {
      return { httpGraphQLRequest: admitted(request, admission), context };
    } catch (error) {
      return { httpGraphQLRequest: asApollo(request), context: () => Promise.reject(refused(request, error)) };
    }
  };
  app.route({
    url,
    method: ['GET', 'POST'],
    handler: async (request, reply) => {
      let made: C | undefined;
      const make = async () => {
        try {
          made = await context(request, reply);
          return made;
        } catch (error) {
          throw refused(request, error);
        }
      };
      const { headers, body, status = 200 } = await apollo.executeHTTPGraphQLRequest(asked(request, make));
      const types = { accept: request.headers.accept, contentType: headers.get('content-type') };
      const outcome = made === undefined ? undefined : requestTelemetry.of(request.raw).outcome;
      reply.code(statusFor(status, outcome, types)).headers(Object.fromEntries(headers));
      return body.kind === 'complete'
        ? finish(request, reply, body.string, made)
        : reply.send(Readable.from(body.asyncIterator));
    },
  });
}
