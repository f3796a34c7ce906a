import { isDeepStrictEqual } from 'node:util';
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { GraphQL17Alpha9Handler } from '@apollo/client/incremental';
import { describe, expect, test } from '@jest/globals';
import {
  buildSchema,
  execute,
  type GraphQLObjectType,
  NoUnusedFragmentsRule,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import {
  buildSchema as buildSchema17,
  experimentalExecuteIncrementally,
  type GraphQLObjectType as GraphQLObjectType17,
  parse as parse17,
} from 'graphql17';
import { createPlanExecutor } from '../src/graphql/executor/execute.js';
import { laterRules } from '../src/graphql/limits/document-checks.js';
import { acceptsParts, withoutParts } from '../src/http/web-safety.js';
import { cleanups, forTest } from './support/cleanups.js';
import { demoHeaders, postJson, startGateway } from './support/gateway.js';
import { startWithObservationsHeld } from './support/held-service.js';
import { type Draw, drawFrom } from './support/seeded.js';
import { until } from './support/until.js';

type Path = readonly (string | number)[];
type Errors = readonly { readonly path?: Path | undefined }[];

/** Any part of a response. */
interface Part {
  readonly data?: unknown;
  readonly errors?: Errors;
  readonly pending?: readonly { id: string; path: Path; label?: string }[];
  readonly incremental?: readonly { id: string; subPath?: Path; data?: unknown; errors?: Errors }[];
  readonly completed?: readonly { id: string; errors?: Errors }[];
  readonly hasNext?: boolean;
}

const sdl = `
  type Query { node: Node other: Node! list: [Node!] }
  type Node { id: ID! name: String slow: String must: String! child: Node sure: Node! kids: [Node!]! }
`;
const defer = 'directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT';
const schema = buildSchema(sdl + defer);
const schema17 = buildSchema17(sdl);
const executePlanned = createPlanExecutor(schema);

const rules = [...specifiedRules.filter(rule => rule !== NoUnusedFragmentsRule), ...laterRules];

/** How often a field is late. */
let lateness = 0.5;
/** Whether nullable fields fail at times. */
let isFaulty = false;
/** A field that fails in any case, such as `node.child must`. */
let failing = '';

/** An object whose fields are the same for the same id, some of them late, and some failing. */
function nodeOf(id: string, depth: number): object {
  const value = (name: string, make: () => unknown, nonNull: boolean) => () => {
    const draw = drawFrom(`${id} ${name}`);
    const fails = (isFaulty && !nonNull && draw.chance(0.2)) || `${id} ${name}` === failing;
    const settled = () => {
      if (fails) throw new Error(`${id} ${name}`);
      return make();
    };
    return draw.chance(lateness) ? turns(draw.below(5)).then(settled) : settled();
  };
  const below = (name: string) => (depth > 5 ? nodeOf(id, depth) : nodeOf(`${id}.${name}`, depth + 1));
  return {
    id,
    name: value('name', () => `name ${id}`, false),
    slow: value('slow', () => (lateness === 0 ? `slow ${id}` : turns(8).then(() => `slow ${id}`)), false),
    must: value('must', () => `must ${id}`, true),
    child: value('child', () => below('child'), false),
    sure: value('sure', () => below('sure'), true),
    kids: value('kids', () => [below('0'), below('1')], true),
  };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
}

const roots = {
  node: () => nodeOf('node', 0),
  other: () => nodeOf('other', 0),
  list: () => [nodeOf('a', 0), nodeOf('b', 0)],
};
for (const [name, resolve] of Object.entries(roots)) {
  for (const type of [schema.getQueryType() as GraphQLObjectType, schema17.getQueryType() as GraphQLObjectType17]) {
    const field = type.getFields()[name];
    if (field !== undefined) field.resolve = resolve;
  }
}

/** A query with deferred fragments inside, around and beside each other. */
function randomQuery(draw: Draw): string {
  let labels = 0;
  const fragments: string[] = [];
  const directive = () => {
    if (!draw.chance(0.6)) return '';
    labels += 1;
    return ` @defer(${draw.pick([`label: "l${labels}"`, `if: $yes label: "l${labels}"`, 'if: $no', 'if: true'])})`;
  };
  const set = (type: string, depth: number): string => {
    const parts = Array.from({ length: 1 + draw.below(4) }, () => {
      const kind = draw.below(10);
      if (kind < 3 && depth > 0) return `...${draw.pick(['', ` on ${type}`])}${directive()} ${set(type, depth - 1)}`;
      if (kind === 3 && depth > 0) {
        if (type === 'Node' && (fragments.length === 0 || draw.chance(0.3))) {
          const text = set(type, depth - 1);
          fragments.push(`fragment F${fragments.length} on Node ${text}`);
        }
        if (type === 'Node') return `...F${draw.below(fragments.length)}${directive()}`;
      }
      if (type === 'Query') return `${draw.pick(['node', 'other', 'list'])} ${set('Node', depth - 1)}`;
      return kind < 8 && depth > 0
        ? `${draw.pick(['child', 'sure', 'kids'])} ${set('Node', depth - 1)}`
        : draw.pick(['id', 'name', 'slow', 'must']);
    });
    return `{ ${parts.join(' ')} }`;
  };
  const query = `query ($yes: Boolean! = true, $no: Boolean! = false) ${set('Query', 5)}`;
  return [`${query.replace('{', '{ __typename @skip(if: $no) @include(if: $yes) ')}`, ...fragments].join('\n');
}

/** Puts parts together. @throws where a part repeats a field, or belongs to nothing. */
async function merged(
  first: Part,
  later: AsyncIterable<Part>,
): Promise<{ data: unknown; errors: string[]; parts: Part[] }> {
  const parts = [first];
  const response = { data: structuredClone(first.data) };
  const errors = [...(first.errors ?? [])];
  const pending = new Map(first.pending?.map(each => [each.id, each.path]));
  for await (const part of later) {
    parts.push(part);
    for (const { id, path } of part.pending ?? []) pending.set(id, path);
    for (const { id, subPath = [], data, errors: nulled = [] } of part.incremental ?? []) {
      const path = pending.get(id);
      if (path === undefined) throw new Error(`${id} is not pending`);
      let target: unknown = response.data;
      for (const key of [...path, ...subPath]) target = (target as Record<string, unknown>)[key];
      addFields(target as Record<string, unknown>, data as Record<string, unknown>);
      errors.push(...nulled);
    }
    for (const { id, errors: failed = [] } of part.completed ?? []) {
      if (!pending.delete(id)) throw new Error(`${id} is not pending`);
      errors.push(...failed);
    }
  }
  if (pending.size > 0) throw new Error('Not everything was delivered');
  expect(parts.map(({ hasNext }) => hasNext ?? false)).toEqual(parts.map((_, index) => index < parts.length - 1));
  return { data: response.data, errors: [...new Set(errors.map(({ path }) => path?.join('.') ?? ''))].sort(), parts };
}

function addFields(target: Record<string, unknown>, data: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(data)) {
    if (name in target) throw new Error(`${name} is sent twice`);
    target[name] = structuredClone(value);
  }
}

