import type { ErrorLike } from '@apollo/client';
import { useState } from 'react';
import { isRetryable, RETRY_MS } from './errors';

type FetchMore = (options: { variables: { after: string | null | undefined } }) => Promise<{ error?: ErrorLike }>;

type PageInfo = { readonly hasNextPage: boolean; readonly endCursor: string | null };

/** Reads the next page of a list. After an error it waits for the user, or, if that may pass, for some time, so that it does not ask without end. */
export function useNextPage(fetchMore: FetchMore, pageInfo: PageInfo | undefined) {
  const [{ reading, error }, setState] = useState<{ reading: boolean; error?: ErrorLike }>({ reading: false });
  const retry = () => setState({ reading: false });
  const end = (error?: ErrorLike) => {
    setState({ reading: false, error });
    if (error && isRetryable(error)) setTimeout(retry, RETRY_MS);
  };
  const read = () => {
    setState({ reading: true });
    fetchMore({ variables: { after: pageInfo?.endCursor } }).then(result => end(result.error), end);
  };
  const canRead = pageInfo?.hasNextPage === true && !reading && !error;
  return { canRead, read, error, retry };
}
