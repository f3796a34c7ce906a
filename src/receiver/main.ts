import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { createReceiver, type Mode, modes } from './server.js';

const isMode = (text: string): text is Mode => modes.some(mode => mode === text);

async function start(): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '4020' },
      mode: { type: 'string', default: 'accept' },
    },
  });
  const { host, mode } = values;
  if (!isMode(mode)) throw new Error(`--mode: must be one of ${modes.join(', ')}`);

  // Not an argument, because other users of the machine can see the arguments of a program.
  const signingSecret = process.env.SIGNING_SECRET || undefined;
  const server = createReceiver(mode, lines => process.stdout.write(`${lines}\n`), signingSecret);
  await once(server.listen(Number(values.port), host), 'listening');
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`The receiver listens on http://${host}:${port} and will ${mode} all exports\n`);

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // Even if nobody reads what was printed.
      server.close(() => process.exit());
      server.closeAllConnections();
    });
  }
}

await start().catch((error: Error) => {
  process.stderr.write(`The receiver cannot start: ${error.message.replace(/\s+/g, ' ')}\n`);
  process.exit(1);
});
