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

const { start } = await import('./start.js');
gateway = await start(process.env);

/** Lets a gateway finish what it has begun. One that starts has begun nothing: it ends at once, with the status that shells give to a signal. */
async function end(signal: NodeJS.Signals, notice = 0): Promise<void> {
  if (gateway === undefined) {
    process.stderr.write(`${signal}: the gateway ended before it was ready\n`);
    process.exit(128 + constants.signals[signal]);
  }
  setTimeout(() => process.exit(1), longestClosingMs).unref();
  await gateway.close(notice);
  process.exit(0);
}
