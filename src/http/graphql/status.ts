/** Errors of the document and its variables, which GraphQL itself finds in a request that is well-formed otherwise. */
const ofTheDocument = new Set([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'OPERATION_RESOLUTION_FAILURE',
  'BAD_USER_INPUT',
]);

/**
 * The status that an executed request is answered with. A client that asks for `application/json` by name knows nothing of the statuses of GraphQL
 * over HTTP, and may take any other than 200 for an answer of somebody in between (GraphQL over HTTP: application/json).
 * @param status what it would be: 400 where the document cannot be run.
 * @param outcome the code of the first error.
 */
export function statusFor(
  status: number,
  outcome: string | undefined,
  { accept = '', contentType = '' }: { readonly accept: string | undefined; readonly contentType: string | undefined },
): number {
  const isOldWay = contentType.startsWith('application/json') && /\bapplication\/json\b/i.test(accept);
  return isOldWay && status === 400 && outcome !== undefined && ofTheDocument.has(outcome) ? 200 : status;
}
