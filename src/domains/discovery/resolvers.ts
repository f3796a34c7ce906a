// The fields of a market's discovery, and the steps of the discovery workflow.
import type { Context } from '../../context.js';
import { listed, mapPresent, present } from '../../data/parsing.js';
import type { Snapshot } from '../../data/polling/state-message.js';
import type { Write } from '../../data/writer.js';
import { BadUserInput, Conflict, NotConfigured } from '../../errors.js';
import type { Resolvers } from '../../generated/resolver-types.js';
import type { ReviewTarget, SearchCriteriaInput } from '../../generated/schema-types.js';
import { checkedDomains, endpointName, marketId, plainText } from '../../graphql/input.js';
import { boundedList } from '../../graphql/list-bounds.js';
import type { NodeTypes } from '../../graphql/node.js';
import { andThen } from '../../lib/run.js';
import { iso } from '../../lib/time.js';
import { createCriteriaWrite, publishWrite, reviewWrite, startWrite } from './client.js';
import { estimatedEnd, measured, overallProgress } from './estimate.js';
import { type JobProgress, jobProgress } from './feed.js';
import { criteriaMembers, type Job, keywordMembers, locationMembers } from './model.js';

export const discoveryResolvers: Resolvers = {
  Subscription: {
    jobProgress: {
      subscribe: (_, { marketId: id, phase }, context) => context.watch(jobProgress(marketId(id, 'marketId'), phase)),
      resolve: ({ state, observedAt }: Snapshot<JobProgress>) => {
        const { marketId, history } = state;
        const jobs = measured(state.jobs, history.scale);
        const readable = present(jobs);
        const end = estimatedEnd(readable, history, observedAt);
        return {
          ...state,
          jobs: listed(jobs),
          market: { id: marketId },
          overallProgress: overallProgress(readable, state.awaited),
          estimatedEndAt: end === null ? null : iso(end),
          observedAt: iso(observedAt),
        };
      },
    },
  },
  Query: {
    suggestKeywords(_, { input }, { loaders, keywordSuggestionPath }) {
      const criteria = criteriaBody(input.searchCriteria, 'input.searchCriteria');
      if (keywordSuggestionPath === undefined) throw new NotConfigured('KEYWORD_SUGGESTION_PATH');
      return andThen(
        loaders.discovery.suggestedKeywords(keywordSuggestionPath, criteria),
        ({ keywords, suggested }) => ({
          keywords: listed(keywords),
          suggested,
        }),
      );
    },
  },
  Market: {
    jobs: ({ id }, { phase }, { loaders }) => andThen(loaders.discovery.jobs(id, phase), listed),
    searchCriteria: ({ id }, _, { loaders }) => loaders.discovery.criteria(id),
    searchCriteriaHistory: ({ id }, _, { loaders }) => andThen(loaders.discovery.criteriaHistory(id), listed),
  },
  Mutation: {
    async createSearchCriteria(_, { input }, { writer }) {
      const searchType = plainText(input.searchType, 'input.searchType');
      const searchInput = checkedPrompt(input.searchInput, 'input.searchInput');
      return { searchCriteria: await writer.write(createCriteriaWrite(searchType, searchInput)) };
    },
    async startDiscovery(_, { input }, { writer }) {
      const id = marketId(input.marketId, 'input.marketId');
      const criteria = criteriaBody(input.searchCriteria, 'input.searchCriteria');
      try {
        const jobs = listed(await writer.write(startWrite(id, criteria, input.skipDiscoveryReview)));
        return { __typename: 'DiscoveryStarted', marketId: id, market: { id }, jobs };
      } catch (error) {
        if (!(error instanceof Conflict)) throw error;
        return { __typename: 'DiscoveryAlreadyRunning', marketId: id, market: { id } };
      }
    },
    async reviewCompanies(_, { input }, context) {
      const id = marketId(input.marketId, 'input.marketId');
      const status = input.reviewStatus === 'INCLUDE' ? 'include' : 'exclude';
      const domains = reviewedDomains(input.target);
      await writeOrExplain(reviewWrite(id, status, domains), id, 'reviewed', context);
      return { marketId: id, market: { id }, domains };
    },
    async watchJob(_, { input: { marketId: given, phase, ...input } }, context) {
      const subject = { kind: 'job', marketId: marketId(given, 'input.marketId'), phase } as const;
      const endpoint = endpointName(input.endpoint);
      return { watch: await context.watch(({ watches }, auth) => watches.begin(auth, subject, endpoint, null)) };
    },
    async publishMarket(_, { input }, context) {
      const id = marketId(input.marketId, 'input.marketId');
      const jobs = listed(await writeOrExplain(publishWrite(id), id, 'published', context));
      return { marketId: id, market: { id }, jobs };
    },
  },
  ReviewCompaniesPayload: {
    companies: ({ marketId, domains }, _, { loaders }) =>
      andThen(loaders.companies.list(marketId, { filter: domains ? { domains } : null }), companies =>
        listed(mapPresent(companies, company => ({ ...company, marketId }))),
      ),
  },
  DiscoveryAlreadyRunning: {
    jobs: ({ marketId: id }, _, { loaders }) => andThen(loaders.discovery.jobs(id, 'DISCOVERY'), listed),
  },
};

