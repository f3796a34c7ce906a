import { Cluster } from 'ioredis';
import { z } from 'zod';
import type { SharedStore } from '../cache/namespace.js';
import type { Lease, LeaseStore, LeaseTimes } from './lease-store.js';
import { scripts } from './scripts.js';
import { type StateMessage, stateMessageSchema } from './state-message.js';

/**
 * The board of a fleet: leases and last words are keys of one Redis, words travel over its channels. One connection of this process
 * listens, however many topics there are; it is a second one, since a connection that listens takes no commands (a Cluster client
 * has its own for it). Whoever can write to that Redis can write there what no gateway did: that is not signed, and so counted and ignored.
 */
export function redisLeaseStore(
  { redis, namespace, signer, telemetry }: SharedStore,
  { leaseMs, keepMs }: LeaseTimes,
): LeaseStore {
  /** The keys of one topic share a Cluster slot. */
  const keyOf = (topic: string, part: string) => `mig:live:${namespace}:{${topic}}:${part}`;
  const channelOf = (topic: string) => keyOf(topic, 'words');
  const listeners = new Map<string, Set<(word: StateMessage<unknown>) => void>>();
  const ear = redis instanceof Cluster ? redis : redis.duplicate({ autoResubscribe: false });
  // What cannot be subscribed to now is, as soon as the connection is there again.
  const subscribe = (channels: readonly string[]) => {
    if (channels.length > 0) ear.subscribe(...channels).catch(error => telemetry.redisFault('SUBSCRIBE', error));
  };
  const resubscribe = () => subscribe([...listeners.keys()]);
  const hear = (channel: string, text: string) => {
    const word = wordIn(text, channel, 'message');
    if (word !== undefined) for (const told of [...(listeners.get(channel) ?? [])]) told(word);
  };
  if (ear !== redis) ear.on('error', () => {});
  ear.on('ready', resubscribe);
  ear.on('message', hear);

  /** A word is signed for its topic's channel, wherever it is found. */
  function wordIn(text: string, channel: string, from: 'message' | 'state'): StateMessage<unknown> | undefined {
    try {
      return stateMessageSchema.parse(JSON.parse(signer.open(channel, text) ?? ''));
    } catch {
      telemetry.malformed(from);
      return undefined;
    }
  }
  const keptWordIn = (topic: string, text: string) =>
    text === '' ? undefined : wordIn(text, channelOf(topic), 'state');

  async function counted<T>(command: string, reply: Promise<T>): Promise<T> {
    try {
      return await reply;
    } catch (error) {
      telemetry.redisFault(command, error);
      throw error;
    }
  }

  const run = (script: string, topic: string, ...values: (string | number)[]) =>
    counted(
      'EVAL',
      redis.eval(script, 3, keyOf(topic, 'lease'), keyOf(topic, 'fence'), keyOf(topic, 'word'), ...values),
    );

  return {
    leaseMs,
    read: async topic => keptWordIn(topic, (await counted('GET', redis.get(keyOf(topic, 'word')))) ?? ''),
    async take(topic, holder) {
      const [{ fence, holder: itsHolder }, text, leftMs] = taken.parse(await run(scripts.take, topic, holder, leaseMs));
      const word = keptWordIn(topic, text);
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
      const [channel, json] = [channelOf(topic), JSON.stringify(word)];
      const values = [signer.sign(channel, json) + json, keepMs[word.kind], channel, word.kind];
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

const textOf = ({ holder, fence }: Lease) => `${fence} ${holder}`;

/** What `take` answers: the value of the lease, the last word, and how many milliseconds that has left. */
const taken = z.tuple([
  z
    .string()
    .regex(/^\d+ ./)
    .transform(value => {
      const space = value.indexOf(' ');
      return { fence: Number(value.slice(0, space)), holder: value.slice(space + 1) };
    }),
  z.string(),
  z.number(),
]);
