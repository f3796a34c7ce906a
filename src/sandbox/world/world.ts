import { eventOf, type MarketEvent, type Observation, observationOf, occurrences } from './events.js';
import { createMarkets, type WorldMarket } from './markets.js';

const MINUTE = 60_000;
/** Observations are grouped periodically. Those added since the last time belong to no event yet. */
const UNGROUPED_MINUTES = 30;

export interface World {
  observations: readonly Observation[];
  events: readonly MarketEvent[];
  markets: readonly WorldMarket[];
}

/** The data of the service: what the JSON files beside this module say, at the current time in milliseconds. */
export function createWorld(now: number, firstCompanies?: number): World {
  const observations: Observation[] = [];
  const events = occurrences.map((occurrence, label) => {
    const reported = occurrence.reports.map((report, number) => {
      const [minutesAgo] = report;
      const observation = observationOf(occurrence, report, `${label} ${number}`, now - minutesAgo * MINUTE);
      if (minutesAgo >= UNGROUPED_MINUTES) observation.clusterLabel = { label, method: 'louvain' };
      return observation;
    });
    observations.push(...reported);
    const grouped = reported.filter(({ clusterLabel }) => clusterLabel !== undefined);
    return eventOf(occurrence, grouped, String(label));
  });
  return { observations, events, markets: createMarkets(now, firstCompanies) };
}
