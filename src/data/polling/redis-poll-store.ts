import { createSignedJson } from '../cache/signer.js';
import { countFaults, replacingOtherType, subscriberOf } from '../redis.js';
import type { SharedStore } from '../shared-store.js';
import { type PollStore, timesFor } from './poll-store.js';
import { type StateMessage, stateMessageSchema } from './state-message.js';

/**
 * A store for a fleet. Claims and last states are keys in Redis; messages are also published on Redis channels. Each process has one connection
 * for all its subscriptions, apart from the one for commands, which must not wait behind a large message (a Cluster client has its own for that).
 * Messages are signed: what no gateway of the fleet wrote is counted and ignored.
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

  return {
    claimMs,
    async claim(topic, generation, holder) {
      const key = redisKey(topic, generation, 'claim');
      const set = () => redis.set(key, holder, 'PX', claimMs, 'NX', 'GET');
      const current = await countFaults(telemetry, 'SET', () => replacingOtherType(redis, key, set));
      if (current === holder) await countFaults(telemetry, 'PEXPIRE', () => redis.pexpire(key, claimMs));
      return current === null || current === holder;
    },
    async release(topic, generation, holder) {
      const key = redisKey(topic, generation, 'claim');
      const current = await countFaults(telemetry, 'GET', () => redis.get(key));
      if (current === holder) await countFaults(telemetry, 'DEL', () => redis.del(key));
    },
    async read(topic, generation) {
      const text = await countFaults(telemetry, 'GET', () => redis.get(redisKey(topic, generation, 'state')));
      return text === null ? undefined : signedMessage.decode(channelOf(topic), text, 'state');
    },
    async publish(topic, message) {
      const channel = channelOf(topic);
      const key = redisKey(topic, message.generation, 'state');
      const text = signedMessage.encode(channel, message);
      const ms = keepMs[message.kind];
      if (ms > 0) await countFaults(telemetry, 'SET', () => redis.set(key, text, 'PX', ms));
      else await countFaults(telemetry, 'DEL', () => redis.del(key));
      await countFaults(telemetry, 'PUBLISH', () => redis.publish(channel, text));
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
