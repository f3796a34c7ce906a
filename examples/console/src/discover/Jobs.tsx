import { useSubscription } from '@apollo/client/react';
import { graphql } from '../gql';
import type { JobPhase } from '../gql/graphql';
import { useConnection } from '../graphql/socket';
import { formatSpan, Problems, useNow, words } from '../ui';
import styles from './Discover.module.css';

const JobProgressDocument = graphql(`
  subscription JobProgress($marketId: ID!, $phase: JobPhase!) {
    jobProgress(marketId: $marketId, phase: $phase) {
      finished estimatedEndAt unlisted
      jobs { nodeId id workflowName completion startTime endTime }
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
        {state?.jobs.map(({ nodeId, workflowName, completion, startTime, endTime }) => {
          const task = TASKS[workflowName ?? ''] ?? words(workflowName ?? 'Job');
          return (
            <li key={nodeId}>
              <span>{task}</span>
              <progress aria-label={task} value={completion ?? undefined} />
              <small>
                {completion === null ? 'running' : `${Math.round(completion * 100)} %`}
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
