import type { Read } from '../../data/reader.js';
import type { Write } from '../../data/writer.js';
import { type CompanyRecord, companies, companyPieces, csvExport, type Esg, esg } from './model.js';

/** GET /v2/markets/{id}/companies: all of them. */
export function companiesRead(marketId: string): Read<readonly CompanyRecord[]> {
  return {
    request: {
      family: 'companies',
      address: 'base',
      method: 'GET',
      path: `/v2/markets/${marketId}/companies`,
      argument: 'id',
      safe: true,
    },
    market: marketId,
    parse: body => ({ value: companies.parse(body) }),
    pieces: companyPieces,
  };
}

/** GET /v2/markets/{id}/esg. */
export function esgRead(marketId: string): Read<Esg> {
  return {
    request: {
      family: 'esg',
      address: 'base',
      method: 'GET',
      path: `/v2/markets/${marketId}/esg`,
      argument: 'id',
      safe: true,
    },
    market: marketId,
    parse: body => ({ value: esg.parse(body) }),
  };
}

/** POST {api_url}/markets/{id}/export-csv. Gives the address of the file. */
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
