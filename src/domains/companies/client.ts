import type { Read } from '../../data/reader.js';
import type { Write } from '../../data/writer.js';
import { type CompanyRecord, companyList, companyPieces, csvExport, type Esg, esgData } from './model.js';

/** GET /v2/markets/{id}/companies: all companies of the market. */
export function companiesRead(marketId: string): Read<readonly CompanyRecord[]> {
  const path = `/v2/markets/${marketId}/companies`;
  return {
    request: { family: 'companies', address: 'base', method: 'GET', path, argument: 'id', safe: true },
    market: marketId,
    onlyPublished: true,
    parse: body => ({ value: companyList.parse(body) }),
    pieces: companyPieces,
  };
}

/** GET /v2/markets/{id}/esg. */
export function esgRead(marketId: string): Read<Esg> {
  const path = `/v2/markets/${marketId}/esg`;
  return {
    request: { family: 'esg', address: 'base', method: 'GET', path, argument: 'id', safe: true },
    market: marketId,
    onlyPublished: true,
    parse: body => ({ value: esgData.parse(body) }),
  };
}

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
      safe: false,
    },
    parse: body => csvExport.parse(body()).downloadLink,
  };
}
