import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import {
  buildSchema,
  concatAST,
  type GraphQLSchema,
  isObjectType,
  KnownDirectivesRule,
  parse as parseGraphQL,
  specifiedRules,
  validate,
} from 'graphql';
import { parse } from 'yaml';
import {
  BadUserInput,
  Overloaded,
  QueryTooComplex,
  RateLimited,
  RecordLeftOut,
  UpstreamBadInput,
} from '../src/errors.js';
import { readExamples } from '../src/http/graphiql/graphiql.js';
import { documentErrors } from '../src/http/mask-error.js';
import { startSandbox } from '../src/sandbox/server.js';
import { createSchema } from '../src/schema.js';
import { forTest } from './support/cleanups.js';
import { startGateway } from './support/gateway.js';
import { errorLevels, fieldsOf } from './support/semantic-non-null.js';

const read = (file: string) => readFileSync(file, 'utf8');
const documents = [
  ...readdirSync('.').filter(file => file.endsWith('.md')),
  'bench/README.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.md'))
    .map(file => `docs/${file}`),
];

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(file => `${folder}/${file}`)
    .filter(file => /\.(?:graphql|tsx?|mjs|py|sh)$/.test(file) && !/node_modules|\/gql\/|\/dist\/|\/test\//.test(file));

test('the cache of the console has a key for each Node, and for no other object with an id', async () => {
  const files = readdirSync('schema').filter(name => name.endsWith('.graphql'));
  const schema = buildSchema(files.map(name => read(`schema/${name}`)).join('\n'), { assumeValidSDL: true });
  const types = Object.values(schema.getTypeMap()).filter(type => isObjectType(type));
  const nodes = types.filter(type => type.getInterfaces().some(({ name }) => name === 'Node')).map(({ name }) => name);
  const withId = types.filter(type => 'id' in type.getFields()).map(({ name }) => name);
  // What the file makes of imports, of which its codegen writes one.
  const code = read('examples/console/src/graphql/cache.ts')
    .replace(/^import .*$/gm, '')
    .replace('<string | undefined>', '')
    .replace('export const cache = ', '');
  const cache = runInNewContext(code, {
    ...(await import('@apollo/client')),
    ...(await import('@apollo/client/utilities')),
    generated: { possibleTypes: { Node: nodes } },
  });
  const keyed = [...nodes, ...withId].filter(name => cache.identify({ __typename: name, id: '1', nodeId: 'n' }));
  expect(new Set(keyed)).toEqual(new Set(nodes));
  expect(withId.filter(name => !nodes.includes(name)).length).toBeGreaterThan(0);
});

describe('every document', () => {
  test.each(documents)('%s names only files and folders that exist', document => {
    const text = read(document);
    // `src/gql/` is a folder of the project that the guide for front ends makes.
    const paths = [...text.matchAll(/`((?:src(?!\/gql)|test|bench|schema|deploy|docs|\.ci)\/[^`\s]*)`/g)].map(
      ([, path = '']) => path,
    );
    const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]+)[^)]*\)/g)].map(([, link = '']) =>
      join(dirname(document), link),
    );
    expect([...paths, ...links].filter(path => !existsSync(path))).toEqual([]);
  });
});

/** The operations in texts of guides and programs: in blocks and files of GraphQL, in templates of `gql` and `graphql`, and in strings. */
function operationsIn(file: string, text: string): string[] {
  if (file.endsWith('.graphql')) return [text];
  const places = [
    /^```graphql\n(.*?)^```$/gms,
    /`(\s*(?:query|mutation|subscription|fragment) (?:[\w ]*[({$]|\w+ on ).*?)`/gs,
    /graphql\.sh '([^']+)'/g,
    /(?:'|subscribe\.py ")((?:query|mutation|subscription) ?\w* ?[({][^'"\n]*\})['"]/g,
  ];
  return places.flatMap(place => [...text.matchAll(place)].map(([, found = '']) => found.replaceAll('$MARKET', '1')));
}

test('every operation of the guides, examples, console and tools is one of the released schema', () => {
  const released = buildSchema(read('docs/schema.released.graphql'));
  // Directives of clients.
  const rules = specifiedRules.filter(rule => rule !== KnownDirectivesRule);
  // docs/frontends.md is cut from the console.
  const guides = documents.filter(file => file !== 'docs/frontends.md');
  const found = [...guides, ...['examples', 'operations'].flatMap(filesIn)].map(file => ({
    isConsole: file.startsWith('examples/console/'),
    parts: operationsIn(file, read(file)).map(text => parseGraphQL(text)),
  }));
  const [ofConsole, others] = [true, false].map(is =>
    found.filter(({ isConsole }) => is === isConsole).flatMap(({ parts }) => parts),
  );
  // Fragments of the console stand in other files.
  const whole = [ofConsole ?? [], ...(others ?? []).map(part => [part])];
  expect(Math.min(whole.length, ofConsole?.length ?? 0)).toBeGreaterThan(30);
  for (const parts of whole) expect(validate(released, concatAST(parts), rules)).toEqual([]);
});

test('the released schema says, as the schema does, which fields are null only with an error', () => {
  const levelsIn = (schema: GraphQLSchema) =>
    new Map(fieldsOf(schema).map(([coordinate, field]) => [coordinate, errorLevels(schema, field)]));
  const now = levelsIn(createSchema());
  for (const [coordinate, levels] of levelsIn(buildSchema(read('docs/schema.released.graphql'))))
    expect([coordinate, levels]).toEqual([coordinate, now.get(coordinate) ?? levels]);
});

test('every guide, example and tool that lists events says of which time, and with which scores', () => {
  // The console lists what its reader chooses.
  const guides = ['README.md', ...['frontends', 'partners', 'reference'].map(name => `docs/${name}.md`)];
  const files = [...guides, ...['examples/partners', 'operations'].flatMap(filesIn)];
  const listing = files.filter(file => /^[^#]*\b(?:events|eventStatistics)(?:\([^)]*\))? \{/m.test(read(file)));
  expect(listing.length).toBeGreaterThan(8);
  const time = /yesterday|from["']?[:,]/;
  const scores = /likelihood["']?:|(?:severity|likelihood) and (?:severity|likelihood) 2 to 3|any likelihood/;
  const inOneLine = (file: string) => read(file).replace(/\n(?:# )?/g, ' ');
  const silent = listing.filter(file => ![time, scores].every(says => says.test(inOneLine(file))));
  expect(silent).toEqual([]);
  // Before the first example that someone may copy.
  const partners = read('docs/partners.md');
  expect(partners.search(scores)).toBeLessThan(partners.search(/\bevents\(/));
});

test.each(documents)('%s links only to headings that exist', document => {
  const links = [...read(document).matchAll(/\]\(((?!https?:)[^)#\s]*)#([^)\s]+)\)/g)];
  const slugsOf = (file: string) =>
    [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
  const missing = links.filter(
    ([, file, slug = '']) => !slugsOf(file ? join(dirname(document), file) : document).includes(slug),
  );
  expect(missing.map(([link]) => link)).toEqual([]);
});

describe('docs/decisions', () => {
  const records = readdirSync('docs/decisions').filter(file => file !== 'README.md');
  const titleOf = (file: string) => /^# \d{4}\. (.*)$/m.exec(read(`docs/decisions/${file}`))?.[1];

  test.each(records)('%s has a date, a status, a context, a decision and consequences', file => {
    const text = read(`docs/decisions/${file}`);
    expect(text).toMatch(/^Date: \d{4}-\d\d-\d\d\. Status: (accepted|superseded by \d{4})\.$/m);
    const sections = [...text.matchAll(/^## (.*)$/gm)].map(([, section]) => section);
    expect(sections).toEqual(['Context', 'Decision', 'Consequences']);
  });

  test('the index lists every record with its title', () => {
    const rows = [...read('docs/decisions/README.md').matchAll(/^- \[(\d{4})\. (.*)\]\((\S+)\)$/gm)];
    expect(rows.map(([, number, title, file]) => ({ number, title, file }))).toEqual(
      records.map(file => ({ number: file.slice(0, 4), title: titleOf(file), file })),
    );
  });

  test('a record gives the reason of each override, and of no other package', () => {
    const rows = [...read('docs/decisions/0066-overrides.md').matchAll(/^\| (`.*?) \|/gm)];
    const explained = rows.flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)` ([\d.]*)/g)]);
    const { overrides } = JSON.parse(read('package.json'));
    expect(
      explained
        .map(([, name]) => name)
        .filter(name => name !== '@apollo/server')
        .sort(),
    ).toEqual(Object.keys(overrides).sort());
    for (const [, name = '', version] of explained)
      if (version) expect(`${overrides[name]}`).toMatch(new RegExp(`^${version}\\.`));
  });

  test('a record names each dependency', () => {
    const text = records.map(file => read(`docs/decisions/${file}`)).join('\n');
    const { dependencies, devDependencies } = JSON.parse(read('package.json'));
    const names = Object.keys({ ...dependencies, ...devDependencies });
    expect(names.filter(name => !text.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('CONTRIBUTING.md', () => {
  const text = read('CONTRIBUTING.md');
  const files = (part: string) =>
    new Set([...part.matchAll(/`((?:src|schema)\/[^`]+\.\w+)`/g)].map(([, file]) => file)).size;

  test('names at most 35 files for a request, and at most 6 for a bug in a WebSocket', () => {
    const [, life = ''] = /## The life of a request\n([\s\S]*?)\n## /.exec(text) ?? [];
    const [request = ''] = life.split('The other files');
    const [, socket = ''] = /For a bug in a WebSocket,([\s\S]*?)\.\n/.exec(life) ?? [];
    expect(files(request)).toBeGreaterThan(20);
    expect(files(request)).toBeLessThanOrEqual(35);
    expect(files(socket)).toBeGreaterThan(0);
    expect(files(socket)).toBeLessThanOrEqual(6);
  });

  test.each([
    ['Add a field', 4],
    ['Add an endpoint with a mutation', 8],
  ])('%s takes at most %i edits', (recipe, most) => {
    const [, steps = ''] = new RegExp(`## ${recipe}\n([\\s\\S]*?)\n## `).exec(text) ?? [];
    const count = steps.match(/^\d+\. /gm)?.length ?? 0;
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(most);
  });
});

