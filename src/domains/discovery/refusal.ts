import { Conflict } from '../../errors.js';
import type { Job, JobPhase } from './model.js';

/**
 * The error for a market that the service refuses to review or to publish, with its state as its jobs show it and what to do next.
 * @param conflict the refusal. It stays as it is if the jobs cannot be read.
 */
export async function explainedConflict(
  conflict: Conflict,
  step: 'reviewed' | 'published',
  jobsOf: (phase: JobPhase) => Promise<readonly Job[]> | readonly Job[],
): Promise<Conflict> {
  try {
    const [discovery, publication] = await Promise.all([jobsOf('DISCOVERY'), jobsOf('PUBLISH')]);
    return new Conflict(`The market cannot be ${step} now: ${stateOf(discovery, publication)}`, conflict.upstream);
  } catch {
    return conflict;
  }
}

function stateOf(discovery: readonly Job[], publication: readonly Job[]): string {
  const isRunning = ({ finished }: Job) => !finished;
  if (publication.some(isRunning)) {
    return 'it is being published already; `jobProgress(phase: PUBLISH)` says when that has ended';
  }
  if (discovery.some(isRunning)) return 'its discovery is still running; `jobProgress` says when it has ended';
  if (discovery.length === 0) return 'it has no discovery yet; begin one with `startDiscovery`';
  if (publication.length > 0) return 'it was published already';
  return 'its discovery has ended, so perhaps no company is included; include companies with `reviewCompanies`';
}
