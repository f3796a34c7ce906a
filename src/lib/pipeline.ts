import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { MaybePromise } from './maybe-promise.js';

/** Answers a request, or passes it on. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => MaybePromise<void>;

/** A part of a pipeline: a handler that answers some requests, and passes all others on to `next`. */
export type Stage = (next: Handler) => Handler;

/**
 * Sends each request through the stages, in their order, and then to `last`.
 * @param onError is called with every error of a stage, thrown or rejected, so that no request stays without a response.
 */
export function createPipeline(
  stages: readonly Stage[],
  last: Handler,
  onError: (error: unknown, request: IncomingMessage, response: ServerResponse) => void,
): RequestListener {
  const first = stages.reduceRight((next, stage) => stage(next), last);
  return (request, response) => {
    try {
      const done = first(request, response);
      if (done instanceof Promise) done.catch(error => onError(error, request, response));
    } catch (error) {
      onError(error, request, response);
    }
  };
}
