import { useReactiveVar, useSubscription } from '@apollo/client/react';
import { graphql } from '../gql';
import type { JobPhase } from '../gql/graphql';
import { connection } from '../graphql/socket';
import { formatSpan } from '../ui/format';
import { useNow } from '../ui/hooks';
import { Problems } from '../ui/Problems';
import styles from './Discover.module.css';

const JobProgressDocument = graphql(`
  subscription JobProgress($marketId: ID!, $phase: JobPhase!) {
    jobProgress(marketId: $marketId, phase: $phase) {
      finished
      estimatedEndAt
      observedAt
      jobs { nodeId id workflowName progress startTime endTime finished }
    }
  }
`);

interface JobsProps {
  readonly marketId: string;
  readonly phase: JobPhase;
  /** Called once, when all jobs have ended. */
  readonly onFinished?: () => void;
}

/** The jobs of a market as they proceed. Nothing if there are none. */
export function Jobs({ marketId, phase, onFinished }: JobsProps) {
  const { data, error } = useSubscription(JobProgressDocument, {
    variables: { marketId, phase },
    onData({ data: { data } }) {
      if (data?.jobProgress?.finished) onFinished?.();
    },
  });
  const isLive = useReactiveVar(connection) === 'live';
  const state = data?.jobProgress;
  const now = useNow(state?.finished === false);
  if (!state) return <Problems error={error} />;
  const remaining = state.estimatedEndAt && Date.parse(state.estimatedEndAt) - now;
  return (
    <div className="stack">
      <ul className={styles.jobs}>
        {state.jobs.map(({ nodeId, workflowName, progress, startTime, endTime, finished }) => {
          const share = finished ? 1 : shareOf(progress);
          const elapsed = startTime && (endTime ? Date.parse(endTime) : now) - Date.parse(startTime);
          return (
            <li key={nodeId}>
              <span>{workflowName ?? 'Job'}</span>
              <progress aria-label={`Progress of ${workflowName ?? 'the job'}`} value={share ?? undefined} />
              <small>
                {share === null ? 'running' : `${Math.round(share * 100)} %`}
                {elapsed && ` · ${formatSpan(elapsed)}`}
              </small>
            </li>
          );
        })}
      </ul>
      {!state.finished && state.jobs.length > 0 && (
        <small role="status">
          {remaining && `about ${formatSpan(remaining)} left · `}
          as of {formatSpan(now - Date.parse(state.observedAt))} ago
          {!isLive && ' · reconnecting'}
        </small>
      )}
      <Problems error={error} />
    </div>
  );
}

/** The service does not document the scale of the progress: a value above 1 is percent. */
function shareOf(progress: number | null): number | null {
  if (progress === null) return null;
  return Math.min(1, progress > 1 ? progress / 100 : progress);
}
