import { type ExecutionArgs, type ExecutionResult, execute, GraphQLError } from 'graphql';
import { QueryTooComplex } from '../../errors.js';

/** Errors of one response that are reported. To make and format one takes about 50 µs. */
export const maxErrors = 200;

const originalError = new QueryTooComplex('errors', maxErrors + 1, maxErrors);
/** Stands for all errors above the limit: further nulls of the response have no error of their own. */
export const moreErrors = new GraphQLError(originalError.message, { originalError });

/** Executes an operation with graphql-js. The result has its first errors, and one that stands for the others. */
export async function executeWithFewErrors(args: ExecutionArgs): Promise<ExecutionResult> {
  const result = await execute(args);
  const { errors = [] } = result;
  return errors.length > maxErrors ? { ...result, errors: [...errors.slice(0, maxErrors), moreErrors] } : result;
}
