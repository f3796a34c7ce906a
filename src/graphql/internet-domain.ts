import { domainToASCII } from 'node:url';
import { BadUserInput } from '../errors.js';
import { boundedList, type ListCoordinate } from './limits/list-bounds.js';

const name = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;

/** Internet domains, each once, in the given order. @param least how few there may be. @throws BadUserInput */
export function checkedDomains(
  coordinate: ListCoordinate,
  domains: readonly string[],
  argument: string,
  least = 1,
): readonly string[] {
  if (domains.length < least) throw new BadUserInput(argument, `must be at least ${least} domain`);
  for (const [index, domain] of boundedList(coordinate, domains, argument).entries()) {
    const plain = domain.toLowerCase();
    // Only letters of other scripts may be spelled differently; whatever else the parser would mend is no domain.
    const ascii = /[^\x21-\x7e]/.test(plain) ? domainToASCII(plain) : plain;
    if (!name.test(ascii)) throw new BadUserInput(`${argument}.${index}`, 'is no domain, such as example.com');
  }
  return [...new Set(domains)];
}
