import type { Telemetry } from '../../src/observability/telemetry.js';

/** Telemetry that counts nothing; a test replaces what it wants to hear. */
export const silentTelemetry: Telemetry = {
  upstreamCalls() {},
  request() {},
  untrustedDocument() {},
  forgetOperation() {},
  clientRequest() {},
  deprecatedUse() {},
  forgetClient() {},
  lookup() {},
  responseCacheHit() {},
  drift() {},
  redisFault() {},
  redisWorks() {},
  clockOf() {},
  rateLimitUnenforced() {},
  warn() {},
  works() {},
  malformed() {},
  poller() {},
  listeners() {},
  shed() {},
  fileRead() {},
  exported() {},
  endpointWorks() {},
  endpointFails() {},
};
