// Apollo on Fastify. Plain, with RESTDataSource; `--cache`: with its response-cache plugin; `--memory`: with DataLoader over a memory of
// resources.
import { RESTDataSource } from '@apollo/datasource-rest';
import { ApolloServer } from '@apollo/server';
import { ApolloServerPluginCacheControl } from '@apollo/server/plugin/cacheControl';
import responseCache from '@apollo/server-plugin-response-cache';
import fastifyApollo, { fastifyApolloDrainPlugin } from '@as-integrations/fastify';
import DataLoader from 'dataloader';
import Fastify from 'fastify';
import { connection, observation } from './client.mjs';
import { announce, cacheSeconds } from './listen.mjs';
import { resolvers, typeDefs } from './schema.mjs';

const caches = process.argv.includes('--cache');
const remembers = process.argv.includes('--memory');
const maxAge = cacheSeconds;

class Service extends RESTDataSource {
  baseURL = `${process.env.UPSTREAM_BASE_URL}/`;
  #key;

  constructor(key, options) {
    super(options);
    this.#key = key;
  }

  willSendRequest(_, request) {
    request.headers['x-api-key'] = this.#key;
  }

  async events(first) {
    return connection(await this.get('v2/events-monitor/events', { params: { pageSize: String(first), page: '1' } }));
  }

  createSearchCriteria(input) {
    return this.post('v2/discovery/search-criteria', { body: input });
  }

  async observation(id) {
    return observation(await this.get(`v2/events-monitor/observation/${encodeURIComponent(id)}`));
  }
}

const memory = new Map();

/** One request's loader over what the process remembers, for every key. */
function rememberingClient(key, service) {
  const loader = new DataLoader(names =>
    Promise.all(
      names.map(name => {
        const kept = memory.get(`${key} ${name}`);
        if (kept !== undefined && kept.until > Date.now()) return kept.value;
        const [kind, argument] = name.split(' ');
        return service[kind](argument).then(value => {
          memory.set(`${key} ${name}`, { value, until: Date.now() + maxAge * 1_000 });
          return value;
        });
      }),
    ),
  );
  return {
    events: first => loader.load(`events ${first}`),
    observation: id => loader.load(`observation ${id}`),
  };
}

const app = Fastify();
const apollo = new ApolloServer({
  typeDefs,
  resolvers,
  stopOnTerminationSignals: false,
  plugins: [
    fastifyApolloDrainPlugin(app),
    ...(caches
      ? [
          ApolloServerPluginCacheControl({ defaultMaxAge: maxAge }),
          // Every answer belongs to its caller.
          responseCache({ extraCacheKeyData: async ({ contextValue }) => contextValue.key }),
        ]
      : []),
  ],
});
await apollo.start();
await app.register(fastifyApollo(apollo), {
  context: async request => {
    const key = String(request.headers['x-api-key']);
    const service = new Service(key, { cache: apollo.cache });
    return { key, client: remembers ? rememberingClient(key, service) : service };
  },
});
await app.listen({ port: 0, host: '127.0.0.1' });
announce(app.server.address());
