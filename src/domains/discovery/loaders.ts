import type { Lifetime } from '../../data/cache/lookup.js';
import type { Reader } from '../../data/reader.js';
import type { MaybePromise } from '../../lib/maybe-promise.js';
import { type JobPhase, jobsRead, searchCriteriaHistoryRead, searchCriteriaRead } from './client.js';
import type { Job, SearchCriteria } from './model.js';

/** The reads of the discovery domain for one request. */
export interface DiscoveryLoaders {
  jobs(marketId: string, phase: JobPhase): MaybePromise<readonly Job[]>;
  criteria(marketId: string): MaybePromise<SearchCriteria>;
  criteriaHistory(marketId: string): MaybePromise<readonly SearchCriteria[]>;
}

export function createDiscoveryLoaders(
  reader: Reader,
  lifetimes: { readonly jobs: Lifetime; readonly criteria: Lifetime },
): DiscoveryLoaders {
  return {
    jobs: (marketId, phase) => reader.read(jobsRead(marketId, phase), lifetimes.jobs),
    criteria: marketId => reader.read(searchCriteriaRead(marketId), lifetimes.criteria),
    criteriaHistory: marketId => reader.read(searchCriteriaHistoryRead(marketId), lifetimes.criteria),
  };
}