test('.github/dependabot.yml watches each package, and names only packages that are there', () => {
  const { updates } = parse(read('.github/dependabot.yml'));
  type Update = { 'package-ecosystem': string; directory: string; ignore?: { 'dependency-name': string }[] };
  const packages = updates.filter((update: Update) => update['package-ecosystem'] === 'npm');
  const folders: string[] = packages.map(({ directory }: Update) => directory);
  expect(folders).toEqual(['/', '/bench', '/examples/console']);
  for (const folder of folders) expect(existsSync(join('.', folder, 'package-lock.json'))).toBe(true);
  const { dependencies, devDependencies } = JSON.parse(read('package.json'));
  const ignored: string[] = (packages[0].ignore ?? []).map(
    (one: { 'dependency-name': string }) => one['dependency-name'],
  );
  expect(ignored.filter(name => !(name in { ...dependencies, ...devDependencies }))).toEqual([]);
});

const readme = readFileSync('README.md', 'utf8');

/** The text between `<!-- name -->` and `<!-- /name -->`. */
function section(name: string, document: string): string {
  const [, text] = new RegExp(`<!-- ${name} -->\\n([^]*?)\\n<!-- /${name} -->`).exec(document) ?? [];
  if (text === undefined) throw new Error(`There is no section ${name}`);
  return text.trim();
}

