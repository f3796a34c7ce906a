import { constants } from 'node:os';
import { isatty } from 'node:tty';
import type { Gateway } from './app.js';

/** How long closing may take after the notice, before the process exits anyway. */
const longestClosingMs = 10_000;

/** Undefined while the gateway starts. */
let gateway: Gateway | undefined;
/** Whether a SIGHUP came while the gateway was starting. It may have read the old files by then. */
let reloads = false;

// Registered before everything else is loaded: the first process of a container receives only the signals that it handles.
process.once('SIGINT', () => void end('SIGINT'));
process.once('SIGTERM', () => void end('SIGTERM', gateway?.shutdownNoticeMs));
process.on('SIGHUP', () => {
  // The terminal was closed: it is no terminal any more.
  if (process.stdout.isTTY && !isatty(1)) void end('SIGHUP');
  else if (gateway === undefined) reloads = true;
  else gateway.reload();
});

// The last resort: these are bugs of the gateway. After an unhandled rejection the state of the process is known, after an uncaught exception it
// is not.
process.on('unhandledRejection', reason => report(reason, 'Unhandled promise rejection'));
process.on('uncaughtException', error => {
  report(error, 'Uncaught exception; the gateway closes');
  void end('SIGTERM', 0, 1);
});

const { start } = await import('./app.js');
gateway = await start(process.env);
if (reloads) gateway.reload();

/** Closes the gateway after the notice and its running requests. While it still starts, the process exits at once, with the status that shells use for a signal. */
async function end(signal: NodeJS.Signals, noticeMs = 0, status = 0): Promise<void> {
  if (gateway === undefined) {
    process.stderr.write(`${signal}: the gateway ended before it was ready\n`);
    process.exit(128 + constants.signals[signal]);
  }
  setTimeout(() => process.exit(1), noticeMs + longestClosingMs).unref();
  await gateway.close(noticeMs);
  process.exit(status);
}

function report(error: unknown, message: string): void {
  if (gateway === undefined) process.stderr.write(`${message}: ${(error as Error | null)?.stack ?? error}\n`);
  else gateway.app.log.error({ err: error }, message);
}
