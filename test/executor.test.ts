import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { getIntrospectionQuery, getOperationAST, Kind, OperationTypeNode, parse, Source, validate } from 'graphql';
import { cleanups } from './support/cleanups.js';
import { collectGarbage } from './support/collect-garbage.js';
import { executePlanned, executeWithGraphqlJs, runs, schema, withoutStacks } from './support/compare-executors.js';
import { demoHeaders, postJson, startGateway } from './support/gateway.js';
import { until } from './support/until.js';

withoutStacks();

test('plans a query the first time, also one about the schema', async () => {
  const input = (text: string) => ({ document: parse(text), operationName: undefined, variables: {}, context: {} });
  const plain = await executePlanned(input('{ viewer: __typename }'));
  expect(plain).toEqual({ data: { viewer: 'Query' } });

  const introspection = input(getIntrospectionQuery());
  expect(JSON.stringify(await executePlanned(introspection))).toBe(
    JSON.stringify(await executeWithGraphqlJs(introspection)),
  );
});

test('executes every query of this project as graphql-js does', async () => {
  const found = [...new Set(['README.md', 'docs', 'src/http/graphiql', 'bench/lib', 'test'].flatMap(textsIn))];
  const documents = [getIntrospectionQuery(), ...found].filter(isQuery);
  expect(documents.length).toBeGreaterThan(80);
  let plans = 0;
  for (const text of documents) plans += await runs(text, undefined, 3, text);
  expect(plans).toBeGreaterThan(documents.length);
});

test('plans an operation beside one with variables of its own', async () => {
  const text = 'query A { viewer { team } } query B($x: Boolean!) { viewer { team @include(if: $x) } }';
  expect(await runs(text, 'A', 3, text)).toBe(3);
});

test('takes no plan of other conditions where texts of the variables look like them', async () => {
  const fields = 'a: __type(name: $x) { name } b: __typename @include(if: $y) c: __type(name: $z) { name }';
  const document = parse(`
    query B($x: Boolean!, $y: Boolean!, $z: Boolean!) { ${['x', 'y', 'z'].map(name => `__typename @skip(if: $${name})`).join(' ')} }
    query A($x: String!, $y: Boolean!, $z: String!) { ${fields} }`);
  const answer = (variables: object) =>
    executePlanned({ document, operationName: 'A', variables: { ...variables }, context: {} });
  const unknown = { a: null, c: null };
  expect(await answer({ x: 'p,true', y: false, z: 'q' })).toEqual({ data: unknown });
  expect(await answer({ x: 'p', y: true, z: 'false,q' })).toEqual({ data: { ...unknown, b: 'Query' } });
});

test('keeps no text of a document that nobody uses any more', async () => {
  const text = 'query A { __typename } query B { events(filter: { alertTypes: ["10"] }) { totalCount } }';
  const sources: WeakRef<Source>[] = [];
  for (let number = 0; number < 50; number += 1) {
    const source = new Source(`${text} # ${number}`);
    sources.push(new WeakRef(source));
    await executePlanned({ document: parse(source), operationName: 'A', variables: {}, context: {} });
  }
  await nextTurn();
  collectGarbage();
  // The last one may still be on the stack.
  expect(sources.filter(source => source.deref() !== undefined).length).toBeLessThan(3);
});

test('keeps no texts of variables', async () => {
  const document = parse(`query A($x: String!) { __type(name: $x) { name } }
    query B($x: Boolean!) { __typename @include(if: $x) }`);
  const megabytes = 40;
  const execute = (letter: string) =>
    executePlanned({ document, operationName: 'A', variables: { x: letter.repeat(1_000_000) }, context: {} });
  await execute('_');
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let number = 0; number < megabytes; number += 1) await execute(String.fromCharCode(97 + number));
  await nextTurn();
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan((megabytes / 4) * 1_000_000);
});

test('leaves no unhandled rejection when a list fails while its other items are pending', async () => {
  const document = parse('{ market(id: 1) { topics { label } } }');
  const failing = () => Promise.reject(new Error('too late to be reported'));
  const topics = [{ label: failing }, { label: null }];
  const context = { loaders: { markets: { topics: () => topics } } };
  const { data, errors } = (await executePlanned({ document, operationName: undefined, variables: {}, context })) ?? {};
  await nextTurn();
  expect({ data: JSON.stringify(data), paths: errors?.map(({ path }) => path) }).toEqual({
    data: '{"market":{"topics":null}}',
    paths: [['market', 'topics', 1, 'label']],
  });
});

