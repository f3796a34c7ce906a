import { expect, jest, test } from '@jest/globals';
import { z } from 'zod';
import type { Credential, Scope } from '../src/auth/credentials.js';
import { Cache } from '../src/data/cache/cache.js';
import { localGenerations } from '../src/data/cache/generations.js';
import { marketTag } from '../src/data/cache/keys.js';
import { requiredRecords } from '../src/data/parsing.js';
import {
  createReader,
  marketRead,
  type Read,
  readUncached,
  requestTo,
  type ServiceEndpoint,
} from '../src/data/reader.js';
import type { Calls } from '../src/data/upstream/call.js';
import type { Reply, RequestAuth } from '../src/data/upstream/request.js';
import type { Upstream } from '../src/data/upstream/upstream.js';
import { ResponseMetadata } from '../src/observability/response-metadata.js';
import type { Telemetry } from '../src/observability/telemetry.js';
import { silentTelemetry } from './support/silent-telemetry.js';

const things = requiredRecords('Thing', z.object({ id: z.string() }));
const endpoint: ServiceEndpoint = {
  family: 'things',
  version: 1,
  lifetime: { maxAge: 60_000, grace: 0, absent: 0 },
  address: 'base',
  method: 'GET',
  idMember: undefined,
};

test('a value from memory is not parsed again, and still has what stands for the records that cannot be read', async () => {
  const drifted: string[] = [];
  let parsed = 0;
  const telemetry: Telemetry = { ...silentTelemetry, drift: field => drifted.push(field) };
  const upstream = {
    sendBatch({ read, receiver }: Calls<unknown>) {
      const body = Buffer.from('[{"id":"t-1"},{"no":"id"}]');
      receiver.resolve(0, read(0, { status: 200, headers: {}, body }));
    },
  } as unknown as Upstream;
  const cache = new Cache(100_000, undefined, localGenerations(), telemetry);
  const read: Read<unknown> = {
    request: requestTo(endpoint, '/things'),
    parse(body) {
      parsed += 1;
      return { value: things.parse(body) };
    },
  };
  const ask = async () => {
    const metadata = new ResponseMetadata();
    const cancellation = new AbortController();
    const auth: RequestAuth = { credential: {} as Credential, scope: 'someone' as Scope, cancellation, metadata };
    const value = await createReader({ upstream, cache, telemetry }, auth).read(read);
    return {
      value,
      sources: metadata.upstreamCalls.map(line => line.source),
    };
  };
  const leftOut = { record: 'Thing', id: null, index: 1, fields: ['id'] };
  const answer = { value: [{ id: 't-1' }, { $leftOut: leftOut }] };

  expect(await ask()).toEqual({ ...answer, sources: [] });
  for (let time = 0; time < 2; time += 1) expect(await ask()).toEqual({ ...answer, sources: ['memory'] });
  expect(parsed).toBe(1);
  expect(drifted).toEqual(['Thing.id']);
});

test.each([
  ['from the service', false],
  ['from memory', true],
])('a response must not be cached if there was a write before its last read, %s', async (_, isInMemory) => {
  const upstream = {
    sendBatch({ requests, read, receiver }: Calls<unknown>) {
      for (const index of requests.keys()) {
        receiver.resolve(index, read(index, { status: 200, headers: {}, body: Buffer.from('[]') }));
      }
    },
  } as unknown as Upstream;
  const cache = new Cache(100_000, undefined, localGenerations(), silentTelemetry);
  const readerFor = (metadata: ResponseMetadata) => {
    const auth = { credential: {} as Credential, scope: 'someone' as Scope, cancellation: new AbortController() };
    return createReader({ upstream, cache, telemetry: silentTelemetry }, { ...auth, metadata });
  };
  const companies = marketRead('7', endpoint, '/companies', things);
  const esg = marketRead('7', endpoint, '/esg', things);

  const untouched = new ResponseMetadata();
  const before = readerFor(untouched);
  for (const read of [companies, esg]) await before.read(read);
  expect(untouched.cacheableUntil).toBeGreaterThan(Date.now());

  const metadata = new ResponseMetadata();
  const reader = readerFor(metadata);
  await reader.read(companies);
  await cache.generations.renew(marketTag('7'));
  if (isInMemory) await readerFor(new ResponseMetadata()).read(esg);
  await reader.read(esg);
  expect(metadata.upstreamCalls.map(({ source }) => source)).toEqual(isInMemory ? ['memory', 'memory'] : ['memory']);
  expect(metadata.cacheableUntil).toBe(0);
});

test('a large body is read, parsed and made a value in three turns of the event loop, a small one in one', async () => {
  let turn = 0;
  let turns = setImmediate(function count() {
    turn += 1;
    turns = setImmediate(count);
  });
  const original = JSON.parse;
  try {
    for (const [length, distinct] of [
      [1_000, 1],
      [300_000, 3],
    ]) {
      const text = JSON.stringify([{ id: 'x'.repeat(length ?? 0) }]);
      const steps: number[] = [];
      jest.spyOn(JSON, 'parse').mockImplementation(json => {
        steps.push(turn);
        return original(json);
      });
      const upstream = {
        async send(_: unknown, __: unknown, read: (reply: Reply) => unknown) {
          steps.push(turn);
          return read({ status: 200, headers: {}, body: Buffer.from(text) });
        },
      } as unknown as Upstream;
      const read: Read<unknown> = {
        request: requestTo(endpoint, '/things'),
        parse(body) {
          steps.push(turn);
          return { value: things.parse(body) };
        },
      };
      const auth: RequestAuth = {
        credential: {} as Credential,
        scope: 'someone' as Scope,
        cancellation: new AbortController(),
        metadata: new ResponseMetadata(),
      };
      await readUncached({ upstream, telemetry: silentTelemetry }, read, auth);
      expect(steps).toHaveLength(3);
      expect(new Set(steps).size).toBe(distinct);
    }
  } finally {
    jest.restoreAllMocks();
    clearImmediate(turns);
  }
});
