import { buildApp, type Gateway } from './app.js';
import { type Config, readConfig } from './config.js';
import { InvalidConfig, reasonOf } from './invalid-config.js';

/** Builds the gateway that an environment describes, lets it listen, and greets. What is wrong with the environment is told in one line, and ends the process with 1. */
export async function start(env: Record<string, string | undefined>): Promise<Gateway> {
  try {
    const config = readConfig(env);
    const gateway = await buildApp(config);
    const address = await listen(gateway, config);
    process.stdout.write(greeting(address, gateway));
    return gateway;
  } catch (error) {
    const known = error instanceof InvalidConfig;
    process.stderr.write(`${known ? error.message : (error as Error).stack}\n`);
    process.exit(1);
  }
}

async function listen({ app }: Gateway, { host, port }: Config): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    throw new InvalidConfig(`HOST, PORT: nothing can listen at ${host}, port ${port}: ${reasonOf(error)}`);
  }
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
