import { EventEmitter, once } from 'node:events';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { metricsFor } from '../../observability/open-metrics.js';

/**
 * Whether a gateway should get new requests. `starting`: the documents of the operator are not prepared yet. `incomplete`: a worker that ended could not be
 * replaced. `busy`: its event loop, or that of a worker, has not responded for two seconds. `overloaded`: memory is short, or too many requests are in
 * flight. `draining`: an operator wants it so. `closing`: it ends.
 */
export interface Readiness {
  readonly status: 'ready' | 'starting' | 'incomplete' | 'busy' | 'overloaded' | 'draining' | 'closing';
  /** How long the event loop, or that of a worker, has not responded. In milliseconds. */
  readonly silentMs: number;
}

/** How often a gateway says that it runs. */
export const beatMs = 250;
/** A gateway that is silent for so long should get no new requests. In milliseconds. */
const busyMs = 2_000;
/** A gateway that is silent for so long will not recover. A busy one must not be restarted. In milliseconds. */
const stuckMs = 30_000;

/** What two processes, or a process and its thread, tell each other: their readiness, again and again; a question for metrics; and the answer. */
export type PeerMessage<Metrics> = Readiness | 'metrics' | { readonly metrics: Metrics };

/** Another process or thread, as this one hears of it. `Metrics` are those that it gives. */
export class Peer<Metrics> {
  /** As it gave them last. */
  metrics: Metrics;
  /** Tells it something. It may be gone. */
  readonly tell: (message: unknown) => void;
  readonly #readOwn: () => Promise<unknown>;
  readonly #answers = new EventEmitter();
  #last: Readiness = { status: 'starting', silentMs: 0 };
  #heardAt = performance.now();

  /** @param readOwn reads the metrics that it asks for. @param metrics until it gives some. */
  constructor(tell: (message: unknown) => void, readOwn: () => Promise<unknown>, metrics: Metrics) {
    this.tell = tell;
    this.#readOwn = readOwn;
    this.metrics = metrics;
  }

  hear(message: PeerMessage<Metrics>): void {
    if (message === 'metrics') void this.tellMetrics();
    else if ('metrics' in message) {
      this.metrics = message.metrics;
      this.#answers.emit('metrics');
    } else {
      this.#last = message;
      this.#heardAt = performance.now();
    }
  }

  async tellMetrics(): Promise<void> {
    this.tell({ metrics: await this.#readOwn() });
  }

  /** Asks for new metrics. @throws Error if they do not come in time: it is busy or gone. */
  async ask(timeoutMs: number): Promise<void> {
    this.tell('metrics');
    await once(this.#answers, 'metrics', { signal: AbortSignal.timeout(timeoutMs) });
  }

  get isStuck(): boolean {
    return performance.now() - this.#heardAt >= stuckMs;
  }

  get readiness(): Readiness {
    const silentMs = performance.now() - this.#heardAt;
    const { status, silentMs: reportedMs } = this.#last;
    return { status: silentMs >= busyMs ? 'busy' : status, silentMs: Math.max(silentMs, reportedMs) };
  }
}

/** Calls `say` again and again, and logs afterwards that the event loop was blocked. Returns what ends it. */
export function startBeats(log: Pick<FastifyBaseLogger, 'warn'>, say: () => void): () => void {
  let saidAt = performance.now();
  const beat = () => {
    const silentMs = Math.round(performance.now() - saidAt);
    saidAt = performance.now();
    if (silentMs >= busyMs) log.warn({ silentMs }, 'The event loop was blocked: nothing was answered in this time');
    say();
  };
  beat();
  const beating = setInterval(beat, beatMs).unref();
  return () => clearInterval(beating);
}

/** Adds to the metrics of a gateway what `/readyz` says at this moment, so that the two never differ. Both are in the format of Prometheus. */
export function withReadiness(metrics: string, { status, silentMs }: Readiness): string {
  return `${metrics}# HELP gateway_ready Whether the gateway accepts new requests, as /readyz says: 1 or 0
# TYPE gateway_ready gauge
gateway_ready ${status === 'ready' ? 1 : 0}
# HELP gateway_silent_seconds How long the event loop of the gateway, or of one of its workers, has not responded
# TYPE gateway_silent_seconds gauge
gateway_silent_seconds ${silentMs / 1_000}
`;
}

/** The paths for monitoring. No limit on load applies to them but that of a connection, because they matter most when the gateway is overloaded. */
export const monitoringPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** Serves `/healthz`, `/readyz` and `/metrics`. @param readMetrics undefined: another listener serves them. */
export function registerMonitoring(
  app: FastifyInstance,
  readiness: () => Readiness,
  readMetrics: (() => Promise<string>) | undefined,
): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_, reply) => {
    const { status } = readiness();
    return reply.code(status === 'ready' ? 200 : 503).send({ status });
  });
  if (readMetrics === undefined) return;
  app.get('/metrics', async ({ headers }, reply) => {
    const { type, body } = metricsFor(headers.accept, await readMetrics());
    return reply.type(type).send(body);
  });
}
