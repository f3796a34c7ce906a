import { Cluster } from 'ioredis';
import type { RedisClient } from '../redis.js';
import type { Board, BoardTimes, Lease } from './board.js';
import { scripts } from './scripts.js';
import type { Word } from './word.js';

/**
 * The board of a fleet: leases and last words are keys of one Redis, words travel over its channels. One connection of this process
 * listens, however many topics there are; it is a second one, since a connection that listens takes no commands (a Cluster client
 * has its own for it).
 */
export function redisBoard(redis: RedisClient, { leaseMs, keepMs }: BoardTimes): Board {
  const listeners = new Map<string, Set<(word: Word<unknown>) => void>>();
  const ear = redis instanceof Cluster ? redis : redis.duplicate({ autoResubscribe: false });
  // What cannot be subscribed to now is, as soon as the connection is there again.
  const subscribe = (channels: readonly string[]) => {
    if (channels.length > 0) ear.subscribe(...channels).catch(() => {});
  };
  const resubscribe = () => subscribe([...listeners.keys()]);
  const hear = (channel: string, text: string) => {
    const word = wordIn(text);
    if (word !== undefined) for (const told of [...(listeners.get(channel) ?? [])]) told(word);
  };
  if (ear !== redis) ear.on('error', () => {});
  ear.on('ready', resubscribe);
  ear.on('message', hear);

  const run = (script: string, topic: string, ...values: (string | number)[]) =>
    redis.eval(script, 3, keyOf(topic, 'lease'), keyOf(topic, 'fence'), keyOf(topic, 'word'), ...values);

  return {
    leaseMs,
    read: async topic => wordIn((await redis.get(keyOf(topic, 'word'))) ?? ''),
    async take(topic, holder) {
      const [held, text, leftMs] = (await run(scripts.take, topic, holder, leaseMs)) as [string, string, number];
      const [, digits = '', itsHolder] = /^(\d+) (.*)$/.exec(held) ?? [];
      const fence = Number(digits);
      const word = wordIn(text);
      return {
        lease: itsHolder === holder ? { holder, fence } : undefined,
        fence,
        kept: word && { word, ageMs: Math.max(keepMs[word.kind] - leftMs, 0) },
      };
    },
    renew: async (topic, lease) => (await run(scripts.renew, topic, textOf(lease), leaseMs)) === 1,
    async release(topic, lease) {
      await run(scripts.release, topic, textOf(lease));
    },
    async announce(topic, lease, word) {
      const values = [JSON.stringify(word), keepMs[word.kind], channelOf(topic), word.kind];
      return (await run(scripts.announce, topic, textOf(lease), ...values)) === 1;
    },
    listen(topic, told) {
      const channel = channelOf(topic);
      const its = listeners.get(channel);
      if (its !== undefined) its.add(told);
      else {
        listeners.set(channel, new Set([told]));
        subscribe([channel]);
      }
      return () => {
        const those = listeners.get(channel);
        if (!those?.delete(told) || those.size > 0) return;
        listeners.delete(channel);
        ear.unsubscribe(channel).catch(() => {});
      };
    },
    close() {
      ear.off('ready', resubscribe);
      ear.off('message', hear);
      if (ear !== redis) ear.disconnect();
    },
  };
}

/** The keys of one topic share a Cluster slot. */
const keyOf = (topic: string, part: string) => `mig:live:{${topic}}:${part}`;
const channelOf = (topic: string) => keyOf(topic, 'words');
const textOf = ({ holder, fence }: Lease) => `${fence} ${holder}`;

function wordIn(text: string): Word<unknown> | undefined {
  if (text === '') return undefined;
  try {
    const word = JSON.parse(text);
    return typeof word?.fence === 'number' && typeof word.seq === 'number' ? word : undefined;
  } catch {
    return undefined;
  }
}
