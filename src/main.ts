import { buildApp, type Gateway } from './app.js';
import { InvalidConfig, readConfig } from './config.js';

const longestClosingMs = 10_000;

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
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close(gateway));
  process.stdout.write(greeting(address, gateway));
}

async function close({ app }: Gateway): Promise<void> {
  setTimeout(() => process.exit(1), longestClosingMs).unref();
  await app.close();
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
