import { readdirSync, readFileSync } from 'node:fs';

// What biome does not say about names. Run in the project's folder.
const files = ['src', 'test', 'bench', 'docs', 'schema', 'examples'].flatMap(filesIn);
const faults = [...boundsByAnotherName(), ...equalExports(), ...clocksOfHosts(), ...filesWithoutHead()];
process.stderr.write(faults.map(fault => `${fault}\n`).join(''));
process.exitCode = faults.length > 0 ? 1 : 0;

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory())
      return ['node_modules', 'dist', 'generated', 'gql'].includes(entry.name) ? [] : filesIn(path);
    return /\.(m?ts|mjs|md|graphql)$/.test(path) ? [{ path, text: readFileSync(path, 'utf8') }] : [];
  });
}

/** A bound is `max…`, `min…`, `…Threshold` or `…Timeout`. */
function boundsByAnotherName() {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(/\b(most|longest|largest|worth|least)[A-Z]\w*/g)].map(
      ([name]) => `${path}: ${name}: call a bound max…, min…, …Threshold or …Timeout`,
    ),
  );
}

/** Times are those of `src/lib/clock.ts`. The log has those of its host. */
function clocksOfHosts() {
  const own = /^src\/(?!sandbox\/|receiver\/|main\.ts|lib\/clock\.ts|lib\/output\.ts)/;
  return files
    .filter(({ path, text }) => own.test(path) && /Date\.now\(|new Date\(\)/.test(text))
    .map(({ path }) => `${path}: take the time from timeNow: hosts have different clocks`);
}

/** A file of more than 60 lines begins with a sentence that says what it is. */
function filesWithoutHead() {
  return files
    .filter(({ path, text }) => /^src\/.*\.ts$/.test(path) && text.split('\n').length > 61 && !/^\/[/*]/.test(text))
    .map(({ path }) => `${path}: say above the imports what the file is`);
}

/** Two modules that export the same name. A type and a value of one name in one module are one thing. */
function equalExports() {
  const owners = new Map();
  for (const { path, text } of files.filter(({ path }) => /^src\/(?!sandbox\/|receiver\/).*\.ts$/.test(path))) {
    const declared = text.matchAll(
      /^export (?:declare )?(?:async )?(?:abstract )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm,
    );
    for (const name of new Set([...declared].map(([, name]) => name))) {
      owners.set(name, [...(owners.get(name) ?? []), path]);
    }
  }
  return [...owners]
    .filter(([, paths]) => paths.length > 1)
    .map(([name, paths]) => `${paths.join(', ')}: all export ${name}`);
}
