import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach } from '@jest/globals';

/** What the test that runs has to undo; it is undone after it, the last first. */
export const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** What all tests of the file have to undo at their end, the last first. */
export const lastCleanups: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanup of lastCleanups.splice(0).reverse()) await cleanup();
});

type Started = { close(): unknown } | { stop(): unknown } | { disconnect(): unknown };

function end(started: Started): unknown {
  if ('close' in started) return started.close();
  return 'stop' in started ? started.stop() : started.disconnect();
}

/** Ends what was started after the test. @returns it */
export function forTest<T extends Started>(started: T): T {
  cleanups.push(() => end(started));
  return started;
}

/** Ends what was started after all tests of the file. @returns it */
export function forSuite<T extends Started>(started: T): T {
  lastCleanups.push(() => end(started));
  return started;
}

/** Lets a server listen on a free loopback port until the test has ended. @returns the port */
export async function listening(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanups.push(() => {
    server.close();
    if ('closeAllConnections' in server) (server as { closeAllConnections(): void }).closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** A folder that is removed after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
