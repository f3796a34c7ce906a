import { BadUserInput } from '../errors.js';
import { listBounds } from '../generated/list-bounds.js';

/** A list in the schema's inputs: `CompanyFilter.naics`, `Query.nodes(nodeIds:)`. */
export type ListCoordinate = keyof typeof listBounds;

/** Returns a list that is not too long. @param argument the path of the list within the arguments. @throws BadUserInput */
export function boundedList<T>(coordinate: ListCoordinate, values: readonly T[], argument: string): readonly T[] {
  const max = listBounds[coordinate];
  if (values.length > max) throw new BadUserInput(argument, `must contain at most ${max} values`);
  return values;
}
