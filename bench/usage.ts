import { memoryUsage } from 'node:process';

let collecting = 0;

/** Loaded into a process that is measured, before its own program: says what it has used so far when it is asked. */
process.on('message', () => {
  // What collecting for the sake of the measurement costs is not counted: it is taken off what is read later.
  const { user, system } = process.cpuUsage();
  const cpuMicros = user + system - collecting;
  (globalThis as { gc?: () => void }).gc?.();
  const after = process.cpuUsage();
  collecting += after.user + after.system - user - system;
  const { rss, heapUsed } = memoryUsage();
  process.send?.({ cpuMicros, rss, heapUsed });
});
// Being asked is no reason to stay.
process.channel?.unref();
