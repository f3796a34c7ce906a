import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { getNullableType, isInputObjectType, isIntrospectionType, isListType, isObjectType } from 'graphql';
import { known, present } from '../src/data/parsing.js';
import type { Reader } from '../src/data/reader.js';
import { createCompaniesLoaders } from '../src/domains/companies/client.js';
import { facetsOf, preparedFilter } from '../src/domains/companies/list.js';
import { type CompanyRecord, companyList } from '../src/domains/companies/model.js';
import { listBounds } from '../src/generated/list-bounds.js';
import type { CompanyFilter, CompanyOrder, FloatRange } from '../src/generated/schema-types.js';
import { createSchema } from '../src/schema.js';
import { cpuTimeOf } from './support/cpu-time.js';

const record = (domain: string, more: object = {}): CompanyRecord => {
  const [company] = present(companyList.parse([{ domain, ...more }]));
  if (company === undefined) throw new Error('This is no company');
  return company;
};

/** What the schema says of the filter, said as plainly as can be. */
function isWanted(company: CompanyRecord, filter: CompanyFilter): boolean {
  const { search, domains, operatesIn, naics, actualRevenue, overallMomentum } = filter;
  const isWithin = (value: number | null, { min, max }: FloatRange) =>
    value !== null && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
  const lower = (text: string) => text.toLowerCase();
  const has = (values: readonly string[], value: string) => values.map(lower).includes(lower(value));
  const text = [company.name, company.domain, company.description].map(part => lower(part ?? ''));
  return (
    (search == null || text.some(part => part.includes(lower(search)))) &&
    (domains == null || has(domains, company.domain)) &&
    (!operatesIn?.length || present(company.operatesIn).some(country => has(operatesIn, country))) &&
    (!naics?.length || present(company.naics).some(({ code }) => naics.some(wanted => code.startsWith(wanted)))) &&
    (actualRevenue == null || isWithin(known(company.actualRevenue), actualRevenue)) &&
    (overallMomentum == null || isWithin(known(company.overallMomentum), overallMomentum))
  );
}

const naicsCode = fc.stringMatching(/^[1-3A]{1,4}$/);
const word = fc.constantFrom('Steel', 'steel', 'WOOD', 'oil');
const country = fc.constantFrom('de', 'DE', 'us', 'fr');
const domain = fc.constantFrom('a.example', 'B.example', 'c.example');
const list = <T>(of: fc.Arbitrary<T>) => fc.array(of, { maxLength: 4 });
const number = fc.option(fc.integer({ min: -2, max: 2 }));
const some = fc
  .record({
    ...{ domain, name: fc.option(word), operatesIn: list(country), naics: list(naicsCode) },
    ...{ score: number, actualRevenue: number, overallMomentum: number },
  })
  .map(({ domain, naics, ...more }) => record(domain, { ...more, naics: naics.map(code => ({ code })) }));
const range = fc.record({ min: number, max: number }, { requiredKeys: [] }).map(given => {
  const { min, max } = given;
  return min != null && max != null && min > max ? { min: max, max: min } : given;
});
const filter: fc.Arbitrary<CompanyFilter> = fc.record(
  {
    search: fc.option(word),
    domains: fc.option(list(domain)),
    operatesIn: fc.option(list(country)),
    naics: fc.option(list(naicsCode)),
    actualRevenue: fc.option(range),
    overallMomentum: fc.option(range),
  },
  { requiredKeys: [] },
);
const order: fc.Arbitrary<CompanyOrder> = fc.record({
  field: fc.constantFrom('SCORE', 'NAME', 'DOMAIN', 'OVERALL_MOMENTUM', 'ACTUAL_REVENUE'),
  direction: fc.constantFrom('ASC', 'DESC'),
});

