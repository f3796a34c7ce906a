// Whether this process is alive and ready, for probes and for Prometheus.
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { metricsFor } from '../../observability/open-metrics.js';

/**
 * Whether a gateway should get new requests. `starting`: the documents of the operator are not prepared yet. `busy`: its event loop has not responded for
 * two seconds. `overloaded`: memory is short, or too many requests are in flight. `draining`: an operator wants it so. `closing`: it ends.
 */
export interface Readiness {
  readonly status: 'ready' | 'starting' | 'busy' | 'overloaded' | 'draining' | 'closing';
  /** How long the event loop has not responded. In milliseconds. */
  readonly silentMs: number;
}

const beatMs = 250;
/** A gateway that is silent for so long should get no new requests. In milliseconds. */
export const busyMs = 2_000;

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

/** Adds to the metrics of a gateway what `/readyz` says at this moment, so that the two never differ. Both are in the format OpenMetrics, without its end. */
export function withReadiness(metrics: string, { status, silentMs }: Readiness): string {
  return `${metrics}# HELP gateway_ready Whether the gateway accepts new requests, as /readyz says: 1 or 0
# TYPE gateway_ready gauge
gateway_ready ${status === 'ready' ? 1 : 0}
# HELP gateway_silent_seconds How long the event loop of the gateway has not responded
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
