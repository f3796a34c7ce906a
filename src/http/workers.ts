import type { ChildProcess } from 'node:child_process';
import cluster, { type Address, type Worker } from 'node:cluster';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { AggregatorRegistry, type MetricObject, type Registry } from 'prom-client';
import type { Config } from '../config/config.js';
import { ConfigurationError, reasonOf } from '../config/configuration-error.js';
import type { FilesRead } from '../config/files.js';
import { describeChange } from '../config/values.js';
import { heapFlags } from '../lib/heap.js';
import { sharedRun } from '../lib/run.js';
import { createLogger, workerLogDescriptor } from '../observability/logger.js';
import { createWorkerMetrics } from '../observability/metrics.js';
import { createWarnings, type WarningSink, warningsTo } from '../observability/warnings.js';
import { startAdminListener } from './monitoring/admin-listener.js';
import type { Orders } from './monitoring/admin-routes.js';
import { beatMs, Peer, type PeerMessage, type Readiness, startBeats, withReadiness } from './monitoring/readiness.js';

/** What the first process tells a worker: what a peer hears, an operator's orders, or to close, after a notice in milliseconds. */
export type ToWorker = PeerMessage<string> | { readonly orders: Orders } | number;

/** What a worker tells the first process: what a peer hears, or that something outside fails, or, without words, has recovered. */
type FromWorker =
  | PeerMessage<MetricObject[]>
  | { readonly subject: string; readonly words?: string; readonly times: number };

export interface FilesOfWorkers {
  readonly files: FilesRead;
  /** What one entry is and all of them by their names, of each file that has entries, by its variable. */
  readonly entries: ReadonlyMap<string, readonly [what: string, ReadonlyMap<string, string>]>;
}

export interface RunningGateway {
  readonly log: FastifyBaseLogger;
  readonly shutdown: Config['shutdown'];
  /** Reads the teams file and the trusted documents again, or replaces all workers. A file that is invalid changes nothing. */
  reload(): void;
  /** Closes everything. For `noticeMs` before that, it still serves, but `/readyz` says 503, so that a load balancer can choose another gateway. */
  close(noticeMs?: number): Promise<void>;
}

export interface Listening {
  readonly address: string;
  /** The port of the listener for probes and metrics; undefined where it is not separate. */
  readonly adminPort: number | undefined;
}

/** What the first process knows of a worker. */
interface Member {
  readonly worker: Worker;
  readonly peer: Peer<MetricObject[]>;
  /** Resolves when it has ended and the last line of its log was read. */
  readonly ended: Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  /** How many workers in its place have died. */
  readonly restarts: number;
  state: 'starting' | 'serving' | 'closing';
  since: Date;
}

/** How long another process may take to give metrics, in milliseconds. A scrape must not wait for one that is busy or gone. */
const metricsTimeouts = { ofWorkerMs: 400, ofAllMs: 2_000 };
/** The pause before a worker that ended is replaced, in milliseconds. It doubles while no new one starts. */
const pauses = { minMs: 500, maxMs: 30_000 };
/** How long a worker that was replaced still gets connections, and then still serves, in milliseconds. It closes each connection after a response. */
const retiring = { acceptsMs: 2_000, noticeMs: 3_000 };

/**
 * Starts several gateways behind one port, each in a process of its own (`WORKERS`), and replaces each that dies. `reload` reads the files again and
 * replaces one worker after the other: a new one serves before an old one closes, and if a new one does not start, the others stay.
 * @param readFiles reads what all workers use, so that one that is replaced has what the others have. @throws ConfigurationError
 */
