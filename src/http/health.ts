import type { FastifyInstance } from 'fastify';
import type { Pressure } from './gate/pressure.js';

/** `/healthz`: the process answers. `/readyz`: it takes new work, which it does not while it is overloaded or once it begins to close. */
export function registerHealth(app: FastifyInstance, pressure: Pick<Pressure, 'reason'>): void {
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
  });
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_, reply) => {
    if (closing) return reply.code(503).send({ status: 'closing' });
    return pressure.reason() === undefined ? { status: 'ready' } : reply.code(503).send({ status: 'overloaded' });
  });
}
