import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type AuditResult, auditServer } from 'graphql-http';
import { startGateway, type TestGateway } from './support/gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

test('the door passes every audit of GraphQL over HTTP', async () => {
  const results = await auditServer({ url: `${gateway.url}/graphql` });
  const not = (status: AuditResult['status']) => results.filter(result => result.status === status);
  expect(results.length).toBeGreaterThan(50);
  expect(not('error').map(({ name }) => name)).toEqual([]);
  // An answer to a document that cannot be run is 400 for every client, also for one that knows only application/json.
  expect(not('warn').map(({ name }) => name)).toEqual([
    'SHOULD use 200 status code on document parsing failure when accepting application/json',
    'SHOULD use 200 status code on document validation failure when accepting application/json',
    'SHOULD use a status code of 200 on variable coercion failure when accepting application/json',
  ]);
  // A browser can be made to send a plain GET by any page, so it is refused without a header that no page can make it send.
  expect(not('notice').map(({ name }) => name)).toEqual([
    'MAY accept application/x-www-form-urlencoded formatted GET requests',
    'MAY allow URL-encoded JSON string {variables} parameter in GETs when accepting application/graphql-response+json',
    'MAY allow URL-encoded JSON string {variables} parameter in GETs when accepting application/json',
  ]);
});
