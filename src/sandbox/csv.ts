import type { Company } from './world/markets.js';

const COLUMNS = [
  'domain',
  'name',
  'description',
  'overallMomentum',
  'contactNumber',
  'contactEmail',
  'actualRevenue',
  'naics',
  'operatesIn',
  'dunsNumbers',
  'score',
] as const satisfies (keyof Company)[];

/** A header line and one line for each company, as in RFC 4180. Lists within a cell are separated by semicolons. */
export function csvOf(companies: readonly Company[]): string {
  const rows = companies.map(company => {
    const cells = { ...company, naics: company.naics.map(({ code }) => code) };
    return COLUMNS.map(column => [cells[column] ?? ''].flat().join(';'));
  });
  return [COLUMNS, ...rows].map(cells => `${cells.map(quoted).join(',')}\r\n`).join('');
}

const quoted = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
