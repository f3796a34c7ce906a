import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { LoadShedding } from './rate-limit/load-shedding.js';

/** The paths for monitoring. No limit applies to them, because they matter most when the gateway is overloaded. */
export const monitoringPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * `/healthz`: the process answers. `/readyz`: the process takes new work, which it does not while it is overloaded or once it starts to close.
 * `/metrics`: the metrics in the format of Prometheus.
 */
export function registerMonitoring(
  app: FastifyInstance,
  loadShedding: Pick<LoadShedding, 'reason'>,
  registry: Registry,
): void {
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
  });
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_, reply) => {
    if (closing) return reply.code(503).send({ status: 'closing' });
    return loadShedding.reason() === undefined ? { status: 'ready' } : reply.code(503).send({ status: 'overloaded' });
  });
  app.get('/metrics', async (_, reply) => reply.type(registry.contentType).send(await registry.metrics()));
}
