// Hive Gateway as its manual has it; with its response cache, as long as `cacheSeconds`, where BENCH_CACHE is set.
import { defineConfig } from '@graphql-hive/gateway';
import { cacheSeconds } from '../listen.mjs';

export const gatewayConfig = defineConfig({
  logging: false,
  graphiql: false,
  landingPage: false,
  ...(process.env.BENCH_CACHE && {
    responseCaching: { session: request => request.headers.get('x-api-key'), ttl: cacheSeconds * 1_000 },
  }),
});
