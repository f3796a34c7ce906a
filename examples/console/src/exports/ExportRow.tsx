import type { FragmentType } from '@apollo/client';
import { useFragment, useSubscription } from '@apollo/client/react';
import { graphql } from '../gql';
import type { ExportOutcome, ExportRowFragment } from '../gql/graphql';
import { formatCompanies, formatTime } from '../ui/format';
import styles from './Exports.module.css';

const ExportRowDocument = graphql(`
  fragment ExportRow on Export {
    id
    startedAt
    endpoint
    isTest
    retryOf
    marketId
    sent
    outcome
    attempts { startedAt status fault milliseconds }
    result {
      ... on ExportDelivered { title messageText redirectUrl }
      ... on ExportRejected { title messageText references { title message url type } }
      ... on ExportFailed { message }
    }
  }
`);

/** Its messages go into the cache, where the row reads them. */
const ExportProgressDocument = graphql(`
  subscription ExportProgress($id: ID!) {
    exportProgress(exportId: $id) { id ...ExportRow }
  }
`);

const OUTCOMES: Record<ExportOutcome, string> = {
  RUNNING: 'Sending',
  DELIVERED: 'Delivered',
  REJECTED: 'Rejected',
  FAILED: 'Failed',
  UNKNOWN: 'Unknown: it may have arrived',
};

const FAULTS = {
  TIMEOUT: 'no response in time',
  BROKEN: 'the connection broke',
  ADDRESS_REFUSED: 'exports may not go to this address',
};

interface ExportRowProps {
  readonly export: FragmentType<ExportRowFragment>;
  /** Whether its attempts and its result are shown at once. */
  readonly open?: boolean;
  /** Sends the export again. Left out: no button. */
  readonly onRetry?: (id: string) => void;
}

export function ExportRow({ export: from, open = false, onRetry }: ExportRowProps) {
  const { data, complete } = useFragment({ fragment: ExportRowDocument, from });
  useSubscription(ExportProgressDocument, {
    variables: { id: data.id ?? '' },
    skip: data.outcome !== 'RUNNING',
    ignoreResults: true,
  });
  if (!complete) return null;
  const { id, startedAt, endpoint, isTest, retryOf, marketId, sent, outcome, attempts, result } = data;
  const canRetry = outcome === 'FAILED' || outcome === 'REJECTED' || outcome === 'UNKNOWN';
  return (
    <details className={styles.export} open={open}>
      <summary>
        <strong data-outcome={outcome}>{OUTCOMES[outcome]}</strong>{' '}
        {isTest ? 'Test' : `${formatCompanies(sent)} of market ${marketId}`} to {endpoint}
        <small>
          {' '}
          {formatTime(startedAt)}
          {retryOf && ', a retry'}
        </small>
      </summary>
      <ol>
        {attempts.map(({ startedAt, status, fault, milliseconds }) => (
          <li key={startedAt}>
            {status ?? (fault ? FAULTS[fault] : 'waiting for a response')}
            {milliseconds !== null && <small> after {milliseconds} ms</small>}
          </li>
        ))}
      </ol>
      {result?.__typename === 'ExportFailed' && <p>{result.message}</p>}
      {(result?.__typename === 'ExportDelivered' || result?.__typename === 'ExportRejected') && (
        <p>
          <strong>{result.title}</strong> {result.messageText}
        </p>
      )}
      {result?.__typename === 'ExportDelivered' && result.redirectUrl && (
        <a href={result.redirectUrl} target="_blank" rel="noreferrer">
          Open at the endpoint
        </a>
      )}
      {result?.__typename === 'ExportRejected' && (
        <ul>
          {result.references.map(({ title, message, url }) => (
            <li key={`${title} ${message}`}>
              {url ? <a href={url}>{title}</a> : title} {message}
            </li>
          ))}
        </ul>
      )}
      {canRetry && onRetry && !isTest && (
        <button type="button" onClick={() => onRetry(id)}>
          Send again
        </button>
      )}
    </details>
  );
}
