import { constants } from 'node:os';
import type { Gateway } from './app.js';

const longestClosingMs = 10_000;
/** A balancer that looks every second sees in this time that the gateway is not ready. Until then requests are still answered: with 503. */
const noticeMs = 1_500;

/** Undefined while it starts. */
let gateway: Gateway | undefined;

// Before the rest is loaded: a container's first process is sent no signal that it does not listen for.
process.once('SIGINT', () => void end('SIGINT'));
process.once('SIGTERM', () => void end('SIGTERM', noticeMs));

// The last resort: whatever comes here is a fault of the gateway's own. After a forgotten rejection everything else is as it was; after an
// exception that nothing caught, nobody knows.
process.on('unhandledRejection', reason => report(reason, 'Nothing handled the rejection of a promise'));
process.on('uncaughtException', error => {
  report(error, 'Nothing caught an exception: the gateway ends');
  void end('SIGTERM', 0, 1);
});

const { start } = await import('./app.js');
gateway = await start(process.env);

/** Lets a gateway finish what it has begun. One that starts has begun nothing: it ends at once, with the status that shells give to a signal. */
async function end(signal: NodeJS.Signals, notice = 0, status = 0): Promise<void> {
  if (gateway === undefined) {
    process.stderr.write(`${signal}: the gateway ended before it was ready\n`);
    process.exit(128 + constants.signals[signal]);
  }
  setTimeout(() => process.exit(1), longestClosingMs).unref();
  await gateway.close(notice);
  process.exit(status);
}

function report(error: unknown, message: string): void {
  if (gateway === undefined) process.stderr.write(`${message}: ${(error as Error | null)?.stack ?? error}\n`);
  else gateway.app.log.error({ err: error }, message);
}
