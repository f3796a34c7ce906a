// `npm run purge`: makes the gateways of a fleet forget what they cached. Runs with the environment of a gateway.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Cluster } from 'ioredis';
import { createHashScoper } from '../../auth/credentials.js';
import { type Config, readConfig } from '../../config/config.js';
import { failureInWords } from '../../observability/warnings.js';
import { connectForCommand, databaseOf, disconnect, type RedisClient } from '../redis.js';
import { fleetNamespace } from '../shared-store.js';
import { changeGeneration, refreshMs, writePurge } from './generations.js';
import { jobsTag, marketTag } from './keys.js';

const usage = 'Usage: npm run purge -- --market <id> | --credential-hash sha256:<hash> | --all';
const options = {
  market: { type: 'string' },
  'credential-hash': { type: 'string' },
  all: { type: 'boolean' },
} as const;

/** Purges, and returns a line that says what was done. @throws Error with a line that says why nothing was. */
async function purge(env: Record<string, string | undefined>, args: readonly string[]): Promise<string> {
  const { market, 'credential-hash': hash, all } = valuesIn(args);
  const config = readConfig(env);
  if (hash !== undefined && !env.SESSION_SECRET && !env.SESSION_SECRET_FILE) {
    throw new Error('SESSION_SECRET: must be set, as the gateways have it, for --credential-hash');
  }
  if (config.redis === undefined) {
    throw new Error(
      'REDIS_URL is not set: each gateway has a cache of its own, in memory. Restart a gateway to purge it',
    );
  }
  if (config.upstream.base === undefined) {
    throw new Error('UPSTREAM_BASE_URL is not set: the names in Redis contain the three upstream addresses');
  }
  const redis = await connectForCommand(config.redis, 'nothing was purged');
  try {
    const fleet = fleetNamespace(databaseOf(redis), config.upstream);
    if (market !== undefined) {
      // As gateways write it, without zeros in front.
      const id = String(BigInt(market));
      for (const tag of [marketTag(id), jobsTag(id)]) await changeGeneration(redis, fleet, tag);
      return `Purged market ${market}: each gateway reads it from the service again.`;
    }
    const scopes = hash === undefined ? [] : scopesOf(config, hash);
    await writePurge(redis, fleet, all ? 'all' : scopes);
    // By then each gateway that reaches Redis knows of it, and writes no older entry.
    await sleep(2 * refreshMs);
    const patterns = all ? ['*'] : scopes.map(scope => `{${scope}}:*`);
    const entries = patterns.flatMap(rest => [`mig:cache:${fleet}:${rest}`, `mig:response:${fleet}:${rest}`]);
    const removed = await remove(redis, entries);
    const what = all ? 'everything that was cached' : 'what was cached for this credential';
    const check =
      removed === 0 ? ' If there should have been some, check that the settings are those of the gateways.' : '';
    return `Purged ${what}: ${removed} entries in Redis, and the memory of each gateway that reaches Redis.${check}`;
  } catch (error) {
    throw new Error(`REDIS_URL: ${failureInWords(error, 'the purge is not complete')}`);
  } finally {
    disconnect(redis);
  }
}

/** @throws Error for anything but one valid option. */
function valuesIn(args: readonly string[]) {
  try {
    const { values } = parseArgs({ args: [...args], options });
    const { market = '1', 'credential-hash': hash = `sha256:${'0'.repeat(64)}` } = values;
    const isOne = Object.keys(values).length === 1;
    if (isOne && /^\d+$/.test(market) && /^sha256:[\da-f]{64}$/.test(hash)) return values;
  } catch {}
  throw new Error(usage);
}

/** The scopes that a credential with this hash has, as whatever it was sent, and under each secret while secrets rotate. */
const scopesOf = ({ sessionSecrets }: Config, hash: string) =>
  sessionSecrets.flatMap(secret =>
    (['apiKey', 'bearer', 'sessionId'] as const).map(kind => createHashScoper(secret)(kind, hash)),
  );

/** Removes the entries whose names match one of the patterns. Returns how many there were. */
async function remove(redis: RedisClient, patterns: readonly string[]): Promise<number> {
  let removed = 0;
  for (const node of redis instanceof Cluster ? redis.nodes('master') : [redis]) {
    for (const match of patterns) {
      for await (const names of node.scanStream({ match, count: 1_000 }) as AsyncIterable<string[]>) {
        const pipeline = node.pipeline();
        for (const name of names) pipeline.unlink(name);
        const results = (await pipeline.exec()) ?? [];
        removed += results.filter(([, count]) => count === 1).length;
      }
    }
  }
  return removed;
}

try {
  process.stdout.write(`${await purge(process.env, process.argv.slice(2))}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
