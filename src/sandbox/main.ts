import { parseArgs } from 'node:util';
import { ConfigurationError, endProgram, orCannotListen } from '../config/configuration-error.js';
import { newsIntervalMs } from './options.js';
import { type Sandbox, startSandbox } from './server.js';

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
    throw new ConfigurationError('--companies: must be 1 to 10000');
  }
  const starting = startSandbox({
    host,
    port: Number(port),
    ...(companies !== undefined && { companies: Number(companies) }),
    ...(live && { newsEveryMs: newsIntervalMs }),
  });
  return orCannotListen('--host, --port', host, port, starting);
}

const sandbox = await start().catch(endProgram);
const { addresses, demo } = sandbox;
const lines = [
  `The sandbox listens on ${sandbox.origin}`,
  '',
  'Point the gateway at it:',
  `  UPSTREAM_BASE_URL=${addresses.base}`,
  `  UPSTREAM_API_URL=${addresses.api}`,
  `  UPSTREAM_DEV_URL=${addresses.dev}`,
  `  EVENTS_SEARCH_PARAM=${sandbox.eventsSearchParam}`,
  `  KEYWORD_SUGGESTION_PATH=${sandbox.keywordSuggestionPath}`,
  '',
  'Keys (x-api-key):',
  ...demo.keys.map(({ key, description }) => `  ${key}  ${description}`),
  'Users:',
  ...demo.users.map(({ email, password, name }) => `  ${email}  ${password}  ${name}`),
];
process.stdout.write(`${lines.join('\n')}\n`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void sandbox.close());
