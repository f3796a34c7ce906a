import cluster, { type Address, type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyBaseLogger } from 'fastify';
import { AggregatorRegistry, type MetricObject, type Registry } from 'prom-client';
import type { Config } from '../config/config.js';
import { ConfigurationError, orCannotListen, reasonOf } from '../config/configuration-error.js';
import { heapFlags } from '../lib/heap.js';
import { createLogger } from '../observability/logger.js';
import { type AdminListener, type Readiness, startAdminListener } from './monitoring/admin-listener.js';

/** What the first process and its workers say to each other. Node's cluster module and prom-client have messages of their own. */
export type ToWorker = { readonly close: { readonly noticeMs: number } } | { readonly metrics: string };
export type FromWorker = 'alive' | 'metrics';

/** A gateway, or several, that serves. */
export interface RunningGateway {
  readonly log: FastifyBaseLogger;
  /** `SHUTDOWN_NOTICE_MS`. */
  readonly shutdownNoticeMs: number;
  /** Reads the teams file and the trusted documents again. A file that is invalid changes nothing. */
  reload(): void;
  /** Closes everything. For `noticeMs` before that, it still serves, but `/readyz` says 503, so that a load balancer can choose another gateway. */
  close(noticeMs?: number): Promise<void>;
}

/** Where a gateway listens. */
export interface Listening {
  /** The address for clients. */
  readonly address: string;
  /** The port of the listener for probes and metrics; undefined where it is not separate. */
  readonly adminPort: number | undefined;
}

/** Several gateways behind one port, each in a process of its own (`WORKERS`). */
interface Workers extends RunningGateway {
  readonly listening: Listening;
}

/** What a worker answers where prom-client asks it for its metrics: those of each of its registries. */
const isMetricsReply = (message: unknown): message is { readonly metrics: readonly MetricObject[][] } =>
  typeof message === 'object' && message !== null && 'metrics' in message && Array.isArray(message.metrics);

/** The types of metrics that only grow. */
const countingTypes = new Set(['counter', 'histogram']);

const aliveMs = 1_000;
/** How long a worker may be silent, in milliseconds, before it is replaced. */
const stuckMs = 30_000;
/** The pause before a worker that died is replaced, in milliseconds: from the first to the most, for one that dies again and again. */
const pauses = { firstMs: 500, mostMs: 30_000 };
/** A worker that has lived so long was well, in milliseconds. */
const wellMs = 60_000;
/** How long a worker that was replaced still gets connections, and then still serves, in milliseconds. It closes each connection after a response. */
const retiring = { acceptsMs: 2_000, noticeMs: 3_000 };

/**
 * Starts the workers, and replaces each that dies. `reload` replaces one after the other: a new one serves before an old one closes, and if a new one does not
 * start, the others stay. @throws Error if a worker does not start.
 */
