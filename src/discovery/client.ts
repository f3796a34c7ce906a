import type { Read } from '../reader.js';
import { type Job, jobs, type SearchCriteria, searchCriteria, searchCriteriaHistory } from './model.js';

/** Which jobs of a market are meant. */
export type JobPhase = 'DISCOVERY' | 'PUBLISH';

const jobPaths = { DISCOVERY: '/v2/discovery', PUBLISH: '/v2/markets' } as const;

/** GET /v2/discovery/{id}/jobs, or GET /v2/markets/{id}/jobs after publishing. */
export function jobsRead(marketId: string, phase: JobPhase): Read<readonly Job[]> {
  return {
    request: {
      family: 'jobs',
      address: 'base',
      method: 'GET',
      path: `${jobPaths[phase]}/${marketId}/jobs`,
      safe: true,
    },
    market: marketId,
    parse: body => ({ value: jobs.parse(body) }),
  };
}

/** GET /v2/discovery/{id}/search-criteria. */
export function searchCriteriaRead(marketId: string): Read<SearchCriteria> {
  return {
    request: {
      family: 'criteria',
      address: 'base',
      method: 'GET',
      path: `/v2/discovery/${marketId}/search-criteria`,
      safe: true,
    },
    market: marketId,
    parse: body => ({ value: searchCriteria.parse(body) }),
  };
}

/** GET /v2/discovery/{id}/search-criteria/history. */
export function searchCriteriaHistoryRead(marketId: string): Read<readonly SearchCriteria[]> {
  return {
    request: {
      family: 'criteria',
      address: 'base',
      method: 'GET',
      path: `/v2/discovery/${marketId}/search-criteria/history`,
      safe: true,
    },
    market: marketId,
    parse: body => ({ value: searchCriteriaHistory.parse(body) }),
  };
}
