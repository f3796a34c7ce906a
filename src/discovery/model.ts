import { z } from 'zod';
import { records, requiredRecords, tolerant } from '../upstream/drift.js';
import { identifier, unwrapped, utcTime, withAttributes } from '../wire-types.js';

const text = z.string();

const job = z
  .object({
    jobId: identifier,
    workflowName: tolerant('Job.workflowName', text),
    jobProgress: tolerant('Job.jobProgress', z.number()),
    status: tolerant('Job.status', text),
    startTime: tolerant('Job.startTime', utcTime),
    endTime: tolerant('Job.endTime', utcTime),
  })
  .transform(({ jobId, jobProgress, ...rest }) => ({
    id: jobId,
    progress: jobProgress,
    ...rest,
    finished: rest.endTime !== null,
  }));

/** A job of a discovery or of a publication (spec.md: Discovery job). */
export type Job = z.output<typeof job>;

/** The jobs of a market: `{metadata, data}`. */
export const jobs = z.object({ data: requiredRecords('Job', job) }).transform(({ data }) => data);

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

/** Search criteria (spec.md: Search criteria); what the specification does not name is kept in `attributes`. */
export type SearchCriteria = z.output<typeof criteriaRecord>;

/** Criteria, bare or under `searchCriteria` or `data`. */
export const searchCriteria = z.preprocess(criteriaIn, criteriaRecord);

/** Earlier criteria, newest or oldest first as the service has them: a list, bare or under `searchCriteria` or `data`. */
export const searchCriteriaHistory = z.preprocess(
  body => {
    const list = criteriaIn(body);
    return Array.isArray(list) ? list.map(criteriaIn) : list;
  },
  requiredRecords('SearchCriteria', criteriaRecord),
);

/** The answer to a start that came too late; its jobs are read when they are asked for. */
export interface DiscoveryAlreadyRunning {
  readonly marketId: string;
}

const suggestion = z.union([text, z.object({ keyword: text }).transform(({ keyword }) => keyword)]);

/** Suggested keywords. The body is not shown: a list of them, bare or under any one member, is understood. */
export const suggestedKeywords = z.preprocess(
  body => {
    const content = unwrapped(body);
    return Array.isArray(content) ? content : Object.values(content ?? {}).find(Array.isArray);
  },
  requiredRecords('keyword', suggestion),
);

function criteriaIn(body: unknown): unknown {
  const content = unwrapped(body);
  return (content as { searchCriteria?: unknown } | null)?.searchCriteria ?? content;
}
