import type { FastifyInstance } from 'fastify';
import type { LoadShedding } from './rate-limit/load-shedding.js';

/** `/healthz`: the process answers. `/readyz`: it takes new work, which it does not while it is overloaded or once it begins to close. */
export function registerHealth(app: FastifyInstance, loadShedding: Pick<LoadShedding, 'reason'>): void {
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
  });
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_, reply) => {
    if (closing) return reply.code(503).send({ status: 'closing' });
    return loadShedding.reason() === undefined ? { status: 'ready' } : reply.code(503).send({ status: 'overloaded' });
  });
}
