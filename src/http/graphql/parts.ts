import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { GraphQLError, GraphQLFormattedError } from 'graphql';
import type { PlannedResult } from '../../graphql/executor/defer.js';
import { responseBytes } from '../../graphql/response-text.js';
import { joinBytes } from '../../lib/body.js';
import type { Claim } from '../../lib/memory-budget.js';
import { outcomeOfErrors } from '../../observability/operation-info.js';
import { type ResponseMetadata, responseExtensions, skippedError } from '../../observability/response-metadata.js';

/** Incremental delivery v0.2, as `acceptsParts` knows it. */
export const partsContentType = 'multipart/mixed; boundary="-"; incrementalSpec=v0.2';

/** A response in parts. It stands in place of the data of an ordinary response. */
export class MultipartResponse {
  readonly parts: AsyncIterable<object>;

  constructor(parts: AsyncIterable<object>) {
    this.parts = parts;
  }
}

/** The parts of a result. The last part has the `extensions` of the whole response. @param format masks errors. */
export function multipartResponse(
  { data = null, errors }: PlannedResult,
  { pending, parts: later }: NonNullable<PlannedResult['deferred']>,
  metadata: ResponseMetadata,
  format: (errors: readonly GraphQLError[]) => readonly GraphQLFormattedError[],
): MultipartResponse {
  let reported = 0;
  /** The member `errors`, with those of the records that were left out since the last call if `addsSkipped` is true. */
  const formatted = (found: readonly GraphQLError[] = [], addsSkipped = false) => {
    const skipped = addsSkipped ? metadata.skipped.slice(reported) : [];
    reported += skipped.length;
    const all = [...format(found), ...skipped.map(skippedError)];
    const { operation } = metadata;
    if (operation.outcome === undefined || operation.outcome === 'ok') operation.outcome = outcomeOfErrors(all);
    return all.length > 0 && { errors: all };
  };
  // Now, because an error may change the headers of the response.
  const first = { ...formatted(errors, true), data, pending, hasNext: true };

  async function* parts(): AsyncGenerator<object> {
    yield first;
    for await (const { incremental = [], completed = [], ...part } of later) {
      const last = incremental.length - 1;
      const masked = {
        ...part,
        ...(incremental.length > 0 && {
          incremental: incremental.map(({ errors: found, ...entry }, index) => ({
            ...entry,
            ...formatted(found, index === last),
          })),
        }),
        completed: completed.map(({ errors: found, ...entry }) => ({ ...entry, ...formatted(found) })),
      };
      if (part.hasNext) {
        yield masked;
        continue;
      }
      const extensions = responseExtensions(metadata);
      if (extensions === undefined) return yield masked;
      // Apollo Client does not read the extensions of a part that has data.
      yield { ...masked, hasNext: true };
      yield { extensions, hasNext: false };
    }
  }
  return new MultipartResponse(parts());
}

const opening = Buffer.from('\r\n---');
const partHead = Buffer.from('\r\ncontent-type: application/json; charset=utf-8\r\n\r\n');
const closing = Buffer.from('--\r\n');

/** Sends each part as soon as it is there and the client has read those before it. */
export function sendInParts(reply: FastifyReply, { parts }: MultipartResponse, claim: Claim | undefined): FastifyReply {
  async function* chunks(): AsyncGenerator<Buffer> {
    yield opening;
    for await (const part of parts) {
      // What was read stays counted, because later parts are made of it too.
      const ofPart = claim?.another();
      try {
        const { parts: bytes } = responseBytes(part, ofPart);
        yield joinBytes([partHead, ...bytes, opening]);
      } finally {
        ofPart?.release();
      }
    }
    yield closing;
  }
  // Proxies such as nginx would buffer the parts otherwise.
  return reply.header('x-accel-buffering', 'no').send(Readable.from(chunks(), { objectMode: false }));
}