/** What the schema says of the order, said as plainly as can be. */
function plainlySorted(companies: readonly CompanyRecord[], { field, direction }: CompanyOrder): CompanyRecord[] {
  const members = { SCORE: 'score', NAME: 'name', DOMAIN: 'domain' } as const;
  const numbers = { OVERALL_MOMENTUM: 'overallMomentum', ACTUAL_REVENUE: 'actualRevenue' } as const;
  const sortedBy = (company: CompanyRecord) => {
    const value = company[{ ...members, ...numbers }[field]];
    return typeof value === 'string' ? value.toLowerCase() : value;
  };
  const byDomain = companies.toSorted((one, other) => (one.domain.toLowerCase() < other.domain.toLowerCase() ? -1 : 1));
  const values = [...new Set(companies.map(sortedBy))].filter(value => value !== null);
  values.sort((one, other) => (one < other ? -1 : 1));
  if (direction === 'DESC') values.reverse();
  return [...values, null].flatMap(value => byDomain.filter(company => sortedBy(company) === value));
}

const loadersOf = (all: readonly CompanyRecord[]) => {
  const reader = { read: () => all } as unknown as Reader;
  return createCompaniesLoaders(reader, undefined);
};

test('a prepared filter selects the companies that the schema describes', () => {
  fc.assert(
    fc.property(list(some), filter, (all, given) => {
      expect(preparedFilter(given, 'filter').from(all)).toEqual(all.filter(company => isWanted(company, given)));
    }),
    { numRuns: 500 },
  );
});

