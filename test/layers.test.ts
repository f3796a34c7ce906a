import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, test } from '@jest/globals';

/** What each file under `src` imports from the others, as paths from there: `domains/events/model.ts`. Type imports count as well. */
type ImportGraph = Readonly<Record<string, readonly string[]>>;

/** The one column, from the top. A file imports from its own layer and from the layers below. */
const layers: readonly (readonly [name: string, path: RegExp])[] = [
  ['programs', /^(main|check-config)\.ts$/],
  ['app', /^app\.ts$/],
  ['server', /^server\.ts$/],
  ['components', /^components\.ts$/],
  // Its tools are executed as the operations of WebSockets are.
  ['mcp', /^http\/mcp\//],
  ['subscriptions', /^subscriptions\//],
  ['http', /^http\//],
  ['schema', /^schema\.ts$/],
  ['resolvers', /^domains\/\w+\/resolvers\.ts$/],
  ['types of resolvers', /^generated\/resolver-types\.ts$/],
  ['context', /^context\.ts$/],
  ['loaders and feeds', /^domains\/\w+\/(loaders|feed)\.ts$/],
  ['domains', /^domains\/\w+\//],
  ['types of the schema', /^generated\/schema-types\.ts$/],
  ['graphql', /^graphql\//],
  ['bounds of the schema', /^generated\/list-bounds\.ts$/],
  ['data', /^data\//],
  ['observability', /^observability\//],
  ['auth', /^auth\//],
  ['config', /^config\//],
  ['lib', /^lib\//],
  ['errors', /^errors\.ts$/],
];

/** Programs of their own. Only `app.ts` starts the sandbox; nothing imports the receiver. */
const programs = ['sandbox', 'receiver'];

const topOf = (file: string) => file.split('/')[0] ?? '';
const domainOf = (file: string) => /^domains\/(\w+)\//.exec(file)?.[1];
const layerOf = (file: string) => layers.findIndex(([, path]) => path.test(file));
const isProgram = (file: string) => programs.includes(topOf(file));

/** Each import that goes in a wrong direction, as `from -> to: reason`. */
function violationsIn(graph: ImportGraph): string[] {
  return Object.entries(graph).flatMap(([from, imports]) =>
    imports.flatMap(to => {
      const reason = violation(from, to);
      return reason === undefined ? [] : [`${from} -> ${to}: ${reason}`];
    }),
  );
}

function violation(from: string, to: string): string | undefined {
  if (isProgram(from))
    return topOf(to) === topOf(from) ? undefined : `the ${topOf(from)} imports nothing of the gateway`;
  if (isProgram(to)) return from === 'app.ts' && topOf(to) === 'sandbox' ? undefined : `only app.ts starts the sandbox`;
  const [upper, lower] = [layerOf(from), layerOf(to)];
  if (upper === -1 || lower === -1) return 'a file has no layer';
  if (lower < upper) return `upward, from ${layers[upper]?.[0]} to ${layers[lower]?.[0]}`;
  const domains = [domainOf(from), domainOf(to)];
  if (!domains.includes(undefined) && domains[0] !== domains[1]) return 'domains do not import each other';
  return undefined;
}

/** Each circle of imports once, from its alphabetically first file. */
function circlesIn(graph: ImportGraph): string[] {
  const circles = new Set<string>();
  const done = new Set<string>();
  function walk(file: string, path: readonly string[]): void {
    const start = path.indexOf(file);
    if (start !== -1) {
      const circle = path.slice(start);
      const first = circle.indexOf([...circle].sort()[0] ?? '');
      circles.add([...circle.slice(first), ...circle.slice(0, first), circle[first]].join(' -> '));
      return;
    }
    if (done.has(file)) return;
    for (const imported of graph[file] ?? []) walk(imported, [...path, file]);
    done.add(file);
  }
  for (const file of Object.keys(graph)) walk(file, []);
  return [...circles];
}

const source = join(import.meta.dirname, '../src');
const names = readdirSync(source, { withFileTypes: true });
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'));
const contentOf = (file: string) => readFileSync(join(source, file), 'utf8');

/** The names after `from`, after a bare `import`, and in `import()`. */
function importsIn(text: string): string[] {
  const found = text.matchAll(
    /^(?:import|export|\})[^'"\n]*? from ['"]([^'"]+)['"]|^import ['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm,
  );
  return [...found].flatMap(([, ...imported]) => imported.filter(name => name !== undefined));
}

const graph: ImportGraph = Object.fromEntries(
  files.map(file => [
    file,
    importsIn(contentOf(file))
      .filter(name => name.startsWith('.'))
      .map(name => posix.join(posix.dirname(file), name).replace(/\.js$/, '.ts')),
  ]),
);

describe('the source', () => {
  test('is read completely: each import names an existing file', () => {
    expect(files.length).toBeGreaterThan(50);
    const imported = Object.entries(graph).flatMap(([from, imports]) => imports.map(to => ({ from, to })));
    expect(imported.length).toBeGreaterThan(150);
    expect(imported.filter(({ to }) => !existsSync(join(source, to)))).toEqual([]);
  });

  test('imports downward only, never between domains, and nothing from the sandbox or the receiver', () => {
    expect(violationsIn(graph)).toEqual([]);
  });

  test('has no import circle', () => {
    expect(circlesIn(graph)).toEqual([]);
  });

  test('has a layer for every file, at most 12 folders and at most 8 modules at the top', () => {
    expect(files.filter(file => !isProgram(file) && layerOf(file) === -1)).toEqual([]);
    expect(names.filter(entry => entry.isDirectory()).length).toBeLessThanOrEqual(12);
    expect(files.filter(file => !file.includes('/')).length).toBeLessThanOrEqual(8);
  });

  test('does not use GraphQL libraries below the graphql folder, but for the names of operations', () => {
    const below = layers.slice(layers.findIndex(([name]) => name === 'data'));
    const users = files
      .filter(file => below.some(([, path]) => path.test(file)))
      .filter(file => importsIn(contentOf(file)).some(name => /^(graphql|@apollo\/|@graphql-tools\/)/.test(name)));
    expect(users.filter(file => !file.startsWith('observability/'))).toEqual([]);
  });

  test('reads the environment in one place only', () => {
    const readers = files.filter(
      file => !isProgram(file) && !file.startsWith('generated/') && contentOf(file).includes('process.env'),
    );
    expect(readers.sort()).toEqual([
      'check-config.ts',
      'data/cache/purge-command.ts',
      'domains/exports/sign-command.ts',
      'main.ts',
    ]);
  });
});
