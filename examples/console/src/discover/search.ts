import { number, reader, text } from '../ui';

/** What the screen begins with, as it stands in the address. */
export const discoverSearch = reader({
  /** The market that the discovery is for. */
  market: number,
  question: text,
});
