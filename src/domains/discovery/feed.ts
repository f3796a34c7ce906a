import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { jobsTag, marketTag } from '../../data/cache/tags.js';
import type { Polling } from '../../data/polling/polling.js';
import type { Found } from '../../data/polling/state-message.js';
import type { TopicSubscription } from '../../data/polling/topic.js';
import { type ReaderDeps, readUncached } from '../../data/reader.js';
import type { RequestAuth } from '../../data/request-auth.js';
import { ResponseMetadata, type SkippedRecord } from '../../observability/response-metadata.js';
import { type JobPhase, jobsRead } from './client.js';
import { type Job, jobState } from './model.js';

/** How the jobs of one phase of a market stand. */
export interface JobProgress {
  readonly marketId: string;
  readonly phase: JobPhase;
  readonly jobs: readonly Job[];
  /** Jobs that the service sent in a shape that cannot be served. */
  readonly leftOut: readonly SkippedRecord[];
  /** Nothing can follow: there are jobs, all of them are known, and each has ended. */
  readonly finished: boolean;
}

const leftOut = z.object({ record: z.string(), id: z.string().nullable(), fields: z.array(z.string()) });

const jobProgressState: z.ZodType<JobProgress> = z.object({
  marketId: z.string(),
  phase: z.enum(['DISCOVERY', 'PUBLISH']),
  jobs: z.array(jobState),
  leftOut: z.array(leftOut),
  finished: z.boolean(),
});

/** What the discovery room can be listened to for. */
export interface DiscoveryFeed {
  /** The jobs of a phase until the last has ended (docs/upstream-api.md: Discovery workflow). @throws while reading: UNAUTHENTICATED, FORBIDDEN, NOT_FOUND, BAD_USER_INPUT. */
  jobProgress(marketId: string, phase: JobPhase): Promise<TopicSubscription<Found<JobProgress>>>;
}

/** The feed of one caller, until the caller's signal aborts. */
export function createDiscoveryFeed(
  parts: ReaderDeps & { readonly polling: Polling },
  { credential, scope, until }: RequestAuth,
): DiscoveryFeed {
  async function ask(
    marketId: string,
    phase: JobPhase,
    last: JobProgress | undefined,
    signal: AbortSignal,
  ): Promise<JobProgress> {
    const auth = { credential, scope, until: { signal }, metadata: new ResponseMetadata() };
    const { value: jobs, leftOut } = await readUncached(parts, jobsRead(marketId, phase), auth);
    const finished = jobs.length > 0 && leftOut.length === 0 && jobs.every(job => job.finished);
    // What jobs have done to their market is to be seen as soon as their end is told.
    if (finished && last?.finished === false) await parts.cache.renew(marketTag(marketId));
    return { marketId, phase, jobs, leftOut, finished };
  }

  return {
    jobProgress: (marketId, phase) =>
      parts.polling.watch<JobProgress>(
        scope,
        `jobs ${phase} ${marketId}`,
        {
          stateSchema: jobProgressState,
          ask: (last, signal) => ask(marketId, phase, last, signal),
          same: isDeepStrictEqual,
          isFinal: ({ finished }) => finished,
          generation: () => parts.cache.generationOf(jobsTag(marketId)),
        },
        until.signal,
      ),
  };
}
