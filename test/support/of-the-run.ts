/**
 * What a run of the tests says of all gateways: `RESPONSE_CACHE=false npm test` runs every suite without the response cache. No gateway sheds for the
 * delay of its event loop, which here it shares with tests, other gateways and a busy machine.
 */
export const ofTheRun: Record<string, string> = {
  MAX_EVENT_LOOP_DELAY_MS: '60000',
  ...(process.env.RESPONSE_CACHE !== undefined && { RESPONSE_CACHE: process.env.RESPONSE_CACHE }),
};
