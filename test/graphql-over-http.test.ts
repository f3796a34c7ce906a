import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type AuditResult, auditServer } from 'graphql-http';
import { demoHeaders, startGateway, type TestGateway } from './support/gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

test('the gateway passes every audit of GraphQL over HTTP', async () => {
  const results = await auditServer({ url: `${gateway.url}/graphql` });
  const not = (status: AuditResult['status']) => results.filter(result => result.status === status);
  expect(results.length).toBeGreaterThan(50);
  expect(not('error').map(({ name }) => name)).toEqual([]);
  expect(not('warn').map(({ name }) => name)).toEqual([]);
  // A browser can be made to send a plain GET by any page, so it is refused without a header that no page can make it send.
  expect(not('notice').map(({ name }) => name)).toEqual([
    'MAY accept application/x-www-form-urlencoded formatted GET requests',
    'MAY allow URL-encoded JSON string {variables} parameter in GETs when accepting application/graphql-response+json',
    'MAY allow URL-encoded JSON string {variables} parameter in GETs when accepting application/json',
  ]);
});

describe('a document that cannot be run', () => {
  const send = async (query: string, accept: string, headers: Record<string, string> = demoHeaders) => {
    const { status, headers: received } = await gateway.query(query, {}, { ...headers, accept });
    return [status, received.get('content-type')?.split(';')[0]];
  };
  const json = 'application/json';
  const ofGraphql = 'application/graphql-response+json';

  test.each([
    '{',
    '{ nothing }',
    'query ($id: ID!) { observation(id: $id) { title } }',
    'query A { __typename } query B { __typename }',
  ])(
    'is answered with 200 to a client that names application/json, and with 400 to every other client: %s',
    async query => {
      expect(await send(query, json)).toEqual([200, json]);
      expect(await send(query, '*/*')).toEqual([400, json]);
      expect(await send(query, ofGraphql)).toEqual([400, ofGraphql]);
      expect(await send(query, `${ofGraphql}, ${json};q=0.9`)).toEqual([400, ofGraphql]);
    },
  );

  test('is not confused with a request that is refused for another reason', async () => {
    const twoCredentials = { ...demoHeaders, authorization: 'Bearer token' };
    expect(await send('{ viewer { email } }', json, twoCredentials)).toEqual([400, json]);
    expect(await send('', json)).toEqual([400, json]);
  });
});