/** The first fenced block of a language in a text. */
function fenced(language: string, text: string): string {
  const [, block] = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(text) ?? [];
  if (block === undefined) throw new Error(`There is no block of ${language}`);
  return block;
}

const query = fenced('graphql', section('query', readme));
const answer = JSON.parse(fenced('json', section('query', readme)));

test('the query of the README returns its response on a gateway without configuration', async () => {
  const gateway = forTest(await startGateway());
  const { data, errors } = await gateway.query(query, {}, {});
  expect({ data, errors }).toEqual(answer);
});

test.each(['2027-01-01T00:00:01.000Z', '2028-02-29T23:59:59.000Z'])(
  'the query returns the same response at %s',
  async time => {
    const sandbox = forTest(await startSandbox({ now: () => new Date(time) }));
    const gateway = forTest(await startGateway({ sandbox }));
    const { data, errors } = await gateway.query(query);
    expect({ data, errors }).toEqual(answer);
  },
);

test('comments cite sections of docs/upstream-api.md that exist', () => {
  const page = readFileSync(new URL('../docs/upstream-api.md', import.meta.url), 'utf8');
  const sections = new Set([...page.matchAll(/^#+ (.*)$/gm)].map(([, title]) => title));
  const source = new URL('../src/', import.meta.url);
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'));
  const cited = files.flatMap(file => {
    const text = readFileSync(new URL(file, source), 'utf8');
    return [...text.matchAll(/docs\/upstream-api\.md: ([A-Z][A-Za-z ]*)/g)].map(([, title = '']) => title);
  });
  expect(cited.length).toBeGreaterThan(50);
  expect(cited.filter(title => !sections.has(title))).toEqual([]);
});

test('README has fewer than 150 lines', () => {
  expect(readme.split('\n').length).toBeLessThan(150);
});

describe('docs/gateway-errors.ts', () => {
  const text = read('docs/gateway-errors.ts');
  const membersIn = (source: string) => [...source.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, member]) => member);

  test('has the codes of docs/reference.md, in their order', () => {
    const [, table = ''] = /\n\| `extensions\.code`([\s\S]*?)\n\n/.exec(read('docs/reference.md')) ?? [];
    const rows = table.split('\n').flatMap(row => [...(row.split('|')[1] ?? '').matchAll(/`([A-Z_]+)`/g)]);
    const codes = [...text.matchAll(/^ {2}\| '(\w+)'/gm)].map(([, code]) => code);
    expect(codes).toEqual(rows.map(([, code]) => code).sort());
    const own = /const statusOf = \{([^}]*)\}/.exec(read('src/errors.ts'))?.[1]?.match(/[A-Z_]+/g);
    expect(codes).toEqual(expect.arrayContaining(own ?? ['no code']));
    expect(codes).toEqual(expect.arrayContaining([...documentErrors]));
  });

  test('has every member that an error can have', () => {
    const fault = { status: 429, errorCode: null, retryAfterSeconds: 5 };
    const errors = [
      new BadUserInput('filter', 'is wrong'),
      new QueryTooComplex('aliases', 2, 1),
      new RateLimited('Later', fault),
      new Overloaded(),
      new UpstreamBadInput('Wrong', fault, 'filter'),
      new RecordLeftOut({ record: 'Event', id: null, index: 0, fields: [] }),
    ].map(({ extensions }) => extensions);
    const members = new Set(errors.flatMap(each => Object.keys(each)));
    expect(membersIn(text).sort()).toEqual([...members].sort());
    expect(text).toContain('{ readonly status: number | null; readonly errorCode: string | null }');
  });
});

test('GraphiQL opens with the query of the README', () => {
  const [, query] = /```graphql\n([\s\S]*?)```/.exec(read('README.md')) ?? [];
  expect(readExamples()[0]?.query.replace(/^#.*\n/, '')).toBe(query);
});

test('each tab of GraphiQL fits into its editor', () => {
  const lines = readExamples().flatMap(({ query, variables = '' }) => `${query}\n${variables}`.split('\n'));
  expect(lines.filter(line => line.length > 70)).toEqual([]);
});
