import type { Random } from '../random.js';
import type {
  AffectedDatapoint,
  Direction,
  ImpactedEntity,
  MarketEvent,
  Operator,
  Quantity,
  TaxonomicMatches,
} from '../resources.js';
import { STORIES, type Story } from './stories.js';
import { CATEGORIES, FIRST_NAMES, LAST_NAME_ENDS, LAST_NAME_STARTS, PLACES } from './vocabulary.js';

const HOUR = 3_600_000;

/** An occurrence. The service only sees the observations that report it. Times are in milliseconds. */
export interface Happening {
  story: Story;
  /** Values for the placeholders in the texts of the story. */
  words: Record<string, string>;
  taxonomicMatches: TaxonomicMatches;
  relevantEntities: MarketEvent['relevantEntities'];
  startedAt: number;
  /** When its last observation is added to the service. */
  lastAddedAt: number;
}

/** Every operator in turn, and none, so that every kind of quantity occurs with any seed. */
const OPERATORS: readonly (Operator | null)[] = ['=', '~', '>', '<', '>=', '<=', 'range', null];

/**
 * `count` occurrences before `now`, two thirds of them with news of the last day. Most involve random `companies`; one of
 * the `bellwethers` is involved in every third one.
 */
export function createHappenings(
  count: number,
  companies: readonly string[],
  bellwethers: readonly string[],
  now: number,
  random: Random,
): Happening[] {
  const recent = Math.ceil((count * 2) / 3);
  return Array.from({ length: count }, (_, index) => {
    const hoursAgo = index < recent ? (24 * (index + random.float())) / recent : 24 + random.float() * 140;
    return createHappening(index, companies, bellwethers, now - hoursAgo * HOUR, random);
  });
}

/** The occurrence with the number `index`, whose last news is of `lastAddedAt`. */
export function createHappening(
  index: number,
  companies: readonly string[],
  bellwethers: readonly string[],
  lastAddedAt: number,
  random: Random,
): Happening {
  const story = STORIES[index % STORIES.length] as Story;
  const [company = '', partner = ''] = random.sample(companies, 2);
  const place = random.pick(PLACES);
  const category = random.pick(CATEGORIES);
  const percent = random.int(2, 60);
  const person = `${random.pick(FIRST_NAMES)} ${random.pick(LAST_NAME_STARTS)}${random.pick(LAST_NAME_ENDS)}`;
  const words = {
    company,
    partner,
    city: place.city,
    country: place.country,
    category: category.name,
    person,
    site: `${random.pick(LAST_NAME_STARTS)}${random.pick(LAST_NAME_ENDS)}-${random.int(2, 99)}`,
    percent: String(percent),
    figure: String(random.int(3, 950)),
    days: String(random.int(2, 12)),
    weeks: String(random.int(2, 14)),
  };
  const impacted = [category.name, company, ...(random.chance(0.4) ? [partner] : [])];
  const bellwether = bellwethers[index % 3];
  if (bellwether && !impacted.includes(bellwether)) impacted.push(bellwether);
  return {
    story,
    words,
    taxonomicMatches: {
      affectedDatapoints: story.datapoints.map((datapoint, at) => ({
        name: datapoint.name,
        subject: random.chance(0.8) ? category.name : null,
        direction: directionOf(datapoint.direction, index + at),
        quantity: quantityOf(
          OPERATORS[(index + at * 3) % OPERATORS.length] ?? null,
          datapoint.unit,
          category.unit,
          percent,
          random,
        ),
      })) satisfies AffectedDatapoint[],
      alertTypes: story.alertTypes.map(name => ({
        name,
        mappedFrom: random.pick(story.keywords),
        method: 'llm',
        similarity: Number((0.7 + random.float() * 0.29).toFixed(4)),
        rationale: `The sources describe: ${story.anchorText}`,
      })),
      impactedEntities: impactedEntities(impacted, category.name, index % 5 === 4, random),
    },
    relevantEntities: [
      { name: company, entityType: 'company', propertySource: 'inferred' },
      { name: partner, entityType: 'company', propertySource: 'inferred' },
      { name: category.name, entityType: 'category', propertySource: 'inferred' },
      { name: place.country, entityType: 'country', propertySource: 'inferred' },
      { name: place.city, entityType: 'location', propertySource: 'inferred' },
      { name: person, entityType: null, propertySource: 'inferred' },
    ],
    startedAt: lastAddedAt - (2 + random.float() * 46) * HOUR,
    lastAddedAt,
  };
}

/** Usually the direction of the story; sometimes one that the service could not determine. */
function directionOf(usual: Direction, index: number): Direction | null {
  if (index % 11 === 3) return null;
  if (index % 13 === 5) return 'unknown';
  return index % 9 === 4 ? 'fluctuate' : usual;
}

function quantityOf(
  operator: Operator | null,
  measure: Story['datapoints'][number]['unit'],
  price: string,
  percent: number,
  random: Random,
): Quantity | null {
  if (!operator) return null;
  const unit = measure === 'percent' ? '%' : measure === 'price' ? price : measure;
  const value = measure === 'percent' ? percent : random.int(2, 120) + (random.chance(0.3) ? 0.5 : 0);
  return { operator, values: operator === 'range' ? [value, value + random.int(1, 20)] : [value], unit };
}

/** In a `minor` occurrence, no entity has both a high likelihood and a high severity, but one may have either. */
function impactedEntities(
  names: readonly string[],
  category: string,
  minor: boolean,
  random: Random,
): ImpactedEntity[] {
  return names.map((name, index) => {
    const likely = minor ? random.chance(0.5) : true;
    const likelihood = likely ? random.int(2, 3) : random.int(0, 1);
    const severity = minor ? (likely ? random.int(0, 1) : random.int(0, 3)) : random.int(index === 0 ? 2 : 1, 3);
    return {
      name,
      entityType: name === category ? 'category' : 'company',
      mappedFrom: name.split(' ')[0] ?? name,
      impact: {
        likelihood,
        severity: index > 2 && !minor ? Math.max(2, severity) : severity,
        rationale: `${name} is named in the sources or supplies what they are about.`,
      },
    };
  });
}
