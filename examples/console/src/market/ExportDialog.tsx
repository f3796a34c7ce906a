import { useMutation, useQuery } from '@apollo/client/react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ExportRow } from '../exports/ExportRow';
import { graphql } from '../gql';
import type { CompanySelection } from '../gql/graphql';
import { Button, Form, Modal, Problems, Skeleton } from '../ui';

const EndpointNamesDocument = graphql(`query EndpointNames { exportEndpoints { nodeId name } }`);

const ExportMarketDocument = graphql(`
  mutation ExportMarket($input: ExportMarketToEndpointInput!) {
    exportMarketToEndpoint(input: $input) { ... on ExportEnding { exportId } }
  }
`);

const ExportDocument = graphql(`
  query Export($id: ID!) {
    export(by: { id: $id }) { id ...ExportRow }
  }
`);

interface ExportDialogProps {
  readonly marketId: string;
  readonly choices: readonly { readonly label: string; readonly companies: CompanySelection }[];
  readonly onClose: () => void;
}

/** Sends companies to an endpoint of the team. */
export function ExportDialog({ marketId, choices, onClose }: ExportDialogProps) {
  const { data, error } = useQuery(EndpointNamesDocument);
  const [send, { data: sent, error: failure, loading }] = useMutation(ExportMarketDocument);
  // Made once: if the user sends the same again from this dialog, the gateway sends it only once.
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const endpoints = data?.exportEndpoints ?? [];
  const submit = async (form: FormData) => {
    const companies = choices[Number(form.get('choice'))]?.companies;
    if (companies)
      await send({
        variables: { input: { marketId, companies, endpoint: String(form.get('endpoint')), idempotencyKey } },
      });
  };
  return (
    <Modal title="Export" onClose={onClose}>
      {sent?.exportMarketToEndpoint ? (
        <Sent id={sent.exportMarketToEndpoint.exportId} />
      ) : (
        <Form onSubmit={submit} error={failure ?? error} className="stack">
          <fieldset>
            <legend>Companies</legend>
            {choices.map(({ label }, index) => (
              <label key={label} className="row">
                <input type="radio" name="choice" value={index} defaultChecked={index === 0} /> {label}
              </label>
            ))}
          </fieldset>
          <label>
            Endpoint
            <select name="endpoint" required>
              {endpoints.map(({ nodeId, name }) => (
                <option key={nodeId}>{name}</option>
              ))}
            </select>
          </label>
          {data?.exportEndpoints?.length === 0 && (
            <p>
              Your team has no endpoint. <Link to="/exports">Register one first.</Link>
            </p>
          )}
          <Button
            type="submit"
            label={loading ? 'Sending' : 'Send'}
            className="primary"
            disabled={loading || endpoints.length === 0}
          />
        </Form>
      )}
    </Modal>
  );
}

/** The export that the user has just sent. */
function Sent({ id }: { id: string }) {
  const { data, error, loading, refetch } = useQuery(ExportDocument, { variables: { id } });
  if (loading) return <Skeleton />;
  return data?.export ? <ExportRow export={data.export} justSent /> : <Problems error={error} retry={refetch} />;
}