export const discoveryNodes = {
  Job: {
    parts: ({ marketId, phase, id }: Job) => [marketId, phase, id],
    calls: () => 1,
    async find([market = '', phase, id], { loaders }) {
      if (phase !== 'DISCOVERY' && phase !== 'PUBLISH') throw new BadUserInput('phase', 'is none');
      return present(await loaders.discovery.jobs(marketId(market), phase)).find(job => job.id === id);
    },
  },
} satisfies NodeTypes<Context>;

/** Writes. @throws Conflict that says what the state of the market is and what to do next, if that refuses the write and the jobs can be read. */
async function writeOrExplain<T>(
  write: Write<T>,
  id: string,
  step: 'reviewed' | 'published',
  context: Context,
): Promise<T> {
  try {
    return await context.writer.write(write);
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    // Those of after the write, which have read nothing yet.
    const { loaders } = context;
    const jobs = [loaders.discovery.jobs(id, 'DISCOVERY'), loaders.discovery.jobs(id, 'PUBLISH')] as const;
    const [discovery, publication] = await Promise.all(jobs).catch(() => {
      throw error;
    });
    throw new Conflict(
      `The market cannot be ${step} now: ${stateOf(present(discovery), present(publication))}`,
      error.upstream,
    );
  }
}

function stateOf(discovery: readonly Job[], publication: readonly Job[]): string {
  const isRunning = ({ finished }: Job) => !finished;
  if (publication.some(isRunning)) {
    return 'it is being published already; `jobProgress(phase: PUBLISH)` says when that has ended';
  }
  if (discovery.some(isRunning)) return 'its discovery is still running; `jobProgress` says when it has ended';
  if (discovery.length === 0) return 'it has no discovery yet; begin one with `startDiscovery`';
  if (publication.length > 0) return 'it was published already';
  return 'its discovery has ended, so perhaps no company is included; include companies with `reviewCompanies`';
}

/** The domains to review; undefined for all. @throws BadUserInput */
function reviewedDomains({ all, domains }: ReviewTarget): readonly string[] | undefined {
  if (domains !== undefined) return checkedDomains('ReviewTarget.domains', domains, 'input.target.domains');
  if (all) return undefined;
  throw new BadUserInput('input.target.all', 'must be true; use domains to review some of the companies');
}

const maxTextLength = 10_000;

/**
 * Converts search criteria to the service's format (docs/upstream-api.md: Search criteria), without members that are null or left out. Criteria
 * that were read pass unchanged, so texts may be empty and contain any character. They only become part of a JSON body.
 * @throws BadUserInput
 */
function criteriaBody(input: SearchCriteriaInput, argument: string): Record<string, unknown> {
  checkTexts(input, argument);
  const { attributes, keywords, locations, ...members } = input;
  boundedList('SearchCriteriaInput.seedDomains', members.seedDomains ?? [], `${argument}.seedDomains`);
  if (members.count != null && members.count < 1) throw new BadUserInput(`${argument}.count`, 'must be 1 or more');
  return {
    ...checkedAttributes(attributes, criteriaMembers, `${argument}.attributes`),
    ...withoutNulls(members),
    ...(keywords != null && { keywords: checkedKeywords(keywords, `${argument}.keywords`) }),
    ...(locations != null && { locations: checkedLocations(locations, `${argument}.locations`) }),
  };
}

/** Checks a question in natural language, which may contain line breaks. @throws BadUserInput */
function checkedPrompt(text: string, argument: string): string {
  plainText(text.replaceAll(/[\n\r\t\u2028\u2029]/g, ' '), argument, maxTextLength);
  return text;
}

const withoutNulls = (members: object) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value != null));

/** Checks each text in criteria, but for attributes. @throws BadUserInput */
function checkTexts(value: unknown, argument: string): void {
  if (typeof value === 'string' && value.length > maxTextLength)
    throw new BadUserInput(argument, `must be at most ${maxTextLength} characters`);
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  for (const [member, each] of members) if (member !== 'attributes') checkTexts(each, `${argument}.${member}`);
}

type Attributes = SearchCriteriaInput['attributes'];

function checkedAttributes(attributes: Attributes, members: readonly string[], argument: string): Attributes {
  const known = members.find(member => attributes != null && Object.hasOwn(attributes, member));
  if (known !== undefined) throw new BadUserInput(argument, `must not contain ${known}, which has a field of its own`);
  return attributes;
}

function checkedKeywords({ attributes, ...lists }: NonNullable<SearchCriteriaInput['keywords']>, argument: string) {
  for (const member of ['features', 'user', 'synonyms', 'irrelevant'] as const)
    boundedList(`SearchKeywordsInput.${member}`, lists[member] ?? [], `${argument}.${member}`);
  return { ...checkedAttributes(attributes, keywordMembers, `${argument}.attributes`), ...lists };
}

function checkedLocations(locations: NonNullable<SearchCriteriaInput['locations']>, argument: string) {
  const bounded = boundedList('SearchCriteriaInput.locations', locations, argument);
  return bounded.map(({ attributes, ...location }, index) => {
    const at = `${argument}.${index}`;
    if (!/^[A-Za-z]{2}$/.test(location.countryCode)) throw new BadUserInput(`${at}.countryCode`, 'must be two letters');
    return { ...checkedAttributes(attributes, locationMembers, `${at}.attributes`), ...withoutNulls(location) };
  });
}
