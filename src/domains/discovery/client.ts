// The reads and writes of the discovery workflow.
import { jobsTag } from '../../data/cache/keys.js';
import { mapPresent, present, receipt } from '../../data/parsing.js';
import {
  cachedFor,
  marketRead,
  ofMarket,
  type Read,
  type Reader,
  requestTo,
  type ServiceEndpoint,
} from '../../data/reader.js';
import type { Write } from '../../data/writer.js';
import type { JobPhase } from '../../generated/schema-types.js';
import { measured } from './estimate.js';
import {
  criteriaMembers,
  type Jobs,
  jobList,
  type SearchCriteria,
  searchCriteria,
  searchCriteriaHistory,
  startedJobs,
  suggestedKeywords,
} from './model.js';

const criteriaEndpoint: ServiceEndpoint = { ...ofMarket, family: 'criteria', version: 1, lifetime: cachedFor(60) };
export const jobsEndpoint: ServiceEndpoint = { ...ofMarket, family: 'jobs', version: 1, lifetime: cachedFor(10) };
const keywordsEndpoint: ServiceEndpoint = {
  ...ofMarket,
  family: 'keywords',
  version: 1,
  lifetime: cachedFor(60),
  method: 'POST',
  argument: 'input',
  idMember: undefined,
};

const jobPaths = { DISCOVERY: '/v2/discovery', PUBLISH: '/v2/markets' } as const;

/** GET /v2/discovery/{id}/jobs, or GET /v2/markets/{id}/jobs after publishing. */
export const jobsRead = (marketId: string, phase: JobPhase): Read<Jobs> =>
  marketRead(marketId, jobsEndpoint, `${jobPaths[phase]}/${marketId}/jobs`, jobsOf(marketId, phase));

const jobsOf = (marketId: string, phase: JobPhase, list: typeof jobList | typeof startedJobs = jobList) =>
  list.transform((jobs): Jobs => mapPresent(measured(jobs), job => ({ ...job, marketId, phase })));

/** The runs of jobs in one phase of a market, by which what a write has started is known. */
export const runsOf = (marketId: string, phase: JobPhase) => `${phase} ${marketId}`;

const startedAs = (marketId: string, phase: JobPhase): Pick<Write<Jobs>, 'starts' | 'success'> => ({
  starts: {
    tag: jobsTag(marketId),
    name: runsOf(marketId, phase),
    idsOf: jobs => present(jobs).map(({ id }) => id),
  },
  success: jobsOf(marketId, phase, startedJobs),
});

/** The reads of the discovery domain for one request. */
export const createDiscoveryLoaders = ({ read }: Reader) => ({
  jobs: (marketId: string, phase: JobPhase) => read(jobsRead(marketId, phase)),

  /** GET /v2/discovery/{id}/search-criteria. */
  criteria: (marketId: string) => read(marketRead(marketId, criteriaEndpoint, criteriaPath(marketId), searchCriteria)),

  /** GET /v2/discovery/{id}/search-criteria/history. */
  criteriaHistory: (marketId: string) =>
    read(marketRead(marketId, criteriaEndpoint, `${criteriaPath(marketId)}/history`, searchCriteriaHistory)),

  /** POST to the path of keyword suggestion, which the specification does not show. @param criteria from `criteriaBody`. */
  suggestedKeywords: (path: string, criteria: object) =>
    read({
      request: {
        ...requestTo(keywordsEndpoint, path),
        body: { searchCriteria: criteria },
        members: criteriaPaths,
      },
      parse: body => suggestedKeywords.parse(body),
    }),
});

const criteriaPath = (marketId: string) => `/v2/discovery/${marketId}/search-criteria`;

/** POST /v2/discovery/search-criteria. */
export function createCriteriaWrite(searchType: string, searchInput: string): Write<SearchCriteria> {
  return {
    request: discoveryRequest('POST', '/v2/discovery/search-criteria', undefined, { searchType, searchInput }),
    success: searchCriteria,
  };
}

/** POST /v2/discovery/{id}/start. @param criteria from `criteriaBody`. */
export function startWrite(marketId: string, criteria: object, skipDiscoveryReview: boolean): Write<Jobs> {
  const body = { searchCriteria: criteria, pipelineChoices: { skipDiscoveryReview } };
  return {
    request: { ...discoveryRequest('POST', `/v2/discovery/${marketId}/start`, marketId, body), members: criteriaPaths },
    market: marketId,
    ...startedAs(marketId, 'DISCOVERY'),
  };
}

/** PATCH /v2/discovery/{id}/companies/reviews. @param domains undefined: all of the market. */
export function reviewWrite(
  marketId: string,
  reviewStatus: 'include' | 'exclude',
  domains: readonly string[] | undefined,
): Write<unknown> {
  const target = domains === undefined ? { mode: 'all' } : { mode: 'partial', domains };
  return {
    request: {
      ...discoveryRequest('PATCH', `/v2/discovery/${marketId}/companies/reviews`, marketId, { reviewStatus, target }),
      ...(domains && { listed: { argument: 'input.target.domains', values: domains } }),
    },
    market: marketId,
    success: receipt,
  };
}

/** POST /v2/discovery/{id}/publish. */
export function publishWrite(marketId: string): Write<Jobs> {
  return {
    request: discoveryRequest('POST', `/v2/discovery/${marketId}/publish`, marketId),
    market: marketId,
    ...startedAs(marketId, 'PUBLISH'),
  };
}

/** The members of criteria, as paths in the body. The service may name them when it rejects a request. */
const criteriaPaths = criteriaMembers.map(member => `searchCriteria.${member}`);

/** @param market whose identifier is in the path. */
function discoveryRequest(method: 'POST' | 'PATCH', path: string, market: string | undefined, body?: object) {
  const record = market === undefined ? undefined : ({ id: market, member: 'marketId' } as const);
  return { family: 'discovery', address: 'base', method, path, body, record, argument: 'input', safe: false } as const;
}
