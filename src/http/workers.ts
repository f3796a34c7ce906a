import cluster, { type Address, type Worker } from 'node:cluster';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyBaseLogger } from 'fastify';
import { AggregatorRegistry, type MetricObject, type Registry } from 'prom-client';
import type { Config } from '../config/config.js';
import { ConfigurationError, orCannotListen, reasonOf } from '../config/configuration-error.js';
import type { FilesRead } from '../config/files.js';
import { heapFlags } from '../lib/heap.js';
import { createLogger, workerLogDescriptor } from '../observability/logger.js';
import { createWorkerMetrics } from '../observability/metrics.js';
import { type AdminListener, startAdminListener } from './monitoring/admin-listener.js';
import { beatMs, Heartbeat, type Readiness, withReadiness } from './monitoring/readiness.js';

/** What the first process tells a worker: first the files that it has read. `metrics` asks for those of the worker; `text` has those of all. */
export type ToWorker =
  | { readonly files: FilesRead }
  | 'metrics'
  | { readonly text: string }
  | { readonly close: number };
/** What a worker tells the first process: its readiness, again and again, and its metrics. It asks for the files, and for the metrics of all. */
export type FromWorker =
  | { readonly readiness: Readiness }
  | { readonly metrics: readonly MetricObject[] }
  | 'files'
  | 'metrics';

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

/** What the first process knows of a worker. */
interface Member {
  readonly worker: Worker;
  readonly files: FilesRead;
  readonly heartbeat: Heartbeat;
  /** Resolves when it has ended and the last line of its log was read. */
  readonly ended: Promise<unknown>;
  state: 'starting' | 'serving' | 'closing';
  /** As it gave them last. */
  metrics: readonly MetricObject[];
}

/** How long another process may take to give metrics, in milliseconds. A scrape must not wait for one that is busy or gone. */
const metricsTimeouts = { ofWorkerMs: 400, ofAllMs: 2_000 };
/** The pause before a worker that ended is replaced, in milliseconds. It doubles for one that ends again and again. */
const pauses = { minMs: 500, maxMs: 30_000 };
/** A worker that has lived so long was well, in milliseconds. */
const wellMs = 60_000;
/** How long a worker that was replaced still gets connections, and then still serves, in milliseconds. It closes each connection after a response. */
const retiring = { acceptsMs: 2_000, noticeMs: 3_000 };

/** Tells a worker something, unless it has gone. */
function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}

/**
 * Starts several gateways behind one port, each in a process of its own (`WORKERS`), and replaces each that dies. `reload` reads the files again and replaces one worker after the other: a new one serves before an old one
 * closes, and if a new one does not start, the others stay.
 * @param readFiles reads what all workers use, so that one that is replaced has what the others have. @throws ConfigurationError
 * @throws Error if a worker does not start.
 */
