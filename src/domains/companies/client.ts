import { marketRead, type Read } from '../../data/reader.js';
import type { Write } from '../../data/writer.js';
import { type CompanyRecord, companyList, companyPieces, csvExport, type Esg, esgData } from './model.js';

/** GET /v2/markets/{id}/companies: all companies of the market. */
export const companiesRead = (marketId: string): Read<readonly CompanyRecord[]> => ({
  ...marketRead(marketId, { family: 'companies', path: `/v2/markets/${marketId}/companies` }, companyList),
  onlyPublished: true,
  pieces: companyPieces,
});

/** GET /v2/markets/{id}/esg. */
export const esgRead = (marketId: string): Read<Esg> => ({
  ...marketRead(marketId, { family: 'esg', path: `/v2/markets/${marketId}/esg` }, esgData),
  onlyPublished: true,
});

/** POST {api_url}/markets/{id}/export-csv. Returns the URL of the file. */
export function exportCsvWrite(marketId: string, domains: readonly string[]): Write<string> {
  return {
    request: {
      family: 'export-csv',
      address: 'api',
      method: 'POST',
      path: `/markets/${marketId}/export-csv`,
      body: { domainList: domains },
      argument: 'input',
      listed: { argument: 'input.companies', values: domains },
      safe: false,
    },
    parse: body => csvExport.parse(body()).downloadLink,
  };
}
