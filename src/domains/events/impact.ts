import type { EventQuery } from './client.js';
import type { Event } from './model.js';

/**
 * Whether an event that is listed under several names is listed under one of them alone: yes; no; it depends on how the service combines its
 * filters; or that cannot be told, because a score is not known.
 */
export type Belonging = 'yes' | 'no' | 'by reading' | 'unclear';

/**
 * Whether the service would list an event under one entity's name. The specification leaves open whether the name and the scores must meet in
 * one impacted entity or may in two (docs/upstream-api.md: GET events, 1 and 2); where the two readings differ, it is `by reading`.
 */
export function belongs(event: Event, name: string, query: EventQuery): Belonging {
  const impacts = event.impactedEntities.flatMap(entity => (entity.name === name ? [entity.impact] : []));
  if (impacts.length === 0) return 'no';
  if (impacts.some(impact => withinBounds(impact, query))) return 'yes';
  return impacts.every(impact => impact?.likelihood != null && impact.severity != null) ? 'by reading' : 'unclear';
}

/** The service's defaults (docs/upstream-api.md: GET events). */
const defaults = { minLikelihood: 2, maxLikelihood: 3, minSeverity: 2, maxSeverity: 3 };

function withinBounds(impact: Event['impactedEntities'][number]['impact'], query: EventQuery): boolean {
  const { minLikelihood, maxLikelihood, minSeverity, maxSeverity } = { ...defaults, ...query };
  const { likelihood, severity } = impact ?? {};
  return within(likelihood, minLikelihood, maxLikelihood) && within(severity, minSeverity, maxSeverity);
}

function within(score: number | null | undefined, least: number, greatest: number): boolean {
  return score != null && score >= least && score <= greatest;
}
