import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, test } from '@jest/globals';

/** What each file under `src` imports of the others: paths from there, `events/model.ts`. Types count as well. */
type House = Readonly<Record<string, readonly string[]>>;

/**
 * The floors, from below. An import goes down, or stays in its own folder. What has no floor by its name is a helper: it stands as high as
 * the highest of what it imports.
 */
const floors: readonly (readonly [name: string, path: RegExp])[] = [
  [
    'ground',
    /^((config|credentials|errors|secret|receipt|caller|telemetry|redis|wire-types|reader|writer)\.ts|(upstream|cache|live)\/)/,
  ],
  ['model', /^[^/]+\/model\.ts$/],
  ['client', /^[^/]+\/client\.ts$/],
  ['loaders and feed', /^[^/]+\/(loaders|feed)\.ts$/],
  ['context', /^context\.ts$/],
  ['generated', /^generated\//],
  ['resolvers', /^[^/]+\/resolvers\.ts$/],
  ['schema and doors', /^(schema\.ts$|http\/)/],
  ['app', /^app\.ts$/],
  ['main', /^main\.ts$/],
];
const ground = 0;

const folderOf = (file: string) => posix.dirname(file).split('/')[0] ?? '.';
const isSandbox = (file: string) => file.startsWith('sandbox/');
const isGenerated = (file: string) => file.startsWith('generated/');

/** A room is a folder with a file that is named by a room's word. */
function roomsOf(house: House): ReadonlySet<string> {
  return new Set(
    Object.keys(house)
      .filter(file => /^[^/]+\/(model|client|loaders|feed|resolvers)\.ts$/.test(file))
      .map(folderOf),
  );
}

function floorOf(house: House, file: string, above: readonly string[] = []): number {
  const named = floors.findIndex(([, path]) => path.test(file));
  if (named !== -1) return named;
  const imports = (house[file] ?? []).filter(imported => !above.includes(imported));
  return Math.max(ground, ...imports.map(imported => floorOf(house, imported, [...above, file])));
}

/** Every import that goes where it must not, as `from -> to: why`. */
function faultsOf(house: House): string[] {
  const rooms = roomsOf(house);
  return Object.entries(house).flatMap(([from, imports]) =>
    imports.flatMap(to => {
      const fault = faultOf(house, rooms, from, to);
      return fault === undefined ? [] : [`${from} -> ${to}: ${fault}`];
    }),
  );
}

function faultOf(house: House, rooms: ReadonlySet<string>, from: string, to: string): string | undefined {
  if (isSandbox(from)) return isSandbox(to) ? undefined : 'the sandbox knows nothing of the gateway';
  if (isSandbox(to)) return from === 'app.ts' ? undefined : 'only app.ts starts the sandbox';
  if (rooms.has(folderOf(from)) && rooms.has(folderOf(to)) && folderOf(from) !== folderOf(to)) {
    return 'rooms do not import each other';
  }
  const [low, high] = [floorOf(house, from), floorOf(house, to)];
  if (high < low || (high === low && (high === ground || folderOf(from) === folderOf(to)))) return undefined;
  const isHelper = (file: string) => floors.every(([, path]) => !path.test(file));
  if (high === low && isHelper(from)) return undefined;
  return `a stair from ${floors[low]?.[0]} ${high === low ? 'across' : 'up'} to ${floors[high]?.[0]}`;
}

/** Every circle of imports, once, from its alphabetically first file. */
function circlesOf(house: House): string[] {
  const circles = new Set<string>();
  const done = new Set<string>();
  function walk(file: string, way: readonly string[]): void {
    const start = way.indexOf(file);
    if (start !== -1) {
      const circle = way.slice(start);
      const first = circle.indexOf([...circle].sort()[0] ?? '');
      circles.add([...circle.slice(first), ...circle.slice(0, first), circle[first]].join(' -> '));
      return;
    }
    if (done.has(file)) return;
    for (const imported of house[file] ?? []) walk(imported, [...way, file]);
    done.add(file);
  }
  for (const file of Object.keys(house)) walk(file, []);
  return [...circles];
}

const source = join(import.meta.dirname, '../src');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'));
const textOf = (file: string) => readFileSync(join(source, file), 'utf8');

/** The names after `from`, after a bare `import`, and in `import()`. */
function importsIn(text: string): string[] {
  const found = text.matchAll(
    /^(?:import|export|\})[^'"\n]*? from ['"]([^'"]+)['"]|^import ['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm,
  );
  return [...found].flatMap(([, ...names]) => names.filter(name => name !== undefined));
}

