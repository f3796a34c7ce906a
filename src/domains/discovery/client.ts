import { jobsTag } from '../../data/cache/tags.js';
import type { Read } from '../../data/reader.js';
import type { Write } from '../../data/writer.js';
import {
  criteriaMembers,
  type Job,
  jobs,
  type SearchCriteria,
  searchCriteria,
  searchCriteriaHistory,
  suggestedKeywords,
} from './model.js';

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
      argument: 'id',
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
      argument: 'id',
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
      argument: 'id',
      safe: true,
    },
    market: marketId,
    parse: body => ({ value: searchCriteriaHistory.parse(body) }),
  };
}

/** POST /v2/discovery/search-criteria. */
export function createCriteriaWrite(searchType: string, searchInput: string): Write<SearchCriteria> {
  return {
    request: discoveryRequest('POST', '/v2/discovery/search-criteria', { searchType, searchInput }),
    parse: body => searchCriteria.parse(body()),
  };
}

/** POST to the path of keyword suggestion, which the specification does not show. @param criteria as `criteriaBody` gives them. */
export function suggestKeywordsWrite(path: string, criteria: object): Write<readonly string[]> {
  return {
    request: { ...discoveryRequest('POST', path, { searchCriteria: criteria }), members: ofCriteria },
    parse: body => suggestedKeywords.parse(body()),
  };
}

/** POST /v2/discovery/{id}/start. @param criteria as `criteriaBody` gives them. */
export function startWrite(marketId: string, criteria: object, skipDiscoveryReview: boolean): Write<readonly Job[]> {
  return {
    request: {
      ...discoveryRequest('POST', `/v2/discovery/${marketId}/start`, {
        searchCriteria: criteria,
        pipelineChoices: { skipDiscoveryReview },
      }),
      members: ofCriteria,
    },
    market: marketId,
    begins: jobsTag(marketId),
    parse: body => jobs.parse(body()),
  };
}

/** The companies that a review is about: all of the market, or those of some domains. */
export type ReviewTarget = { readonly mode: 'all' } | { readonly mode: 'partial'; readonly domains: readonly string[] };

/** PATCH /v2/discovery/{id}/companies/reviews. Its answer is not shown, and not read. */
export function reviewWrite(marketId: string, reviewStatus: 'include' | 'exclude', target: ReviewTarget): Write<void> {
  return {
    request: discoveryRequest('PATCH', `/v2/discovery/${marketId}/companies/reviews`, { reviewStatus, target }),
    market: marketId,
    parse: () => undefined,
  };
}

/** POST /v2/discovery/{id}/publish. */
export function publishWrite(marketId: string): Write<readonly Job[]> {
  return {
    request: discoveryRequest('POST', `/v2/discovery/${marketId}/publish`),
    market: marketId,
    begins: jobsTag(marketId),
    parse: body => jobs.parse(body()),
  };
}

const ofCriteria = criteriaMembers.map(member => `searchCriteria.${member}`);

function discoveryRequest(method: 'POST' | 'PATCH', path: string, body?: object) {
  return { family: 'discovery', address: 'base', method, path, body, argument: 'input', safe: false } as const;
}
