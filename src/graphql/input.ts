import { BadUserInput } from '../errors.js';

const smallestPage = 1;
/** The most that one page may hold, here and at the service (docs/upstream-api.md: GET events). */
export const largestPage = 100;
const longestText = 1_000;

/** The size of a page. @throws BadUserInput outside 1 to 100. */
export function pageSize(first: number | null | undefined, argument = 'first'): number {
  const size = first ?? 10;
  if (size < smallestPage || size > largestPage) {
    throw new BadUserInput(argument, `must be between ${smallestPage} and ${largestPage}`);
  }
  return size;
}

/** Whether it can be an observation's identifier: nothing that a path could be made of. */
export function isOpaqueId(id: string): boolean {
  return /^(?!\.+$)[\w:@=+~.-]{1,256}$/.test(id);
}

/** An observation's identifier. @throws BadUserInput */
export function opaqueId(id: string): string {
  if (!isOpaqueId(id)) {
    throw new BadUserInput('id', 'must be 1 to 256 letters, digits or any of _ - . : @ = + ~');
  }
  return id;
}

/** A market's identifier, which is a whole number. @throws BadUserInput */
export function marketId(id: string, argument = 'id'): string {
  if (!/^(0|[1-9]\d{0,14})$/.test(id)) throw new BadUserInput(argument, 'must be a whole number of at most 15 digits');
  return id;
}

/** Text that is sent to the service as it is. @throws BadUserInput where it is empty, too long, or holds control characters. */
export function plainText(text: string, argument: string, longest = longestText): string {
  if (text.trim() === '') throw new BadUserInput(argument, 'must not be empty');
  if (text.length > longest) throw new BadUserInput(argument, `must be at most ${longest} characters`);
  // Half of a surrogate pair cannot be encoded into an address.
  if (/[\p{Cc}\p{Cs}]/u.test(text)) throw new BadUserInput(argument, 'must hold no control characters');
  return text;
}
