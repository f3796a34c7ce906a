// The subscription to the jobs of a market.
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { jobsTag, marketTag } from '../../data/cache/keys.js';
import { known, mapPresent, present } from '../../data/parsing.js';
import type { Polling } from '../../data/polling/polling.js';
import { readUncached } from '../../data/reader.js';
import type { RequestAuth } from '../../data/upstream/request.js';
import type { WriterDeps } from '../../data/writer.js';
import type { JobPhase } from '../../generated/schema-types.js';
import { listId, readCursor, writeCursor } from '../../graphql/connection.js';
import { namedIfRejected } from '../../graphql/input.js';
import { timeNow } from '../../lib/clock.js';
import { instantOf } from '../../lib/time.js';
import { ResponseMetadata } from '../../observability/response-metadata.js';
import { jobsEndpoint, jobsRead, runsOf } from './client.js';
import { nextHistory, type ProgressHistory } from './estimate.js';
import type { Job, Jobs } from './model.js';

export interface JobProgress {
  readonly marketId: string;
  readonly phase: JobPhase;
  readonly jobs: Jobs;
  /** Those that the latest write has started, as far as they are not among the jobs. */
  readonly unlisted: readonly string[];
  /** How many of these the service is about to list. */
  readonly awaited: number;
  /** No change can follow: there are jobs, all of them can be read, each has ended, and the service is not about to list others. */
  readonly finished: boolean;
  readonly history: ProgressHistory;
}

/** In milliseconds. What is cached is younger, even if the clocks of the service and the gateway differ by minutes. */
const recentMs = 5 * 60 * 1_000;

function endedRecently({ endTime }: Job): boolean {
  const time = known(endTime);
  return time === null || Math.abs(timeNow() - Date.parse(time)) < recentMs;
}

/** Without the history, which is not sent: it differs each time where the service lists one job twice. Times may be written in several ways. */
const shownOf = (state: Pick<JobProgress, 'jobs'>) => ({
  ...state,
  history: null,
  jobs: mapPresent(state.jobs, ({ startTime, endTime, ...job }) => [job, ...[startTime, endTime].map(plainTime)]),
});

const plainTime = (time: Job['endTime']) => (typeof time === 'string' ? instantOf(time) : time);

interface FeedDeps extends WriterDeps {
  readonly polling: Polling;
  readonly watches: { endOverdue(): void };
}

/** The jobs of a phase, until the last one has ended. @throws while reading: UNAUTHENTICATED, FORBIDDEN, NOT_FOUND, BAD_USER_INPUT. */
export const jobProgress =
  (marketId: string, phase: JobPhase) =>
  (deps: FeedDeps, { credential, scope, cancellation }: RequestAuth) => {
    /** Stands for all that are proposed one after the other: that each is a new one is no reason to poll. */
    let proposed: string | undefined;
    return deps.polling.watch<JobProgress>(
      scope,
      `jobs ${jobsEndpoint.version} ${phase} ${marketId}`,
      {
        async ask(last, signal) {
          deps.watches.endOverdue();
          signal.throwIfAborted();
          const auth = { credential, scope, cancellation: { signal }, metadata: new ResponseMetadata() };
          const read = readUncached(deps, jobsRead(marketId, phase), auth);
          const { value: jobs } = await namedIfRejected('marketId', read);
          const readable = present(jobs);
          const { ids, isRecent } = await deps.startedRuns.of(runsOf(marketId, phase));
          const unlisted = ids.filter(id => readable.every(job => job.id !== id));
          const haveEnded = jobs.length > 0 && readable === jobs && readable.every(job => job.finished);
          const awaited = isRecent ? unlisted.length : 0;
          // A service that named no jobs may have started some all the same.
          const isAwaited = isRecent && (ids.length === 0 || awaited > 0);
          const finished = haveEnded && !isAwaited;
          // Jobs change their market, so its cached data becomes stale when the last one has ended.
          const hasEnded = last === undefined ? readable.some(endedRecently) : !last.finished;
          if (finished && hasEnded) await deps.cache.generations.renew(marketTag(marketId));
          const history = nextHistory(last?.history, readable, timeNow());
          return { marketId, phase, jobs, unlisted, awaited, finished, history };
        },
        same: (one, other) => isDeepStrictEqual(shownOf(one), shownOf(other)),
        isFinal: ({ finished }) => finished,
        async generation() {
          const found = await deps.cache.generations.current(jobsTag(marketId), scope);
          if (found === undefined) return undefined;
          proposed = found.state === 'proposed' ? (proposed ?? found.token) : undefined;
          return proposed ?? found.token;
        },
      },
      cancellation.signal,
    );
  };

/** What a watch of jobs sends: each state that the client does not have. @throws BadUserInput that names `input.after`. */
export function watchedJob(deps: FeedDeps, marketId: string, phase: JobPhase, after: string | null) {
  const list = listId('watchJob', marketId, phase);
  let last = after === null ? undefined : readCursor(list, after, 'input.after').toString('hex');
  return async function* (auth: RequestAuth) {
    for await (const { state } of await jobProgress(marketId, phase)(deps, auth)) {
      const { finished, unlisted, jobs } = state;
      const change = { marketId, phase, finished, unlisted, jobs };
      const digest = hash('sha256', JSON.stringify(shownOf(change)));
      if (digest === last) continue;
      last = digest;
      yield { key: digest, cursor: writeCursor(list, Buffer.from(digest, 'hex')), gap: false, change };
    }
  };
}
