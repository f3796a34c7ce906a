import { oncePerValue } from '../../lib/once-per-value.js';
import type { CompanyRecord } from './model.js';

type Companies = readonly CompanyRecord[];

/** What free text is looked for in, lower-cased, in the order of the list. Worked out once for each list. */
export const searchTexts = oncePerValue((companies: Companies): readonly string[] =>
  companies.map(({ name, domain, description }) => [name, domain, description].join('\n').toLowerCase()),
);

/** The companies by their domains in lower case; the first of those that share one. Worked out once for each list. */
export const companiesByDomain = oncePerValue(
  (companies: Companies): ReadonlyMap<string, CompanyRecord> =>
    new Map(companies.map(company => [company.domain.toLowerCase(), company] as const).reverse()),
);
