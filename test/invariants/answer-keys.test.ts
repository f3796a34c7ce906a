import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type FastifyInstance, fastify } from 'fastify';
import type { Scope } from '../../src/auth/credentials.js';
import { parseReadBodies } from '../../src/http/fastify.js';
import { toApolloRequest } from '../../src/http/graphql/route.js';
import { maxBodyBytes, RequestState, readBody } from '../../src/http/request-state.js';
import { responseKey } from '../../src/http/response-cache/response-cache.js';
import { withoutParts } from '../../src/http/web-safety.js';
import { sessionIdsIn, withoutSessionIds } from '../../src/lib/network.js';
import { andThen } from '../../src/lib/run.js';
import { newOperationInfo } from '../../src/observability/operation-info.js';
import { fuzz } from '../support/fuzz.js';
import type { Draw } from '../support/seeded.js';

const scope = 'one-scope' as Scope;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

let app: FastifyInstance;
let port: number;
/** Of the request that came last. */
let key = '';

beforeAll(async () => {
  app = fastify({
    bodyLimit: maxBodyBytes,
    serverFactory: handler =>
      createServer((incoming, response) => {
        new RequestState(incoming, response, '', newOperationInfo());
        const keyed = (body: Buffer | undefined) => {
          key = responseKey(scope, 'version', incoming, body);
          handler(incoming, response);
        };
        if (incoming.method === 'GET') keyed(undefined);
        else void andThen(readBody(incoming), body => keyed(body as Buffer));
      }),
  });
  parseReadBodies(app);
  app.route({
    url: '/graphql',
    method: ['GET', 'POST'],
    handler: async incoming => ({ apollo: toApolloRequest(incoming) }),
  });
  app.setErrorHandler((error: Error, _, reply) => reply.code(400).send({ refused: error.message }));
  port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
});
afterAll(async () => {
  agent.destroy();
  await app.close();
});

interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** The key of a request, and all that Fastify and Apollo make of it but for whose it is. */
async function parseLenient({ method, path, headers, body }: Asked): Promise<{ key: string; parsed: unknown }> {
  const outgoing = request({ agent, port, host: '127.0.0.1', method, path, headers });
  outgoing.end(body === undefined ? undefined : Buffer.from(body, 'latin1'));
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const { apollo, refused } = (await json(response)) as { apollo?: Record<string, unknown>; refused?: string };
  if (apollo === undefined) return { key, parsed: refused };
  const parameters = [...new URLSearchParams(String(apollo.search))].filter(([name]) => name !== 'sessionId');
  const { accept, origin, ...others } = response.statusCode === 200 ? headersOf(headers) : {};
  return {
    key,
    parsed: { method: apollo.method, body: apollo.body, parameters, accept: withoutParts(accept), origin, others },
  };
}

const shaping = /^(accept|content-type|origin|apollo-require-preflight|x-apollo-operation-name)$/i;
/** As the HTTP parser hands them on: names in lower case, of which the last counts, and values without the space around them. */
function headersOf(headers: Asked['headers']): Record<string, string> {
  const parsed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()]));
  return Object.fromEntries(Object.entries(parsed).filter(([name, value]) => shaping.test(name) && value !== ''));
}

const documents = [
  '{a}',
  '{b}',
  '{a(b:"?sessionId=1")}',
  '{a(b:"&sessionId=2&c=3")}',
  '{a # sessionId\n}',
  '{a(b:"ä")}',
];
const names = [
  'query',
  'variables',
  'operationName',
  'sessionId',
  '%73essionId',
  'session%49d',
  'SessionId',
  'extensions',
];
const types = [
  'application/json',
  'application/json;charset=utf-8',
  'application/json; charset=utf-8',
  'application/jsonx',
];
const headerNames = ['accept', 'Accept', 'origin', 'apollo-require-preflight', 'x-apollo-operation-name', 'x-other'];
const texts = ['', 'a', 'b', 'a ', ' a', 'a, b', '*/*', 'POST /graphql', '{"query":"{a}"}'];

function address(draw: Draw): string {
  const parameter = () => {
    const document = draw.pick(documents);
    const value = draw.chance(0.6)
      ? encodeURIComponent(document)
      : document.replace(/[ \n]/g, '+').replace(/ä/g, '%C3%A4');
    return `${draw.pick(names)}${draw.chance(0.9) ? `=${value}` : ''}`;
  };
  const parameters = Array.from({ length: draw.below(4) }, parameter);
  return `/graphql${draw.chance(0.9) || parameters.length > 0 ? '?' : ''}${parameters.join(draw.pick(['&', '&', '&&', ';']))}`;
}

const body = (draw: Draw) =>
  draw.pick(['', ' ', '\n', '{}\n']) +
  JSON.stringify({
    query: draw.pick(documents),
    ...(draw.chance(0.3) && { variables: { sessionId: draw.pick(texts) } }),
  });

const headers = (draw: Draw): Asked['headers'] => ({
  'content-type': draw.pick(types),
  ...Object.fromEntries(Array.from({ length: draw.below(3) }, () => [draw.pick(headerNames), draw.pick(texts)])),
});

const asked = (draw: Draw): Asked => {
  const method = draw.pick(['GET', 'POST'] as const);
  return { method, path: address(draw), headers: headers(draw), body: method === 'GET' ? undefined : body(draw) };
};

/** The same request but for one part, or with a session id somewhere. */
function near(draw: Draw, one: Asked): Asked {
  const at = draw.below(one.path.length - 8) + 9;
  const spliced = (more: string) => ({ ...one, path: one.path.slice(0, at) + more + one.path.slice(at) });
  const afterwards = (more: string) => ({ ...one, path: `${one.path}${one.path.includes('?') ? '&' : '?'}${more}` });
  return draw.pick([
    () => ({ ...one, headers: { ...one.headers, [draw.pick(headerNames)]: draw.pick(texts) } }),
    () => ({ ...one, headers: { ...one.headers, 'content-type': draw.pick(types) } }),
    () => (one.body === undefined ? one : { ...one, body: body(draw) }),
    () => (one.body === undefined ? one : { ...one, body: `${one.body}${draw.pick([' ', '\n', '\xe4', '{'])}` }),
    () => spliced(draw.pick(['sessionId=1', '&sessionId=2&', '?sessionId=3', '%26', '=', '#', 'a'])),
    () => afterwards(`${draw.pick(names)}=${draw.pick(['1', '2', 'session%20Id', '%26a=b'])}`),
    () => ({ ...one, path: one.path.replace(/sessionId=[^&]*/, 'sessionId=other') }),
  ])();
}

test('equal keys of whole answers imply that Fastify and Apollo parse equal requests, and no key holds a session id', async () => {
  let equal = 0;
  const rounds = await fuzz(async draw => {
    const one = asked(draw);
    const first = await parseLenient(one);
    for (let count = 0; count < 10; count += 1) {
      const other = near(draw, one);
      const second = await parseLenient(other);
      expect(sessionIdsIn(withoutSessionIds(other.path))).toEqual([]);
      if (second.key !== first.key) continue;
      if (JSON.stringify(other) !== JSON.stringify(one)) equal += 1;
      expect([one, other, second.parsed]).toEqual([one, other, first.parsed]);
    }
  });
  expect(equal).toBeGreaterThan(rounds / 10);
});