export async function startWorkers(config: Config): Promise<Workers> {
  const log = createLogger(config.logLevel);
  const registry = new AggregatorRegistry();
  const serving = new Set<Worker>();
  let isClosing = false;
  let failures = 0;
  let admin: AdminListener | undefined;
  /** The metrics of each worker, as prom-client received them last. A worker that starts gives none yet. */
  const metricsOf = new Map<Worker, readonly MetricObject[]>();
  /** The counters of all workers that have ended, because a counter must not fall: Prometheus would count everything again. */
  let ended: readonly MetricObject[] = [];

  async function metrics(): Promise<string> {
    await registry.clusterMetrics().catch(() => {});
    return AggregatorRegistry.aggregate([ended, ...metricsOf.values()]).metrics();
  }

  async function keepCounters(worker: Worker): Promise<void> {
    const last = metricsOf.get(worker) ?? [];
    metricsOf.delete(worker);
    const counters = last.filter(metric => countingTypes.has(String(metric.type)));
    ended = await AggregatorRegistry.aggregate([ended, counters]).getMetricsAsJSON();
  }

  // The workers share the memory. Of two flags for the same, the last one counts.
  const execArgv = [...process.execArgv, ...heapFlags(config.workers)];
  cluster.setupPrimary({ exec: fileURLToPath(new URL('../main.js', import.meta.url)), args: [], execArgv });

  /** Starts a worker, and waits until it listens. @throws Error if it ends before. */
  async function startWorker(): Promise<Worker> {
    const worker = cluster.fork();
    const startedAt = performance.now();
    let silent = setTimeout(() => {}, 0);
    worker.on('message', (message: unknown) => {
      if (message === 'metrics') void tellMetrics(worker);
      if (isMetricsReply(message)) metricsOf.set(worker, message.metrics.flat());
      if (message !== 'alive') return;
      clearTimeout(silent);
      silent = setTimeout(() => {
        log.error(`Worker ${worker.process.pid} is stuck, and is replaced`);
        worker.process.kill('SIGKILL');
      }, stuckMs);
    });
    worker.once('exit', (code, signal) => {
      clearTimeout(silent);
      void keepCounters(worker);
      const wasServing = serving.delete(worker);
      if (!wasServing || isClosing) return;
      if (performance.now() - startedAt > wellMs) failures = 0;
      log.error(`Worker ${worker.process.pid} ended (${signal ?? `status ${code}`}), and is replaced`);
      void replace();
    });
    const ended = once(worker, 'exit').then(([code, signal]) => {
      throw new Error(`a worker ended before it was ready (${signal ?? `status ${code}`})`);
    });
    ended.catch(() => {});
    await Promise.race([once(worker, 'listening'), ended]);
    serving.add(worker);
    return worker;
  }

  async function replace(): Promise<void> {
    await pause(Math.min(pauses.firstMs * 2 ** failures, pauses.mostMs));
    failures += 1;
    if (isClosing) return;
    try {
      await startWorker();
    } catch (error) {
      log.error(`WORKERS: ${reasonOf(error)}`);
      if (!isClosing) void replace();
    }
  }

  async function tellMetrics(worker: Worker): Promise<void> {
    const message: ToWorker = { metrics: await metrics() };
    if (worker.isConnected()) worker.send(message);
  }

  async function closeWorker(worker: Worker, noticeMs: number): Promise<void> {
    serving.delete(worker);
    if (worker.isDead()) return;
    const ended = once(worker, 'exit');
    if (worker.isConnected()) worker.send({ close: { noticeMs } } satisfies ToWorker);
    await ended;
  }

  /** Closes a worker that another has replaced. Its clients open new connections, and the last of these do not come to it. */
  async function retire(worker: Worker): Promise<void> {
    const ended = closeWorker(worker, retiring.noticeMs);
    await pause(retiring.acceptsMs);
    if (worker.isConnected()) worker.disconnect();
    await ended;
  }

  async function replaceAll(): Promise<void> {
    for (const old of [...serving]) {
      try {
        await startWorker();
      } catch (error) {
        log.error(`WORKERS: ${reasonOf(error)}; the workers from before stay`);
        return;
      }
      // It may have died meanwhile.
      if (serving.has(old)) await retire(old);
    }
    log.warn('Every worker was replaced');
  }

  const all = () => Object.values(cluster.workers ?? {}).filter(worker => worker !== undefined);
  const readiness = (): Readiness => {
    if (isClosing) return { isReady: false, status: 'closing' };
    return serving.size > 0 ? { isReady: true, status: 'ready' } : { isReady: false, status: 'starting' };
  };
  let reloading = Promise.resolve();
  const reload = () => {
    reloading = reloading.then(replaceAll);
  };
  async function close(noticeMs = 0): Promise<void> {
    isClosing = true;
    await Promise.all(all().map(worker => closeWorker(worker, noticeMs)));
    await admin?.close();
  }

  try {
    const listening = once(cluster, 'listening');
    // One first: whatever stops it from starting would stop the others, too. It has said why.
    await startWorker().catch(error => {
      throw new ConfigurationError(`WORKERS: ${reasonOf(error)}`);
    });
    const [, { port }] = (await listening) as [Worker, Address];
    await Promise.all(Array.from({ length: config.workers - 1 }, startWorker));
    const { host, adminPort } = config;
    const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
    if (adminPort !== undefined) {
      const starting = startAdminListener({ host, port: adminPort, readiness, metrics, log });
      admin = await orCannotListen('ADMIN_PORT', host, adminPort, starting);
    }
    return {
      listening: { address, adminPort: admin?.port },
      log,
      shutdownNoticeMs: config.shutdownNoticeMs,
      reload,
      close,
    };
  } catch (error) {
    isClosing = true;
    for (const worker of all()) worker.process.kill('SIGKILL');
    throw error;
  }
}

/** Makes this process a worker: it says that it is alive, and gives its metrics to the first process. Returns the metrics of all workers together. */
export function joinWorkers(registry: Registry): () => Promise<string> {
  AggregatorRegistry.setRegistries([registry]);
  // It answers when the first process asks.
  new AggregatorRegistry();
  const tell = (message: FromWorker) => process.connected && process.send?.(message);
  setInterval(() => tell('alive'), aliveMs).unref();
  return async () => {
    tell('metrics');
    for (;;) {
      const [message] = (await once(process, 'message')) as [ToWorker];
      if (typeof message === 'object' && 'metrics' in message) return message.metrics;
    }
  };
}
