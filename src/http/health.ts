import type { FastifyInstance } from 'fastify';

/** `/healthz`: the process answers. `/readyz`: it takes new work, which ends when it begins to close. */
export function registerHealth(app: FastifyInstance): void {
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
  });
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_, reply) => (closing ? reply.code(503).send({ status: 'closing' }) : { status: 'ready' }));
}
