import type { ErrorLike } from '@apollo/client';
import type { GatewayErrorCode } from '../../../../docs/gateway-errors';
import { errorsIn, isRetryable } from '../graphql/errors';
import { capitalized } from './format';
import { Button } from './parts';

interface ProblemsProps {
  readonly id?: string;
  readonly error: ErrorLike | undefined;
  /** What the page calls the argument that is refused. */
  readonly field?: string;
  /** Reads the same again, which without a connection happens by itself. Left out, or if that cannot help: no button. */
  readonly retry?: () => void;
}

/** What to do, by the code of an error. An error with another code says it in its message. */
const ADVICE: { readonly [Code in GatewayErrorCode]?: string } = {
  UNAUTHENTICATED: 'You are not signed in any more. Sign in to go on.',
  FORBIDDEN: 'Your account has no access to this. Ask your administrator for it.',
  NOT_FOUND: 'This does not exist, or your account has no access to it.',
  NOT_CONFIGURED: 'This function is not set up here. Ask your administrator for it.',
  UPSTREAM_TIMEOUT: 'The market data service does not respond. Try again in a moment.',
  UPSTREAM_UNAVAILABLE: 'The market data service does not respond. Try again in a moment.',
  UPSTREAM_INVALID_RESPONSE:
    'The market data service sent something unreadable. If it stays so, tell your administrator.',
  INTERNAL_SERVER_ERROR: 'Something went wrong here. If it stays so, tell your administrator.',
};

/** What failed and what to do about it. What only an administrator needs is behind "Details". Nothing if nothing failed. */
export function Problems({ id, error, field, retry }: ProblemsProps) {
  if (!error) return null;
  const errors = errorsIn(error);
  const advice = errors.map(({ code, message }) => (code && ADVICE[code]) ?? sentence(message, field));
  const details = new Set(errors.flatMap(({ message, requestId }) => [message, requestId && `Request ${requestId}`]));
  const next = retry ? 'It is tried again by itself.' : 'Try again in a moment.';
  if (errors.length === 0) advice.push(`There is no connection to this page’s server. ${next}`);
  return (
    <div id={id} className="problems" role="alert">
      {[...new Set(advice)].map(text => (
        <p key={text}>{text}</p>
      ))}
      {retry && isRetryable(error) && <Button label="Try again" onClick={() => retry()} />}
      {errors.length > 0 && (
        <details>
          <summary>Details</summary>
          <small>{[...details].filter(Boolean).join('. ')}</small>
        </details>
      )}
    </div>
  );
}

/** A message with the name of its field in the place of the path of its argument. */
function sentence(message: string, field: string | undefined): string {
  const text = message.replace(/^[\w.[\]]+: /, field ? `${field}: ` : '');
  return `${capitalized(text)}${/[.!?]$/.test(text) ? '' : '.'}`;
}
