import { once } from 'node:events';
import { connect, createServer } from 'node:net';

// Typed and described in network.d.mts. Plain JavaScript, because `npm run faults:streams` and `npm run test:console` run it as it is.

export async function startNetwork(portOf) {
  const pairs = new Set();
  let isSilent = false;
  const server = createServer(incoming => {
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
    if (!isSilent) incoming.pipe(outgoing).pipe(incoming);
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