export async function startWorkers(
  config: Config,
  readFiles: () => FilesRead,
): Promise<RunningGateway & { readonly listening: Listening }> {
  const log = createLogger(config.logLevel);
  const members = new Map<Worker, Member>();
  const inState = (state: Member['state']) => [...members.values()].filter(member => member.state === state);
  const { registry, exits } = createWorkerMetrics(countStates);
  let files = readFiles();
  let isClosing = false;
  let failures = 0;
  let admin: AdminListener | undefined;
  /** The counters of all workers that have ended, because a counter must not fall: Prometheus would count everything again. */
  let endedCounters: readonly MetricObject[] = [];

  // The workers share the memory. Of two flags for the same, the last one counts. What a worker's logger has not written is read from its standard error.
  cluster.setupPrimary({
    exec: fileURLToPath(new URL('../main.js', import.meta.url)),
    args: [],
    execArgv: [...process.execArgv, ...heapFlags(config.workers)],
    stdio: Object.assign(['inherit', 'inherit', 'pipe', 'ipc'], { [workerLogDescriptor]: 2 }),
  });

  function countStates() {
    const serving = inState('serving');
    const busy = serving.filter(({ heartbeat }) => heartbeat.readiness.status === 'busy').length;
    const starting = inState('starting').length;
    const missing = Math.max(0, config.workers - serving.length - starting);
    return { serving: serving.length - busy, busy, starting, closing: inState('closing').length, missing };
  }

  /** Several are ready while each of them is. */
  function readiness(): Readiness {
    const states = inState('serving').map(({ heartbeat }) => heartbeat.readiness);
    const silentMs = Math.max(0, ...states.map(state => state.silentMs));
    if (isClosing) return { status: 'closing', silentMs };
    if (states.length < config.workers) return { status: 'incomplete', silentMs };
    return { status: states.find(({ status }) => status !== 'ready')?.status ?? 'ready', silentMs };
  }

  /** The metrics of all together. Those of a worker that is busy are as it gave them last. */
  async function metrics(): Promise<string> {
    const asked = inState('serving').map(({ worker }) => {
      tell(worker, 'metrics');
      return once(worker, 'metrics', { signal: AbortSignal.timeout(metricsTimeouts.ofWorkerMs) }).catch(() => {});
    });
    await Promise.all(asked);
    const merged = AggregatorRegistry.aggregate([endedCounters, ...[...members.values()].map(each => each.metrics)]);
    return (await registry.metrics()) + (await merged.metrics());
  }

  async function hear(member: Member, message: FromWorker): Promise<void> {
    const { worker, heartbeat } = member;
    if (message === 'files') tell(worker, { files: member.files });
    else if (message === 'metrics') tell(worker, { text: withReadiness(await metrics(), readiness()) });
    else if ('readiness' in message) heartbeat.hear(message.readiness);
    else {
      member.metrics = message.metrics;
      worker.emit('metrics');
    }
  }

  /** Starts a worker, and waits until it listens. @throws Error if it ends before. */
  async function startWorker(read = files): Promise<void> {
    const worker = cluster.fork();
    const { pid, stderr } = worker.process;
    const ended = once(worker.process, 'close');
    const member: Member = { worker, files: read, heartbeat: new Heartbeat(), ended, state: 'starting', metrics: [] };
    members.set(worker, member);
    worker.on('message', (message: FromWorker) => void hear(member, message));
    if (stderr !== null) createInterface({ input: stderr }).on('line', line => log.error({ worker: pid }, line));
    const startedAt = performance.now();
    const failed = ended.then(([code, signal]) => {
      const { state } = member;
      members.delete(worker);
      const counters = member.metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
      endedCounters = AggregatorRegistry.aggregate([endedCounters, counters]).getMetricsAsArray();
      if (state !== 'closing') exits.inc();
      if (state === 'starting') throw new Error(`a worker ended before it was ready (${signal ?? `status ${code}`})`);
      if (state === 'closing' || isClosing) return;
      if (performance.now() - startedAt > wellMs) failures = 0;
      log.error(`Worker ${pid} ended (${signal ?? `status ${code}`}), and is replaced`);
      void replace();
    });
    failed.catch(() => {});
    await Promise.race([once(worker, 'listening'), failed]);
    member.state = 'serving';
  }

  async function replace(): Promise<void> {
    await pause(Math.min(pauses.minMs * 2 ** failures, pauses.maxMs));
    failures += 1;
    if (isClosing) return;
    await startWorker().catch(error => {
      log.error(`WORKERS: ${reasonOf(error)}`);
      void replace();
    });
  }

  async function closeMember(member: Member, noticeMs: number): Promise<void> {
    member.state = 'closing';
    tell(member.worker, { close: noticeMs });
    await member.ended;
  }

  /** Closes a worker that another has replaced. Its clients open new connections, and the last of these do not come to it. */
  async function retire(member: Member): Promise<void> {
    const closed = closeMember(member, retiring.noticeMs);
    await pause(retiring.acceptsMs);
    if (member.worker.isConnected()) member.worker.disconnect();
    await closed;
  }

  async function replaceAll(): Promise<void> {
    try {
      const read = readFiles();
      const before = inState('serving');
      if (before.length === 0) files = read;
      for (const old of before) {
        await startWorker(read);
        files = read;
        // It may have died meanwhile.
        if (members.has(old.worker)) await retire(old);
      }
      log.warn('Every worker was replaced');
    } catch (error) {
      log.error(`WORKERS: ${reasonOf(error)}; the workers from before stay`);
    }
  }

  // After a pause of this process, what the workers have sent meanwhile is read first.
  setInterval(() => setImmediate(killStuck), beatMs).unref();
  function killStuck(): void {
    for (const { worker, heartbeat, state } of members.values()) {
      // One that starts is silent for as long as a slow machine needs to load it.
      if (state === 'starting' || !heartbeat.isStuck || worker.process.killed) continue;
      log.error(`Worker ${worker.process.pid} is stuck`);
      worker.process.kill('SIGKILL');
    }
  }

  let reloading = Promise.resolve();
  const reload = () => {
    reloading = reloading.then(replaceAll);
  };
  async function close(noticeMs = 0): Promise<void> {
    isClosing = true;
    await Promise.all([...members.values()].map(member => closeMember(member, noticeMs)));
    await admin?.close();
  }

  try {
    const listening = once(cluster, 'listening');
    // One first: whatever stops it from starting would stop the others, too. It has said why.
    await startWorker().catch(error => {
      throw new ConfigurationError(`WORKERS: ${reasonOf(error)}`);
    });
    const [, { port }] = (await listening) as [Worker, Address];
    await Promise.all(Array.from({ length: config.workers - 1 }, () => startWorker()));
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
    for (const { worker } of members.values()) worker.process.kill('SIGKILL');
    throw error;
  }
}

/**
 * Makes this process a worker, which tells the first process its readiness and its metrics.
 * @returns the metrics of all workers together; those of `readOwn` if the first process has gone, or does not answer in time.
 */
export function joinWorkers(registry: Registry, readiness: () => Readiness, readOwn: () => Promise<string>) {
  const tell = (message: FromWorker) => process.connected && process.send?.(message, undefined, undefined, () => {});
  const beat = () => tell({ readiness: readiness() });
  let answer = (_text?: string) => {};
  /** The request for metrics that runs now. Scrapes at the same time share it. */
  let asking: Promise<string | undefined> | undefined;
  const ask = () =>
    new Promise<string | undefined>(resolve => {
      answer = resolve;
      setTimeout(() => resolve(undefined), metricsTimeouts.ofAllMs).unref();
      tell('metrics');
    }).finally(() => {
      asking = undefined;
    });
  const tellMetrics = () => void registry.getMetricsAsJSON().then(metrics => tell({ metrics }));
  process.on('message', (message: ToWorker) => {
    if (message === 'metrics') tellMetrics();
    else if ('text' in message) answer(message.text);
  });
  process.once('disconnect', () => answer());
  beat();
  tellMetrics();
  setInterval(beat, beatMs).unref();
  return async (): Promise<string> => {
    asking ??= process.connected ? ask() : undefined;
    return (await asking) ?? readOwn();
  };
}
