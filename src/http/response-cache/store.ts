import { createHash } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Generations } from '../../data/cache/generations.js';
import { partsOf, type ScopedKey, type SharedStore } from '../../data/cache/keys.js';
import type { Signer } from '../../data/cache/signer.js';
import { createRedisGuard } from '../../data/redis.js';
import { pairsOf } from '../../lib/early-headers.js';
import { andThen, type MaybePromise } from '../../lib/maybe-promise.js';
import type { Telemetry } from '../../observability/telemetry.js';
import type { Answer } from './answer.js';

/** Where answers are kept, by whose they are and to what: the most recent ones in this process, and all of them in Redis where there is one. */
export interface ResponseCacheStore {
  /** The answer, if it still holds. */
  get(key: ScopedKey): MaybePromise<Answer | undefined>;
  put(key: ScopedKey, answer: Answer): void;
  /** Whether an answer is still as good as a new one: in its time, and of today's generations. */
  holds(answer: Answer): MaybePromise<boolean>;
}

/** What a store is made of. */
export interface ResponseCacheStoreDeps {
  /** The bound of the memory tier. */
  readonly bytes: number;
  /** Undefined: answers are kept in this process alone. */
  readonly shared: SharedStore | undefined;
  /** A hash of everything but the request that shapes an answer: a gateway with another schema, or other settings, answers otherwise. */
  readonly version: string;
  readonly generations: Generations;
  readonly telemetry: Telemetry;
}

/** What an answer costs besides its bodies. */
const overheadBytes = 1_500;
/** Of the memory tier, what one answer may take at most. */
const largestShare = 1 / 8;
/** How much larger an answer is with its compressed copy. */
const withCompressed = 1.3;

export function createResponseCacheStore({
  bytes,
  shared,
  version,
  generations,
  telemetry,
}: ResponseCacheStoreDeps): ResponseCacheStore {
  const guarded = createRedisGuard(telemetry);
  const memory = new LRUCache<ScopedKey, Answer>({ maxSize: bytes, maxEntrySize: bytes * largestShare });
  const remember = (key: ScopedKey, answer: Answer) => {
    const size = Math.ceil(answer.length * withCompressed) + key.length + overheadBytes;
    memory.set(key, answer, { size });
  };

  function nameIn({ namespace }: SharedStore, key: ScopedKey): string {
    const [scope, asked] = partsOf(key);
    const hash = createHash('sha256').update(asked).digest('base64url');
    return `mig:answer:${namespace}.${version}:${scope}:${hash}`;
  }

  async function inRedis(key: ScopedKey, store: SharedStore): Promise<Answer | undefined> {
    const name = nameIn(store, key);
    const found = await guarded('GET', () => store.redis.getBuffer(name));
    if (found == null) return undefined;
    try {
      return unpacked(store.signer.open(name, found) ?? nothing);
    } catch {
      telemetry.malformed('answer');
      return undefined;
    }
  }

  /** An answer with markets in it holds as long as none of them was written to; that cannot be known without asking. */
  function holds(answer: Answer): MaybePromise<boolean> {
    if (answer.keepUntil <= Date.now()) return false;
    if (answer.generations.length === 0) return true;
    return generations
      .current(answer.generations.map(([tag]) => tag))
      .then(current => answer.generations.every(([tag, generation]) => current.get(tag) === generation));
  }

  async function fromRedis(key: ScopedKey, store: SharedStore): Promise<Answer | undefined> {
    const answer = await inRedis(key, store);
    if (answer === undefined || !(await holds(answer))) return undefined;
    remember(key, answer);
    telemetry.keptAnswer('redis');
    return answer;
  }

  return {
    holds,

    get(key) {
      const remembered = memory.get(key);
      return andThen(remembered !== undefined && holds(remembered), itHolds => {
        if (!itHolds) return shared?.redis.status === 'ready' ? fromRedis(key, shared) : undefined;
        telemetry.keptAnswer('memory');
        return remembered;
      });
    },

    put(key, answer) {
      // A larger one is neither kept nor copied.
      if (answer.length > bytes * largestShare) return;
      remember(key, answer);
      const milliseconds = Math.floor(answer.keepUntil - Date.now());
      if (shared === undefined || shared.redis.status !== 'ready' || milliseconds <= 0) return;
      const { redis, signer } = shared;
      const name = nameIn(shared, key);
      void guarded('SET', () => redis.set(name, packed(answer, signer, name), 'PX', milliseconds));
    },
  };
}

const nothing = Buffer.alloc(0);

/** Headers that belong to one response or one connection, or that tell where a response ends. */
const neverKept = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'date',
  'keep-alive',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const headerList = z
  .array(z.union([z.string(), z.number(), z.array(z.string())]))
  .refine(list => list.length % 2 === 0 && [...pairsOf(list)].every(isHeader));

function isHeader([name, value]: readonly [string, number | string | readonly string[]]): boolean {
  try {
    validateHeaderName(name);
    for (const each of [value].flat()) validateHeaderValue(name, String(each));
    return !neverKept.has(name.toLowerCase());
  } catch {
    return false;
  }
}

/** What is kept of an answer besides its body. */
const head = z.strictObject({
  headers: headerList,
  etag: z.string().regex(/^"[\w-]+"$/),
  operation: z.string().optional(),
  outcome: z.string().optional(),
  keepUntil: z.number(),
  generations: z.array(z.tuple([z.string(), z.string()])),
});

/** The signature, one line of JSON, then the body. */
function packed({ body, gzipped: _, length: __, ...rest }: Answer, signer: Signer, name: string): Buffer {
  const line = `${JSON.stringify(rest)}\n`;
  return Buffer.concat([Buffer.from(signer.sign(name, line, ...body) + line), ...body]);
}

/** @throws Error where the bytes are no answer. */
function unpacked(bytes: Buffer): Answer {
  const end = bytes.indexOf('\n');
  const body = bytes.subarray(end + 1);
  const { operation, outcome, ...rest } = head.parse(JSON.parse(bytes.toString('utf8', 0, end)));
  return { ...rest, operation, outcome, body: [body], length: body.length, gzipped: undefined };
}
