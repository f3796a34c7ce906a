import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { CriticalityLevel, DiffRule, diff } from '@graphql-inspector/core';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { printSchemaWithDirectives } from '@graphql-tools/utils';
import { buildSchema } from 'graphql';

// The promise to clients: what was released, and which breaks of it are declared. Run in the project's folder.
const released = 'docs/schema.released.graphql';
const changes = 'docs/changes.md';
const unreleased = '## Unreleased\n';

const { values } = parseArgs({ options: { release: { type: 'boolean', default: false } } });
const schema = currentSchema();
const text = readFileSync(changes, 'utf8');
const faults = [...forOperators(), ...(existsSync(released) ? await undeclared() : [])];
if (faults.length > 0) {
  process.stderr.write(`${faults.join('\n')}\n`);
  process.exitCode = 1;
} else if (values.release) {
  // What a field costs is no promise: the released SDL has all directives but that.
  writeFileSync(released, `${printSchemaWithDirectives(schema).replace(/(?<!directive) @cost\([^)]*\)/g, '')}\n`);
  const today = new Date().toISOString().slice(0, 10);
  if (declarations() !== '') writeFileSync(changes, text.replace(unreleased, `${unreleased}\n## ${today}\n`));
}

function currentSchema() {
  const files = readdirSync('schema').filter(file => file.endsWith('.graphql'));
  return makeExecutableSchema({ typeDefs: files.sort().map(file => readFileSync(`schema/${file}`, 'utf8')) });
}

/** What descriptions say to clients: the service's paths are in docs/upstream-api.md, and settings in docs/configuration.md. */
function forOperators() {
  const settings = [...readFileSync('docs/configuration.md', 'utf8').matchAll(/^\| `([A-Z_]{5,})` \|/gm)].map(
    ([, name]) => name,
  );
  const words = new RegExp(`\\b(?:(?:GET|POST|PUT|PATCH|DELETE) (?:\\{\\w+\\})?/|(?:${settings.join('|')})\\b)`);
  return readdirSync('schema').flatMap(file =>
    readFileSync(`schema/${file}`, 'utf8')
      .split('\n')
      .flatMap((line, index) => {
        const [found] = line.trimStart().startsWith('#') ? [] : (words.exec(line) ?? []);
        return found === undefined ? [] : [`schema/${file}:${index + 1}: "${found}" is nothing that clients know`];
      }),
  );
}

/** Whether clients lose what could have been marked with `@deprecated` first. The rules let pass what was deprecated in the last release. */
function isRemoval({ type }) {
  return ['FIELD_REMOVED', 'INPUT_FIELD_REMOVED', 'ENUM_VALUE_REMOVED'].includes(type);
}

/** What stands under "Unreleased". */
function declarations() {
  const [, section] = text.split(unreleased);
  if (section === undefined) throw new Error(`${changes} has no heading "${unreleased.trim()}"`);
  return section.split('\n## ')[0].trim();
}

async function undeclared() {
  const before = buildSchema(readFileSync(released, 'utf8'));
  const found = await diff(before, schema, [DiffRule.simplifyChanges, DiffRule.suppressRemovalOfDeprecatedField]);
  const breaking = found.filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking);
  const nameOf = ({ type, path }) => `${type} ${path}`;
  const declared = [...declarations().matchAll(/^- \*\*Breaking\*\* `([^`]+)`/gm)].map(([, name]) => name);
  const names = new Set(breaking.map(nameOf));
  return [
    ...breaking
      .filter(isRemoval)
      .map(
        change =>
          `${change.message}: deprecate it first. Mark it with @deprecated, release that, and remove it in a later release`,
      ),
    ...breaking
      .filter(change => !isRemoval(change) && !declared.includes(nameOf(change)))
      .map(
        change => `${change.message}: this breaks clients. Keep it, or declare it in ${changes} under "Unreleased":
  - **Breaking** \`${nameOf(change)}\`: why, and what to use instead`,
      ),
    ...declared
      .filter(name => !names.has(name))
      .map(name => `${changes} declares \`${name}\`, which the schema does not do`),
  ];
}