test('a filtered list has the order that the schema describes', async () => {
  const distinct = fc.uniqueArray(some, { maxLength: 3, selector: company => company.domain.toLowerCase() });
  const many = fc
    .array(distinct, { maxLength: 4 })
    .map(parts =>
      parts.flatMap((part, index) => part.map(each => ({ ...each, domain: `${(7 - index) % 5}.${each.domain}` }))),
    );
  await fc.assert(
    fc.asyncProperty(many, fc.option(filter), fc.option(order), async (all, given, orderBy) => {
      const matching = all.filter(company => isWanted(company, given ?? {}));
      const expected = orderBy === null ? matching : plainlySorted(matching, orderBy);
      expect(await loadersOf(all).list('1', { filter: given, orderBy })).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});

test('a facet counts the companies that a filter with its value selects, the most frequent first', () => {
  fc.assert(
    fc.property(list(some), all => {
      const { operatesIn, naics } = facetsOf(all);
      const countOf = (given: CompanyFilter) => preparedFilter(given, 'filter').from(all).length;
      expect(operatesIn.map(({ value, count }) => [value, count])).toEqual(
        operatesIn.map(({ value }) => [value, countOf({ operatesIn: [value] })]),
      );
      expect(naics.map(({ code, count }) => [code, count])).toEqual(
        naics.map(({ code }) => [code, countOf({ naics: [code] })]),
      );
      const values = all.flatMap(company => present(company.operatesIn).map(each => each.toLowerCase()));
      expect(operatesIn.map(({ value }) => value).sort()).toEqual([...new Set(values)].sort());
      expect(naics.map(({ code }) => code).sort()).toEqual(
        [...new Set(all.flatMap(company => present(company.naics).map(({ code }) => code)))].sort(),
      );
      const counts = [operatesIn, naics].map(facets => facets.map(({ count }) => count));
      for (const each of counts) expect(each).toEqual(each.toSorted((one, other) => other - one));
    }),
    { numRuns: 200 },
  );
});

test('a facet has no code that is too long for the filter', () => {
  const codes = Array.from({ length: 1_000 }, (_, at) => '1'.repeat(at + 1));
  const { naics } = facetsOf([record('a.example', { naics: codes.map(code => ({ code })) })]);
  expect(naics.map(({ code }) => code)).toEqual(codes.slice(0, 10));
});

test('a filtered, sorted list that cannot be read fails once, and leaves no rejection behind', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  const reader = { read: () => Promise.reject(new Error('away')) } as unknown as Reader;
  const loaders = createCompaniesLoaders(reader, undefined);
  const orderBy = { field: 'NAME', direction: 'ASC' } as const;
  await expect(loaders.list('1', { filter: { search: 'a' }, orderBy })).rejects.toThrow('away');
  await nextTurn();
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

test('sorting reads a value of each company once, and only once for each list', async () => {
  const all = Array.from({ length: 5_000 }, (_, index) =>
    record(`c${(index * 7_919) % 5_000}.example`, { name: `Company ${(index * 104_729) % 1_000}`, score: index % 100 }),
  );
  for (const [field, member] of [
    ['NAME', 'name'],
    ['SCORE', 'score'],
  ] as const) {
    let reads = 0;
    for (const company of all) {
      const value = company[member];
      const get = () => {
        reads += 1;
        return value;
      };
      Object.defineProperty(company, member, { get });
    }
    const sorted = await loadersOf(all).list('1', { orderBy: { field, direction: 'DESC' } });
    expect(await loadersOf(all).list('2', { orderBy: { field, direction: 'DESC' } })).toBe(sorted);
    expect(reads).toBe(all.length);
  }
});

test('filters with the same meaning have the same key, all others a different one', () => {
  const key = (given: CompanyFilter) => preparedFilter(given, 'filter').key;
  expect(key({ naics: ['52', '51'], search: null })).toBe(key({ naics: ['51', '52', '51'] }));
  expect(key({ domains: ['A.example'], search: 'Steel' })).toBe(key({ search: 'steel', domains: ['a.example'] }));
  expect(key({ actualRevenue: { min: 1 } })).toBe(key({ actualRevenue: { max: null, min: 1 } }));
  const different = [
    {},
    { actualRevenue: {} },
    { actualRevenue: { min: 1 } },
    { actualRevenue: { max: 1 } },
    { overallMomentum: { max: 1 } },
    { domains: [] },
    { naics: ['51'] },
    { domains: ['51'] },
    { operatesIn: ['51'] },
    { search: '51' },
  ];
  expect(new Set(different.map(key)).size).toBe(different.length);
});

test('equal filters of one market are applied once per request', async () => {
  const all = [record('a.example'), record('b.example')];
  const loaders = loadersOf(all);
  const first = await loaders.list('1', { filter: { search: 'a.ex' } });
  expect(first).toEqual([all[0]]);
  expect(await loaders.list('1', { filter: { search: 'A.EX' } })).toBe(first);
  expect(await loaders.list('2', { filter: { search: 'a.ex' } })).not.toBe(first);
});

test('a filter with long lists takes about as long as one with short lists', () => {
  const all = Array.from({ length: 5_000 }, (_, index) =>
    record(`c${index}.example`, { naics: [{ code: `${100_000 + index}` }], operatesIn: ['de', 'fr'] }),
  );
  const many = (most: number, text: (index: number) => string) =>
    Array.from({ length: most }, (_, index) => text(index));
  const longest = {
    naics: many(listBounds['CompanyFilter.naics'], index => `${900_000 + index}`),
    domains: many(listBounds['CompanyFilter.domains'], index => `other${index}.example`),
    operatesIn: many(listBounds['CompanyFilter.operatesIn'], index => `x${index}`),
  };
  for (const [member, values] of Object.entries(longest)) {
    const timeOf = (given: readonly string[]) => {
      const selection = preparedFilter({ [member]: given }, 'filter');
      return cpuTimeOf(() => expect(selection.from(all)).toEqual([]));
    };
    const ratio = timeOf(values) / timeOf(values.slice(0, 1));
    // To compare each company with each value would take a hundred times as long.
    expect(ratio).toBeLessThan(10);
  }
});

test('every list argument of the schema has a bound that its description states', () => {
  const types = Object.values(createSchema().getTypeMap());
  const inputFields = types
    .filter(isInputObjectType)
    .flatMap(type =>
      Object.values(type.getFields()).map(field => ({ coordinate: `${type.name}.${field.name}`, field })),
    );
  const fieldArguments = types
    .filter(isObjectType)
    .filter(type => !isIntrospectionType(type))
    .flatMap(type => Object.values(type.getFields()).map(field => ({ type, field })))
    .flatMap(({ type, field }) =>
      field.args.map(argument => ({ coordinate: `${type.name}.${field.name}(${argument.name}:)`, field: argument })),
    );
  const members = [...inputFields, ...fieldArguments].filter(({ field }) => isListType(getNullableType(field.type)));
  expect(members.map(({ coordinate }) => coordinate).sort()).toEqual(Object.keys(listBounds).sort());
  for (const { coordinate, field } of members) {
    const most = listBounds[coordinate as keyof typeof listBounds].toLocaleString('en');
    expect(`${coordinate}: ${field.description}`).toContain(most);
  }
});