export async function startWorkers(
  config: Config,
  readFiles: () => FilesOfWorkers,
): Promise<RunningGateway & { readonly listening: Listening }> {
  const log = createLogger(config.logLevel);
  /** The oldest first. */
  const members = new Set<Member>();
  const inState = (state: Member['state']) => [...members].filter(member => member.state === state);
  const { registry, exits } = createWorkerMetrics(countStates);
  let read = readFiles();
  /** A cause that several workers see is one line. */
  const warnings = createWarnings(warningsTo(log));
  let isClosing = false;
  let orders: Orders = { logLevel: config.logLevel, isDraining: false };
  /** Whether a worker could not be replaced. False again once all serve. */
  let lacksWorker = false;
  /** The counters of all workers that have ended, because a counter must not fall: Prometheus would count everything again. */
  let endedCounters: readonly MetricObject[] = [];

  // The workers share the memory. Of two flags for the same, the last one counts. What a worker's logger has not written is read from its standard error.
  cluster.setupPrimary({
    execArgv: [...process.execArgv, ...heapFlags(config.workers)],
    stdio: Object.assign(['pipe', 'inherit', 'pipe', 'ipc'], { [workerLogDescriptor]: 2 }),
  });

  function countStates() {
    const missing = isClosing ? 0 : Math.max(0, config.workers - inState('serving').length);
    const counts = { serving: 0, silent: 0, draining: 0, starting: 0, closing: 0, missing };
    for (const member of members) counts[shown(member).state] += 1;
    return counts;
  }

  function shown({ worker, peer, state, since, restarts }: Member) {
    const { status, silentMs } = peer.readiness;
    const common = { pid: worker.process.pid, state, since, restarts };
    if (state !== 'serving') return common;
    if (status === 'busy') return { ...common, state: 'silent' as const, since: new Date(Date.now() - silentMs) };
    return orders.isDraining ? { ...common, state: 'draining' as const } : common;
  }

  function enter(member: Member, state: Member['state']): void {
    member.state = state;
    member.since = new Date();
  }

  function obey(given: Orders): boolean {
    if (given.isDraining !== orders.isDraining) for (const member of inState('serving')) member.since = new Date();
    orders = given;
    log.level = given.logLevel;
    for (const { peer } of members) peer.tell({ orders });
    return !isClosing;
  }

  /** Ready while each worker is, or prepares its documents. One that ended does not count while it is being replaced: the others get its connections. */
  function readiness(): Readiness {
    const states = inState('serving').map(({ peer }) => peer.readiness);
    const silentMs = Math.max(0, ...states.map(state => state.silentMs));
    if (isClosing) return { status: 'closing', silentMs };
    if (orders.isDraining) return { status: 'draining', silentMs };
    const isLate = lacksWorker || states.length === 0 || inState('starting').some(({ peer }) => peer.isStuck);
    if (isLate && states.length < config.workers) return { status: 'incomplete', silentMs };
    // A worker may not have heard yet that it need not drain any more, and one that prepares its documents leaves the work to those that are ready.
    const ignored = states.some(({ status }) => status === 'ready') ? ['ready', 'draining', 'starting'] : ['draining'];
    const fault = states.find(({ status }) => !ignored.includes(status));
    return { status: fault?.status ?? 'ready', silentMs };
  }

  /** The metrics of all together. Those of a worker that is busy are as it gave them last. */
  const metrics = sharedRun(async () => {
    await Promise.all(inState('serving').map(({ peer }) => peer.ask(metricsTimeouts.ofWorkerMs).catch(() => {})));
    const merged = AggregatorRegistry.aggregate([endedCounters, ...[...members].map(({ peer }) => peer.metrics)]);
    return (await registry.metrics()) + (await merged.metrics());
  });
  const readAll = async () => withReadiness(await metrics(), readiness());

  /** Starts a worker, waits until it listens, and then closes the oldest, if there is one too many. @throws Error if it ends before; its cause is the signal */
  async function startWorker(restarts = 0): Promise<void> {
    const worker = cluster.fork();
    const { pid, stdin, stderr } = worker.process;
    const handOver = followHanded(worker.process);
    const ended = once(worker.process, 'close') as Member['ended'];
    const peer = new Peer<MetricObject[]>(message => worker.send(message as ToWorker, () => {}), readAll, []);
    const member: Member = { worker, peer, ended, restarts, state: 'starting', since: new Date() };
    members.add(member);
    /** What it has said that fails. */
    const failing = new Set<string>();
    worker.on('message', (message: FromWorker) => {
      if (typeof message === 'string' || !('subject' in message)) return peer.hear(message);
      const { subject, words, times } = message;
      // Each worker has waited until it was sure.
      if (words === undefined) return warnings.works(subject, String(pid), 0);
      failing.add(subject);
      warnings.warn(subject, words, String(pid), times);
    });
    // The environment of a process is for others to read.
    stdin?.on('error', () => {}).end(JSON.stringify(read.files));
    if (stderr !== null) createInterface({ input: stderr }).on('line', line => log.error({ worker: pid }, line));
    const failed = ended.then(([code, signal]) => {
      members.delete(member);
      handOver(inState('serving')[0]?.worker.process);
      for (const subject of failing) warnings.works(subject, String(pid));
      const counters = peer.metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
      endedCounters = AggregatorRegistry.aggregate([endedCounters, counters]).getMetricsAsArray();
      if (member.state === 'closing') return;
      exits.inc();
      const how = signal ?? `status ${code}`;
      if (member.state === 'starting')
        throw new Error(`a worker ended before it was ready (${how})`, { cause: signal });
      log.error(`Worker ${pid} ended (${how}), and is replaced`);
      void replace(restarts + 1);
    });
    failed.catch(() => {});
    await Promise.race([once(worker, 'listening'), failed]);
    if (member.state === 'closing') return;
    enter(member, 'serving');
    peer.tell({ orders });
    const [oldest, ...others] = inState('serving');
    if (others.length + 1 >= config.workers) lacksWorker = false;
    if (oldest !== undefined && others.length >= config.workers) await retire(oldest);
  }

  /** Closes a worker that another has replaced. Its clients open new connections, and the last of these do not come to it. */
  async function retire(member: Member): Promise<void> {
    enter(member, 'closing');
    member.peer.tell(retiring.noticeMs);
    await pause(retiring.acceptsMs);
    if (member.worker.isConnected()) member.worker.disconnect();
    await member.ended;
  }

  async function replace(restarts: number): Promise<void> {
    for (let pauseMs = pauses.minMs; ; pauseMs = Math.min(2 * pauseMs, pauses.maxMs)) {
      await pause(pauseMs);
      if (isClosing) return;
      try {
        return await startWorker(restarts);
      } catch (error) {
        lacksWorker = true;
        log.error(`WORKERS: ${reasonOf(error)}`);
      }
    }
  }

  async function replaceAll(): Promise<void> {
    const before = read;
    let started = 0;
    try {
      read = readFiles();
      for (; started < config.workers && !isClosing; started += 1) await startWorker();
      for (const [variable, [what, entries]] of read.entries) {
        log.warn(describeChange(variable, what, before.entries.get(variable)?.[1] ?? new Map(), entries));
      }
      log.warn('Every worker was replaced');
    } catch (error) {
      if (started === 0) read = before;
      log.error(`WORKERS: ${reasonOf(error)}; the workers from before stay`);
    }
  }

  // After a pause of this process, what the workers have sent meanwhile is read first.
  setInterval(() => setImmediate(killStuck), beatMs).unref();
  function killStuck(): void {
    for (const { worker, peer, state } of members) {
      // One that retires says nothing once its channel is closed, and may work on for the grace.
      const mayWork = !worker.isConnected() && peer.readiness.silentMs < retiring.noticeMs + config.shutdown.graceMs;
      // One that starts is silent for as long as a slow machine needs to load it.
      if (state === 'starting' || mayWork || !peer.isStuck || worker.process.killed) continue;
      log.error({ state: stateOfProcess(worker.process.pid) }, `Worker ${worker.process.pid} is stuck`);
      worker.process.kill('SIGKILL');
    }
  }

  /** Starts one of the first workers. It has logged why it does not start, unless a signal ended it. */
  const startFirst = () =>
    startWorker().catch(error => {
      if (error.cause === null) process.exit(1);
      throw new ConfigurationError(`WORKERS: ${reasonOf(error)}`);
    });
  const listening = once(cluster, 'listening');
  // One first: whatever stops it would stop the others, too.
  await startFirst();
  const [, { port }] = (await listening) as [Worker, Address];
  await Promise.all(Array.from({ length: config.workers - 1 }, startFirst));
  const admin = await startAdminListener({
    config,
    log,
    readiness,
    metrics,
    workers: () => [...members].map(shown),
    orders: () => orders,
    obey,
  });
  let reloading = Promise.resolve();
  const { host } = config;
  return {
    listening: { address: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, adminPort: admin?.port },
    log,
    shutdown: config.shutdown,
    reload() {
      reloading = reloading.then(replaceAll);
    },
    async close(noticeMs = 0) {
      isClosing = true;
      for (const member of members) {
        if (member.state === 'starting') member.worker.process.kill('SIGKILL');
        else member.peer.tell(noticeMs);
        enter(member, 'closing');
      }
      await Promise.all([...members].map(({ ended }) => ended));
      await admin?.close();
    },
  };
}

