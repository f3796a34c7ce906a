import type { ErrorLike } from '@apollo/client';
import { useCallback, useState } from 'react';

type FetchMore = (options: { variables: { after: string | null | undefined } }) => Promise<{ error?: ErrorLike }>;

interface PageInfo {
  readonly hasNextPage: boolean;
  readonly endCursor: string | null;
}

/** Reads the next page of a list. After an error it waits for the user, so that a page without a network does not ask without end. */
export function useNextPage(fetchMore: FetchMore, pageInfo: PageInfo | undefined) {
  const [error, setError] = useState<ErrorLike>();
  const { hasNextPage = false, endCursor } = pageInfo ?? {};
  const read = useCallback(() => {
    fetchMore({ variables: { after: endCursor } }).then(result => setError(result.error), setError);
  }, [fetchMore, endCursor]);
  return { canRead: hasNextPage && !error, read, error, retry: () => setError(undefined) };
}
