import type { ErrorLike } from '@apollo/client';
import { useState } from 'react';
import { isRetryable, RETRY_MS } from './errors';

type FetchMore = (options: {
  variables: { after: string | null | undefined };
  errorPolicy: 'all';
}) => Promise<{ error?: ErrorLike }>;

/** `after`: behind which page there was an error. */
type State = { readonly reading: boolean; readonly error?: ErrorLike; readonly after?: string | null };

/**
 * Reads the next page of a list. After an error it waits for the user, or, if that may pass, for some time, so that it does not ask without end. A page of which
 * only a part failed is read: the list goes on behind it.
 */
export function useNextPage(fetchMore: FetchMore, pageInfo?: { hasNextPage: boolean; endCursor: string | null }) {
  const [{ reading, error, after }, setState] = useState<State>({ reading: false });
  const { hasNextPage = false, endCursor } = pageInfo ?? {};
  const retry = () => setState({ reading: false });
  const end = (error?: ErrorLike) => {
    // What failed of an earlier page is still not there.
    setState(last => ({ ...(error || last.after === endCursor ? { error, after: endCursor } : last), reading: false }));
    if (error && isRetryable(error)) setTimeout(retry, RETRY_MS);
  };
  const read = () => {
    setState(last => ({ ...last, reading: true }));
    // Of its own, `fetchMore` has no error policy, and gives up a page with one error.
    fetchMore({ variables: { after: endCursor }, errorPolicy: 'all' }).then(({ error }) => end(error), end);
  };
  const hasFailed = error !== undefined && after === endCursor;
  return { canRead: hasNextPage && !reading && !hasFailed, read, error, retry };
}
