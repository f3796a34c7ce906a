import { BadUserInput } from '../../errors.js';
import type { EventFilter } from '../../generated/schema-types.js';
import { plainText } from '../../graphql/input.js';
import { boundedList } from '../../graphql/limits/list-bounds.js';
import { oncePerValue } from '../../lib/once-per-value.js';
import { isCalendarDay, readTime } from '../../lib/time.js';
import { type EventQuery, endOf, isDay, startOf } from './client.js';

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
    ...converted('from', filter.from, time),
    ...converted('to', filter.to, time),
    ...converted('affectedDatapoint', filter.affectedDatapoints, names('affectedDatapoints')),
    ...converted('alertType', filter.alertTypes, names('alertTypes')),
    ...converted('impactedEntity', filter.impactedEntities, names('impactedEntities')),
    ...bounds('minLikelihood', 'maxLikelihood', filter),
    ...bounds('minSeverity', 'maxSeverity', filter),
    ...converted('search', filter.search, (value, member) => plainText(value, `filter.${member}`)),
  };
  if (query.from !== undefined && query.to !== undefined && startOf(query.from) > endOf(query.to)) {
    throw new BadUserInput('filter.from', 'must not be after filter.to');
  }
  if (encodedLength(query) > maxQueryLength) throw new BadUserInput('filter', 'is too long');
  return query;
});

function encodedLength(query: EventQuery): number {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return new URLSearchParams(parameters).toString().length;
}

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

function converted<K extends keyof EventQuery, V>(
  name: K,
  value: V | null | undefined,
  check: (value: V, member: string) => EventQuery[K],
): Pick<EventQuery, K> | undefined {
  if (value == null) return undefined;
  const checked = check(value, name);
  return checked === undefined ? undefined : ({ [name]: checked } as Pick<EventQuery, K>);
}

function names(member: 'affectedDatapoints' | 'alertTypes' | 'impactedEntities') {
  return (list: readonly string[]): readonly string[] | undefined => {
    const argument = `filter.${member}`;
    const checked = boundedList(`EventFilter.${member}`, list, argument).map((name, index) =>
      entityName(name, `${argument}.${index}`),
    );
    return checked.length === 0 ? undefined : checked;
  };
}

type Least = 'minLikelihood' | 'minSeverity';
type Greatest = 'maxLikelihood' | 'maxSeverity';

function bounds(min: Least, max: Greatest, filter: EventFilter) {
  const low = score(filter[min], min, 0);
  const high = score(filter[max], max, maxScore);
  if (low !== undefined && high !== undefined && low > high) {
    throw new BadUserInput(`filter.${min}`, `must not be above filter.${max}`);
  }
  return { ...(low !== undefined && { [min]: low }), ...(high !== undefined && { [max]: high }) };
}

/** A bound that is left out keeps the service's default. Null becomes the end of the scale, because the service cannot express "no bound". */
function score(value: number | null | undefined, member: string, end: number): number | undefined {
  if (value === undefined) return undefined;
  if (value === null) return end;
  if (value < 0 || value > maxScore) throw new BadUserInput(`filter.${member}`, `must be between 0 and ${maxScore}`);
  return value;
}

/** Keeps a day as it is, because the service interprets it. */
function time(text: string, member: string): string {
  const checked = isDay(text) && isCalendarDay(text) ? text : readTime(text);
  if (checked === undefined) {
    throw new BadUserInput(`filter.${member}`, 'must be a day (2026-01-31) or a point in time (2026-01-31T08:30:00Z)');
  }
  return checked;
}
