// How far jobs are, and when they will end.
import { known, type LeftOut, mapPresent, present } from '../../data/parsing.js';
import type { Job } from './model.js';

/** An estimate that is later says only that the progress is noise: a discovery takes 10 to 15 minutes. */
const maxEstimateMs = 7 * 24 * 60 * 60 * 1_000;

type ProgressOfJob = Pick<Job, 'progress' | 'finished'>;

/** What an estimate needs of earlier polls. It changes only when a job appears, starts from the beginning, or shows its scale. */
export interface ProgressHistory {
  /** The progress of a job that is done: 1 or 100. The service does not document it: null until a value shows which. */
  readonly scale: 1 | 100 | null;
  /** The first progress of each job that the gateways saw, and when, in milliseconds since 1970. */
  readonly firstSeen: readonly Readonly<{ id: string; at: number; progress: number }>[];
}

/** The history after a poll. @param at when the jobs were read, in milliseconds since 1970. */
export function nextHistory(previous: ProgressHistory | undefined, jobs: readonly Job[], at: number): ProgressHistory {
  const firstSeen = jobs.flatMap(({ id, ...job }) => {
    const progress = known(job.progress);
    if (progress === null) return [];
    const first = previous?.firstSeen.find(first => first.id === id);
    return first !== undefined && first.progress <= progress ? [first] : [{ id, at, progress }];
  });
  return { scale: scaleOf(jobs, previous?.scale ?? null), firstSeen };
}

/** The jobs of one list with their completion. @param scale as in `ProgressHistory`; left out: what the list itself shows. */
export const measured = <T extends ProgressOfJob>(
  jobs: readonly (T | LeftOut)[],
  scale = scaleOf(present(jobs), null),
) => mapPresent(jobs, job => ({ ...job, completion: shareOf(job, scale) }));

/** Mean completion of the jobs that have one, and of those that have only begun. Null if there are none. @param awaited how many more have only begun. */
export function overallProgress(jobs: readonly Job[], awaited: number): number | null {
  const shares = jobs.map(({ completion }) => completion).filter(share => share !== null);
  const count = shares.length + awaited;
  return count === 0 ? null : shares.reduce((sum, share) => sum + share, 0) / count;
}

/**
 * When the last job ends if each goes on at the pace observed so far, in milliseconds since 1970. Null if no job is running, and until every
 * running job has been seen to make progress, or if it is more than `maxEstimateMs` ahead.
 * @param at when the jobs were read. The estimate is never earlier.
 */
export function estimatedEnd(jobs: readonly Job[], { scale, firstSeen }: ProgressHistory, at: number): number | null {
  const ends = jobs
    .filter(({ finished }) => !finished)
    .map(job => {
      const first = firstSeen.find(({ id }) => id === job.id);
      const share = shareOf(job, scale);
      if (first === undefined || share === null) return null;
      const gained = share - first.progress / (scale ?? 1);
      return gained > 0 && at > first.at ? at + ((1 - share) * (at - first.at)) / gained : null;
    });
  const certain = ends.filter(end => end !== null);
  if (certain.length === 0 || certain.length < ends.length) return null;
  const last = Math.max(...certain);
  return last - at <= maxEstimateMs ? last : null;
}

/** Only a value above 1 is a percentage for certain, and only one between 0 and 1 is a share. */
function scaleOf(jobs: readonly ProgressOfJob[], before: 1 | 100 | null): 1 | 100 | null {
  const values = jobs.map(({ progress }) => known(progress) ?? 0);
  if (before === 100 || values.some(value => value > 1)) return 100;
  return values.some(value => value > 0 && value < 1) ? 1 : before;
}

/** The progress of one job, 0 to 1. Null if it cannot be read. */
function shareOf(job: ProgressOfJob, scale: 1 | 100 | null): number | null {
  if (job.finished) return 1;
  const progress = known(job.progress);
  if (progress === null || progress === 0) return progress;
  const share = scale === null ? Number.NaN : progress / scale;
  return share >= 0 && share <= 1 ? share : null;
}