const house: House = Object.fromEntries(
  files.map(file => [
    file,
    importsIn(textOf(file))
      .filter(name => name.startsWith('.'))
      .map(name => posix.join(posix.dirname(file), name).replace(/\.js$/, '.ts')),
  ]),
);

describe('the house', () => {
  test('is read as it stands: each import names a file of it', () => {
    expect(files.length).toBeGreaterThan(50);
    const imported = Object.entries(house).flatMap(([from, imports]) => imports.map(to => ({ from, to })));
    expect(imported.length).toBeGreaterThan(150);
    expect(imported.filter(({ to }) => !files.includes(to))).toEqual([]);
  });

  test('has no stair that goes up, no door between rooms, and nothing of it in the sandbox', () => {
    expect(faultsOf(house)).toEqual([]);
  });

  test('has no circle', () => {
    expect(circlesOf(house)).toEqual([]);
  });

  test('has a ground that knows no GraphQL', () => {
    const graphql = /^(graphql|@apollo\/|@graphql-tools\/|@as-integrations\/)/;
    const known = files
      .filter(file => floors[ground]?.[1].test(file))
      .flatMap(file => importsIn(textOf(file)).map(name => `${file} -> ${name}`))
      .filter(edge => graphql.test(edge.split(' -> ')[1] ?? ''));
    expect(known).toEqual([]);
  });

  test('reads the environment in one place only', () => {
    const readers = files.filter(
      file => !isSandbox(file) && !isGenerated(file) && textOf(file).includes('process.env'),
    );
    expect(readers).toEqual(['main.ts']);
  });
});

describe('the inspection', () => {
  test('reads every form of an import', () => {
    const text = [
      "import { a } from './a.js';",
      "import type { B } from './b.js';",
      "import './c.js';",
      'import {',
      '  d,',
      "} from './d.js';",
      "export * from './e.js';",
      "export type { F } from './f.js';",
      "const g = await import('./g.js');",
      "const none = 'a word from ./h.js';",
    ].join('\n');
    expect(importsIn(text)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(name => `./${name}.js`));
  });

  test.each<[string, House]>([
    [
      'a/model.ts -> a/client.ts: a stair from model up to client',
      { 'a/model.ts': ['a/client.ts'], 'a/client.ts': [] },
    ],
    ['cache/x.ts -> a/model.ts: a stair from ground up to model', { 'cache/x.ts': ['a/model.ts'], 'a/model.ts': [] }],
    ['a/client.ts -> b/model.ts: rooms do not import each other', { 'a/client.ts': ['b/model.ts'], 'b/model.ts': [] }],
    [
      'a/filter.ts -> b/rules.ts: rooms do not import each other',
      { 'a/filter.ts': ['b/rules.ts'], 'a/model.ts': [], 'b/rules.ts': [], 'b/model.ts': [] },
    ],
    [
      'a/loaders.ts -> a/sums.ts: a stair from loaders and feed up to generated',
      { 'a/loaders.ts': ['a/sums.ts'], 'a/sums.ts': ['generated/types.ts'], 'generated/types.ts': [] },
    ],
    [
      'http/door.ts -> schema.ts: a stair from schema and doors across to schema and doors',
      { 'http/door.ts': ['schema.ts'] },
    ],
    ['schema.ts -> app.ts: a stair from schema and doors up to app', { 'schema.ts': ['app.ts'] }],
    ['sandbox/x.ts -> errors.ts: the sandbox knows nothing of the gateway', { 'sandbox/x.ts': ['errors.ts'] }],
    ['http/x.ts -> sandbox/y.ts: only app.ts starts the sandbox', { 'http/x.ts': ['sandbox/y.ts'] }],
  ])('finds %s', (fault, invented) => {
    expect(faultsOf(invented)).toEqual([fault]);
  });

  test('finds circles, each of them once', () => {
    const invented = {
      'b.ts': ['c.ts', 'd.ts'],
      'c.ts': ['a.ts'],
      'a.ts': ['b.ts'],
      'd.ts': ['d.ts'],
      'e.ts': ['a.ts'],
    };
    expect(circlesOf(invented)).toEqual(['a.ts -> b.ts -> c.ts -> a.ts', 'd.ts -> d.ts']);
  });
});
