import { connect, createServer } from 'node:net';
import { listening } from './cleanups.js';

/** A way to a server on which replies can be lost. */
export interface LosingWay {
  readonly url: string;
  /** The next command with these words reaches the server, but not its reply: the connection breaks. */
  loseReplyTo(words: string): void;
  /** Ends every connection from now on. */
  block(): void;
}

/** Passes each connection on to a port of this host, until the test has ended. */
export async function startLosingWay(port: number): Promise<LosingWay> {
  let lost: string | undefined;
  let isBlocked = false;
  const server = createServer(incoming => {
    if (isBlocked) return incoming.destroy();
    const outgoing = connect(port, '127.0.0.1');
    incoming.on('error', () => {}).on('close', () => outgoing.destroy());
    outgoing.on('error', () => {}).on('close', () => incoming.destroy());
    outgoing.pipe(incoming);
    incoming.on('data', (data: Buffer) => {
      if (lost !== undefined && data.includes(lost)) {
        lost = undefined;
        outgoing
          .unpipe(incoming)
          .once('data', () => incoming.destroy())
          .resume();
      }
      outgoing.write(data);
    });
  });
  return {
    url: `redis://127.0.0.1:${await listening(server)}`,
    loseReplyTo(words) {
      lost = words;
    },
    block() {
      isBlocked = true;
    },
  };
}
