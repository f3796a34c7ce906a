import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { createReceiver, type Mode, modes } from './server.js';

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '4020' },
    mode: { type: 'string', default: 'accept' },
  },
});
const isMode = (text: string): text is Mode => modes.some(mode => mode === text);
if (!isMode(values.mode)) {
  process.stderr.write(`--mode must be one of ${modes.join(', ')}\n`);
  process.exit(1);
}

// Not an argument, because other users of the machine can see the arguments of a program.
const signingSecret = process.env.SIGNING_SECRET || undefined;
const server = createReceiver(values.mode, lines => process.stdout.write(`${lines}\n`), signingSecret);
server.listen(Number(values.port), values.host);
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
process.stdout.write(`The receiver listens on http://${values.host}:${port} and will ${values.mode} all exports\n`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close();
    server.closeAllConnections();
  });
}
