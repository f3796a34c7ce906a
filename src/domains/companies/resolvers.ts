import type { Resolvers } from '../../generated/schema-types.js';
import { connectionOf, offsetAfter } from '../../graphql/connection.js';
import { checkedDomains, marketId, pageSize, plainText } from '../../graphql/input.js';
import { andThen } from '../../lib/maybe-promise.js';
import { exportCsvWrite } from './client.js';
import { esgOf } from './model.js';

/** The fields of companies and of ESG data. */
export const companiesResolvers: Resolvers = {
  Market: {
    async companies({ id }, { first, after, filter }, { loaders }) {
      const size = pageSize(first);
      const offset = offsetAfter(after);
      const matching = await loaders.companies.matching(id, filter, 'filter');
      const page = matching.slice(offset, offset + size).map(company => ({ ...company, marketId: id }));
      return connectionOf(page, offset, matching.length);
    },
    async company({ id }, { domain }, { loaders }) {
      const company = await loaders.companies.byDomain(id, plainText(domain, 'domain'));
      return company === undefined ? null : { ...company, marketId: id };
    },
    esg: ({ id }, _, { loaders }) => loaders.companies.esg(id),
  },
  Mutation: {
    async exportMarketCsv(_, { input }, { writer }) {
      const id = marketId(input.marketId, 'input.marketId');
      const domains = checkedDomains('ExportMarketCsvInput.domains', input.domains, 'input.domains');
      return { downloadLink: await writer.write(exportCsvWrite(id, domains)) };
    },
  },
  Company: {
    esg: ({ marketId, domain }, _, { loaders }) => andThen(loaders.companies.esg(marketId), esg => esgOf(esg, domain)),
  },
};
