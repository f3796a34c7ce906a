// Makes search criteria and keywords from a question, as the AI of the service would.
import { z } from 'zod';
import vocabulary from './world/vocabulary.json' with { type: 'json' };

const strings = z.array(z.string());

/** Search criteria (docs/upstream-api.md: Search criteria). `count` and `performSearch` are optional. */
export const criteria = z.object({
  userPrompt: z.string(),
  marketName: z.string(),
  marketType: z.string(),
  marketRole: z.string(),
  keywords: z.object({ features: strings, user: strings, synonyms: strings, irrelevant: strings }),
  seedDomains: strings,
  projectKind: z.string(),
  locations: z.array(z.object({ countryCode: z.string().length(2), countryName: z.string() })),
  count: z.int().min(1).exactOptional(),
  performSearch: z.boolean().exactOptional(),
});
export type SearchCriteria = z.output<typeof criteria>;

const smallWords = new Set(vocabulary.smallWords.split(' '));
const synonyms = new Map(Object.entries<string[]>(vocabulary.synonyms));

/** Criteria derived from a text: its countries, domains and significant words. */
export function deriveCriteria(searchInput: string): SearchCriteria {
  const seedDomains = [...new Set(searchInput.toLowerCase().match(/\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}\b/g))];
  const countries = new Map(Object.values(vocabulary.places) as [string, string][]);
  const locations = [...countries]
    .filter(([countryName]) => new RegExp(`\\b${countryName}\\b`, 'i').test(searchInput))
    .map(([countryName, countryCode]) => ({ countryCode, countryName }));
  const elsewhere = [...seedDomains, ...locations.map(({ countryName }) => countryName.toLowerCase())].join(' ');
  const words = searchInput.toLowerCase().match(/[\p{L}][\p{L}-]+/gu) ?? [];
  const features = [...new Set(words)].filter(word => !smallWords.has(word) && !elsewhere.includes(word)).slice(0, 8);
  const user = /\bfor ([^,.?]+)/i.exec(searchInput)?.[1];
  return {
    userPrompt: searchInput,
    marketName: features.slice(0, 4).map(capitalized).join(' ') || 'New Market',
    marketType: 'service',
    marketRole: 'serviceProvider',
    keywords: {
      features,
      user: user ? [user.trim()] : ['purchasing'],
      synonyms: features.flatMap(word => synonyms.get(word) ?? []),
      irrelevant: ['job advertisement', 'training course'],
    },
    seedDomains,
    projectKind: 'first_pass',
    locations,
  };
}

/** Keywords that fit the criteria and are not among them yet. */
export function suggestKeywords({ keywords, locations }: Pick<SearchCriteria, 'keywords' | 'locations'>): string[] {
  const known = new Set(Object.values(keywords).flat());
  const related = keywords.features.flatMap(feature => [
    ...(synonyms.get(feature) ?? []),
    `${feature} services`,
    `certified ${feature}`,
    ...locations.map(({ countryName }) => `${feature} ${countryName}`),
  ]);
  return [...new Set(related)].filter(keyword => !known.has(keyword)).slice(0, 12);
}

const capitalized = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1);
