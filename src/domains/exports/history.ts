// The records of exports: each is stored before its first call, before each further call, and when the export has ended.
import { ConstantBackoff, ExponentialBackoff, handleAll, retry } from 'cockatiel';
import type { TeamKey } from '../../auth/teams.js';
import { endpointChanged } from './delivery.js';
import type { Endpoint, ExportAttempt, ExportOutcome, ExportRecord } from './model.js';
import type { OpenedEndpoint } from './signing.js';
import {
  earlierExport,
  exportToRetry,
  sameEndpoint,
  withChanged,
  withExport,
  withProgress,
  withTaken,
} from './team-state.js';
import type { TeamStore } from './team-store.js';

/** Keeps trying to record what was sent while Redis is briefly unavailable: five seconds in all, less than the slack of a record's expiry. */
const recordRetry = retry(handleAll, {
  maxAttempts: 7,
  backoff: new ExponentialBackoff({ initialDelay: 100, maxDelay: 1_000 }),
});

/** Keeps trying for about six minutes more to record how an export ended, after its client has the outcome. Until then, it reads as RUNNING or UNKNOWN. */
const recordLater = retry(handleAll, { maxAttempts: 60, backoff: new ConstantBackoff(1_000) }).dangerouslyUnref();

/**
 * Records an export before anything is sent.
 * @param opened the endpoint as it was when the export was prepared; its seals are replaced by new ones.
 * @returns the endpoint, to which it is to be sent. None if it ended without a call: its endpoint was changed, or the record is an earlier one with its key.
 * @throws Conflict or RateLimited if it may not begin.
 */
export const recordStart = (
  store: TeamStore,
  team: TeamKey,
  record: ExportRecord,
  { endpoint, resealed }: OpenedEndpoint,
) =>
  store.change<{ record: ExportRecord; endpoint?: Endpoint }>(team, state => {
    const first = earlierExport(state, record);
    if (first !== undefined) return { result: { record: first } };
    if (record.retryOf !== null) exportToRetry(state, record.retryOf);
    const found = sameEndpoint(state, endpoint);
    if (found === undefined) {
      const unsent = { ...record, attempts: [], outcome: endpointChanged, finishedAt: record.startedAt };
      return { value: withExport(state, unsent), result: { record: unsent } };
    }
    const current = withChanged(state, endpoint, resealed) ?? state;
    return { value: withExport(current, record), result: { record, endpoint: found } };
  });

/** Records another attempt. @returns the endpoint, if it is as it was. */
export const recordAttempt = (
  store: TeamStore,
  team: TeamKey,
  id: string,
  attempts: ExportAttempt[],
  endpoint: Endpoint,
) =>
  recordRetry.execute(() =>
    store.change(team, state => {
      const same = sameEndpoint(state, endpoint);
      return { value: same && withProgress(state, id, { attempts }), result: same };
    }),
  );

/**
 * Records how an export ended, and whether its endpoint took it.
 * @param report is told if that was not possible in time. It is tried on.
 * @returns whether its endpoint is still as it was; undefined if that is not recorded.
 */
export async function recordEnd(
  store: TeamStore,
  team: TeamKey,
  { id, attempts, outcome, startedAt, finishedAt }: EndedExport,
  endpoint: Endpoint,
  report: (error: unknown) => void,
): Promise<boolean | undefined> {
  const end = { attempts, outcome: storedOutcome(outcome), finishedAt };
  const failedAt = outcome.kind === 'FAILED' ? startedAt : null;
  const record = () =>
    recordRetry.execute(() =>
      store.change(team, state => ({
        value: withProgress(withTaken(state, endpoint, failedAt), id, end),
        result: sameEndpoint(state, endpoint) !== undefined,
      })),
    );
  return record().catch(error => {
    report(error);
    recordLater.execute(record).catch(report);
    return undefined;
  });
}

type EndedExport = ExportRecord & { readonly outcome: ExportOutcome };

/** In characters of JSON text. Every change of a team writes its whole state, so what is longer is not stored. */
const maxOutcomeLength = 64 * 1024;

/** The outcome as it is stored: without its URLs if it is too long. The client that waits gets them at any length. */
function storedOutcome(outcome: ExportOutcome): ExportOutcome {
  if (outcome.kind === 'FAILED' || JSON.stringify(outcome).length <= maxOutcomeLength) return outcome;
  if (outcome.kind === 'DELIVERED') return { ...outcome, redirectUrl: null };
  return { ...outcome, references: outcome.references.map(reference => ({ ...reference, url: null })) };
}
