import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

// Typed and described in network.d.mts. Plain JavaScript, because `npm run faults:streams` and `npm run test:console` run it as it is.

export async function startNetwork(portOf, bytesPerSecond) {
  const pairs = new Set();
  let isSilent = false;
  let isRefusing = false;
  let lost;
  const server = createServer(incoming => {
    if (isRefusing) return incoming.destroy();
    const outgoing = connect(portOf(), '127.0.0.1');
    const pair = [incoming, outgoing];
    pairs.add(pair);
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.on('close', () => {
        pairs.delete(pair);
        for (const each of pair) each.destroy();
      });
    }
    if (isSilent) return;
    if (bytesPerSecond === undefined) incoming.pipe(outgoing).pipe(incoming);
    else incoming.pipe(slow(bytesPerSecond)).pipe(outgoing).pipe(slow(bytesPerSecond)).pipe(incoming);
    incoming.on('data', data => {
      if (lost === undefined || !data.includes(lost)) return;
      lost = undefined;
      outgoing.unpipe().once('data', () => incoming.destroy());
      outgoing.resume();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut(share) {
      const chosen = [...pairs].filter(() => Math.random() < share);
      for (const [incoming, outgoing] of chosen) {
        incoming.destroy();
        outgoing.destroy();
      }
      return chosen.length;
    },
    silence() {
      isSilent = true;
      for (const pair of pairs) for (const socket of pair) socket.unpipe();
    },
    loseReplyTo(words) {
      lost = words;
    },
    refuse() {
      isRefusing = true;
    },
    restore() {
      isSilent = false;
      this.cut(1);
    },
    async close() {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function slow(bytesPerSecond) {
  let freeAt = 0;
  return new Transform({
    transform(chunk, _, done) {
      freeAt = Math.max(freeAt, performance.now()) + (chunk.length / bytesPerSecond) * 1_000;
      void sleep(freeAt - performance.now()).then(() => done(null, chunk));
    },
  });
}
