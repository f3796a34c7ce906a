import { ApolloServer, HeaderMap } from '@apollo/server';
import { expect, test } from '@jest/globals';
import { keepResult, keptResult } from '../src/http/graphql/apollo.js';

test.each([
  ['a result', '{ word }', { data: { word: 'hello' } }],
  ['errors of a document', '{ nothing }', { errors: [expect.objectContaining({ message: expect.any(String) })] }],
])('Apollo keeps %s in the body as the object that stringifyResult returned', async (_, query, expected) => {
  const apollo = new ApolloServer({
    typeDefs: 'type Query { word: String }',
    resolvers: { Query: { word: () => 'hello' } },
    stringifyResult: keepResult,
  });
  await apollo.start();
  const { body } = await apollo.executeHTTPGraphQLRequest({
    httpGraphQLRequest: {
      method: 'POST',
      headers: new HeaderMap([['content-type', 'application/json']]),
      search: '',
      body: { query },
    },
    context: async () => ({}),
  });
  await apollo.stop();
  expect(body.kind === 'complete' && keptResult(body.string)).toEqual(expected);
});

test('a body that Apollo turned into text is an error', () => {
  expect(() => keptResult('{"data":{}}')).toThrow('Apollo did not keep the result');
});
