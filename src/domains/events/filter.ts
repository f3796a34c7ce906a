import { BadUserInput } from '../../errors.js';
import type { EventFilter } from '../../generated/schema-types.js';
import { plainText } from '../../graphql/input.js';
import { boundedList } from '../../graphql/limits/list-bounds.js';
import { oncePerValue } from '../../lib/run.js';
import { isCalendarDay, readTime } from '../../lib/time.js';
import { type EventQuery, endOf, filterParameters, isDay, startOf } from './client.js';

const maxNameLength = 255;
/** In a URL, where a letter outside ASCII takes up to twelve characters. Most servers accept 8 KB for the whole head. */
const maxQueryLength = 7_000;
const maxScore = 3;

/** Converts a filter to a query of the service. @throws BadUserInput that names the member: `filter.minLikelihood`. */
export function queryOf(filter: EventFilter | null | undefined): EventQuery {
  return filter == null ? {} : preparedQuery(filter);
}

/** Converted once for each filter object: a hundred companies may share it. */
const preparedQuery = oncePerValue((filter: EventFilter): EventQuery => {
  const query: EventQuery = {
    from: time(filter.from, 'filter.from'),
    to: time(filter.to, 'filter.to'),
    affectedDatapoint: names(filter.affectedDatapoints, 'affectedDatapoints'),
    alertType: names(filter.alertTypes, 'alertTypes'),
    impactedEntity: names(filter.impactedEntities, 'impactedEntities'),
    ...bounds('minLikelihood', 'maxLikelihood', filter),
    ...bounds('minSeverity', 'maxSeverity', filter),
    search: filter.search == null ? undefined : plainText(filter.search, 'filter.search'),
  };
  if (query.from !== undefined && query.to !== undefined && startOf(query.from) > endOf(query.to)) {
    throw new BadUserInput('filter.from', 'must not be after filter.to');
  }
  if (filterParameters(query).toString().length > maxQueryLength) throw tooLong();
  return query;
});

const tooLong = () =>
  new BadUserInput('filter', `is too long: as parameters of a URL it must have at most ${maxQueryLength} characters`);

/** Whether the service can search for a name. */
export function isEntityName(name: string): boolean {
  try {
    return entityName(name, 'name') === name;
  } catch {
    return false;
  }
}

/** Checks a name for a comma-separated list of the service. @throws BadUserInput */
function entityName(name: string, argument: string): string {
  if (name.includes(','))
    throw new BadUserInput(argument, 'must not contain a comma, because the service cannot search for such a name');
  return plainText(name, argument, maxNameLength);
}

function names(
  list: readonly string[] | null | undefined,
  member: 'affectedDatapoints' | 'alertTypes' | 'impactedEntities',
): readonly string[] | undefined {
  if (list == null || list.length === 0) return undefined;
  const bounded = boundedList(`EventFilter.${member}`, list, `filter.${member}`);
  const checked = bounded.map((name, index) => entityName(name, `filter.${member}.${index}`));
  // Before they are encoded, which takes longer.
  if (checked.join().length > maxQueryLength) throw tooLong();
  return checked;
}

function bounds(
  min: 'minLikelihood' | 'minSeverity',
  max: 'maxLikelihood' | 'maxSeverity',
  filter: EventFilter,
): Pick<EventQuery, typeof min | typeof max> {
  const low = score(filter[min], min, 0);
  const high = score(filter[max], max, maxScore);
  if (low !== undefined && high !== undefined && low > high) {
    throw new BadUserInput(`filter.${min}`, `must not be above filter.${max}`);
  }
  return { [min]: low, [max]: high };
}

/** A bound that is left out keeps the service's default. Null becomes the end of the scale, because the service cannot express "no bound". */
function score(value: number | null | undefined, member: string, end: number): number | undefined {
  if (value == null) return value === null ? end : undefined;
  if (value < 0 || value > maxScore) throw new BadUserInput(`filter.${member}`, `must be between 0 and ${maxScore}`);
  return value;
}

/** Keeps a day as it is, because the service interprets it. */
function time(text: string | null | undefined, argument: string): string | undefined {
  if (text == null) return undefined;
  const checked = isDay(text) && isCalendarDay(text) ? text : readTime(text);
  if (checked !== undefined) return checked;
  throw new BadUserInput(argument, 'must be a day (2026-01-31) or a point in time (2026-01-31T08:30:00Z)');
}
