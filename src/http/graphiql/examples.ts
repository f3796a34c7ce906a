import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { GraphiqlTab } from './graphiql.js';

const folder = fileURLToPath(new URL('../../../operations/graphiql/', import.meta.url));

/** The queries in the first tabs of GraphiQL, with their variables. They read market 1 of the sandbox; for another service, change the number. */
export function readExamples(): GraphiqlTab[] {
  const files = readdirSync(folder).filter(file => file.endsWith('.graphql'));
  return files.sort().map(file => {
    const query = readFileSync(join(folder, file), 'utf8');
    const variables = join(folder, file.replace('.graphql', '.json'));
    return existsSync(variables) ? { query, variables: readFileSync(variables, 'utf8').trimEnd() } : { query };
  });
}
