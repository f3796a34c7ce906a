import type { EventQuery } from './client.js';
import type { Event } from './model.js';

/** Whether an event is one of a company's: by its own call it would be; it would not; or that depends on how the service combines its filters. */
export type Belonging = 'yes' | 'no' | 'unclear';

/**
 * Whether the service would list an event under one entity's name. The specification leaves open whether the name and the scores must meet in
 * one impacted entity or may in two (spec.md: GET events, rules 1 and 2); where the two readings differ, only a call of its own can tell.
 */
export function belongs(event: Event, name: string, query: EventQuery): Belonging {
  const named = event.impactedEntities.filter(entity => entity.name === name);
  if (named.length === 0) return 'no';
  return named.some(entity => withinBounds(entity, query)) ? 'yes' : 'unclear';
}

/** The service's defaults (spec.md: GET events). */
const defaults = { minLikelihood: 2, maxLikelihood: 3, minSeverity: 2, maxSeverity: 3 };

function withinBounds({ impact }: Event['impactedEntities'][number], query: EventQuery): boolean {
  const { minLikelihood, maxLikelihood, minSeverity, maxSeverity } = { ...defaults, ...query };
  const { likelihood, severity } = impact ?? {};
  return within(likelihood, minLikelihood, maxLikelihood) && within(severity, minSeverity, maxSeverity);
}

function within(score: number | null | undefined, least: number, greatest: number): boolean {
  return score != null && score >= least && score <= greatest;
}
