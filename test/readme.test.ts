import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { startSandbox } from '../src/sandbox/server.js';
import { callsTableAsMarkdown } from './support/calls-table.js';
import { startGateway } from './support/gateway.js';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

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
  const gateway = await startGateway();
  try {
    const { data, errors } = await gateway.query(query, {}, {});
    expect({ data, errors }).toEqual(answer);
  } finally {
    await gateway.close();
  }
});

test.each(['2027-01-01T00:00:01.000Z', '2028-02-29T23:59:59.000Z'])(
  'the query returns the same response at %s',
  async time => {
    const sandbox = await startSandbox({ now: () => new Date(time) });
    const gateway = await startGateway({ sandbox });
    try {
      const { data, errors } = await gateway.query(query);
      expect({ data, errors }).toEqual(answer);
    } finally {
      await gateway.close();
      await sandbox.close();
    }
  },
);

test('docs/cost.md shows the tested table of calls', () => {
  const page = readFileSync(new URL('../docs/cost.md', import.meta.url), 'utf8');
  expect(section('calls', page)).toBe(callsTableAsMarkdown());
});

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
