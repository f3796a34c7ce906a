import { useMutation, useQuery } from '@apollo/client/react';
import { useRef } from 'react';
import { EndpointSelect } from '../exports/EndpointSelect';
import { ExportRow } from '../exports/ExportRow';
import { graphql } from '../gql';
import type { CompanySelection } from '../gql/graphql';
import { Form, formatCompanies, Modal, Problems, Skeleton, Submit } from '../ui';

const ExportMarketDocument = graphql(`
  mutation ExportMarket($input: ExportMarketToEndpointInput!) {
    exportMarketToEndpoint(input: $input) { ... on ExportEnding { exportId } }
  }
`);

const CsvDocument = graphql(`
  mutation Csv($marketId: ID!, $companies: CompanySelection!) {
    exportMarketCsv(input: { marketId: $marketId, companies: $companies }) { downloadLink selected }
  }
`);

const ExportDocument = graphql(`
  query Export($id: ID!) {
    export(by: { id: $id }) { id ...ExportRow }
  }
`);

interface Choice {
  readonly count: number;
  /** What is said of so many companies: `selected`. */
  readonly which: string;
  readonly companies: CompanySelection;
}

/** An export has at most so many companies, those with the highest scores. */
const MAX_EXPORTED = 500;

interface ExportDialogProps {
  readonly marketId: string;
  readonly to: 'csv' | 'endpoint';
  /** The first one is selected. */
  readonly choices: readonly Choice[];
  readonly onClose: () => void;
}

/** Sends companies to an endpoint of the team, or has them written to a file. */
export function ExportDialog({ marketId, to, choices, onClose }: ExportDialogProps) {
  const [write, csv] = useMutation(CsvDocument);
  const file = csv.data?.exportMarketCsv;
  const [send, { data: sent, error: failure, loading }] = useMutation(ExportMarketDocument);
  /** By what is sent: if the user sends the same again from this dialog, the gateway sends it only once. */
  const keys = useRef<Record<string, string>>({}).current;
  const submit = async (form: FormData) => {
    const companies = choices[Number(form.get('choice'))]?.companies;
    if (!companies) return;
    if (to === 'csv') return write({ variables: { marketId, companies } });
    const input = { marketId, companies, endpoint: String(form.get('endpoint')) };
    const what = JSON.stringify(input);
    keys[what] ??= crypto.randomUUID();
    return send({ variables: { input: { ...input, idempotencyKey: keys[what] } } });
  };
  const label = ({ count, which }: Choice) =>
    to === 'endpoint' && count > MAX_EXPORTED
      ? `The best ${MAX_EXPORTED} of ${formatCompanies(count)} ${which}: an export has no more, those with the highest scores`
      : `${formatCompanies(count)} ${which}`;
  return (
    <Modal title={to === 'csv' ? 'Download CSV' : 'Export'} onClose={onClose}>
      {file && (
        <p role="status">
          <a href={file.downloadLink}>CSV file of {formatCompanies(file.selected)}</a>
        </p>
      )}
      {sent?.exportMarketToEndpoint ? (
        <Sent id={sent.exportMarketToEndpoint.exportId} />
      ) : (
        <Form onSubmit={submit} error={failure ?? csv.error} className="stack">
          <fieldset>
            <legend>Companies</legend>
            {choices.map((choice, index) => (
              <label key={choice.which} className="row">
                <input type="radio" name="choice" value={index} defaultChecked={index === 0} required /> {label(choice)}
              </label>
            ))}
          </fieldset>
          {to === 'endpoint' ? (
            <EndpointSelect label={loading ? 'Sending' : 'Send'} disabled={loading} />
          ) : (
            <Submit label="Prepare the file" busy="Preparing" sending={csv.loading} />
          )}
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
