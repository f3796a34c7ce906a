import { createRandom } from '../random.js';
import type { MarketEvent, Observation } from '../resources.js';
import { createEmbed, type Embed } from './embedding.js';
import { eventOf } from './events.js';
import { groupBySimilarity } from './grouping.js';
import { createHappenings } from './happenings.js';
import { createMarkets, type WorldMarket } from './markets.js';
import { reportsOf, textOf } from './observations.js';

const HAPPENINGS = 190;
/** Groups are computed periodically. Observations added since the last time belong to no group yet. */
const GROUPED_UP_TO_MS = 30 * 60_000;

export interface World {
  observations: readonly Observation[];
  events: readonly MarketEvent[];
  markets: readonly WorldMarket[];
  embed: Embed;
}

/** The whole data of the service, a function of the seed and of the current time in milliseconds. */
export function createWorld(seed: number, now: number): World {
  const random = createRandom(seed);
  const markets = createMarkets(now, random.fork('markets'));
  const names = markets.flatMap(market => market.companies).map(company => company.name);
  const bellwethers = names.filter(name => !name.includes(',')).slice(0, 3);
  const reporting = random.fork('observations');
  const reports = createHappenings(HAPPENINGS, names, bellwethers, now, random.fork('happenings')).flatMap(happening =>
    reportsOf(happening, now, reporting),
  );
  const texts = reports.map(({ observation }) => textOf(observation));
  const embed = createEmbed(texts, seed);
  const sightings = reports.map(({ observation, happening }, index) => ({
    happening,
    observation: { ...observation, textEmbedding: embed(texts[index] ?? '') } as Observation,
  }));
  const lastRun = new Date(now - GROUPED_UP_TO_MS).toISOString();
  const known = sightings.filter(({ observation }) => observation.addedAt <= lastRun);
  const groups = groupBySimilarity(
    known.map(({ observation }) => observation.textEmbedding),
    random.fork('grouping'),
  ).map(members => members.map(member => known[member]).filter(sighting => sighting !== undefined));
  groups.forEach((group, label) => {
    for (const { observation } of group) observation.clusterLabel = { label, method: 'louvain' };
  });
  const naming = random.fork('events');
  return {
    observations: sightings.map(({ observation }) => observation),
    events: groups.map(group => eventOf(group, naming)),
    markets,
    embed,
  };
}
