import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { getNullableType, isInputObjectType, isListType } from 'graphql';
import type { Reader } from '../src/data/reader.js';
import { companySelection } from '../src/domains/companies/filter.js';
import { createCompaniesLoaders } from '../src/domains/companies/loaders.js';
import { type CompanyRecord, companyList } from '../src/domains/companies/model.js';
import type { CompanyFilter } from '../src/generated/schema-types.js';
import { listBounds } from '../src/graphql/limits/list-bounds.js';
import { createSchema } from '../src/schema.js';

const record = (domain: string, more: object = {}): CompanyRecord => {
  const [company] = companyList.parse([{ domain, ...more }]);
  if (company === undefined) throw new Error('This is no company');
  return company;
};

/** What the schema says of the filter, said as plainly as can be. */
function isWanted(company: CompanyRecord, { search, domains, operatesIn, naics }: CompanyFilter): boolean {
  const lower = (text: string) => text.toLowerCase();
  const has = (values: readonly string[], value: string) => values.map(lower).includes(lower(value));
  const text = [company.name, company.domain, company.description].map(part => lower(part ?? ''));
  return (
    (search == null || text.some(part => part.includes(lower(search)))) &&
    (domains == null || has(domains, company.domain)) &&
    (operatesIn == null || company.operatesIn.some(country => has(operatesIn, country))) &&
    (naics == null || company.naics.some(({ code }) => naics.some(wanted => code.startsWith(wanted))))
  );
}

const digits = fc.stringMatching(/^[1-3]{1,4}$/);
const word = fc.constantFrom('Steel', 'steel', 'WOOD', 'oil');
const country = fc.constantFrom('de', 'DE', 'us', 'fr');
const domain = fc.constantFrom('a.example', 'B.example', 'c.example');
const list = <T>(of: fc.Arbitrary<T>) => fc.array(of, { maxLength: 4 });
const some = fc
  .record({ domain, name: fc.option(word), operatesIn: list(country), naics: list(digits) })
  .map(({ domain, naics, ...more }) => record(domain, { ...more, naics: naics.map(code => ({ code })) }));
const filter: fc.Arbitrary<CompanyFilter> = fc.record(
  {
    search: fc.option(word),
    domains: fc.option(list(domain)),
    operatesIn: fc.option(list(country)),
    naics: fc.option(list(digits)),
  },
  { requiredKeys: [] },
);

test('a prepared filter selects the companies that the schema describes', () => {
  fc.assert(
    fc.property(list(some), filter, (all, given) => {
      expect(companySelection(given, 'filter').from(all)).toEqual(all.filter(company => isWanted(company, given)));
    }),
    { numRuns: 500 },
  );
});

test('filters with the same meaning have the same key, all others a different one', () => {
  const key = (given: CompanyFilter) => companySelection(given, 'filter').key;
  expect(key({ naics: ['52', '51'], search: null })).toBe(key({ naics: ['51', '52', '51'] }));
  expect(key({ domains: ['A.example'], search: 'Steel' })).toBe(key({ search: 'steel', domains: ['a.example'] }));
  const different = [
    {},
    { naics: [] },
    { naics: ['51'] },
    { domains: ['51'] },
    { operatesIn: ['51'] },
    { search: '51' },
  ];
  expect(new Set(different.map(key)).size).toBe(different.length);
});

test('equal filters of one market are applied once per request', async () => {
  const all = [record('a.example'), record('b.example')];
  const reader = { read: () => all } as unknown as Reader;
  const lifetime = { maxAge: 0, grace: 0, absent: 0 };
  const loaders = createCompaniesLoaders(reader, { companies: lifetime, esg: lifetime });
  const first = await loaders.matching('1', { search: 'a.ex' }, 'filter');
  expect(first).toEqual([all[0]]);
  expect(await loaders.matching('1', { search: 'A.EX' }, 'filter')).toBe(first);
  expect(await loaders.matching('2', { search: 'a.ex' }, 'filter')).not.toBe(first);
});

test('a filter with long lists takes one pass over the companies', () => {
  const all = Array.from({ length: 5_000 }, (_, index) =>
    record(`c${index}.example`, { naics: [{ code: `${100_000 + index}` }], operatesIn: ['de', 'fr'] }),
  );
  const many = (most: number, text: (index: number) => string) =>
    Array.from({ length: most }, (_, index) => text(index));
  const longest: CompanyFilter[] = [
    { naics: many(listBounds['CompanyFilter.naics'], index => `${900_000 + index}`) },
    { domains: many(listBounds['CompanyFilter.domains'], index => `other${index}.example`) },
    { operatesIn: many(listBounds['CompanyFilter.operatesIn'], index => `x${index}`) },
  ];
  for (const given of longest) {
    const selection = companySelection(given, 'filter');
    const tries = [1, 2, 3].map(() => {
      const before = process.cpuUsage();
      expect(selection.from(all)).toEqual([]);
      return process.cpuUsage(before).user;
    });
    // 20 ms of processor time, which other processes on the machine do not add to.
    expect(Math.min(...tries)).toBeLessThan(20_000);
  }
});

test('every list argument of the schema has a bound that its description states', () => {
  const members = Object.values(createSchema().getTypeMap())
    .filter(isInputObjectType)
    .flatMap(type =>
      Object.values(type.getFields()).map(field => ({ coordinate: `${type.name}.${field.name}`, field })),
    )
    .filter(({ field }) => isListType(getNullableType(field.type)));
  expect(members.map(({ coordinate }) => coordinate).sort()).toEqual(Object.keys(listBounds).sort());
  for (const { coordinate, field } of members) {
    const most = listBounds[coordinate as keyof typeof listBounds].toLocaleString('en');
    expect(`${coordinate}: ${field.description}`).toContain(most);
  }
});
