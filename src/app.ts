import { Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { GraphQLSchema } from 'graphql';
import type { DestinationStream, Logger } from 'pino';
import { createTeams, readTeams, type Teams } from './auth/teams.js';
import { type Config, readConfig } from './config/config.js';
import { ConfigurationError, orCannotListen, reasonOf } from './config/configuration-error.js';
import { countOf, describeChange, Reloadable } from './config/values.js';
import { type Manifest, readManifest } from './graphql/limits/documents.js';
import { startAdminListener } from './http/monitoring/admin-listener.js';
import { createLifecycle } from './lib/lifecycle.js';
import { exit, output } from './lib/output.js';
import { createLogger } from './observability/logger.js';
import { createMetrics } from './observability/metrics.js';
import { createTelemetry } from './observability/telemetry.js';
import { createWarnings } from './observability/warnings.js';
import type { EmbeddedSandbox } from './sandbox/embedded.js';
import { newsIntervalMs, type SandboxOptions } from './sandbox/options.js';
import { createSchema } from './schema.js';
import { createServer } from './server.js';
import { createServices, type WorldSeams } from './services.js';
import type { SubscriptionOptions } from './subscriptions/transports.js';

/** What a test may replace in a gateway. */
export interface Seams extends WorldSeams {
  /** Limits and times of the subscription transports. */
  readonly streams?: SubscriptionOptions['bounds'];
  /** Stands in for that of `schema/`. */
  readonly schema?: GraphQLSchema;
  readonly sandbox?: SandboxOptions;
  /** Takes the lines of the log in place of stderr. */
  readonly log?: DestinationStream;
}

interface Listening {
  readonly address: string;
  /** The port of the listener for probes and metrics; undefined where it is not separate. */
  readonly adminPort: number | undefined;
}

/** Builds a gateway, which does not listen yet: first its services, then its server, whose end closes everything. */
export async function buildApp(configured: Config, seams: Seams = {}) {
  const sandbox =
    configured.upstream.base === undefined
      ? await (await import('./sandbox/embedded.js')).embedSandbox(configured, seams.sandbox)
      : undefined;
  const config = sandbox?.config ?? configured;
  const log = createLogger(config.logLevel, seams.log);
  const metrics = createMetrics();
  const telemetry = createTelemetry(metrics, createWarnings(log));
  const tracing = config.traces ? (await loadTracing()).startTracing(telemetry) : undefined;
  const { teamsFile, persistedDocuments } = config;
  const teams = new Reloadable<Teams>(() =>
    createTeams(teamsFile === undefined ? sandbox?.teams : readTeams(teamsFile)),
  );
  const documents = new Reloadable<Manifest>(() =>
    persistedDocuments.file === undefined ? new Map() : readManifest(persistedDocuments.file),
  );
  const schema = seams.schema ?? createSchema();
  const { close, ...built } = await createServices(config, {
    schema,
    teams,
    telemetry,
    tracing,
    seams,
    report: (error, message) => log.error({ err: error }, message),
  });
  const lifecycle = createLifecycle();
  const { app, readiness } = await createServer({
    ...built,
    lifecycle,
    config,
    schema,
    documents,
    metrics,
    log,
    tracing,
    demoKey: sandbox?.demoKey,
    streams: seams.streams,
  });

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
    /** Listens for clients and, with `ADMIN_PORT`, for probes. @throws ConfigurationError */
    async listen(): Promise<Listening> {
      const { host, port, reusePort } = config;
      const options = { host, port, reusePort };
      const address = await orCannotListen('HOST, PORT', host, port, app.listen(options));
      admin = await startAdminListener({ config, log, readiness, metrics: metrics.read, lifecycle });
      return { address, adminPort: admin?.port };
    },
    shutdown: config.shutdown,
    /** Reads the teams file and the trusted documents again. A file that is invalid changes nothing. */
    reload() {
      if (teamsFile !== undefined) reload(log, 'TEAMS_FILE', 'team', teams, teamsByName);
      if (persistedDocuments.file !== undefined) {
        reload(log, 'PERSISTED_DOCUMENTS', 'document', documents, manifest => manifest);
      }
      if (teamsFile === undefined && persistedDocuments.file === undefined) {
        log.warn('Nothing was read again: neither TEAMS_FILE nor PERSISTED_DOCUMENTS is set');
      }
    },
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

/** Reads a file again, and logs how many entries it has now. If it is invalid, the value from before stays. */
function reload<T>(
  log: Logger,
  name: string,
  what: string,
  value: Reloadable<T>,
  entriesOf: (value: T) => ReadonlyMap<string, string>,
): void {
  const before = entriesOf(value.current);
  try {
    value.reload();
    log.warn(describeChange(name, what, before, entriesOf(value.current)));
  } catch (error) {
    log.warn(`${reasonOf(error)}; ${countOf(before.size, what)} from before stay in use`);
  }
}

const teamsByName = ({ list = [] }: Pick<Teams, 'list'>) =>
  new Map(list.map(team => [team.name, JSON.stringify(team)]));

/** Loads OpenTelemetry. @throws ConfigurationError where a deployment has left it out. */
export async function loadTracing() {
  try {
    return await import('./observability/open-telemetry.js');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new ConfigurationError(
      'OTEL_...: traces need the optional packages, which npm ci --omit=optional leaves out',
    );
  }
}

const guessableLength = 16;

/** Says what an operator may not expect of a configuration that is valid. */
export function warnOfSettings(log: { warn(words: string): void }, config: Config): void {
  const { persistedDocuments, adminToken } = config;
  if (persistedDocuments.file !== undefined && persistedDocuments.mode === 'off') {
    log.warn('PERSISTED_DOCUMENTS has no effect: every document is executed, because PERSISTED_DOCUMENTS_MODE is off');
  }
  if (adminToken !== undefined && adminToken.reveal().length < guessableLength) {
    log.warn(`ADMIN_TOKEN can be guessed: it has fewer than ${guessableLength} characters`);
  }
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
  { address: listening, adminPort }: Listening,
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
    ...(sandbox?.greeting(address) ?? []),
  ];
  return `${lines.join('\n')}\n`;
}
