import { type ExecutionResult, GraphQLError } from 'graphql';
import { QueryTooComplex } from '../../errors.js';

/** Errors of one response that are reported. To make and format one takes about 50 µs. */
export const maxErrors = 200;

const originalError = new QueryTooComplex('errors', maxErrors + 1, maxErrors);
/** Stands for all errors above the limit: further nulls of the response have no error of their own. */
export const moreErrors = new GraphQLError(originalError.message, { originalError });

/** A result with its first errors, and one that stands for the others. */
export function withFewErrors(result: ExecutionResult): ExecutionResult {
  const { errors = [] } = result;
  return errors.length > maxErrors ? { ...result, errors: [...errors.slice(0, maxErrors), moreErrors] } : result;
}
