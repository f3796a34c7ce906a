import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { buildSchema, type DocumentNode, parse } from 'graphql';
import { createTeams } from '../src/auth/teams.js';
import { createPlanExecutor } from '../src/graphql/executor/execute.js';
import { createDocumentChecks } from '../src/graphql/limits/document-checks.js';
import { createDocumentStore, createTrustedDocuments, maxDocumentText } from '../src/graphql/limits/documents.js';
import { newOperationInfo } from '../src/observability/operation-info.js';

const queryOf = (number: number) => `query Q${number} { events(first: 1) { totalCount nodes { id title } } }`;

describe('the document store', () => {
  test('caches a document from its second use on', () => {
    const store = createDocumentStore();
    const document = parse(queryOf(1));
    store.set('a', document);
    expect(store.get('a')).toBeUndefined();
    store.set('a', document);
    expect(store.get('a')).toBe(document);
  });

  test('does not evict a document for others that are used once', () => {
    const store = createDocumentStore();
    const document = parse(queryOf(0));
    for (const _ of [1, 2]) store.set('a', document);
    for (let number = 1; number <= 20_000; number += 1) store.set(`b ${number}`, document);
    expect(store.get('a')).toBe(document);
  });

  test('limits the total text of its documents', () => {
    const store = createDocumentStore();
    const document = parse(queryOf(0));
    const maxDocuments = Math.floor(maxDocumentText / queryOf(0).length);
    for (let number = 0; number <= maxDocuments; number += 1) {
      for (const _ of [1, 2]) store.set(queryOf(number), document);
    }
    expect(store.get(queryOf(0))).toBeUndefined();
    expect(store.get(queryOf(maxDocuments))).toBe(document);
  });
});

test('a document that is too deep for the parser is refused as one with a wrong syntax', async () => {
  const documentText = createTrustedDocuments('off', { current: new Map() });
  const checks = {
    schema: buildSchema('type Query { a: Int }'),
    introspection: true,
    callLimit: 1,
    teams: { current: createTeams(undefined) },
    statisticsLimit: 1,
  };
  const { read } = createDocumentChecks({ ...checks, documentText });
  const deep = '{ a '.repeat(2_450);
  const errors = [{ extensions: { code: 'GRAPHQL_PARSE_FAILED' } }];
  for (const _ of [1, 2]) await expect(async () => read('a', deep)).rejects.toMatchObject({ errors });
});

describe('the documents of clients', () => {
  const schema = buildSchema('type Query { a(b: Int): Int }');
  const documentText = createTrustedDocuments('off', { current: new Map() });
  const documentChecks = createDocumentChecks({
    schema,
    documentText,
    introspection: true,
    callLimit: 1,
    teams: { current: createTeams(undefined) },
    statisticsLimit: 2_000,
  });
  const executePlanned = createPlanExecutor(schema);
  const planned = (client: string, document: DocumentNode) =>
    executePlanned({ client, document, operationName: undefined, variables: {}, context: {} });
  const checked = (scope: string, document: DocumentNode) =>
    documentChecks.checkOperation({ scope, credential: undefined }, { document }, newOperationInfo());
  const textOf = (alias: string) => `{ ${alias}: a }`;

  let clock: { mockRestore(): void };
  beforeEach(async () => {
    // Nothing is left of an earlier turn.
    for (const _ of [1, 2]) await new Promise(setImmediate);
    // Each piece of work seems to take more than its share of a turn.
    let now = performance.now();
    clock = jest.spyOn(performance, 'now').mockImplementation(() => {
      now += 20;
      return now;
    });
  });
  afterEach(() => clock.mockRestore());

  const steps: Record<string, (client: string, alias: string) => unknown> = {
    'read and validated': (client, alias) => documentChecks.read(client, textOf(alias)),
    refused: async (client, alias) => {
      await expect(async () => documentChecks.read(client, `{ ${alias}: nothing }`)).rejects.toThrow('nothing');
    },
    estimated: (client, alias) => checked(client, parse(textOf(alias))),
    planned: (client, alias) => planned(client, parse(textOf(alias))),
  };

  test.each(Object.entries(steps))(
    'are %s one in a turn of the event loop, and clients take turns',
    async (_, step) => {
      let turn = 0;
      let ticker = setImmediate(function tick() {
        turn += 1;
        ticker = setImmediate(tick);
      });
      const order: string[] = [];
      const turns = new Set<number>();
      const asked: [string, string][] = [
        ['a', 'x0'],
        ['a', 'x1'],
        ['a', 'x2'],
        ['a', 'x3'],
        ['b', 'y0'],
      ];
      await Promise.all(
        asked.map(async ([client, alias]) => {
          await step(client, alias);
          order.push(alias);
          turns.add(turn);
        }),
      );
      clearImmediate(ticker);
      expect(order).toEqual(['x0', 'x1', 'y0', 'x2', 'x3']);
      expect(turns.size).toBe(asked.length);
    },
  );

  test('are read at most twice, also where they are refused', async () => {
    const refused = async () => documentChecks.read('a', '{ nothing }');
    const errors: unknown[] = [];
    for (const _ of [1, 2, 3]) await refused().catch(error => errors.push(error));
    expect(errors).toHaveLength(3);
    expect(errors[2]).toBe(errors[1]);
  });

  test('wait for nothing once they are known', async () => {
    const text = textOf('known');
    for (const _ of [1, 2]) await documentChecks.read('a', text);
    const document = await documentChecks.read('a', text);
    await checked('a', document);
    await planned('a', document);
    const others = ['z0', 'z1', 'z2'].map(alias => documentChecks.read('b', textOf(alias)));
    expect(documentChecks.read('a', text)).toBe(document);
    expect(checked('a', document)).toBe(document.definitions[0]);
    expect(planned('a', document)).toEqual({ data: { known: null } });
    expect(others.filter(other => other instanceof Promise).length).toBeGreaterThan(0);
    await Promise.all(others);
  });
});
