import { parseArgs } from 'node:util';
import { newsIntervalMs } from './options.js';
import { contentOf, type Sandbox, startSandbox } from './server.js';

async function start(): Promise<Sandbox> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '4010' },
      /** Number of companies in the first market. */
      companies: { type: 'string' },
      /** Has new and updated events by itself. */
      live: { type: 'boolean' },
    },
  });
  const { host, port, companies, live } = values;
  if (companies !== undefined && !(Number(companies) >= 1 && Number(companies) <= 10_000)) {
    throw new Error('--companies: must be 1 to 10000');
  }
  return startSandbox({
    host,
    port: Number(port),
    ...(companies !== undefined && { companies: Number(companies) }),
    ...(live && { newsEveryMs: newsIntervalMs }),
  });
}

const sandbox = await start().catch((error: Error) => {
  process.stderr.write(`The sandbox cannot start: ${error.message.replace(/\s+/g, ' ')}\n`);
  process.exit(1);
});
const { addresses } = sandbox;
const lines = [
  `The sandbox listens on ${sandbox.origin}`,
  '',
  'Point the gateway at it:',
  `  UPSTREAM_BASE_URL=${addresses.base}`,
  `  UPSTREAM_API_URL=${addresses.api}`,
  `  UPSTREAM_DEV_URL=${addresses.dev}`,
  `  EVENTS_SEARCH_PARAM=${sandbox.eventsSearchParam}`,
  `  KEYWORD_SUGGESTION_PATH=${sandbox.keywordSuggestionPath}`,
  '  POLL_INTERVAL_MS=1000',
  '',
  'For tools of agents (MCP), and exports to an address of this machine:',
  '  MCP_OPERATIONS=operations',
  '  EXPORT_ALLOW_PRIVATE_ADDRESSES=true',
  '',
  'It has:',
  ...contentOf(sandbox),
];
process.stdout.write(`${lines.join('\n')}\n`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Even if nobody reads what was printed.
  process.on(signal, () => void sandbox.close().then(() => process.exit()));
}
