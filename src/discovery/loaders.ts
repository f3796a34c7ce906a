import type { Lifetime } from '../cache/lookup.js';
import { after, type MaybePromise } from '../maybe-promise.js';
import { contentOf, type Reader } from '../reader.js';
import { type JobPhase, jobsRead, searchCriteriaHistoryRead, searchCriteriaRead } from './client.js';
import type { Job, SearchCriteria } from './model.js';

/** What the discovery room can load for one request. */
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
    jobs: (marketId, phase) => after(reader.read(jobsRead(marketId, phase), lifetimes.jobs), contentOf),
    criteria: marketId => after(reader.read(searchCriteriaRead(marketId), lifetimes.criteria), contentOf),
    criteriaHistory: marketId => after(reader.read(searchCriteriaHistoryRead(marketId), lifetimes.criteria), contentOf),
  };
}
