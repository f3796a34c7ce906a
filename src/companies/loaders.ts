import type { Lifetime } from '../cache/lookup.js';
import type { Reader } from '../reader.js';
import { companiesRead, esgRead } from './client.js';
import type { CompanyRecord, Esg } from './model.js';

/** A company, and the market it was read from. */
export interface Company extends CompanyRecord {
  readonly marketId: string;
}

/** What the companies room can load for one request. */
export interface CompaniesLoaders {
  all(marketId: string): Promise<readonly CompanyRecord[]>;
  esg(marketId: string): Promise<Esg>;
}

export function createCompaniesLoaders(
  reader: Reader,
  lifetimes: { readonly companies: Lifetime; readonly esg: Lifetime },
): CompaniesLoaders {
  return {
    all: async marketId => (await reader.read(companiesRead(marketId), lifetimes.companies)).value,
    esg: async marketId => (await reader.read(esgRead(marketId), lifetimes.esg)).value,
  };
}
