import type { ErrorLike } from '@apollo/client';
import { useState } from 'react';

type FetchMore = (options: { variables: { after: string | null | undefined } }) => Promise<{ error?: ErrorLike }>;

interface PageInfo {
  readonly hasNextPage: boolean;
  readonly endCursor: string | null;
}

/** Reads the next page of a list. After an error it waits for the user, so that a page without a network does not ask without end. */
export function useNextPage(fetchMore: FetchMore, pageInfo: PageInfo | undefined) {
  const [{ reading, error }, setState] = useState<{ reading: boolean; error?: ErrorLike }>({ reading: false });
  const read = () => {
    setState({ reading: true });
    fetchMore({ variables: { after: pageInfo?.endCursor } }).then(
      result => setState({ reading: false, error: result.error }),
      failure => setState({ reading: false, error: failure }),
    );
  };
  const canRead = pageInfo?.hasNextPage === true && !reading && !error;
  return { canRead, read, error, retry: () => setState({ reading: false }) };
}
