import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import type { OperationInfo } from './operation-info.js';

/**
 * Logs a line for each query or mutation that took long, with its upstream calls. The document is named by its SHA-256, because its text may contain what
 * is confidential, as its variables may.
 * @param thresholdMs from this duration on; 0: none is logged.
 * @returns takes what else the line says, which is not computed for other operations.
 */
export function createSlowReport(log: Pick<Logger, 'warn'>, thresholdMs: number) {
  return ({ type, document, calls }: OperationInfo, milliseconds: number, describe: () => object): void => {
    const isSlow = thresholdMs > 0 && milliseconds >= thresholdMs;
    if (!isSlow || type === undefined || type === 'subscription') return;
    const hash = document === undefined ? undefined : createHash('sha256').update(document).digest('hex');
    const { count: upstreamCalls, slowest: slowestCall } = calls;
    log.warn({ ...describe(), type, document: hash, milliseconds, upstreamCalls, slowestCall }, 'Slow operation');
  };
}
