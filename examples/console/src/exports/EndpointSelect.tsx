import { useQuery } from '@apollo/client/react';
import { Link } from '@tanstack/react-router';
import { graphql } from '../gql';
import { Button, Problems } from '../ui';

const EndpointNamesDocument = graphql(`query EndpointNames { exportEndpoints { nodeId name } }`);

/** A field for an endpoint of the team, and the button that submits its form. */
export function EndpointSelect({ label, disabled = false }: { label: string; disabled?: boolean }) {
  const { data, error, refetch } = useQuery(EndpointNamesDocument, { fetchPolicy: 'cache-and-network' });
  return (
    <>
      <label>
        Endpoint
        <select name="endpoint" required>
          {data?.exportEndpoints?.map(({ nodeId, name }) => (
            <option key={nodeId}>{name}</option>
          ))}
        </select>
      </label>
      <Problems error={error} retry={refetch} />
      {data?.exportEndpoints?.length === 0 && (
        <p>
          Your team has no endpoint. <Link to="/exports">Register one first.</Link>
        </p>
      )}
      <Button type="submit" label={label} className="primary" disabled={disabled || !data?.exportEndpoints?.length} />
    </>
  );
}
