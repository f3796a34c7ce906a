import { useApolloClient, useReactiveVar } from '@apollo/client/react';
import { staleOperations } from '../graphql/links';
import { Button } from './parts';

/** Says that the service did not respond and the page shows older data. */
export function StaleNotice() {
  const stale = useReactiveVar(staleOperations);
  const client = useApolloClient();
  if (stale.size === 0) return null;
  return (
    <div className="problems" role="status">
      <p>The service does not respond at the moment. Some of this page is older data.</p>
      <Button label="Try again" onClick={() => client.refetchQueries({ include: 'active' })} />
    </div>
  );
}
