// Makes the markets and companies of the sandbox, the same ones at each start.
import type { SearchCriteria } from '../criteria.js';
import data from './markets.json' with { type: 'json' };
import vocabulary from './vocabulary.json' with { type: 'json' };

const DAY = 86_400_000;

type MarketReviewStatus = 'published' | 'draft' | 'reviewing';

/** Null: not reviewed yet. */
export type CompanyReviewStatus = 'include' | 'exclude' | null;

/** A row of the data, by the names of its columns. `about` is the description without the name; spaces separate codes. */
interface Row
  extends Record<'name' | 'domain' | 'about' | 'city' | 'naics' | 'operatesIn' | 'dunsNumbers', string>,
    Record<'overallMomentum' | 'actualRevenue' | 'score' | 'employeeCount' | 'foundedYear', number>,
    Record<'environment' | 'social' | 'governance' | 'controversies', number> {
  contactNumber: string | null;
  hasEmail: boolean;
}

const industries: Readonly<Record<string, string>> = vocabulary.industries;
const places: Readonly<Record<string, string[]>> = vocabulary.places;

/** The markets. The first has 1,200 companies, or as many as `firstCompanies` says; the last two have had no discovery yet. */
export function createMarkets(now: number, firstCompanies?: number) {
  return data.markets.map((market, index) => {
    const { name, subtitle, question, createdDaysAgo, assessedDaysAgo, topics } = market;
    const reviewStatus = market.reviewStatus as MarketReviewStatus;
    const isDraft = reviewStatus === 'draft';
    const id = index + 1;
    const count = (index === 0 ? firstCompanies : undefined) ?? market.companies.length;
    const rows = Array.from({ length: count }, (_, place) => rowOf(market.companies, place));
    const companies = rows.map((row, place) => companyOf(row, statusOf(reviewStatus, place)));
    return {
      record: {
        id,
        name,
        subtitle,
        description: `Answers the question: ${question}`,
        date_created: new Date(now - createdDaysAgo * DAY).toISOString(),
        company_count: isDraft ? 0 : count,
        header_image_url: `https://images.example.com/markets/${id}.jpg`,
        review_status: reviewStatus,
      },
      companies,
      esg: rows.map(row => esgOf(row, new Date(now - assessedDaysAgo * DAY).toISOString())),
      topics: Object.entries<string[]>(topics).map(([label, groups], at) => ({
        topicId: id * 1000 + at * 100,
        label,
        groups: groups.map((group, number) => ({ topicId: id * 1000 + at * 100 + number + 1, label: group })),
      })),
      /** Of past discoveries, the oldest first. */
      criteria: isDraft ? [] : criteriaOf(market, index === 0 ? 3 : 1, companies),
    };
  });
}

/** The initial state of a market, with every company that a discovery can find. */
export type WorldMarket = ReturnType<typeof createMarkets>[number];
export type MarketRecord = WorldMarket['record'];
export type Topic = WorldMarket['topics'][number];

/** The row at a place. Past the end, the rows repeat with a number in front of name and domain. */
function rowOf(rows: readonly unknown[][], place: number): Row {
  const values = rows[place % rows.length] ?? [];
  const row = Object.fromEntries(data.companyColumns.map((column, at) => [column, values[at]])) as unknown as Row;
  const round = Math.floor(place / rows.length) + 1;
  return round === 1 ? row : { ...row, name: `${round}. ${row.name}`, domain: `${round}-${row.domain}` };
}

function statusOf(market: MarketReviewStatus, place: number): CompanyReviewStatus {
  if (market === 'published') return 'include';
  return market === 'draft' ? null : (([null, 'include', 'exclude'] as const)[place % 3] ?? null);
}

function companyOf(row: Row, reviewStatus: CompanyReviewStatus) {
  const { name, domain, overallMomentum, contactNumber, actualRevenue, score, employeeCount, foundedYear, city } = row;
  return {
    domain,
    name,
    description: `${name} ${row.about}`,
    overallMomentum,
    contactNumber,
    contactEmail: row.hasEmail ? `sales@${domain}` : null,
    actualRevenue,
    naics: codesOf(row.naics).map((code, index) => ({
      code,
      name: industries[code] ?? '',
      level: code.length,
      isPrimary: index === 0,
    })),
    operatesIn: codesOf(row.operatesIn),
    dunsNumbers: codesOf(row.dunsNumbers),
    score,
    reviewStatus,
    employeeCount,
    foundedYear,
    headquarters: { city, countryCode: places[city]?.[1] ?? '' },
  };
}

export type Company = ReturnType<typeof companyOf>;

const codesOf = (codes: string) => codes.split(' ').filter(Boolean);

function esgOf({ domain, environment, social, governance, controversies }: Row, assessedAt: string) {
  const overall = Number(((environment + social + governance) / 3).toFixed(1));
  const rating = overall >= 75 ? 'A' : overall >= 60 ? 'B' : overall >= 45 ? 'C' : 'D';
  return { domain, environment, social, governance, overall, rating, controversies, assessedAt };
}

/** Each iteration has one more feature than the previous one. */
function criteriaOf(
  { question, name, features }: { question: string; name: string; features: readonly string[] },
  iterations: number,
  companies: readonly Company[],
): SearchCriteria[] {
  return Array.from({ length: iterations }, (_, index) => ({
    userPrompt: question,
    marketName: name,
    marketType: 'service',
    marketRole: 'serviceProvider',
    keywords: {
      features: features.slice(0, features.length - (iterations - 1 - index)),
      user: ['purchasing', 'supply chain'],
      synonyms: ['vendor', 'contractor'],
      irrelevant: ['job advertisement', 'training'],
    },
    seedDomains: companies.slice(0, 2).map(company => company.domain),
    projectKind: 'first_pass',
    locations: [{ countryCode: 'DE', countryName: 'Germany' }],
    count: companies.length,
    performSearch: true,
  }));
}
