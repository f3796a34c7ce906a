// Mercurius with its just-in-time compiler; `--cache`: with its cache.
import Fastify from 'fastify';
import mercurius from 'mercurius';
import cache from 'mercurius-cache';
import { createClient } from './client.mjs';
import { announce, cacheSeconds } from './listen.mjs';
import { resolvers, typeDefs } from './schema.mjs';

const app = Fastify();
app.register(mercurius, {
  schema: typeDefs,
  resolvers,
  jit: 1,
  context: request => {
    const key = String(request.headers['x-api-key']);
    return { key, client: createClient(key) };
  },
});
if (process.argv.includes('--cache')) {
  const perCredential = { ttl: cacheSeconds, extendKey: (_source, _args, { key }) => key };
  app.register(cache, {
    // Its own bound of 1,024 would not hold 64 callers.
    storage: { type: 'memory', options: { size: 100_000 } },
    policy: {
      Query: { events: perCredential, observation: perCredential },
      EventReference: { observation: perCredential },
    },
  });
}
await app.listen({ port: 0, host: '127.0.0.1' });
announce(app.server.address());
