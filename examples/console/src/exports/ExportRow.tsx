import type { FragmentType } from '@apollo/client';
import { useFragment, useSubscription } from '@apollo/client/react';
import { graphql } from '../gql';
import type { ExportOutcome, ExportRowFragment } from '../gql/graphql';
import { Button, ExternalLink, formatCompanies, Time } from '../ui';
import styles from './Exports.module.css';
import { Redirect } from './Redirect';

/** An export and, so that it knows of its retry, the one that it retries. */
const ExportRowDocument = graphql(`
  fragment ExportRow on Export {
    id startedAt endpointName isTest
    retryOf { id retriedBy { id } }
    retriedBy { id }
    market { nodeId id name }
    selected sent outcome
    attempts { startedAt status fault milliseconds explanation }
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

const OUTCOMES: Readonly<Record<ExportOutcome, readonly [words: string, color?: string]>> = {
  RUNNING: ['Sending'],
  DELIVERED: ['Delivered', 'var(--good)'],
  REJECTED: ['Rejected', 'var(--warn)'],
  FAILED: ['Failed', 'var(--bad)'],
  UNKNOWN: ['Possibly delivered', 'var(--warn)'],
};

const FAULTS = {
  TIMEOUT: 'no response in time',
  BROKEN: 'the connection broke',
  ADDRESS_REFUSED: 'exports may not go to this address',
};

interface ExportRowProps {
  readonly export: FragmentType<ExportRowFragment>;
  /** The user has just sent it: what became of it is shown at once. */
  readonly justSent?: boolean;
  readonly isSending?: boolean;
  /** Sends the export again. Left out: no button. */
  readonly onRetry?: (id: string) => void;
}

/** One export: what was sent, its result, and each call to the endpoint. */
export function ExportRow({ export: from, justSent = false, isSending, onRetry }: ExportRowProps) {
  const { data, complete } = useFragment({ fragment: ExportRowDocument, from });
  useSubscription(ExportProgressDocument, {
    variables: { id: data.id ?? '' },
    skip: data.outcome !== 'RUNNING',
    ignoreResults: true,
  });
  if (!complete) return null;
  const { id, startedAt, endpointName, isTest, retryOf, retriedBy, market, selected, sent, outcome, attempts, result } =
    data;
  // Nothing was sent if no call went out.
  const isPart = sent > 0 && sent < selected;
  const companies = isPart ? `The best ${sent} of ${formatCompanies(selected)}` : formatCompanies(selected);
  const [words, color] = OUTCOMES[outcome];
  const noResponse = outcome === 'RUNNING' ? 'Waiting for a response' : 'Whether it was answered is not known';
  const canRetry = outcome !== 'RUNNING' && outcome !== 'DELIVERED' && !isTest && !retriedBy;
  return (
    <details className={`panel ${styles.export}`} open={justSent || undefined}>
      <summary>
        <strong style={{ color }}>{words}</strong>
        <span>
          {isTest ? 'Test' : `${companies} of ${market?.name ?? 'a market'}`} to {endpointName}
          {result?.__typename === 'ExportFailed' && <small>. {failureOf(data, result.message)}</small>}
        </span>
        <small>
          {retryOf && 'sent again · '}
          <Time at={startedAt} />
        </small>
      </summary>
      {(result?.__typename === 'ExportDelivered' || result?.__typename === 'ExportRejected') && (
        <p>
          <strong>{result.title}</strong> {result.messageText}
        </p>
      )}
      {result?.__typename === 'ExportDelivered' &&
        result.redirectUrl &&
        (justSent ? (
          <Redirect url={result.redirectUrl} />
        ) : (
          <ExternalLink href={result.redirectUrl} label="Open the page of the endpoint" />
        ))}
      {result?.__typename === 'ExportRejected' && (
        <ul>
          {result.references.map(({ title, message, url }) => (
            <li key={`${title} ${message}`}>
              {url ? <a href={url}>{title}</a> : title} {message}
            </li>
          ))}
        </ul>
      )}
      <ol className="muted">
        {attempts.map(({ startedAt, status, fault, milliseconds, explanation }, index) => (
          <li key={startedAt}>
            {status ? `Answered ${status}` : fault ? FAULTS[fault] : noResponse}
            {milliseconds !== null && ` after ${milliseconds} ms`}
            {explanation && explanation !== attempts[index - 1]?.explanation && `. ${explanation.replaceAll('`', '')}`}
          </li>
        ))}
      </ol>
      {retriedBy && <small>It was sent again.</small>}
      {canRetry && onRetry && <Button label="Send again" disabled={isSending} onClick={() => onRetry(id)} />}
    </details>
  );
}

/** Why an export did not arrive, and what to do, in a sentence. */
function failureOf({ outcome, attempts }: ExportRowFragment, message: string): string {
  const { status, fault } = attempts.at(-1) ?? {};
  const reason = status ? `the endpoint answered ${status}` : fault ? FAULTS[fault] : message;
  if (outcome === 'UNKNOWN') return `Ask the people of the endpoint before you send it again: ${reason}`;
  return `${attempts.length > 1 ? `After ${attempts.length} attempts, ` : ''}${reason}`;
}
