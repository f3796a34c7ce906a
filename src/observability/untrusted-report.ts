import type { Logger } from 'pino';
import type { OperationInfo } from './operation-info.js';
import type { Telemetry } from './telemetry.js';

const minuteMs = 60_000;
/** How many lines are logged in a minute. */
const maxLines = 100;

/**
 * Counts the operations that `PERSISTED_DOCUMENTS_MODE=only` would refuse, and logs one line a minute for each document. The line names the document by
 * its hash, because its text may contain what is confidential.
 */
export function createUntrustedReport(
  log: Pick<Logger, 'warn'>,
  telemetry: Pick<Telemetry, 'untrustedDocument'>,
): (operation: Pick<OperationInfo, 'untrusted' | 'name' | 'app'>) => void {
  const logged = new Set<string>();
  let minuteEndsAt = 0;
  return ({ untrusted, name, app }) => {
    if (untrusted === undefined) return;
    telemetry.untrustedDocument();
    const now = performance.now();
    if (now >= minuteEndsAt) {
      logged.clear();
      minuteEndsAt = now + minuteMs;
    }
    if (logged.has(untrusted) || logged.size >= maxLines) return;
    logged.add(untrusted);
    log.warn(
      { document: untrusted, operation: name, client: app?.name },
      'PERSISTED_DOCUMENTS_MODE=only would refuse this document',
    );
  };
}
