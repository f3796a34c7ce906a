import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Generations } from '../../cache/generations.js';
import { partsOf, type ScopedKey } from '../../cache/scoped-key.js';
import { andThen, type MaybePromise } from '../../maybe-promise.js';
import type { RedisClient } from '../../redis.js';
import type { Telemetry } from '../../telemetry.js';
import type { Answer } from './answer.js';

/** Where answers are kept, by whose they are and to what: the most recent ones in this process, and all of them in Redis where there is one. */
export interface AnswerStore {
  /** The answer, if it still holds. */
  get(key: ScopedKey): MaybePromise<Answer | undefined>;
  put(key: ScopedKey, answer: Answer): void;
  /** Whether an answer is still as good as a new one: in its time, and of today's generations. */
  holds(answer: Answer): MaybePromise<boolean>;
}

/** What a store is made of. */
export interface AnswerStoreParts {
  /** The bound of the memory tier. */
  readonly bytes: number;
  readonly redis: RedisClient | undefined;
  readonly generations: Generations;
  readonly telemetry: Telemetry;
}

/** What an answer costs besides its bodies. */
const overheadBytes = 1_500;
/** How much larger an answer is with its compressed copy. */
const withCompressed = 1.3;

export function createAnswerStore({ bytes, redis, generations, telemetry }: AnswerStoreParts): AnswerStore {
  const memory = new LRUCache<ScopedKey, Answer>({ maxSize: bytes });
  const remember = (key: ScopedKey, answer: Answer) => {
    const size = Math.ceil(answer.length * withCompressed) + key.length + overheadBytes;
    memory.set(key, answer, { size });
  };

  async function inRedis(key: ScopedKey, client: RedisClient): Promise<Answer | undefined> {
    try {
      const found = await client.getBuffer(redisKey(key));
      return found === null ? undefined : unpacked(found);
    } catch {
      telemetry.redisFault('GET');
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

  async function fromRedis(key: ScopedKey, client: RedisClient): Promise<Answer | undefined> {
    const shared = await inRedis(key, client);
    if (shared === undefined || !(await holds(shared))) return undefined;
    remember(key, shared);
    telemetry.keptAnswer('redis');
    return shared;
  }

  return {
    holds,

    get(key) {
      const remembered = memory.get(key);
      return andThen(remembered !== undefined && holds(remembered), itHolds => {
        if (!itHolds) return redis?.status === 'ready' ? fromRedis(key, redis) : undefined;
        telemetry.keptAnswer('memory');
        return remembered;
      });
    },

    put(key, answer) {
      remember(key, answer);
      const milliseconds = Math.floor(answer.keepUntil - Date.now());
      if (redis === undefined || redis.status !== 'ready' || milliseconds <= 0) return;
      redis.set(redisKey(key), packed(answer), 'PX', milliseconds).catch(() => telemetry.redisFault('SET'));
    },
  };
}

function redisKey(key: ScopedKey): string {
  const [scope, asked] = partsOf(key);
  return `mig:${scope}:answer:${createHash('sha256').update(asked).digest('base64url')}`;
}

/** One line of JSON, then the body. */
function packed({ body, gzipped: _, ...rest }: Answer): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(rest)}\n`), ...body]);
}

function unpacked(bytes: Buffer): Answer {
  const end = bytes.indexOf('\n');
  return { ...JSON.parse(bytes.subarray(0, end).toString()), body: [bytes.subarray(end + 1)], gzipped: undefined };
}
