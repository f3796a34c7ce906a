// `npm run check-config`: checks everything that the start checks, but connects to Redis alone, listens nowhere and changes nothing. Prints the value and the
// source of each setting, or the faults, and exits with 0 or 1. `--json` prints `{ valid, settings, faults }`.
import { parseArgs } from 'node:util';
import { readTeams } from './auth/teams.js';
import { loadTracing, warnOfSettings } from './components.js';
import { type Config, readConfig } from './config/config.js';
import { ConfigurationError } from './config/configuration-error.js';
import { connectForCommand, disconnect, faultsOfRedis } from './data/redis.js';
import { checkFileStore } from './domains/exports/exports.js';
import { createDocumentParser } from './graphql/limits/document-checks.js';
import { readManifest } from './graphql/limits/documents.js';
import { readToolOperations } from './http/mcp/operations.js';
import { checkStaticFiles } from './http/static-files.js';
import { createSchema } from './schema.js';

async function faultsOfFiles(config: Config): Promise<readonly string[]> {
  const { teamsFile, persistedDocuments, mcp, staticDir, dataDir, redis, traces } = config;
  const checks: readonly (readonly [value: string | undefined, check: (value: string) => unknown])[] = [
    [teamsFile, readTeams],
    [persistedDocuments.file, readManifest],
    [mcp.operations, folder => readToolOperations(folder, toolsDeps(config))],
    [staticDir, checkStaticFiles],
    [redis === undefined ? dataDir : undefined, checkFileStore],
    [traces ? 'OTEL_...' : undefined, loadTracing],
  ];
  const found = await Promise.allSettled(checks.map(async ([value, check]) => value !== undefined && check(value)));
  return found.flatMap(each => (each.status === 'rejected' ? faultsOf(each.reason) : []));
}

function toolsDeps({ mcp, introspection }: Config) {
  const schema = createSchema();
  const documentChecks = { parse: createDocumentParser(schema, introspection) };
  return { schema, documentChecks, allowMutations: mcp.allowMutations };
}

function faultsOf(error: unknown): readonly string[] {
  if (error instanceof ConfigurationError) return error.faults;
  throw error;
}

/** Warns as the start does, which goes on without Redis, or with one that can do less. */
async function warnOfRedis(warn: (words: string) => void, { redis: urls }: Config): Promise<void> {
  if (urls === undefined) return;
  try {
    const redis = await connectForCommand(urls, 'what it allows was not checked');
    for (const fault of await faultsOfRedis(redis)) warn(`Redis: ${fault}`);
    disconnect(redis);
  } catch (error) {
    warn((error as Error).message);
  }
}

async function check(env: Record<string, string | undefined>) {
  try {
    const config = readConfig(env);
    const faults = await faultsOfFiles(config);
    const warn = (words: string) => process.stderr.write(`${words}\n`);
    if (faults.length === 0) {
      warnOfSettings({ warn }, config);
      await warnOfRedis(warn, config);
    }
    return { settings: config.settings, faults };
  } catch (error) {
    return { settings: [], faults: faultsOf(error) };
  }
}

const { values: given } = parseArgs({ options: { json: { type: 'boolean', default: false } } });
const { settings, faults } = await check(process.env);
const isValid = faults.length === 0;
if (given.json) {
  process.stdout.write(`${JSON.stringify({ valid: isValid, settings, faults }, null, 2)}\n`);
} else {
  const names = Math.max(...settings.map(({ name }) => name.length));
  for (const { name, source, value } of settings) {
    process.stdout.write(`${name.padEnd(names)}  ${source.padEnd(11)}  ${value ?? ''}`.trimEnd().concat('\n'));
  }
  if (!isValid) process.stderr.write(`${new ConfigurationError(...faults).message}\n`);
}
process.exitCode = isValid ? 0 : 1;
