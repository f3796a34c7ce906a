import { buildApp, type Gateway } from './app.js';
import { InvalidConfig, readConfig } from './config.js';

const longestClosingMs = 10_000;
/** A balancer that looks every second sees in this time that the gateway is not ready. Until then requests are still answered: with 503. */
const noticeMs = 1_500;

try {
  await run();
} catch (error) {
  const known = error instanceof InvalidConfig;
  process.stderr.write(`${known ? error.message : (error as Error).stack}\n`);
  process.exit(1);
}

async function run(): Promise<void> {
  const config = readConfig(process.env);
  const gateway = await buildApp(config);
  const address = await gateway.app.listen({ host: config.host, port: config.port });
  process.once('SIGINT', () => void close(gateway));
  process.once('SIGTERM', () => void close(gateway, noticeMs));
  process.stdout.write(greeting(address, gateway));
}

async function close(gateway: Gateway, notice = 0): Promise<void> {
  setTimeout(() => process.exit(1), longestClosingMs).unref();
  await gateway.close(notice);
  process.exit(0);
}

function greeting(address: string, { sandbox }: Gateway): string {
  const lines = [`Market Intelligence Gateway: ${address}/graphql (open it in a browser for GraphiQL)`];
  if (sandbox !== undefined) {
    const { keys, users } = sandbox.demo;
    lines.push(
      '',
      'No UPSTREAM_BASE_URL is set: a sandbox of the service is running, and whoever sends no credential uses its first key.',
      ...keys.map(({ key, description }) => `  key   ${key}  ${description}`),
      ...users.map(({ email, password }) => `  user  ${email}  password ${password}`),
      '',
      'Try:',
      `  curl -s ${address}/graphql -H 'content-type: application/json' -d '{"query":"{ events(first: 2) { totalCount nodes { title references { observation { title } } } } }"}'`,
    );
  }
  return `${lines.join('\n')}\n`;
}
