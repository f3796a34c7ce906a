import { z } from 'zod';
import type { SharedStore } from '../cache/keys.js';
import { createSignedJson } from '../cache/signer.js';
import { countFaults, subscriberOf } from '../redis.js';
import { type PollStore, timesFor } from './poll-store.js';
import { type StateMessage, stateMessageSchema } from './state-message.js';

/**
 * A store for a fleet. Claims and last states are keys in Redis; messages are also published on Redis channels. Each process has one connection
 * for all its subscriptions, apart from the one for commands, because a subscribed connection accepts no commands (a Cluster client has its own
 * for that). Messages are signed: what no gateway of the fleet wrote is counted and ignored.
 */
export function redisPollStore({ redis, namespace, signer, telemetry }: SharedStore, intervalMs: number): PollStore {
  const { claimMs, keepMs } = timesFor(intervalMs);
  /** The keys of one topic share a Cluster slot. */
  const channelOf = (topic: string) => `mig:live:${namespace}:{${topic}}:messages`;
  const redisKey = (topic: string, generation: string, part: 'claim' | 'state') =>
    `mig:live:${namespace}:{${topic}}:${generation}:${part}`;
  const subscribers = new Map<string, (message: StateMessage<unknown>) => void>();
  const subscriber = subscriberOf(redis);
  // A channel that cannot be subscribed to now is subscribed to when the connection is ready again.
  const subscribeTo = (channels: readonly string[]) => {
    if (channels.length === 0) return;
    countFaults(telemetry, 'SUBSCRIBE', () => subscriber.subscribe(...channels)).catch(() => {});
  };
  const resubscribe = () => subscribeTo([...subscribers.keys()]);
  const receive = (channel: string, text: string) => {
    const message = signedMessage.decode(channel, text, 'message');
    if (message !== undefined) subscribers.get(channel)?.(message);
  };
  subscriber.on('ready', resubscribe);
  subscriber.on('message', receive);

  /** A message is signed for the channel of its topic, also where it is stored under a key. */
  const signedMessage = createSignedJson(signer, telemetry, stateMessageSchema);

  /** Runs commands in a transaction. */
  const run = (name: string, commands: (transaction: ReturnType<typeof redis.multi>) => unknown) =>
    countFaults(telemetry, name, async () => {
      const transaction = redis.multi();
      commands(transaction);
      const replies = await transaction.exec();
      return (replies ?? []).map(([error, reply]) => {
        if (error !== null) throw error;
        return reply;
      });
    });

  return {
    claimMs,
    async claim(topic, generation, holder) {
      const key = redisKey(topic, generation, 'claim');
      const replies = await run('SET', transaction =>
        transaction.set(key, holder, 'PX', claimMs, 'NX', 'GET').pttl(key),
      );
      const [current, leftMs] = valueReply.parse(replies);
      if (current === holder) await countFaults(telemetry, 'PEXPIRE', () => redis.pexpire(key, claimMs));
      if (current === null || current === holder) return 0;
      return leftMs < 0 ? claimMs : Math.min(Math.max(leftMs, 1), claimMs);
    },
    async release(topic, generation, holder) {
      const key = redisKey(topic, generation, 'claim');
      const current = await countFaults(telemetry, 'GET', () => redis.get(key));
      if (current === holder) await countFaults(telemetry, 'DEL', () => redis.del(key));
    },
    async read(topic, generation) {
      const key = redisKey(topic, generation, 'state');
      const [text, leftMs] = valueReply.parse(await run('GET', transaction => transaction.get(key).pttl(key)));
      if (text === null) return undefined;
      const message = signedMessage.decode(channelOf(topic), text, 'state');
      return message && { message, ageMs: Math.max(keepMs[message.kind] - leftMs, 0) };
    },
    async publish(topic, message) {
      const channel = channelOf(topic);
      const key = redisKey(topic, message.generation, 'state');
      const text = signedMessage.encode(channel, message);
      const ms = keepMs[message.kind];
      await run('PUBLISH', transaction => {
        if (ms > 0) transaction.set(key, text, 'PX', ms);
        else transaction.del(key);
        transaction.publish(channel, text);
      });
    },
    subscribe(topic, onMessage) {
      const channel = channelOf(topic);
      subscribers.set(channel, onMessage);
      subscribeTo([channel]);
      return () => {
        if (subscribers.get(channel) !== onMessage) return;
        subscribers.delete(channel);
        subscriber.unsubscribe(channel).catch(() => {});
      };
    },
    close() {
      subscriber.off('ready', resubscribe);
      subscriber.off('message', receive);
      if (subscriber !== redis) subscriber.disconnect();
    },
  };
}

/** The value of a key, and for how many more milliseconds it exists: -1 if it never ends. */
const valueReply = z.tuple([z.string().nullable(), z.int()]);