async function ours(text: string) {
  const document = parse(text);
  const input = { document, operationName: undefined, variables: {}, context: {} };
  const { deferred, ...first } = (await executePlanned({ ...input, defers: true })) ?? {};
  if (deferred === undefined) return merged(first, none());
  return merged({ ...first, pending: deferred.pending, hasNext: true }, deferred.parts);
}

async function theirs(text: string) {
  const result = await experimentalExecuteIncrementally({ schema: schema17, document: parse17(text) });
  if ('initialResult' in result)
    return merged(result.initialResult as Part, result.subsequentResults as AsyncIterable<Part>);
  return merged(result, none());
}

async function* none(): AsyncGenerator<Part> {}

const plain = (value: unknown) => JSON.parse(JSON.stringify(value));

/** As `toEqual`, which takes long for large values that are equal. */
function expectSame(found: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(found, expected)) expect(found).toEqual(expected);
}

test.each([
  [false, 0.5],
  [true, 0.5],
  [false, 0],
])(
  'delivers random queries in parts that make up the whole response (fields fail: %s; late: %d)',
  async (faulty, late) => {
    [isFaulty, lateness] = [faulty, late];
    let inParts = 0;
    for (let number = 0; number < 100; number += 1) {
      const text = randomQuery(drawFrom(`defer ${number}`));
      const document = parse(text);
      if (number % 20 === 0) expect(validate(schema, document, rules)).toEqual([]);
      const { data, errors, parts } = await ours(text);
      if (parts.length > 1) inParts += 1;
      const whole = await merged(await execute({ schema, document }), none());
      expectSame({ text, data: plain(data), errors }, { text, data: plain(whole.data), errors: whole.errors });
      // graphql 17 announces fragments below a value that failed, so it is no judge there.
      if (!faulty) expectSame({ text, data: plain(data) }, { text, data: plain((await theirs(text)).data) });
    }
    expect(inParts).toBeGreaterThan(30);
  },
);

