import type { Company } from './resources.js';

type Cell = string | number | null;

const COLUMNS: readonly [string, (company: Company) => Cell][] = [
  ['domain', company => company.domain],
  ['name', company => company.name],
  ['description', company => company.description],
  ['overallMomentum', company => company.overallMomentum],
  ['contactNumber', company => company.contactNumber],
  ['contactEmail', company => company.contactEmail],
  ['actualRevenue', company => company.actualRevenue],
  ['naics', company => company.naics.map(({ code }) => code).join(';')],
  ['operatesIn', company => company.operatesIn.join(';')],
  ['dunsNumbers', company => company.dunsNumbers.join(';')],
  ['score', company => company.score],
];

/** A header line and one line for each company, as in RFC 4180. Lists within a cell are separated by semicolons. */
export function csvOf(companies: readonly Company[]): string {
  const lines: Cell[][] = [
    COLUMNS.map(([name]) => name),
    ...companies.map(each => COLUMNS.map(([, cell]) => cell(each))),
  ];
  return lines.map(cells => `${cells.map(quoted).join(',')}\r\n`).join('');
}

function quoted(cell: Cell): string {
  const text = String(cell ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
