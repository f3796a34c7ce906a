import type { Lifetime } from '../../data/cache/lookup.js';
import type { Reader } from '../../data/reader.js';
import { jobsRead, searchCriteriaHistoryRead, searchCriteriaRead } from './client.js';
import type { JobPhase } from './model.js';

/** The reads of the discovery domain for one request. */
export function createDiscoveryLoaders(reader: Reader, lifetimes: Readonly<Record<'jobs' | 'criteria', Lifetime>>) {
  return {
    jobs: (marketId: string, phase: JobPhase) => reader.read(jobsRead(marketId, phase), lifetimes.jobs),
    criteria: (marketId: string) => reader.read(searchCriteriaRead(marketId), lifetimes.criteria),
    criteriaHistory: (marketId: string) => reader.read(searchCriteriaHistoryRead(marketId), lifetimes.criteria),
  };
}
