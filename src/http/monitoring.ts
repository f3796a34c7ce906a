import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { LoadShedding } from './limits/load-shedding.js';

/** The paths for monitoring. No limit applies to them, because they matter most when the gateway is overloaded. */
export const monitoringPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

interface MonitoringDeps {
  /** Whether the gateway has been told to close. It serves until the end of the notice (`SHUTDOWN_NOTICE_MS`). */
  readonly isClosing: () => boolean;
  readonly loadShedding: Pick<LoadShedding, 'reason'>;
  readonly registry: Registry;
}

/**
 * `/healthz`: the process answers. `/readyz`: the process should get new work, which it should not while it is overloaded or once it has been told to close.
 * `/metrics`: the metrics in the format of Prometheus.
 */
export function registerMonitoring(app: FastifyInstance, { isClosing, loadShedding, registry }: MonitoringDeps): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_, reply) => {
    if (isClosing()) return reply.code(503).send({ status: 'closing' });
    return loadShedding.reason() === undefined ? { status: 'ready' } : reply.code(503).send({ status: 'overloaded' });
  });
  app.get('/metrics', async (_, reply) => reply.type(registry.contentType).send(await registry.metrics()));
}
