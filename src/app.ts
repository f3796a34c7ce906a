// A gateway as a list of its parts, and its start as a program.
import { Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type BaseSeams, createBase, createComponents, reloadFiles, warnOfSettings } from './components.js';
import { type Config, readConfig } from './config/config.js';
import { ConfigurationError, orCannotListen } from './config/configuration-error.js';
import { startAdminListener } from './http/monitoring/admin-listener.js';
import { createLifecycle } from './lib/lifecycle.js';
import { exit, output } from './lib/output.js';
import { createLogger } from './observability/logger.js';
import type { EmbeddedSandbox } from './sandbox/embedded.js';
import { newsIntervalMs, type SandboxOptions } from './sandbox/options.js';
import { createServer } from './server.js';

/** What a test may replace in a gateway. */
export interface Seams extends BaseSeams {
  readonly sandbox?: SandboxOptions;
}

/** Builds a gateway, which does not listen yet: first its components, then its server, whose end closes everything. */
export async function buildApp(configured: Config, seams: Seams = {}) {
  const sandbox =
    configured.upstream.base === undefined
      ? await (await import('./sandbox/embedded.js')).embedSandbox(configured, seams.sandbox)
      : undefined;
  const config = sandbox?.config ?? configured;
  const base = await createBase(config, seams, sandbox?.teams);
  const { log, metrics, tracing } = base;
  const { close, ...built } = await createComponents(base);
  const lifecycle = createLifecycle();
  const server = await createServer({ ...base, ...built, lifecycle, demoKey: sandbox?.demoKey });
  const { app } = server;
  app.server.prependListener('request', lifecycle.onRequest);
  app.addHook('onListen', async () => {
    if (sandbox !== undefined) log.warn(sandbox.warning);
    warnOfSettings(log, config);
  });
  let admin: Awaited<ReturnType<typeof startAdminListener>>;
  app.addHook('onClose', async () => {
    await close();
    await sandbox?.close();
    await tracing?.close();
    await admin?.close();
  });
  return {
    app,
    log,
    sandbox,
    /** Listens for clients and, with `ADMIN_PORT`, at a port of its own for probes and metrics. @throws ConfigurationError */
    async listen() {
      const { host, port, reusePort } = config;
      const options = { host, port, reusePort };
      // First, so that no client has reached a gateway that ends because this port is taken.
      admin = await startAdminListener({ ...server, config, log, metrics: metrics.read, lifecycle });
      const address = await orCannotListen('HOST, PORT', host, port, app.listen(options));
      admin?.begin();
      return { address, adminPort: admin?.port };
    },
    shutdown: config.shutdown,
    reload: () => reloadFiles(base),
    /** Closes everything. For `noticeMs` before that, it still serves, but `/readyz` says 503, so that a load balancer can choose another gateway. */
    async close(noticeMs = 0) {
      lifecycle.leave();
      // No balancer asks before it gives a connection: new ones go to the other gateways of the port at once.
      if (config.reusePort) Server.prototype.close.call(app.server);
      await pause(noticeMs);
      lifecycle.close();
      await app.close();
    },
  };
}

function warnOfNode(log: Pick<Logger, 'warn'>): void {
  const [major = 0] = process.versions.node.split('.').map(Number);
  if (major < 22) log.warn(`Node ${major} gets no security fixes any more: run the gateway with Node 24`);
}

/**
 * Builds the gateway from the environment, listens, and prints a greeting. A configuration error is printed in one line, and the process exits with
 * status 1.
 */
export async function start(env: Record<string, string | undefined>) {
  try {
    const config = readConfig(env);
    const gateway = await buildApp(config, { sandbox: { newsEveryMs: newsIntervalMs } });
    output(1).write(greeting(await gateway.listen(), config, gateway.sandbox));
    warnOfNode(gateway.log);
    return gateway;
  } catch (error) {
    if (error instanceof ConfigurationError) output(2).write(`${error.message}\n`);
    else createLogger('fatal').fatal({ err: error }, 'The gateway cannot start');
    return exit(1);
  }
}

function greeting(
  { address: listening, adminPort }: { readonly address: string; readonly adminPort: number | undefined },
  { staticDir, introspection, mcp }: Config,
  sandbox: EmbeddedSandbox | undefined,
): string {
  // For browsers, `localhost` and `127.0.0.1` are different sites, each with its own cookies. So that people use one of them, only `localhost` is printed.
  const address = listening.replace('//127.0.0.1:', '//localhost:');
  const graphiql = introspection ? ' (open it in a browser for GraphiQL)' : '';
  const lines = [
    ...(staticDir === undefined ? [] : [`Front end: ${address}/`]),
    `Market Intelligence Gateway: ${address}/graphql${graphiql}`,
    ...(mcp.operations === undefined ? [] : [`Tools for agents (MCP): ${address}/mcp`]),
    ...(adminPort === undefined ? [] : [`Probes and metrics: ${address.replace(/:\d+$/, `:${adminPort}`)}/metrics`]),
    ...(sandbox?.greeting(address, staticDir === undefined ? '' : `${address}/markets/`) ?? []),
  ];
  return `${lines.join('\n')}\n`;
}
