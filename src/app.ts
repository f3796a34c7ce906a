import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Config } from './config.js';
import { createConnections } from './http/connections.js';
import { createDoors } from './http/doors.js';
import { createLogger } from './http/observability/logger.js';
import { createMetrics, gaugeOldSeals } from './http/observability/metrics.js';
import { dropIdleConnections } from './http/server.js';
import type { StreamDoors } from './http/streams/doors.js';
import type { MemoryBounds } from './memory-budget.js';
import { type Sandbox, startSandbox } from './sandbox/server.js';
import { createSchema } from './schema.js';
import { createServices, type WorldSeams } from './services.js';
import { createTeams, hashOfKey, readTeams } from './teams.js';
import type { Telemetry } from './telemetry.js';
import { createWarnOncePerMinute, redisWarning } from './warnings.js';

/** What a test may put in the place of the world outside. */
export interface Seams extends WorldSeams {
  /** Other limits and times for streams. */
  readonly streams?: StreamDoors['bounds'];
  /** Other bounds for what answers take. */
  readonly memory?: MemoryBounds;
}

/** A gateway that is built and does not listen yet. */
export interface Gateway {
  /** Its HTTP server; closing it closes everything. */
  readonly app: FastifyInstance;
  /** The service's double, where none is configured. */
  readonly sandbox: Sandbox | undefined;
  /** Closes everything. For `noticeMs` before the server goes, it turns new requests down with 503, so that a balancer can look elsewhere. */
  close(noticeMs?: number): Promise<void>;
}

/** Builds everything that lives as long as the process: what is behind the doors, then the doors. */
export async function buildApp(configured: Config, seams: Seams = {}): Promise<Gateway> {
  const sandbox = configured.upstream.base === undefined ? await startSandbox() : undefined;
  const config = sandbox === undefined ? configured : pointedAt(sandbox, configured);
  const log = createLogger(config.logLevel);
  const metrics = createMetrics();
  const warn = createWarnOncePerMinute(message => log.warn(message));
  const telemetry: Telemetry = {
    ...metrics.telemetry,
    warn,
    redisFault(command, error) {
      metrics.telemetry.redisFault(command, error);
      const message = redisWarning(command, error);
      if (message !== undefined) warn(message, message);
    },
  };
  const tracing = config.traces ? (await import('./open-telemetry.js')).startTracing(warn) : undefined;
  const schema = createSchema();
  const { close, ...behind } = await createServices(config, {
    schema,
    teams: createTeams(config.teamsFile === undefined ? sandbox && demoTeams(sandbox) : readTeams(config.teamsFile)),
    telemetry,
    tracing,
    seams,
    report: (error, message) => log.error({ err: error }, message),
  });
  const { sessions, exports } = behind.services;
  gaugeOldSeals(metrics, { session: sessions.outdated, endpoint: exports.outdated });
  const demoKey = sandbox && demoKeyOf(sandbox);
  const connections = createConnections();
  const app = await createDoors({
    ...behind,
    config,
    schema,
    metrics,
    log,
    tracing,
    connections,
    demoKey,
    streams: seams.streams,
    memory: seams.memory,
  });

  if (sandbox !== undefined) {
    app.addHook('onListen', async () => {
      log.warn('The embedded sandbox runs: all data is invented, and a request without a credential uses its demo key');
    });
  }
  let notice = 0;
  app.addHook('preClose', () => pause(notice));
  dropIdleConnections(app, connections);
  app.addHook('onClose', async () => {
    await close();
    await sandbox?.close();
    await tracing?.close();
  });
  return {
    app,
    sandbox,
    close(noticeMs = 0) {
      notice = noticeMs;
      return app.close();
    },
  };
}

/** A configuration that asks the sandbox, with what the sandbox allows wherever nothing else is set. */
function pointedAt(sandbox: Sandbox, config: Config): Config {
  return {
    ...config,
    upstream: { ...config.upstream, ...sandbox.addresses },
    eventsSearchParam: config.eventsSearchParam ?? sandbox.eventsSearchParam,
    keywordSuggestionPath: config.keywordSuggestionPath ?? sandbox.keywordSuggestionPath,
    explain: config.explain ?? true,
    exports: { ...config.exports, allowPrivateAddresses: config.exports.allowPrivateAddresses ?? true },
  };
}

/** The sandbox's key for everything, which whoever sends no credential is taken to have. */
function demoKeyOf({ demo }: Sandbox): string {
  return demo.keys.find(({ eventsMonitor }) => eventsMonitor)?.key ?? '';
}

function demoTeams({ demo }: Sandbox) {
  const { name, keys, emails, admins } = demo.team;
  const listed = (member: string) => (keys.includes(member) ? hashOfKey(member) : member);
  return [{ name, keys: keys.map(hashOfKey), emails, admins: admins.map(listed) }];
}
