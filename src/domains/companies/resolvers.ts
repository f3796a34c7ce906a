import type { Context } from '../../context.js';
import type { Resolvers } from '../../generated/resolver-types.js';
import { connectionPage, pageRequest } from '../../graphql/connection.js';
import { marketId, namedIfRejected, plainText } from '../../graphql/input.js';
import type { NodeTypes } from '../../graphql/node.js';
import { domainKey } from '../../lib/domain.js';
import { andThen } from '../../lib/run.js';
import { type Company, companyListId, exportCsvWrite, selectedDomains } from './client.js';
import { esgOf } from './model.js';

export const companiesResolvers: Resolvers = {
  Market: {
    async companies({ id }, { first, after, last, before, ...listing }, { loaders }) {
      const page = pageRequest({ first, after, last, before }, companyListId(id, listing));
      const list = await loaders.companies.list(id, listing);
      return connectionPage(page, list, company => ({ ...company, marketId: id }));
    },
    companyFacets: ({ id }, listing, { loaders }) => loaders.companies.facets(id, listing),
    company: ({ id }, { domain }, context) => companyOf(id, domain, context),
    esg: ({ id }, _, { loaders }) => loaders.companies.esg(id),
  },
  Mutation: {
    async exportMarketCsv(_, { input: { marketId: market, companies } }, { loaders, writer }) {
      const id = marketId(market, 'input.marketId');
      const selected = () => namedIfRejected('input.marketId', loaders.newest.companies.selected(id, companies));
      const domains =
        companies.domains == null ? (await selected()).map(({ domain }) => domain) : selectedDomains(companies.domains);
      return { downloadLink: await writer.write(exportCsvWrite(id, domains)), selected: domains.length };
    },
  },
  Company: {
    id: ({ marketId, domain }) => `${marketId}:${domainKey(domain)}`,
    market: ({ marketId }) => ({ id: marketId }),
    esg: ({ marketId, domain }, _, { loaders }) => andThen(loaders.companies.esg(marketId), esg => esgOf(esg, domain)),
  },
};

export const companiesNodes = {
  Company: {
    parts: ({ marketId, domain }: Company) => [marketId, domainKey(domain)],
    calls: () => 1,
    find: ([id = '', domain = ''], context) => companyOf(marketId(id), domain, context),
  },
} satisfies NodeTypes<Context>;

async function companyOf(id: string, domain: string, { loaders }: Context): Promise<Company | null> {
  const company = await loaders.companies.byDomain(id, plainText(domain, 'domain'));
  return company === undefined ? null : { ...company, marketId: id };
}