test('two fragments that share an object of which each has other fields end, where all of it is there at once', async () => {
  [isFaulty, lateness] = [false, 0];
  const { data, parts } = await ours(
    '{ node { ...@defer(label: "a") { child { id } } ...@defer(label: "b") { child { name } } } }',
  );
  expect(plain(data)).toEqual({ node: { child: { id: 'node.child', name: 'name node.child' } } });
  expect(parts).toHaveLength(2);
});

test.each([
  ['its only fragment', '{ node { id ... @defer { must } } }', ['node.must']],
  [
    'a fragment, but not the one beside it',
    '{ node { id ... @defer(label: "a") { must name } ... @defer(label: "b") { name } } }',
    ['node.must'],
  ],
  [
    'the fragment around it, up to where null is allowed',
    '{ node { id ... @defer { sure { id } must } } }',
    ['node.must'],
  ],
])('a failing value that may not be null fails %s, as in graphql 17', async (_, text, errors) => {
  [isFaulty, failing] = [false, 'node must'];
  const [mine, oracle] = [await ours(text), await theirs(text)];
  failing = '';
  expect(mine.errors).toEqual(errors);
  expect({ data: plain(mine.data), errors: mine.errors }).toEqual({ data: plain(oracle.data), errors: oracle.errors });
});

test.each([
  ['mutation { a }', 0],
  ['mutation { ... @defer { a } }', 1],
  ['subscription { ... @defer { a } }', 1],
  ['{ ... @defer(label: "x") { a } ... @defer(label: "x") { a } }', 1],
  ['query ($x: String) { ... @defer(label: $x) { a } }', 1],
  ['{ ... @defer { a } ... @defer(label: null) { a } ... @defer(label: "x") { a } }', 0],
])('%s has %i errors', (text, count) => {
  const small = buildSchema(`type Query { a: Int } type Mutation { a: Int } type Subscription { a: Int } ${defer}`);
  expect(validate(small, parse(text))).toEqual([]);
  expect(validate(small, parse(text), laterRules)).toHaveLength(count);
});

const accept = 'multipart/mixed;incrementalSpec=v0.2,application/graphql-response+json,application/json;q=0.9';

test('knows which clients take parts, and what else they take', () => {
  expect(acceptsParts(accept)).toBe(true);
  expect(withoutParts(accept)).toBe('application/graphql-response+json,application/json;q=0.9');
  for (const one of [
    'application/json, multipart/mixed; incrementalSpec="v0.2"',
    'multipart/mixed; boundary="-"; incrementalSpec=v0.2',
    'multipart/mixed;q=0.9;incrementalSpec=v0.2;charset=utf-8',
  ]) {
    expect(acceptsParts(one)).toBe(true);
  }
  expect(withoutParts('multipart/mixed;incrementalSpec=v0.2,text/html')).toBe('application/json');
  expect(withoutParts('*/*')).toBe('*/*');
  for (const other of [
    undefined,
    '*/*',
    'multipart/mixed',
    'multipart/mixed;deferSpec=20220824',
    `${accept.slice(0, 36)};q=0`,
    'multipart/mixed;q=0.0;incrementalSpec=v0.2',
    'multipart/mixed;incrementalSpec=v0.25',
    'text/html;incrementalSpec=v0.2',
  ]) {
    expect(acceptsParts(other)).toBe(false);
  }
});

