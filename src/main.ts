// The program: signals, exit codes, and errors that nothing caught.
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { inspect } from 'node:util';
import type { start } from './app.js';

/** Undefined while the gateway starts. */
let gateway: Awaited<ReturnType<typeof start>> | undefined;
/** For so long, a signal that comes again is that of the same stop: npm and a shell send it to the process and to its group. In milliseconds. */
const repeatMs = 5_000;
/** Whether a SIGHUP came while the gateway was starting. It may have read the old files by then. */
let reloads = false;

// Registered before everything else is loaded: the first process of a container receives only the signals that it handles.
onSignal('SIGINT', () => void end('SIGINT'));
onSignal('SIGTERM', () => void end('SIGTERM', gateway?.shutdown.noticeMs));
process.on('SIGHUP', () => {
  // The terminal was closed: the standard output is no longer one.
  if (process.stdout.isTTY && !isatty(1)) void end('SIGHUP');
  else if (gateway === undefined) reloads = true;
  else gateway.reload();
});

// A full disk under the log, or a reader that has gone, must not end the gateway.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

// The last resort: these are bugs of the gateway. After an unhandled rejection the state of the process is known, after an uncaught exception it
// is not.
process.on('unhandledRejection', reason => void report('error', reason, 'Unhandled promise rejection'));
process.on('uncaughtException', error => {
  void report('error', error, 'Uncaught exception; the gateway closes').then(() => end('SIGTERM', 0, 1));
});
// Node itself would write them as plain text into the log.
process.removeAllListeners('warning').on('warning', warning => void report('warn', warning, 'Warning of Node'));

// Node gives up each address of a host but the last after 250 ms, less than a connection to another continent takes.
setDefaultAutoSelectFamilyAttemptTimeout(1_500);
(await import('./lib/names.js')).replaceLookups();
const app = await import('./app.js');
gateway = await app.start(process.env);
if (reloads) gateway.reload();

/** Calls `stop` at the first signal. The same signal again changes nothing; after five seconds, it ends the process at once. */
function onSignal(signal: 'SIGINT' | 'SIGTERM', stop: () => void): void {
  let firstAt: number | undefined;
  process.on(signal, async () => {
    if (firstAt === undefined) {
      firstAt = performance.now();
      stop();
    } else if (performance.now() - firstAt >= repeatMs) {
      const { exit } = await import('./lib/output.js');
      await exit(128 + constants.signals[signal]);
    }
  });
}

/** Closes the gateway after the notice and its running requests. While it still starts, the process exits at once, with the status that shells use for a signal. */
async function end(signal: NodeJS.Signals, noticeMs = 0, status = 0): Promise<void> {
  const { exit, output } = await import('./lib/output.js');
  if (gateway === undefined) {
    output(2).write(`${signal}: the gateway ended before it was ready\n`);
    return exit(128 + constants.signals[signal]);
  }
  const { log, shutdown } = gateway;
  const cutOff = () => {
    log.error(`Not closed within ${shutdown.graceMs / 1_000} seconds: what was still running is cut off`);
    void exit(1);
  };
  setTimeout(cutOff, noticeMs + shutdown.graceMs).unref();
  await gateway.close(noticeMs);
  await exit(status);
}

/** Logs it as one line of JSON, also before there is a logger. */
async function report(level: 'error' | 'warn', error: unknown, message: string): Promise<void> {
  if (gateway !== undefined) return gateway.log[level]({ err: error }, message);
  const { output } = await import('./lib/output.js');
  output(2).write(`${JSON.stringify({ level, time: new Date(), msg: `${message}: ${inspect(error)}` })}\n`);
}
