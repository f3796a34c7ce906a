// Where entries are kept: in this process, and in Redis.
import { timeNow } from '../../lib/clock.js';
import { runYielding } from '../../lib/run.js';
import type { Span } from '../../observability/operation-info.js';
import { batchesOf, createRedisGuard, maxQuickBytes, redisAttributes } from '../redis.js';
import type { SharedStore } from '../shared-store.js';
import { createSignedJson } from '../signer.js';
import { type Entry, entrySchema } from './entry.js';
import { hashedKey, type ScopedKey, scopeOfKey } from './keys.js';
import type { Lookup } from './lookup.js';

export const anyGeneration = Symbol('any generation');

/**
 * The entry under a key, if it has this generation, and has not reached the given time; otherwise undefined.
 * @param maxMs how far that time is ahead at most: an entry from before the clock was set back would live for too long.
 */
export function freshEntry(
  tier: { get(key: ScopedKey): Entry | undefined },
  key: ScopedKey,
  wanted: string | undefined | typeof anyGeneration,
  until: 'freshUntil' | 'usableUntil',
  maxMs = Number.POSITIVE_INFINITY,
): Entry | undefined {
  const entry = tier.get(key);
  if (entry === undefined || (wanted !== anyGeneration && entry.generation !== wanted)) return undefined;
  const leftMs = entry[until] - timeNow();
  return leftMs > 0 && leftMs <= maxMs ? entry : undefined;
}

/** In bytes: the memory of an entry in addition to its key and the JSON text of its value. */
const overheadBytes = 400;

/**
 * The tier in this process, in two halves: once the newer one is full, it becomes the older one, and what that had is dropped as a whole. What is read moves
 * to the newer one. So an entry that nobody reads, as most are, has no place in an order of use, and costs one insertion.
 */
export class MemoryTier {
  readonly #half: number;
  #newer = new Map<ScopedKey, Entry>();
  #older = new Map<ScopedKey, Entry>();
  /** Of all that was put into the newer half. */
  #bytes = 0;

  /** @param bytes counted as JSON text; the parsed values take about twice as much memory. */
  constructor(bytes: number) {
    this.#half = bytes / 2;
  }

  get(key: ScopedKey): Entry | undefined {
    const newer = this.#newer.get(key);
    if (newer !== undefined) return newer;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  /** Keeps an entry, unless it is larger than a half. */
  set(key: ScopedKey, entry: Entry): void {
    const size = entry.bytes + key.length + overheadBytes;
    if (size > this.#half) return;
    this.#bytes += size;
    if (this.#bytes > this.#half) {
      this.#older = this.#newer;
      this.#newer = new Map();
      this.#bytes = size;
    }
    this.#newer.set(key, entry);
  }
}

/** In characters, including the scope. A longer key is hashed. */
const maxKeyLength = 250;

/** Of one command, which must arrive in time: entries have mostly a few kilobytes, and each at most `maxQuickBytes`, which large ones often have. */
const maxKeysAtOnce = 32;
const keysForLarge = 8;
/** In characters. What one call encodes or decodes beyond this waits for its turn. */
const maxAtOnce = 64 * 1024;

export type RedisTier = ReturnType<typeof createRedisTier>;

/**
 * A tier that behaves as if it were empty if Redis is unavailable, slow or full. All keys of one call must have the same scope: they are then in one
 * Cluster slot, and one command reads them all.
 */
export function createRedisTier({ redis, namespace, signer, telemetry, acceptedScopes }: SharedStore) {
  const guarded = createRedisGuard(telemetry);
  const server = redisAttributes(redis);
  const json = createSignedJson(signer, telemetry, entrySchema);
  const nameOf = (key: ScopedKey) => `mig:cache:${namespace}:${key.length <= maxKeyLength ? key : hashedKey(key)}`;

  /** Runs commands in a span. @param name of the commands, by the semantic conventions. */
  async function traced<T>(parent: Span | undefined, name: string, keys: number, run: () => Promise<T>): Promise<T> {
    const span = parent?.begin('client');
    const attributes = { 'db.system.name': 'redis', 'db.operation.name': name, 'gateway.redis.keys': keys, ...server };
    // The message of an error could hold a key.
    const end = (error?: Error) => span?.end(name, attributes, error?.name);
    try {
      const result = await run();
      end();
      return result;
    } catch (error) {
      end(error as Error);
      throw error;
    }
  }

  return {
    /** Reads entries, up to 32 in one round trip, of large ones 4. Those are left out that are missing, malformed or not signed by this fleet; all, if Redis is unavailable. */
    async getMany(lookups: readonly Lookup[], parent?: Span): Promise<ReadonlyMap<ScopedKey, Entry>> {
      const entries = new Map<ScopedKey, Entry>();
      let characters = 0;
      for (const some of batchesOf(lookups, ({ isLarge }) => (isLarge ? keysForLarge : 1), maxKeysAtOnce)) {
        const names = some.map(({ key }) => nameOf(key));
        const read = () => traced(parent, 'MGET', names.length, () => redis.mget(names));
        const texts = (await guarded('MGET', read)) ?? [];
        for (const [index, { key }] of some.entries()) {
          const [name = '', text] = [names[index], texts[index]];
          if (text == null) continue;
          characters += text.length;
          const decode = () => json.decode(name, text, 'record');
          const entry = characters <= maxAtOnce ? decode() : await runYielding(scopeOfKey(key), decode);
          if (entry === undefined) continue;
          entries.set(key, entry);
          if (entry.absent === undefined) acceptedScopes.add(scopeOfKey(key));
        }
      }
      return entries;
    },

    /** Writes entries in pipelines. Removes the key of an entry that has expired, is too large, or whose scope the service has not accepted. Never rejects. */
    async setMany(writes: ReadonlyMap<ScopedKey, Entry>, parent?: Span): Promise<void> {
      const run = async (some: readonly (readonly [ScopedKey, Entry])[]) => {
        const pipeline = redis.pipeline();
        let characters = 0;
        for (const [key, entry] of some) {
          const milliseconds = Math.ceil(entry.usableUntil - timeNow());
          const name = nameOf(key);
          if (milliseconds <= 0 || entry.bytes > maxQuickBytes || !acceptedScopes.has(scopeOfKey(key))) {
            pipeline.unlink(name);
            continue;
          }
          characters += entry.bytes;
          const encode = () => json.encode(name, entry);
          const text = characters <= maxAtOnce ? encode() : await runYielding(scopeOfKey(key), encode);
          pipeline.set(name, text, 'PX', milliseconds);
        }
        const failed = (await pipeline.exec())?.find(([error]) => error !== null);
        if (failed !== undefined) throw failed[0];
      };
      for (const some of batchesOf(writes, ([, { bytes }]) => bytes, maxQuickBytes)) {
        await guarded('SET', () => traced(parent, 'PIPELINE SET', some.length, () => run(some)));
      }
    },
  };
}
