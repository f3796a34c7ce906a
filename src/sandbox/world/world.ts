import { createRandom, type Random } from '../random.js';
import type { MarketEvent, Observation } from '../resources.js';
import { createEmbed, type Embed } from './embedding.js';
import { eventOf, type Sighting } from './events.js';
import { groupBySimilarity } from './grouping.js';
import { createHappening, createHappenings, type Happening } from './happenings.js';
import { createMarkets, type WorldMarket } from './markets.js';
import { type Report, reportOf, reportsOf, textOf } from './observations.js';

const HAPPENINGS = 190;
/** Groups are computed periodically. Observations added since the last time belong to no group yet. */
const GROUPED_UP_TO_MS = 30 * 60_000;

export interface World {
  observations: readonly Observation[];
  events: readonly MarketEvent[];
  markets: readonly WorldMarket[];
  embed: Embed;
  /** A new occurrence. */
  happen(index: number, now: number, random: Random): Happening;
  /** An observation of it that is added now. */
  observe(happening: Happening, now: number, random: Random): Sighting;
}

/** The whole data of the service, a function of the seed, of the current time in milliseconds, and of the number of companies in the first market. */
export function createWorld(seed: number, now: number, firstCompanies?: number): World {
  const random = createRandom(seed);
  const markets = createMarkets(now, random.fork('markets'), firstCompanies);
  const names = markets.flatMap(market => market.companies).map(company => company.name);
  const bellwethers = names.filter(name => !name.includes(',')).slice(0, 3);
  const reporting = random.fork('observations');
  const reports = createHappenings(HAPPENINGS, names, bellwethers, now, random.fork('happenings')).flatMap(happening =>
    reportsOf(happening, now, reporting),
  );
  const embed = createEmbed(
    reports.map(({ observation }) => textOf(observation)),
    seed,
  );
  const seen = ({ observation, happening }: Report): Sighting => ({
    happening,
    observation: { ...observation, textEmbedding: embed(textOf(observation)) },
  });
  const sightings = reports.map(seen);
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
    happen: (index, at, drawing) => createHappening(index, names, bellwethers, at, drawing),
    observe: (happening, at, drawing) => seen(reportOf(happening, at, at, drawing)),
  };
}
