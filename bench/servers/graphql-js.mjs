// graphql-js by itself over resources in memory, with embeddings as lists: what a list of 153,600 numbers costs an executor. Over WebSockets with
// graphql-ws.
import { createServer } from 'node:http';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { execute, parse, validate } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { WebSocketServer } from 'ws';
import { createClient } from './client.mjs';
import { announce } from './listen.mjs';
import { resolvers, typeDefs } from './schema.mjs';

const schema = makeExecutableSchema({ typeDefs, resolvers });
const documents = new Map();

function documentOf(query) {
  const known = documents.get(query);
  if (known !== undefined) return known;
  const document = parse(query);
  const [error] = validate(schema, document);
  if (error !== undefined) throw error;
  documents.set(query, document);
  return document;
}

const client = createClient('key');

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { query } = JSON.parse(Buffer.concat(chunks).toString());
  const body = JSON.stringify(await execute({ schema, document: documentOf(query), contextValue: { client } }));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
});
useServer({ schema, context: { client } }, new WebSocketServer({ server, path: '/graphql' }));
server.listen(0, '127.0.0.1', () => announce(server.address()));
