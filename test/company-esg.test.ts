import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Esg, esgOf } from '../src/domains/companies/model.js';
import { startGateway, type TestGateway } from './support/gateway.js';
import { fakeWire } from './support/wire.js';

let body = '';
const service = fakeWire(({ url }) =>
  url.pathname.endsWith('/companies')
    ? { body: { data: [{ domain: 'a.example' }, { domain: '__proto__' }] } }
    : { body },
);
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ wire: service.wire });
});
afterAll(() => gateway.close());

let market = 0;
/** What the companies' ESG data are, where the service answers with this body. */
async function partsIn(text: string) {
  market += 1;
  body = text;
  const { data, errors } = await gateway.query(
    'query ($id: ID!) { market(id: $id) { companies { nodes { domain esg } } } }',
    {
      id: String(market),
    },
  );
  expect(errors).toBeUndefined();
  return data.market.companies.nodes.map(({ esg }: { esg: unknown }) => esg);
}

const part = '{ "domain": "A.Example", "score": 1 }';

test.each([
  ['of any type', `[1, null, "x", [], { "domain": 5 }, { "domain": null }, { "domain": ["a.example"] }, ${part}]`],
  [
    'that cannot be converted to text',
    `[{ "domain": { "toString": 1 } }, { "domain": { "toString": null, "valueOf": 2 } }, ${part}]`,
  ],
  [
    'and members named like those of every object',
    `{ "__proto__": { "domain": "x" }, "constructor": 1, "toString": {}, "list": [${part}] }`,
  ],
  ['and members of any type', `{ "A.example": "no object", "a": null, "b": 7, "list": [${part}] }`],
])('ESG data with a domain %s does not affect the parts of other companies', async (_, text) => {
  expect((await partsIn(text))[0]).toEqual({ domain: 'A.Example', score: 1 });
});

test('a part may be a member named after the domain, and the first one wins', async () => {
  expect(await partsIn('{ "A.EXAMPLE": { "score": 2 }, "list": [{ "domain": "a.example" }] }')).toEqual([
    { score: 2 },
    null,
  ]);
  expect(await partsIn('{ "list": [{ "domain": "a.example" }, { "domain": "A.example", "score": 3 }] }')).toEqual([
    { domain: 'a.example' },
    null,
  ]);
});

test('any JSON document either has a part for a domain or not', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (data, domain) => {
      const found = esgOf(data as Esg, domain);
      expect(found === null || (typeof found === 'object' && !Array.isArray(found))).toBe(true);
    }),
  );
});

test('the parts of all companies are found in one pass', () => {
  let reads = 0;
  const records = Array.from({ length: 5_000 }, (_, index) => ({
    get domain() {
      reads += 1;
      return `c${index}.example`;
    },
  }));
  const data: Esg = { data: records };
  for (let index = 0; index < 5_000; index += 50) expect(esgOf(data, `C${index}.example`)).toBe(records[index]);
  expect(esgOf(data, 'other.example')).toBeNull();
  expect(reads).toBeLessThanOrEqual(records.length);
});
