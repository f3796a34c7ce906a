import type { Random } from '../random.js';
import type { Company, EsgRecord, MarketRecord, MarketReviewStatus, SearchCriteria, Topic } from '../resources.js';
import { createCompanies, createEsgRecord } from './companies.js';

const DAY = 86_400_000;

/** The initial state of a market, with every company that a discovery can find. */
export interface WorldMarket {
  record: MarketRecord;
  companies: readonly Company[];
  esg: readonly EsgRecord[];
  topics: readonly Topic[];
  /** The criteria of past discoveries, oldest first. Empty if there was none. */
  criteria: readonly SearchCriteria[];
}

interface Plan {
  name: string;
  subtitle: string;
  question: string;
  companies: number;
  reviewStatus: MarketReviewStatus;
  topics: Record<string, readonly string[]>;
  features: readonly string[];
}

const PLANS: readonly Plan[] = [
  {
    name: 'Industrial Components Suppliers Europe',
    subtitle: 'Bearings, drives, castings and fasteners',
    question: 'Which suppliers in Europe make components for machine builders?',
    companies: 1200,
    reviewStatus: 'published',
    features: ['machined components', 'castings', 'bearings', 'series production'],
    topics: {
      'Production Technology': ['Die Casting', 'CNC Machining', 'Additive Manufacturing', 'Cold Forming'],
      Certification: ['ISO 9001', 'IATF 16949', 'AS9100'],
      Materials: ['Stainless Steel', 'Aluminium', 'Engineering Plastics', 'Bronze'],
      'Delivery Models': ['Consignment Stock', 'Just in Sequence', 'Kanban'],
      'Customer Industries': ['Wind Power', 'Rail', 'Agricultural Machinery', 'Robotics', 'Food Processing'],
    },
  },
  {
    name: 'Cold Chain Logistics DACH',
    subtitle: 'Temperature-controlled storage and transport',
    question: 'Who offers temperature-controlled warehousing in Germany, Austria and Switzerland?',
    companies: 64,
    reviewStatus: 'published',
    features: ['temperature-controlled warehouse', 'refrigerated transport', 'pharma logistics'],
    topics: {
      Services: ['Refrigerated Transport', 'Deep-Freeze Storage', 'Cross-Docking'],
      Compliance: ['GDP Certification', 'HACCP'],
      Technology: ['Temperature Monitoring', 'Route Planning', 'Electric Trucks'],
    },
  },
  {
    name: 'Battery Materials Refiners',
    subtitle: 'Lithium, nickel, cobalt and graphite',
    question: 'Which refiners of battery materials are independent of a single country of origin?',
    companies: 41,
    reviewStatus: 'published',
    features: ['lithium hydroxide', 'nickel sulphate', 'refining', 'recycling'],
    topics: {
      Products: ['Lithium Hydroxide', 'Nickel Sulphate', 'Spherical Graphite'],
      Processes: ['Hydrometallurgy', 'Recycling', 'Direct Lithium Extraction'],
    },
  },
  {
    name: 'Industrial Cleaning Services Benelux',
    subtitle: 'Plant, tank and clean-room cleaning',
    question: 'Which providers clean production plants in Belgium and the Netherlands?',
    companies: 48,
    reviewStatus: 'reviewing',
    features: ['plant cleaning', 'tank cleaning', 'shutdown service'],
    topics: { Services: ['Tank Cleaning', 'Clean Rooms', 'Dry Ice Blasting'], Safety: ['VCA', 'ATEX Zones'] },
  },
  {
    name: 'Sustainable Packaging Start-ups',
    subtitle: 'Fibre, seaweed and reuse',
    question: 'Which young companies offer packaging without fossil plastics?',
    companies: 36,
    reviewStatus: 'draft',
    features: ['compostable', 'moulded fibre', 'reuse system'],
    topics: { Materials: ['Moulded Fibre', 'Seaweed Film'], Models: ['Reuse', 'Refill'] },
  },
  {
    name: 'Contract Electronics Manufacturers',
    subtitle: 'Assembly of boards and devices',
    question: 'Who assembles small series of electronics for medical devices?',
    companies: 57,
    reviewStatus: 'draft',
    features: ['SMT assembly', 'box build', 'small series'],
    topics: { Services: ['SMT Assembly', 'Box Build', 'Test Engineering'], Standards: ['ISO 13485', 'IPC-A-610'] },
  },
];

/** The six markets. The first has 1,200 companies, or as many as `firstCompanies` says; the last two have had no discovery yet. */
export function createMarkets(now: number, random: Random, firstCompanies: number | undefined): WorldMarket[] {
  const taken = new Set<string>();
  const plans = PLANS.map((plan, index) => ({
    ...plan,
    companies: index === 0 ? (firstCompanies ?? plan.companies) : plan.companies,
  }));
  return plans.map((plan, index) => {
    const draft = plan.reviewStatus === 'draft';
    const id = index + 1;
    const companies = createCompanies(plan.companies, random, taken).map(company => ({
      ...company,
      reviewStatus: reviewStatusOf(plan.reviewStatus, random),
    }));
    const assessedAt = new Date(now - random.int(20, 200) * DAY).toISOString();
    return {
      record: {
        id,
        name: plan.name,
        subtitle: plan.subtitle,
        description: `Answers the question: ${plan.question}`,
        date_created: new Date(now - random.int(12, 300) * DAY).toISOString(),
        company_count: draft ? 0 : plan.companies,
        header_image_url: `https://images.example.com/markets/${id}.jpg`,
        review_status: plan.reviewStatus,
      },
      companies,
      esg: companies.map(({ domain }) => createEsgRecord(domain, assessedAt, random)),
      topics: topicsOf(plan, id),
      criteria: draft ? [] : criteriaOf(plan, index === 0 ? 3 : 1, companies),
    };
  });
}

function reviewStatusOf(market: MarketReviewStatus, random: Random): Company['reviewStatus'] {
  if (market === 'published') return 'include';
  return market === 'draft' ? 'pending' : random.pick(['pending', 'include', 'exclude']);
}

function topicsOf(plan: Plan, marketId: number): Topic[] {
  return Object.entries(plan.topics).map(([label, groups], at) => ({
    topicId: marketId * 1000 + at * 100,
    label,
    groups: groups.map((group, index) => ({ topicId: marketId * 1000 + at * 100 + index + 1, label: group })),
  }));
}

/** Each iteration has one more feature than the previous one. */
function criteriaOf(plan: Plan, iterations: number, companies: readonly Company[]): SearchCriteria[] {
  return Array.from({ length: iterations }, (_, index) => ({
    userPrompt: plan.question,
    marketName: plan.name,
    marketType: 'service',
    marketRole: 'serviceProvider',
    keywords: {
      features: plan.features.slice(0, plan.features.length - (iterations - 1 - index)),
      user: ['purchasing', 'supply chain'],
      synonyms: ['vendor', 'contractor'],
      irrelevant: ['job advertisement', 'training'],
    },
    seedDomains: companies.slice(0, 2).map(company => company.domain),
    projectKind: 'first_pass',
    locations: [{ countryCode: 'DE', countryName: 'Germany' }],
    count: plan.companies,
    performSearch: true,
  }));
}
