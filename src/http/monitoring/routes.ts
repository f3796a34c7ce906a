import type { FastifyInstance } from 'fastify';
import { metricsFor } from '../../observability/open-metrics.js';
import type { Readiness } from './readiness.js';

/** The paths for monitoring. No limit applies to them, because they matter most when the gateway is overloaded. */
export const monitoringPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

interface MonitoringDeps {
  readonly readiness: () => Readiness;
  /** The metrics in the format of Prometheus. Undefined: another listener serves them. */
  readonly readMetrics: (() => Promise<string>) | undefined;
}

/**
 * `/healthz`: the process answers. `/readyz`: the process should get new work, which it should not while it is overloaded or once it has been told to close.
 * `/metrics`: the metrics in the format of Prometheus, or as OpenMetrics.
 */
export function registerMonitoring(app: FastifyInstance, { readiness, readMetrics }: MonitoringDeps): void {
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