describe('over HTTP', () => {
  const eventsQuery =
    '{ events(first: 2) { nodes { id title ... @defer(label: "more") { references { observation { title } } } } } }';
  const post = (url: string, query: string, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    postJson(`${url}/graphql`, { query }, { ...demoHeaders, ...headers }, signal);
  const partsOf = (text: string): Part[] =>
    text
      .split(/\r\n---(?:--\r\n)?/)
      .map(part => part.replace(/^[\s\S]*?\r\n\r\n/, ''))
      .filter(part => part.startsWith('{'))
      .map(part => JSON.parse(part));

  test('the first part comes while observations hang, and the parts make up the whole response', async () => {
    const held = forTest(await startWithObservationsHeld());
    const response = await post(held.gateway.url, eventsQuery, { accept });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('multipart/mixed; boundary="-"; incrementalSpec=v0.2');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    const read = async () => {
      const { value, done } = await reader.read();
      text += new TextDecoder().decode(value);
      return done;
    };
    while (partsOf(text).length === 0) await read();
    const [first] = partsOf(text);
    expect(first?.pending).toEqual(
      [0, 1].map(index => expect.objectContaining({ path: ['events', 'nodes', index], label: 'more' })),
    );
    await until(() => held.held() > 0);
    held.open();
    while (!(await read()));
    const [initial = {}, ...later] = partsOf(text);
    const { data, errors } = await merged(initial, eachOf(later));
    expect(errors).toEqual([]);
    const whole = await held.gateway.query(eventsQuery);
    expect(data).toEqual(whole.data);
  });

  test('Apollo Client has the events before their observations, then both', async () => {
    const held = forTest(await startWithObservationsHeld());
    const client = new ApolloClient({
      cache: new InMemoryCache(),
      link: new HttpLink({ uri: `${held.gateway.url}/graphql`, headers: demoHeaders }),
      // Its declaration does not fit `exactOptionalPropertyTypes`.
      incrementalHandler: new GraphQL17Alpha9Handler() as never,
    });
    cleanups.push(() => client.stop());
    // biome-ignore lint/suspicious/noExplicitAny: the data of a response in parts
    const seen: { dataState: string; data: any; error?: unknown }[] = [];
    const watched = client.watchQuery({ query: gql(eventsQuery) }).subscribe(result => seen.push(result));
    await until(() => seen.at(-1)?.data?.events !== undefined && held.held() > 0);
    const early = seen.at(-1);
    expect([early?.dataState, early?.data.events.nodes.map(Object.keys)]).toEqual([
      'streaming',
      Array(2).fill(['__typename', 'id', 'title']),
    ]);
    held.open();
    await until(() => seen.at(-1)?.dataState === 'complete');
    const [{ references }] = seen.at(-1)?.data.events.nodes ?? [];
    expect(typeof references[0].observation.title).toBe('string');
    expect(seen.map(({ error }) => error).filter(error => error !== undefined)).toEqual([]);
    watched.unsubscribe();
  });

  test('masks an error in a later part, and has the metadata in the last', async () => {
    const held = forTest(await startWithObservationsHeld({ EXPLAIN: 'true' }));
    held.open(404);
    const response = await post(held.gateway.url, eventsQuery, { accept, 'x-explain': '1' });
    const text = await response.text();
    const parts = partsOf(text);
    const errors = parts.flatMap(({ incremental = [] }) => incremental.flatMap(({ errors: found = [] }) => found));
    expect(errors[0]).toMatchObject({
      path: expect.arrayContaining(['references', 'observation']),
      extensions: { code: 'NOT_FOUND' },
    });
    expect(text).not.toContain('secret');
    expect(parts.at(-1)).toMatchObject({ hasNext: false, extensions: { explain: expect.any(Array) } });
    const [initial = {}, ...later] = parts;
    await merged(initial, eachOf(later));
  });

  test('ends the upstream calls of a client that leaves', async () => {
    const held = forTest(await startWithObservationsHeld());
    const leaving = new AbortController();
    const response = await post(held.gateway.url, eventsQuery, { accept }, leaving.signal);
    expect(response.status).toBe(200);
    await until(() => held.held() > 0);
    leaving.abort();
    await until(() => held.ended() === held.held());
  });

  test('gives every other client the whole response, shares and stores no parts, and never answers 406', async () => {
    const gateway = forTest(await startGateway());
    const inParts = await Promise.all([1, 2, 3].map(() => post(gateway.url, eventsQuery, { accept })));
    for (const response of inParts) expect(response.headers.get('content-type')).toMatch(/^multipart/);
    for (const response of inParts) expect(partsOf(await response.text()).length).toBeGreaterThan(1);
    for (const type of ['incrementalSpec=v0.2', 'incrementalSpec=v0.2,text/html', 'subscriptionSpec=1.0']) {
      const alone = await post(gateway.url, '{ viewer { authentication } }', { accept: `multipart/mixed;${type}` });
      expect([alone.status, alone.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    }
    const others = [
      '*/*',
      'application/json',
      'multipart/mixed;deferSpec=20220824,application/json',
      'application/graphql-response+json',
    ];
    for (const type of others) {
      const response = await post(gateway.url, eventsQuery, { accept: type });
      expect([type, response.status, response.headers.get('content-type')]).toEqual([
        type,
        200,
        expect.stringMatching(/json/),
      ]);
      expect(Object.keys((await response.json()) as object)).toEqual(['data']);
    }
    // A whole response that is stored under the rest of the header serves this client too.
    await (await post(gateway.url, eventsQuery, { accept: withoutParts(accept) })).text();
    const cached = await post(gateway.url, eventsQuery, { accept });
    expect(cached.headers.get('content-type')).toMatch(/^application\/graphql-response\+json/);
  });
});

async function* eachOf(parts: readonly Part[]): AsyncGenerator<Part> {
  yield* parts;
}
