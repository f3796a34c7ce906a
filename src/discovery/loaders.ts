import type { Lifetime } from '../cache/lookup.js';
import type { Reader } from '../reader.js';
import { type JobPhase, jobsRead, searchCriteriaHistoryRead, searchCriteriaRead } from './client.js';
import type { Job, SearchCriteria } from './model.js';

/** What the discovery room can load for one request. */
export interface DiscoveryLoaders {
  jobs(marketId: string, phase: JobPhase): Promise<readonly Job[]>;
  criteria(marketId: string): Promise<SearchCriteria>;
  criteriaHistory(marketId: string): Promise<readonly SearchCriteria[]>;
}

export function createDiscoveryLoaders(
  reader: Reader,
  lifetimes: { readonly jobs: Lifetime; readonly criteria: Lifetime },
): DiscoveryLoaders {
  return {
    jobs: async (marketId, phase) => (await reader.read(jobsRead(marketId, phase), lifetimes.jobs)).value,
    criteria: async marketId => (await reader.read(searchCriteriaRead(marketId), lifetimes.criteria)).value,
    criteriaHistory: async marketId =>
      (await reader.read(searchCriteriaHistoryRead(marketId), lifetimes.criteria)).value,
  };
}
