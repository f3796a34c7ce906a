// Yoga; `--cache`: with its response cache.
import { createServer } from 'node:http';
import { useResponseCache } from '@graphql-yoga/plugin-response-cache';
import { createSchema, createYoga } from 'graphql-yoga';
import { createClient } from './client.mjs';
import { announce, cacheSeconds } from './listen.mjs';
import { resolvers, typeDefs } from './schema.mjs';

const keyOf = request => request.headers.get('x-api-key') ?? '';

const yoga = createYoga({
  schema: createSchema({ typeDefs, resolvers }),
  logging: false,
  graphiql: false,
  context: ({ request }) => ({ client: createClient(keyOf(request)) }),
  plugins: process.argv.includes('--cache') ? [useResponseCache({ session: keyOf, ttl: cacheSeconds * 1_000 })] : [],
});
const server = createServer(yoga);
server.listen(0, '127.0.0.1', () => announce(server.address()));
