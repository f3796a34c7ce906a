import { afterAll, describe, expect, test } from '@jest/globals';
import type { GraphQLObjectType } from 'graphql';
import { createSchema } from '../src/schema.js';
import { startOverSandbox } from './support/gateway.js';

const { gateway } = await startOverSandbox();

afterAll(() => gateway.close());

const schema = createSchema();

/** The type of each list that has cursors, by the name of its field. */
const parents = Object.fromEntries(
  ['Query', 'Market'].flatMap(parent =>
    Object.values((schema.getType(parent) as GraphQLObjectType).getFields())
      .filter(({ args, type }) => /Connection!?$/.test(`${type}`) && args.some(({ name }) => name === 'after'))
      .map(({ name }) => [name, parent]),
  ),
);
type Kind = keyof typeof parents;

/** Arguments that make other lists of them. */
const others: Partial<Record<Kind, readonly string[]>> = {
  events: ['filter: { severity: { min: 3 } }', 'filter: { from: "2026-01-01" }', 'filter: { alertTypes: ["Strike"] }'],
  companies: [
    'filter: { search: "a" }',
    'orderBy: { field: NAME }',
    'orderBy: { field: NAME, direction: DESC }',
    'filter: { search: "a" }, orderBy: { field: NAME }',
  ],
  exports: ['filter: { outcome: DELIVERED }', 'filter: { marketId: 1 }'],
};

const within = (kind: Kind, field: string, market = 1) =>
  parents[kind] === 'Market' ? `{ market(id: ${market}) { ${field} } }` : `{ ${field} }`;

/** Reads a list. @param given its arguments. */
async function read(kind: Kind, given: string, market?: number) {
  const { data, errors } = await gateway.query(
    within(
      kind,
      `${kind}(${given}) { totalCount pageInfo { endCursor } ${kind === 'events' ? 'updatesCursor' : ''} }`,
      market,
    ),
  );
  const connection = (data?.market ?? data)?.[kind];
  return { connection, refused: errors?.map(({ extensions }) => [extensions.code, extensions.argument]) };
}

describe.each(Object.keys(parents))('A cursor of %s', kind => {
  const lists = ['', ...(others[kind] ?? [])];

  test('belongs to its filter and order, on both ends', async () => {
    // A list of exports may be empty: each cursor that can be had is sent to every list.
    const cursors = await Promise.all(
      lists.map(async given => (await read(kind, `first: 2, ${given}`)).connection.pageInfo.endCursor),
    );
    for (const [from, cursor] of cursors.entries()) {
      if (cursor === null) continue;
      for (const [to, given] of lists.entries()) {
        for (const argument of ['after', 'before']) {
          const { refused } = await read(kind, `${argument}: "${cursor}", ${given}`);
          expect([from, to, refused]).toEqual([from, to, from === to ? undefined : [['BAD_USER_INPUT', argument]]]);
        }
      }
    }
  });
});

test('a cursor belongs to its market, and to its kind of list', async () => {
  const endOf = async (kind: Kind) => (await read(kind, 'first: 2')).connection.pageInfo.endCursor;
  const [events, companies] = [await endOf('events'), await endOf('companies')];
  const refusal = [['BAD_USER_INPUT', 'after']];
  expect((await read('companies', `after: "${companies}"`, 2)).refused).toEqual(refusal);
  expect((await read('companies', `after: "${events}"`)).refused).toEqual(refusal);
  expect((await read('exports', `after: "${events}"`)).refused).toEqual(refusal);
  const { updatesCursor } = (await read('events', 'first: 2')).connection;
  expect((await read('events', `after: "${updatesCursor}"`)).refused).toEqual(refusal);
});

test.each<[Kind, string[]]>([
  ['events', ['', 'filter: null', 'filter: {}', 'filter: { alertTypes: [], from: null }']],
  ['companies', ['', 'filter: null', 'filter: {}', 'filter: { operatesIn: [], naics: [] }', 'orderBy: null']],
  ['companies', ['filter: { naics: ["31", "32"] }', 'filter: { naics: ["32", "31", "31"], operatesIn: [] }']],
  ['exports', ['', 'filter: null', 'filter: {}', 'filter: { endpoint: null }']],
])('%s with a filter that is written differently are the same list', async (kind, ways) => {
  const found = await Promise.all(ways.map(given => read(kind, `first: 2, ${given}`)));
  expect(new Set(found.map(({ connection }) => JSON.stringify(connection))).size).toBe(1);
});
