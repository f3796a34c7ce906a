// What the service sends of companies and their ESG data.
import { z } from 'zod';
import * as parse from '../../data/parsing.js';
import { domainKey } from '../../lib/domain.js';
import { oncePerValue } from '../../lib/run.js';

const text = z.string();

const naics = z.object({
  code: z.union([text, z.int().transform(String)]),
  name: parse.tolerant('Company.naics.name', text),
  level: parse.readable('Company.naics.level', z.int32()),
  isPrimary: parse.tolerant('Company.naics.isPrimary', z.boolean()),
});

const documented = z.object({
  domain: text.min(1),
  name: parse.tolerant('Company.name', text),
  description: parse.tolerant('Company.description', text),
  /** The rank of the company in exports (docs/upstream-api.md: Outbound request body). */
  score: parse.readable('Company.score', z.number()),
  overallMomentum: parse.readable('Company.overallMomentum', z.number()),
  contactNumber: parse.tolerant('Company.contactNumber', text),
  contactEmail: parse.tolerant('Company.contactEmail', text),
  actualRevenue: parse.readable('Company.actualRevenue', z.number()),
  naics: parse.records('Company.naics', naics),
  operatesIn: parse.records('Company.operatesIn', text.toLowerCase()),
  dunsNumbers: parse.records('Company.dunsNumbers', text),
  reviewStatus: parse.tolerant('Company.reviewStatus', parse.closedSet({ include: 'INCLUDE', exclude: 'EXCLUDE' })),
});

/** A company record (docs/upstream-api.md: Company record). `attributes` holds the fields that the specification does not name. */
const company = parse.withAttributes(documented);

export type CompanyRecord = z.output<typeof company>;

/** The companies of a market. The specification does not show the body: a list is accepted, bare or under `data` or `companies`. */
export const companyList = z.preprocess(
  body => parse.listIn(body, 'companies'),
  parse.requiredRecords('Company', company),
);

/** A company may hold 10,000 values. */
const perPiece = 10;

/** The same body in pieces of 10 companies. A body without a list is one piece. */
export function companyPieces(body: unknown): readonly unknown[] {
  const list = parse.listIn(body, 'companies');
  if (!Array.isArray(list)) return [body];
  return Array.from({ length: Math.ceil(list.length / perPiece) }, (_, index) =>
    list.slice(index * perPiece, (index + 1) * perPiece),
  );
}

const jsonObject = z.record(text, z.unknown()).refine(parse.isNoRemark).transform(parse.readableJson);

/** The ESG data of a market. The specification does not show the body: the object itself, or the content of `data`. A list stays under `data`. */
export const esgData = z.preprocess(body => {
  const content = parse.whole(body, parse.unwrapped(body));
  return Array.isArray(content) ? { data: content } : content;
}, jsonObject);

export type Esg = z.output<typeof esgData>;

/** The body of a CSV export (docs/upstream-api.md: Markets interface). */
export const csvExport = z
  .preprocess(parse.unwrapped, z.object({ downloadLink: parse.webUrl }))
  .transform(({ downloadLink }) => downloadLink);

/** The parts of a market's ESG data by what identifies the domain of their company. Computed once for each body. */
const partsByDomain = oncePerValue((data: Esg): ReadonlyMap<string, Esg> => {
  const parts = new Map<string, Esg>();
  const add = (domain: unknown, part: unknown) => {
    const isRecord = typeof part === 'object' && part !== null && !Array.isArray(part);
    if (typeof domain !== 'string' || !isRecord) return;
    const key = domainKey(domain);
    if (!parts.has(key)) parts.set(key, part as Esg);
  };
  for (const [member, value] of Object.entries(data)) {
    add(member, value);
    for (const record of Array.isArray(value) ? value : []) add(record?.domain, record);
  }
  return parts;
});

/** A company's part of its market's ESG data: a record in any list with its domain, or a member named after its domain. Null if there is neither. */
export function esgOf(data: Esg, domain: string): Esg | null {
  return partsByDomain(data).get(domainKey(domain)) ?? null;
}
