import { useSubscription } from '@apollo/client/react';
import { graphql } from '../gql';
import type { JobPhase } from '../gql/graphql';
import { useConnection } from '../graphql/socket';
import { formatSpan, Problems, useNow, words } from '../ui';
import styles from './Discover.module.css';

const JobProgressDocument = graphql(`
  subscription JobProgress($marketId: ID!, $phase: JobPhase!) {
    jobProgress(marketId: $marketId, phase: $phase) {
      finished estimatedEndAt
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

/** The jobs of a market, as they proceed. `onFinished` is called when all of them have ended. */
export function useJobs(marketId: string, phase: JobPhase, onFinished: () => void) {
  const { data, error, restart } = useSubscription(JobProgressDocument, {
    variables: { marketId, phase },
    onData({ data: { data } }) {
      if (data?.jobProgress?.finished) onFinished();
    },
  });
  const state = data?.jobProgress ?? undefined;
  const isRunning = state !== undefined && state.jobs.length > 0 && !state.finished;
  return { state, isRunning, isKnown: state !== undefined || error !== undefined, error, restart };
}

/** A line for each job. Nothing if there are none. */
export function Jobs({ state, error }: Pick<ReturnType<typeof useJobs>, 'state' | 'error'>) {
  const isLive = useConnection() === 'live';
  const now = useNow(state?.finished === false);
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
      {state && !state.finished && state.jobs.length > 0 && (
        <small role="status">
          {isLive ? (remaining ? `About ${formatSpan(remaining)} left` : 'Estimating the time') : 'Reconnecting'}
        </small>
      )}
      <Problems error={error} />
    </div>
  );
}
