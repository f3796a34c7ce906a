import { useSubscription } from '@apollo/client/react';
import { graphql } from './gql/index.js';

const runningDiscovery = graphql(`
  subscription RunningDiscovery($market: ID!) {
    jobProgress(marketId: $market) {
      market {
        nodeId
        name
      }
      overallProgress
      estimatedEndAt
      finished
      observedAt
      jobs {
        nodeId
        workflowName
        status
        progress
        finished
      }
    }
  }
`);

/** The jobs of a discovery that is running, and how long it probably takes. @param now milliseconds since 1970. */
export function RunningDiscovery({ market, now }: { readonly market: string; readonly now: number }) {
  const { data, error } = useSubscription(runningDiscovery, { variables: { market } });
  if (error !== undefined) return <p role="alert">{error.message}</p>;
  const progress = data?.jobProgress;
  if (progress == null) return <p>Waiting for the first report</p>;
  const { market: discovered, overallProgress, estimatedEndAt, finished, observedAt, jobs } = progress;
  return (
    <section>
      <h2>{discovered.name}</h2>
      <progress {...(overallProgress !== null && { value: overallProgress })} />
      <p>{finished ? 'Finished' : remaining(estimatedEndAt, now)}</p>
      <p>As of {Math.round((now - Date.parse(observedAt)) / 1_000)} s ago</p>
      <ul>
        {jobs.map(job => (
          <li key={job.nodeId}>
            {job.workflowName}: {job.finished ? 'finished' : job.status}
          </li>
        ))}
      </ul>
    </section>
  );
}

function remaining(estimatedEndAt: string | null, now: number): string {
  if (estimatedEndAt === null) return 'The remaining time is not known yet';
  const minutes = Math.ceil((Date.parse(estimatedEndAt) - now) / 60_000);
  return minutes <= 1 ? 'About a minute left' : `About ${minutes} minutes left`;
}
