/**
 * What a run of the tests says of all gateways: `KEEP_ANSWERS=false npm test` runs every suite without kept answers. No gateway sheds for the
 * delay of its event loop, which here it shares with tests, other gateways and a busy machine.
 */
export const ofTheRun: Record<string, string> = {
  MAX_EVENT_LOOP_DELAY_MS: '60000',
  ...(process.env.KEEP_ANSWERS !== undefined && { KEEP_ANSWERS: process.env.KEEP_ANSWERS }),
};
