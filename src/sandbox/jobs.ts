/** A job with linear progress from its start to its end. Times are in milliseconds. */
export interface TimedJob {
  jobId: number;
  workflowName: string;
  startedAt: number;
  endsAt: number;
}

const iso = (time: number) => new Date(time).toISOString();

/** The job in the response to the call that starts it (docs/upstream-api.md: Discovery job). */
export const started = ({ jobId, workflowName, startedAt }: TimedJob) => ({
  jobId,
  workflowName,
  startTime: iso(startedAt),
});

/** The job as listed at the time `now`: `jobProgress` is a percentage, and `endTime` is null until it has ended. */
export function statusOfJob(job: TimedJob, now: number) {
  const ended = hasEnded(job, now);
  const share = (now - job.startedAt) / (job.endsAt - job.startedAt);
  return {
    ...started(job),
    jobProgress: ended ? 100 : Math.min(99, Math.max(0, Math.floor(share * 100))),
    status: ended ? 'completed' : 'running',
    endTime: ended ? iso(job.endsAt) : null,
  };
}

export const hasEnded = (job: TimedJob, now: number) => now >= job.endsAt;
