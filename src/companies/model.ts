import { z } from 'zod';
import { records, requiredRecords, tolerant } from '../upstream/drift.js';
import { unwrapped, withAttributes } from '../wire-types.js';

const text = z.string();

const naics = z.object({
  code: z.union([text, z.int().transform(String)]),
  name: tolerant('Company.naics.name', text),
  level: tolerant('Company.naics.level', z.int()),
  isPrimary: tolerant('Company.naics.isPrimary', z.boolean()),
});

const known = z.object({
  domain: text.min(1),
  name: tolerant('Company.name', text),
  description: tolerant('Company.description', text),
  overallMomentum: tolerant('Company.overallMomentum', z.number()),
  contactNumber: tolerant('Company.contactNumber', text),
  contactEmail: tolerant('Company.contactEmail', text),
  actualRevenue: tolerant('Company.actualRevenue', z.number()),
  naics: records('Company.naics', naics),
  operatesIn: records('Company.operatesIn', text),
  dunsNumbers: records('Company.dunsNumbers', text),
});

/** A company record (spec.md: Company record); what the specification does not name is kept in `attributes`. */
const company = withAttributes(known);

export type CompanyRecord = z.output<typeof company>;

/** The companies of a market. The body is not shown: a list, bare or under `data` or `companies`, is understood. */
export const companies = z.preprocess(
  body => {
    const content = unwrapped(body);
    return Array.isArray(content) ? content : (content as { companies?: unknown } | null)?.companies;
  },
  requiredRecords('Company', company),
);

const jsonObject = z.record(text, z.unknown());

/** The ESG data of a market. The body is not shown: the object itself, or what is under `data`; a list stays under `data`. */
export const esg = z.preprocess(body => {
  const content = unwrapped(body);
  return Array.isArray(content) ? { data: content } : content;
}, jsonObject);

export type Esg = z.output<typeof esg>;

/** A CSV file that was written (spec.md: Markets interface). */
export const csvExport = z.preprocess(unwrapped, z.object({ downloadLink: z.url({ protocol: /^https?$/ }) }));

/** A company's part of its market's ESG data: a record with its domain in any list, or a member named like it; null where there is neither. */
export function esgOf(data: Esg, domain: string): Esg | null {
  const wanted = domain.toLowerCase();
  for (const [member, value] of Object.entries(data)) {
    if (member.toLowerCase() === wanted) return jsonObject.safeParse(value).data ?? null;
    const list: readonly unknown[] = Array.isArray(value) ? value : [];
    const record = list.find(item => String((item as { domain?: unknown } | null)?.domain).toLowerCase() === wanted);
    if (record !== undefined) return record as Esg;
  }
  return null;
}
