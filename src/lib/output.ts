// Standard output and standard error of a program that never waits for who reads them: a pipe may be full, and a terminal paused.
import { once } from 'node:events';
import { constants, fstatSync, openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { destination } from 'pino';

/** In bytes. More than this is lost while it cannot be written. */
const maxUnwritten = 1024 * 1024;
/** How long the end of the process waits for a reader, in milliseconds. */
const lastWordsMs = 1_000;

type Descriptor = 1 | 2;
const opened = new Map<Descriptor, ReturnType<typeof destination>>();

/** How much was lost, in lines. */
export let linesLost = 0;

/** Standard output (1) or standard error (2). */
export function output(descriptor: Descriptor): ReturnType<typeof destination> {
  const open = opened.get(descriptor);
  if (open !== undefined) return open;
  const stream = destination({ dest: ownDescriptor(descriptor), sync: false, maxLength: maxUnwritten });
  let times = 0;
  stream.on('drop', () => {
    linesLost += 1;
    times += 1;
  });
  // Nothing waits any more.
  stream.on('drain', () => {
    if (times === 0 || descriptor === 1) return;
    stream.write(
      `${JSON.stringify({ level: 'warn', time: new Date(), times, msg: 'Lines were lost: nobody read them in time' })}\n`,
    );
    times = 0;
  });
  // A full disk, or a reader that has gone, must not end the program.
  stream.on('error', () => {});
  opened.set(descriptor, stream);
  return stream;
}

/** Of a pipe and a terminal one that never waits, whatever other processes do with theirs. Others are files, or sockets, which Node has made so. */
function ownDescriptor(descriptor: Descriptor): number {
  try {
    if (!fstatSync(descriptor).isFIFO() && !isatty(descriptor)) return descriptor;
    return openSync(`/dev/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return descriptor;
  }
}

/** Ends the process once all is written, or after a second. */
export async function exit(status: number): Promise<never> {
  const streams = [...opened.values()];
  const written = streams.map(async stream => {
    const drained = once(stream, 'drain');
    stream.write('');
    await drained.catch(() => {});
  });
  await Promise.race([Promise.all(written), pause(lastWordsMs)]);
  // Otherwise pino would wait for the reader.
  for (const stream of streams) stream.destroy();
  process.exit(status);
}