/** The state of a process as Linux and `ps` have it: `T` is stopped, `R` runs, `S` and `D` wait. Undefined elsewhere. */
function stateOfProcess(pid: number | undefined): string | undefined {
  try {
    return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1];
  } catch {
    return undefined;
  }
}

const tellFirst = (message: unknown) => process.send?.(message, undefined, undefined, () => {});

/** In a worker: the warnings that the first process writes for all. */
export const warningsToFirst: WarningSink = {
  failed: (subject, words, times) => tellFirst({ subject, words, times }),
  recovered: (subject, times) => tellFirst({ subject, times }),
};

/**
 * Makes this process a worker, which tells the first process its readiness and its metrics, and obeys its orders.
 * @returns reads the metrics of all workers together; those of `readOwn` if the first process has gone, or does not answer in time.
 */
export function joinWorkers(
  log: Pick<FastifyBaseLogger, 'warn'>,
  registry: Registry,
  readiness: () => Readiness,
  readOwn: () => Promise<string>,
  obey: (orders: Orders) => void,
) {
  const first = new Peer(tellFirst, () => registry.getMetricsAsJSON(), '');
  process.on('message', (message: ToWorker) => {
    if (typeof message === 'number') return;
    if (typeof message === 'object' && 'orders' in message) obey(message.orders);
    else first.hear(message);
  });
  startBeats(log, () => first.tell(readiness()));
  return sharedRun(() => {
    if (!process.connected) return readOwn();
    return first.ask(metricsTimeouts.ofAllMs).then(() => first.metrics, readOwn);
  });
}

/**
 * Follows the connections that are handed to a worker. If it ends before it has taken one, Node's `cluster` forgets that one, and its client would wait for
 * ever.
 * @returns hands it to another worker, or closes it if there is none.
 */
function followHanded(worker: ChildProcess): (other: ChildProcess | undefined) => void {
  type Handle = { readonly fd: number; close(): void };
  type Send = (message: { readonly act?: string }, handle?: Handle, ...more: unknown[]) => boolean;
  const send = worker.send.bind(worker) as unknown as Send;
  let last: readonly [message: object, handle: Handle] | undefined;
  const sendFollowed: Send = (message, handle, ...more) => {
    if (message.act === 'newconn' && handle !== undefined) last = [message, handle];
    return send(message, handle, ...more);
  };
  worker.send = sendFollowed as typeof worker.send;
  return other => {
    // That of one that was taken is closed.
    if (last === undefined || last[1].fd < 0) return;
    if (other?.connected) (other.send as unknown as Send)(...last);
    else last[1].close();
  };
}
