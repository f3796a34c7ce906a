import { CombinedGraphQLErrors, type ErrorLike } from '@apollo/client';
import { isRetryable, isUnreachable } from '../graphql/errors';

interface ProblemsProps {
  readonly error: ErrorLike | undefined;
  /** Reads the same again. Left out, or if that cannot help: no button. */
  readonly retry?: () => void;
}

/** One cause, in words, and the parts of the page that it concerns. */
interface Problem {
  readonly message: string;
  readonly parts: readonly string[];
  readonly requestId: string | undefined;
}

/** What failed, in words. Nothing if nothing failed. */
export function Problems({ error, retry }: ProblemsProps) {
  if (!error) return null;
  return (
    <div className="problems" role="alert">
      {problemsOf(error).map(({ message, parts, requestId }) => (
        <p key={message}>
          {message}
          {parts.length > 1 && ` (${parts.length} parts of this page)`}
          {requestId && <small> Request {requestId}</small>}
        </p>
      ))}
      {retry && (isUnreachable(error) || isRetryable(error)) && (
        <button type="button" onClick={() => retry()}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The causes behind the errors of one response. A service that is down can be the cause of many errors: it is one problem. */
export function problemsOf(error: ErrorLike): Problem[] {
  if (!CombinedGraphQLErrors.is(error)) {
    return [{ message: 'The gateway could not be reached.', parts: [], requestId: undefined }];
  }
  const byMessage = Map.groupBy(error.errors, ({ message }) => message);
  return [...byMessage].map(([message, errors]) => ({
    message,
    parts: errors.map(({ path }) => path?.join('.') ?? ''),
    requestId: errors[0]?.extensions?.requestId as string | undefined,
  }));
}
