// The service's endpoints for markets.
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { csvOf } from '../csv.js';
import { hexOf } from '../ids.js';
import { Problem, read } from '../problem.js';
import { type MarketPath, marketCalls, marketFor, type Service } from '../service.js';
import type { Topic } from '../world/markets.js';

const topicsBody = z.object({ sorts: z.object({ label: z.literal('asc').optional() }).optional() }).nullish();
const suggestBody = z.object({ keyword: z.string() });
const exportBody = z.object({ domainList: z.array(z.string()).min(1) });

/** Publication jobs and data of a market, under {base_url} (docs/upstream-api.md: Discovery workflow). */
export function marketRoutes(app: FastifyInstance, service: () => Service): void {
  const call = marketCalls(app, service);
  call('GET', '/v2/markets/:marketId/jobs', market => market.publishJobs);
  call('GET', '/v2/markets/:marketId/companies', market => market.companies);
  call('GET', '/v2/markets/:marketId/esg', ({ published: { esg, isPublished } }) => esg.filter(isPublished));
}

/** Topics, suggestions and the CSV export, under {api_url} (docs/upstream-api.md: Markets interface). */
export function marketsInterfaceRoutes(app: FastifyInstance, service: () => Service, origin: () => string): void {
  app.post<MarketPath>('/markets/:marketId/topics', request => {
    const { topics } = marketFor(request, request.params.marketId, service()).published;
    const sort = read(topicsBody, request.body)?.sorts?.label;
    return { data: sort === 'asc' ? sortedByLabel(topics) : topics };
  });

  app.post('/markets/suggest', request => {
    const rights = service().credentials.identify(request);
    const keyword = read(suggestBody, request.body).keyword.toLowerCase();
    const visible = rights.markets === 'all' ? [...service().markets.values()] : [];
    const found = visible.map(market => market.record.name).filter(name => name.toLowerCase().includes(keyword));
    const prefixFirst = (name: string) => (name.toLowerCase().startsWith(keyword) ? 0 : 1);
    return { suggested: found.sort((a, b) => prefixFirst(a) - prefixFirst(b) || a.localeCompare(b, 'en')) };
  });

  app.post<MarketPath>('/markets/:marketId/export-csv', request => {
    const { companies } = marketFor(request, request.params.marketId, service());
    const { domainList } = read(exportBody, request.body);
    const byDomain = new Map(companies.map(company => [company.domain, company]));
    const chosen = [...new Set(domainList)].map(domain => {
      const company = byDomain.get(domain);
      if (!company) throw new Problem('QUERY_VALIDATION_FAILED', `${domain} is not a company of this market`);
      return company;
    });
    const { files } = service();
    const name = `${hexOf(`file ${files.size}`, 32)}.csv`;
    files.set(name, csvOf(chosen));
    return { downloadLink: `${origin()}/files/${name}` };
  });
}

/** The market record, under {dev_url} (docs/upstream-api.md: Market record). */
export function devRoutes(app: FastifyInstance, service: () => Service): void {
  app.get<{ Params: { market_id: string } }>(
    '/dev/markets/:market_id',
    request => marketFor(request, request.params.market_id, service()).record,
  );
}

/** The target of a download link. The link itself is the permission. */
export function fileRoutes(app: FastifyInstance, service: () => Service): void {
  app.get<{ Params: { name: string } }>('/files/:name', (request, reply) => {
    const { name } = request.params;
    const file = service().files.get(name);
    if (file === undefined) throw new Problem('NOT_FOUND', `File ${name} does not exist`);
    return reply
      .type('text/csv; charset=utf-8; header=present')
      .header('content-disposition', `attachment; filename="${name}"`)
      .send(file);
  });
}

const sortedByLabel = (topics: readonly Topic[]) =>
  byLabel(topics.map(topic => ({ ...topic, groups: byLabel(topic.groups) })));

const byLabel = <T extends { label: string }>(items: readonly T[]) =>
  [...items].sort((a, b) => a.label.localeCompare(b.label, 'en'));
