// Writes the parts of a response with `@defer`.
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { GraphQLError, GraphQLFormattedError } from 'graphql';
import type { PlannedResult } from '../../graphql/executor/defer.js';
import { responseBytes } from '../../graphql/response-text.js';
import { joinBytes } from '../../lib/body.js';
import { outcomeOfErrors } from '../../observability/operation-info.js';
import { type ResponseMetadata, responseExtensions } from '../../observability/response-metadata.js';
import { errorsIn } from '../mask-error.js';
import { stateOf } from '../request-state.js';

/** Incremental delivery v0.2, as `acceptsParts` knows it. */
export const partsContentType = 'multipart/mixed; boundary="-"; incrementalSpec=v0.2';
const opening = Buffer.from('\r\n---');
const partHead = Buffer.from('\r\ncontent-type: application/json; charset=utf-8\r\n\r\n');
const closing = Buffer.from('--\r\n');

/**
 * Sends each part of a response as soon as it is there and the client has read those before it. It stands in place of the data of an ordinary response.
 * @throws QueryTooComplex, Overloaded, RateLimited where the first part cannot be sent. A later one is replaced by the error.
 */
export type PartsSender = (reply: FastifyReply) => FastifyReply;

/** The response with the parts of a result. The last part has the `extensions` of the whole response. @param format masks errors. */
export function multipartResponse(
  { data = null, errors }: PlannedResult,
  { pending, parts: later }: NonNullable<PlannedResult['deferred']>,
  metadata: ResponseMetadata,
  format: (errors: readonly GraphQLError[]) => readonly GraphQLFormattedError[],
): PartsSender {
  const formatted = (found: readonly GraphQLError[] = []) => {
    const all = format(found);
    const { operation } = metadata;
    if (operation.outcome === undefined || operation.outcome === 'ok') operation.outcome = outcomeOfErrors(all);
    return all.length > 0 && { errors: all };
  };
  // Now, because an error may change the headers of the response.
  const first = { ...formatted(errors), data, pending, hasNext: true };

  /** The ids of the fragments that the client waits for. */
  const waiting = new Set(pending.map(({ id }) => id));
  async function* parts(): AsyncGenerator<object> {
    for await (const { pending, incremental, completed, hasNext } of later) {
      const masked = {
        ...(pending.length > 0 && { pending }),
        ...(incremental.length > 0 && {
          incremental: incremental.map(({ errors: found, ...entry }) => ({ ...entry, ...formatted(found) })),
        }),
        completed: completed.map(({ errors: found, ...entry }) => ({ ...entry, ...formatted(found) })),
        hasNext,
      };
      if (hasNext) {
        yield masked;
        for (const { id } of pending) waiting.add(id);
        for (const { id } of completed) waiting.delete(id);
        continue;
      }
      const extensions = responseExtensions(metadata);
      if (extensions === undefined) return yield masked;
      // Apollo Client does not read the extensions of a part that has data.
      yield { ...masked, hasNext: true };
      yield { extensions, hasNext: false };
    }
  }
  const failed = (error: unknown) => {
    const errors = formatted(errorsIn(error));
    return { completed: [...waiting].map(id => ({ id, ...errors })), hasNext: false };
  };
  return reply => {
    // What was read stays counted, because later parts are made of it too.
    const ofPart = metadata.claim?.another();
    stateOf(reply.request.raw).whenClosed(() => ofPart?.release());
    const bytesOf = (part: object) => joinBytes([partHead, ...responseBytes(part, ofPart).parts, opening]);
    async function* chunks(): AsyncGenerator<Buffer> {
      try {
        for await (const part of parts()) yield bytesOf(part);
      } catch (error) {
        yield bytesOf(failed(error));
      }
      yield closing;
    }
    const stream = Readable.from(chunks(), { objectMode: false });
    stream.unshift(joinBytes([opening, bytesOf(first)]));
    // Proxies such as nginx would buffer the parts otherwise.
    return reply.header('x-accel-buffering', 'no').send(stream);
  };
}
