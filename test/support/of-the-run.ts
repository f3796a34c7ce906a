/** What a run of the tests says of all gateways: `KEEP_ANSWERS=false npm test` runs every suite without kept answers. */
export const ofTheRun: Record<string, string> =
  process.env.KEEP_ANSWERS === undefined ? {} : { KEEP_ANSWERS: process.env.KEEP_ANSWERS };
