import { QueryTooComplex } from '../../errors.js';
import { jsonExcess } from '../../lib/json-excess.js';
import { bounds } from './bounds.js';

/** Refuses JSON of longer texts, more values and more levels than any field takes, before it is parsed. @throws QueryTooComplex */
export function checkJson(bytes: Buffer): void {
  const excess = jsonExcess(bytes.toString('latin1'), bounds);
  if (excess !== undefined) throw new QueryTooComplex(excess.measure, excess.value, bounds[excess.measure]);
}