test('answers the same over HTTP with either executor, and each time', async () => {
  const executors = ['plan', 'graphql-js'];
  const gateways = await Promise.all(
    executors.map(GRAPHQL_EXECUTOR => startGateway({ env: { GRAPHQL_EXECUTOR, RESPONSE_CACHE: 'false' } })),
  );
  const answer = async (url: string, body: object, headers: Record<string, string>) => {
    const response = await postJson(`${url}/graphql`, body, headers);
    const { errors, ...rest } = (await response.json()) as { errors?: { message: string; path?: unknown }[] };
    const sorted = errors?.map(error => JSON.stringify(error)).sort();
    return { status: response.status, type: response.headers.get('content-type'), errors: sorted, rest };
  };
  const bodies = [
    {
      query:
        '{ events(first: 2) { nodes { references { observation { title textEmbedding } } vectorIndex { embeddings } } } }',
    },
    {
      query:
        '{ observation(id: "none") { id } none: market(id: "none") { id } market(id: 1) { name } events(first: 0) { totalCount } }',
    },
    {
      query: 'query ($yes: Boolean!) { viewer { team @include(if: $yes) authentication @skip(if: $yes) } }',
      variables: { yes: true },
    },
    // Its error is masked.
    {
      query: 'query ($domain: String = "a") { market(id: 1) { company(domain: $domain) { name } } }',
      variables: { domain: null },
    },
    { query: 'query ($first: Int) { events(first: $first) { totalCount } }', variables: { first: 'many' } },
    { query: 'query A { viewer { team } } query B { viewer { email } }', operationName: 'B' },
  ];
  cleanups.push(() => Promise.all(gateways.map(gateway => gateway.close())));
  for (const body of bodies) {
    for (const headers of [demoHeaders, { 'x-api-key': 'no key at all' }]) {
      const answers: object[] = [];
      for (const { url } of gateways) {
        // Nothing is cached for the first, so that its metadata may differ.
        await answer(url, body, headers);
        for (let time = 0; time < 3; time += 1) answers.push(await answer(url, body, headers));
      }
      expect(answers).toEqual(answers.map(() => answers[0]));
    }
  }
});

test('a finished execution needs no full garbage collection to be freed', async () => {
  const document = parse('{ market(id: "1") { name } }');
  const executions = 100;
  // All of them together are too little for V8 to begin a full collection by itself.
  const bytes = 128 * 1024;
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  for (let time = 0; time < executions; time += 1) {
    const record = async () => {
      await nextTurn();
      return { name: 'Solar' };
    };
    const context = { held: new Uint8Array(bytes), loaders: { markets: { record } } };
    const result = await executePlanned({ document, operationName: undefined, variables: {}, context });
    expect(result?.data).toEqual({ market: { name: 'Solar' } });
    collectGarbage({ type: 'minor' });
  }
  // V8 frees the memory of collected buffers in a thread of its own.
  const grown = () => process.memoryUsage().arrayBuffers - before;
  await until(() => grown() < (executions / 10) * bytes);
});

/** Every quoted string and GraphQL code block of a file, or of the files of a folder. */
function textsIn(path: string): string[] {
  const url = new URL(`../${path}`, import.meta.url);
  const files = path.includes('.') ? [url] : readdirSync(url).map(name => new URL(`${url}/${name}`));
  const texts = files.filter(({ pathname }) => /\.(md|ts|mjs)$/.test(pathname)).map(file => readFileSync(file, 'utf8'));
  return texts.flatMap(text => {
    const matches = [/```graphql\n([^`]*)```/g, /`([^`]*)`/g, /'([^'\n]*)'/g].flatMap(quoted => [
      ...text.matchAll(quoted),
    ]);
    return matches.map(([, inside = '']) => inside);
  });
}

function isQuery(text: string): boolean {
  try {
    const document = parse(text);
    const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
    const isOne = operations.length === 1 && getOperationAST(document)?.operation === OperationTypeNode.QUERY;
    return isOne && validate(schema, document).length === 0;
  } catch {
    return false;
  }
}
