import type { Telemetry } from '../../src/telemetry.js';

/** Telemetry that counts nothing; a test replaces what it wants to hear. */
export const silentTelemetry: Telemetry = {
  upstreamCall() {},
  request() {},
  lookup() {},
  keptAnswer() {},
  drift() {},
  redisFault() {},
  pollers() {},
  leaseChange() {},
  listeners() {},
  exported() {},
};
