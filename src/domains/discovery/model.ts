import { z } from 'zod';
import { records, requiredRecords, tolerant } from '../../data/upstream/schema-drift.js';
import { identifier, unwrapped, utcTime, withAttributes } from '../../data/wire-types.js';

const text = z.string();

const endTime = tolerant('Job.endTime', utcTime);

/** A job has ended if an end time is set, even if that time cannot be parsed. */
const end = z
  .unknown()
  .default(null)
  .transform(value => ({ endTime: endTime.parse(value), finished: value !== null && value !== '' }));

const job = z
  .object({
    jobId: identifier,
    workflowName: tolerant('Job.workflowName', text),
    jobProgress: tolerant('Job.jobProgress', z.number()),
    status: tolerant('Job.status', text),
    startTime: tolerant('Job.startTime', utcTime),
    endTime: end,
  })
  .transform(({ jobId, jobProgress, endTime, ...rest }) => ({
    id: jobId,
    progress: jobProgress,
    ...rest,
    ...endTime,
  }));

/** A phase of a market, which has jobs of its own. */
export type JobPhase = 'DISCOVERY' | 'PUBLISH';

/** A job of a discovery or of a publication (docs/upstream-api.md: Discovery job). */
export type Job = z.output<typeof job> & { readonly marketId: string; readonly phase: JobPhase };

/** The jobs of a market: `{metadata, data}`. */
export const jobList = z.object({ data: requiredRecords('Job', job) }).transform(({ data }) => data);

const words = (name: string) => records(`SearchCriteria.keywords.${name}`, text);

const known = z.object({
  userPrompt: tolerant('SearchCriteria.userPrompt', text),
  marketName: tolerant('SearchCriteria.marketName', text),
  marketType: tolerant('SearchCriteria.marketType', text),
  marketRole: tolerant('SearchCriteria.marketRole', text),
  keywords: tolerant(
    'SearchCriteria.keywords',
    z.object({
      features: words('features'),
      user: words('user'),
      synonyms: words('synonyms'),
      irrelevant: words('irrelevant'),
    }),
  ),
  seedDomains: records('SearchCriteria.seedDomains', text),
  projectKind: tolerant('SearchCriteria.projectKind', text),
  locations: records(
    'SearchCriteria.locations',
    z.object({ countryCode: text, countryName: tolerant('SearchCriteria.locations.countryName', text) }),
  ),
  count: tolerant('SearchCriteria.count', z.int()),
  performSearch: tolerant('SearchCriteria.performSearch', z.boolean()),
});

const criteriaRecord = withAttributes(known);

/** The members of search criteria that the specification names. */
export const criteriaMembers = Object.keys(known.shape);

/** Search criteria (docs/upstream-api.md: Search criteria). `attributes` holds the fields that the specification does not name. */
export type SearchCriteria = z.output<typeof criteriaRecord>;

/** Criteria, bare or under `searchCriteria` or `data`. */
export const searchCriteria = z.preprocess(criteriaIn, criteriaRecord);

/** Earlier criteria in the service's order: a list, bare or under `searchCriteria` or `data`. */
export const searchCriteriaHistory = z.preprocess(
  body => {
    const list = criteriaIn(body);
    return Array.isArray(list) ? list.map(criteriaIn) : list;
  },
  requiredRecords('SearchCriteria', criteriaRecord),
);

/** The result of a start while a discovery is running. Its jobs are read when they are selected. */
export interface DiscoveryAlreadyRunning {
  readonly marketId: string;
}

const suggestion = z.union([text, z.object({ keyword: text }).transform(({ keyword }) => keyword)]);

/**
 * Suggested keywords. The specification does not show the body. Accepted are a list, bare or under any member, and several lists as in
 * the keywords of criteria.
 */
export const suggestedKeywords = z.preprocess(
  body => {
    const content = criteriaIn(body) as { keywords?: unknown } | null;
    const words = content?.keywords ?? content ?? {};
    if (Array.isArray(words)) return words;
    const lists = Object.entries(words).flatMap(([name, list]) =>
      Array.isArray(list) && name !== 'irrelevant' ? [list] : [],
    );
    return lists.length === 0 ? undefined : lists.flat();
  },
  requiredRecords('keyword', suggestion),
);

function criteriaIn(body: unknown): unknown {
  const content = unwrapped(body);
  return (content as { searchCriteria?: unknown } | null)?.searchCriteria ?? content;
}
