import type { Random } from '../random.js';
import type { Company, EsgRecord } from '../resources.js';
import {
  CATEGORIES,
  COMPANY_ENDS,
  COMPANY_FORMS,
  COMPANY_STARTS,
  COMPANY_TRADES,
  NAICS,
  PLACES,
} from './vocabulary.js';

/** `count` companies with unique names and domains. Adds the new names to `taken`, the names used so far. */
export function createCompanies(count: number, random: Random, taken: Set<string>): Company[] {
  return Array.from({ length: count }, () => {
    const { root, name } = unusedName(random, taken);
    return createCompany(root, name, random);
  });
}

function unusedName(random: Random, taken: Set<string>) {
  for (;;) {
    const root = random.pick(COMPANY_STARTS) + random.pick(COMPANY_ENDS);
    const trade = random.pick(COMPANY_TRADES);
    const key = `${root} ${trade}`;
    if (taken.has(key)) continue;
    taken.add(key);
    // About one in thirty has a comma in its name, which a comma-separated filter cannot express.
    const name = random.chance(0.03) ? `${key}, Inc.` : `${key} ${random.pick(COMPANY_FORMS)}`;
    return { root: key, name };
  }
}

function createCompany(root: string, name: string, random: Random): Company {
  const home = random.pick(PLACES);
  const domain = `${slug(root)}.example.${random.pick(['com', 'net', 'org'])}`;
  const category = random.pick(CATEGORIES).name;
  const naics = random.sample(NAICS, random.int(1, 3));
  const elsewhere = random.sample(PLACES, random.int(0, 5)).map(place => place.countryCode.toLowerCase());
  return {
    domain,
    name,
    description: describe(name, category, home.city, random),
    overallMomentum: round(random.float() * 2 - 1, 3),
    contactNumber: random.chance(0.8)
      ? `+${random.int(30, 49)} ${random.int(100, 999)} ${random.int(100000, 999999)}`
      : null,
    contactEmail: random.chance(0.75) ? `sales@${domain}` : null,
    actualRevenue: random.int(1, 900) * 100_000 * random.int(1, 12),
    naics: naics.map(({ code, name: industry }, index) => ({
      code,
      name: industry,
      level: code.length,
      isPrimary: index === 0,
    })),
    operatesIn: [...new Set([home.countryCode.toLowerCase(), ...elsewhere])],
    dunsNumbers: Array.from({ length: random.int(0, 2) }, () => String(random.int(100_000_000, 999_999_999))),
    score: round(random.float() * 100, 2),
    reviewStatus: 'pending',
    employeeCount: random.int(5, 400) * random.int(1, 40),
    foundedYear: random.int(1891, 2022),
    headquarters: { city: home.city, countryCode: home.countryCode },
  };
}

function describe(name: string, category: string, city: string, random: Random): string {
  const strength = random.pick(['short lead times', 'certified quality', 'small lots', 'full traceability']);
  if (random.chance(0.05)) return `${name} calls itself the "first address" for ${category}.\nKnown for ${strength}.`;
  return `${name} supplies ${category} from ${city}, and is known for ${strength}.`;
}

/** The ESG assessment of one company, with scores from 0 to 100. */
export function createEsgRecord(domain: string, assessedAt: string, random: Random): EsgRecord {
  const [environment, social, governance] = [random.int(20, 98), random.int(20, 98), random.int(20, 98)];
  const overall = round((environment + social + governance) / 3, 1);
  return {
    domain,
    environment,
    social,
    governance,
    overall,
    rating: overall >= 75 ? 'A' : overall >= 60 ? 'B' : overall >= 45 ? 'C' : 'D',
    controversies: random.chance(0.2) ? random.int(1, 6) : 0,
    assessedAt,
  };
}

const round = (value: number, decimals: number) => Number(value.toFixed(decimals));

const slug = (name: string) =>
  name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
