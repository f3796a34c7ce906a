import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { criteria, deriveCriteria, suggestKeywords } from '../criteria.js';
import { read } from '../problem.js';
import { marketCalls, type Service } from '../service.js';

/** Path of keyword suggestion, which the specification does not show. */
export const KEYWORD_SUGGESTION_PATH = '/v2/discovery/search-criteria/keywords';

const derive = z.object({ searchType: z.literal('marketSearch'), searchInput: z.string().trim().min(1) });
const suggest = z.object({ searchCriteria: criteria });
const start = z.object({
  searchCriteria: criteria,
  pipelineChoices: z.object({ skipDiscoveryReview: z.boolean() }),
});
const review = z.object({
  reviewStatus: z.enum(['include', 'exclude']),
  target: z.discriminatedUnion('mode', [
    z.object({ mode: z.literal('all') }),
    z.object({ mode: z.literal('partial'), domains: z.array(z.string()).min(1) }),
  ]),
});

/** From a question to a published market (docs/upstream-api.md: Discovery workflow). */
export function discoveryRoutes(app: FastifyInstance, service: () => Service): void {
  app.post('/v2/discovery/search-criteria', request => {
    service().credentials.identify(request);
    return { searchCriteria: deriveCriteria(read(derive, request.body).searchInput) };
  });

  app.post(KEYWORD_SUGGESTION_PATH, request => {
    service().credentials.identify(request);
    return { data: suggestKeywords(read(suggest, request.body).searchCriteria) };
  });

  const call = marketCalls(app, service);

  call('POST', '/v2/discovery/:marketId/start', (market, body) => {
    const { searchCriteria, pipelineChoices } = read(start, body);
    return market.startDiscovery(searchCriteria, pipelineChoices.skipDiscoveryReview);
  });

  call('GET', '/v2/discovery/:marketId/jobs', market => market.discoveryJobs);

  call('PATCH', '/v2/discovery/:marketId/companies/reviews', (market, body) => {
    const { reviewStatus, target } = read(review, body);
    return market.review(reviewStatus, target.mode === 'partial' ? target.domains : undefined);
  });

  call('GET', '/v2/discovery/:marketId/search-criteria', market => market.criteria);
  call('GET', '/v2/discovery/:marketId/search-criteria/history', market => market.criteriaHistory);
  call('POST', '/v2/discovery/:marketId/publish', market => market.publish());
}
