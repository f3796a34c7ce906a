// What the service sends of jobs, search criteria and keywords.
import { z } from 'zod';
import * as parse from '../../data/parsing.js';
import type { JobPhase } from '../../generated/schema-types.js';

const text = z.string();

const endTime = parse.readable('Job.endTime', parse.utcTime);

/** A job has ended if an end time is set, even if that time cannot be parsed. */
const end = z
  .unknown()
  .default(null)
  .transform(value => ({
    endTime: endTime.parse(value === '' ? null : value),
    finished: value !== null && value !== '',
  }));

const job = z
  .object({
    jobId: parse.identifier,
    workflowName: parse.tolerant('Job.workflowName', text),
    jobProgress: parse.readable('Job.jobProgress', z.number()),
    status: parse.tolerant('Job.status', text),
    startTime: parse.readable('Job.startTime', parse.utcTime),
    endTime: end,
  })
  .transform(({ jobId, jobProgress, endTime, ...rest }) => ({
    id: jobId,
    progress: jobProgress,
    ...rest,
    ...endTime,
  }));

/** A job of a discovery or of a publication (docs/upstream-api.md: Discovery job). */
export interface Job extends z.output<typeof job> {
  readonly marketId: string;
  readonly phase: JobPhase;
  /** How much of it is done, 0 to 1. Null if its progress cannot be read as a share. */
  readonly completion: number | null;
}

export type Jobs = readonly (Job | parse.LeftOut)[];

/** The jobs of a market (docs/upstream-api.md: Discovery workflow): a list, bare or under `data` or `jobs`. */
export const jobList = z.preprocess(body => parse.listIn(body, 'jobs'), parse.requiredRecords('Job', job));

/** The jobs that a write has started. A list that is empty, or has no job that can be read, says only under `data` that there are none. */
export const startedJobs = z.union([
  jobList.refine(jobs => parse.present(jobs).length > 0),
  z.object({ data: z.tuple([]) }).transform(() => []),
]);

const keywordLists = <T extends z.ZodType>(name: string, keyword: T) =>
  z.object({
    features: parse.records(`${name}.features`, keyword),
    user: parse.records(`${name}.user`, keyword),
    synonyms: parse.records(`${name}.synonyms`, keyword),
    irrelevant: parse.records(`${name}.irrelevant`, keyword),
  });

const keywords = keywordLists('SearchCriteria.keywords', text);

const allKeywords = parse.withAttributes(keywords);

export type SearchKeywords = z.output<typeof allKeywords>;

const location = z.object({
  countryCode: text.regex(/^[A-Za-z]{2}$/),
  countryName: parse.tolerant('SearchCriteria.locations.countryName', text),
});

const documented = z.object({
  userPrompt: parse.tolerant('SearchCriteria.userPrompt', text),
  marketName: parse.tolerant('SearchCriteria.marketName', text),
  marketType: parse.tolerant('SearchCriteria.marketType', text),
  marketRole: parse.tolerant('SearchCriteria.marketRole', text),
  keywords: parse.tolerant('SearchCriteria.keywords', allKeywords),
  seedDomains: parse.records('SearchCriteria.seedDomains', text),
  projectKind: parse.tolerant('SearchCriteria.projectKind', text),
  locations: parse.records('SearchCriteria.locations', parse.withAttributes(location)),
  count: parse.readable('SearchCriteria.count', z.int32().min(1)),
  performSearch: parse.tolerant('SearchCriteria.performSearch', z.boolean()),
});

/** The members that the specification names, of search criteria and of the objects within. All others are `attributes`. */
export const criteriaMembers = Object.keys(documented.shape);
export const keywordMembers = Object.keys(keywords.shape);
export const locationMembers = Object.keys(location.shape);

const criteriaRecord = parse.withSomeOf(criteriaMembers, parse.withAttributes(documented), true);

/** Search criteria (docs/upstream-api.md: Search criteria). `attributes` holds the fields that the specification does not name. */
export type SearchCriteria = z.output<typeof criteriaRecord>;

/** Criteria, bare or under `searchCriteria` or `data`. */
export const searchCriteria = z.preprocess(criteriaIn, criteriaRecord);

/** Earlier criteria in the service's order: a list, bare or under `searchCriteria` or `data`. */
export const searchCriteriaHistory = z.preprocess(
  body => {
    const list = parse.whole(body, criteriaIn(body));
    return Array.isArray(list) ? list.map(criteriaIn) : list;
  },
  parse.requiredRecords('SearchCriteria', criteriaRecord),
);

/** The result of a start while a discovery is running. Its jobs are read when they are selected. */
export interface DiscoveryAlreadyRunning {
  readonly marketId: string;
  readonly market: { readonly id: string };
}

/** What a review was about. Its companies are read when they are selected. */
export interface ReviewCompaniesPayload extends DiscoveryAlreadyRunning {
  /** Undefined: all of the market. */
  readonly domains: readonly string[] | undefined;
}

const suggestion = z.union([text, z.object({ keyword: text }).transform(({ keyword }) => keyword)]);

const categories = parse.withAttributes(keywordLists('keyword', suggestion)).transform(suggested => ({
  keywords: [...suggested.features, ...suggested.user, ...suggested.synonyms],
  suggested,
}));

const singleList = parse.requiredRecords('keyword', suggestion).transform(keywords => ({ keywords, suggested: null }));

const hasCategories = (value: unknown) => keywordMembers.some(member => Array.isArray(Object(value)[member]));

/** Suggested keywords: a list, or several as in the keywords of criteria; both bare or under any member. The specification does not show the body. */
export const suggestedKeywords = z.preprocess(
  body => {
    const content = criteriaIn(body) as { keywords?: unknown } | null;
    const words = content?.keywords ?? content ?? {};
    if (Array.isArray(words) || hasCategories(words)) return words;
    const members = Object.values(words);
    const lists = members.filter(Array.isArray);
    return lists.length === 0 ? members.find(hasCategories) : lists.flat();
  },
  z.union([singleList, categories]),
);

function criteriaIn(body: unknown): unknown {
  return parse.memberOr(parse.unwrapped(body), 'searchCriteria');
}
