import { useSubscription } from '@apollo/client/react';
import { useState } from 'react';
import { graphql } from '../gql';
import type { JobPhase } from '../gql/graphql';
import { RETRY_MS } from '../graphql/errors';
import { useConnection } from '../graphql/socket';
import { formatSpan, Problems, Skeleton, useNow, words } from '../ui';
import styles from './Discover.module.css';

const JobProgressDocument = graphql(`
  subscription JobProgress($marketId: ID!, $phase: JobPhase!) {
    jobProgress(marketId: $marketId, phase: $phase) {
      finished estimatedEndAt unlisted observedAt
      jobs { nodeId id workflowName completion status startTime endTime }
    }
  }
`);

/** What the jobs of the service do. */
const TASKS: Readonly<Record<string, string>> = {
  first_pass: 'Find companies',
  enrichment: 'Complete company data',
  scrape: 'Read websites',
  web_traffic: 'Measure web traffic',
};

/** The service documents no status of a job that has ended. */
const FAILED = /fail|error|cancel|abort|timeout/i;

/** The jobs of a market, as they proceed. `onFinished` is called when all of them have ended. @param isBeginning new ones are to be followed afterwards. */
export function useJobs(marketId: string, phase: JobPhase, onFinished: () => void, isBeginning = false) {
  const { data, error } = useSubscription(JobProgressDocument, {
    variables: { marketId, phase },
    skip: isBeginning,
    onData({ client: { cache }, data: { data } }) {
      if (!data?.jobProgress?.finished) return;
      // The market has others now.
      cache.evict({ id: cache.identify({ __typename: 'Market', id: marketId }), fieldName: 'companies' });
      onFinished();
    },
  });
  const state = data?.jobProgress ?? undefined;
  // The service lists a new job late.
  const isRunning = state !== undefined && !state.finished && state.jobs.length + state.unlisted.length > 0;
  return { state, isRunning, isKnown: state !== undefined || error !== undefined, error };
}

/** A line for each job. Nothing if there are none. */
export function Jobs({ state, isRunning, error }: ReturnType<typeof useJobs>) {
  const isLive = useConnection() === 'live';
  const now = useNow(isRunning);
  const remaining = state?.estimatedEndAt && Date.parse(state.estimatedEndAt) - now;
  return (
    <div className="stack">
      <ul className={`stack ${styles.jobs}`}>
        {state?.jobs.map(({ nodeId, workflowName, completion, status, startTime, endTime }) => {
          const share = completion === null ? 'running' : `${Math.round(completion * 100)} %`;
          const task = TASKS[workflowName ?? ''] ?? words(workflowName ?? 'Job');
          return (
            <li key={nodeId}>
              <span>{task}</span>
              {endTime && FAILED.test(status ?? '') ? (
                <span />
              ) : (
                <progress aria-label={task} value={completion ?? undefined} />
              )}
              <small>
                {endTime && status ? words(status) : share}
                {startTime && ` · ${formatSpan((endTime ? Date.parse(endTime) : now) - Date.parse(startTime))}`}
              </small>
            </li>
          );
        })}
      </ul>
      {isRunning && (
        <small role="status">
          {isLive ? (remaining ? `About ${formatSpan(remaining)} left` : 'Estimating the time') : 'Reconnecting'}
        </small>
      )}
      <Problems error={error} />
    </div>
  );
}

/** In the place of jobs until their first state comes. */
export function NotYetKnown() {
  const [since] = useState(Date.now);
  if (useNow(true) - since < RETRY_MS) return <Skeleton lines={8} />;
  return <p role="status">The service does not say yet what runs here. It is asked again by itself.</p>;
}
