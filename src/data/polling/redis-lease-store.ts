import { Cluster } from 'ioredis';
import { z } from 'zod';
import type { SharedStore } from '../cache/keys.js';
import { createSignedJson } from '../cache/signer.js';
import { countFaults } from '../redis.js';
import type { Lease, LeaseStore, LeaseTimes } from './lease-store.js';
import { type StateMessage, stateMessageSchema } from './state-message.js';

/**
 * A lease store for a fleet. Leases and last messages are keys in Redis; messages are also published on Redis channels. Each process has one
 * connection for all its subscriptions, apart from the one for commands, because a subscribed connection accepts no commands (a Cluster
 * client has its own for that). Messages are signed: what no gateway of the fleet wrote is counted and ignored.
 */
export function redisLeaseStore(
  { redis, namespace, signer, telemetry }: SharedStore,
  { leaseMs, keepMs }: LeaseTimes,
): LeaseStore {
  /** The keys of one topic share a Cluster slot. */
  const redisKey = (topic: string, part: string) => `mig:live:${namespace}:{${topic}}:${part}`;
  const channelOf = (topic: string) => redisKey(topic, 'messages');
  const subscribers = new Map<string, Set<(message: StateMessage<unknown>) => void>>();
  const subscriber = redis instanceof Cluster ? redis : redis.duplicate({ autoResubscribe: false });
  // A channel that cannot be subscribed to now is subscribed to when the connection is ready again.
  const subscribeTo = (channels: readonly string[]) => {
    if (channels.length === 0) return;
    countFaults(telemetry, 'SUBSCRIBE', () => subscriber.subscribe(...channels)).catch(() => {});
  };
  const resubscribe = () => subscribeTo([...subscribers.keys()]);
  const receive = (channel: string, text: string) => {
    const message = signedMessage.decode(channel, text, 'message');
    if (message !== undefined) for (const onMessage of [...(subscribers.get(channel) ?? [])]) onMessage(message);
  };
  if (subscriber !== redis) subscriber.on('error', () => {});
  subscriber.on('ready', resubscribe);
  subscriber.on('message', receive);

  /** A message is signed for the channel of its topic, also where it is stored under a key. */
  const signedMessage = createSignedJson(signer, telemetry, stateMessageSchema);
  const decodeStored = (topic: string, text: string) =>
    text === '' ? undefined : signedMessage.decode(channelOf(topic), text, 'state');

  const run = (script: string, topic: string, ...values: (string | number)[]) => {
    const keys = ['lease', 'fence', 'message'].map(part => redisKey(topic, part));
    return countFaults(telemetry, 'EVAL', () => redis.eval(script, keys.length, ...keys, ...values));
  };

  return {
    leaseMs,
    async read(topic) {
      const text = await countFaults(telemetry, 'GET', () => redis.get(redisKey(topic, 'message')));
      return decodeStored(topic, text ?? '');
    },
    async take(topic, holder) {
      const [current, text, leftMs] = takeReply.parse(await run(scripts.take, topic, holder, leaseMs));
      const message = decodeStored(topic, text);
      return {
        lease: current.holder === holder ? current : undefined,
        fence: current.fence,
        stored: message && { message, ageMs: Math.max(keepMs[message.kind] - leftMs, 0) },
      };
    },
    renew: async (topic, lease) => (await run(scripts.renew, topic, encodeLease(lease), leaseMs)) === 1,
    async release(topic, lease) {
      await run(scripts.release, topic, encodeLease(lease));
    },
    async publish(topic, lease, message) {
      const channel = channelOf(topic);
      const values = [signedMessage.encode(channel, message), keepMs[message.kind], channel, message.kind];
      return (await run(scripts.publish, topic, encodeLease(lease), ...values)) === 1;
    },
    subscribe(topic, onMessage) {
      const channel = channelOf(topic);
      const callbacks = subscribers.get(channel);
      if (callbacks !== undefined) callbacks.add(onMessage);
      else {
        subscribers.set(channel, new Set([onMessage]));
        subscribeTo([channel]);
      }
      return () => {
        const remaining = subscribers.get(channel);
        if (!remaining?.delete(onMessage) || remaining.size > 0) return;
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

const encodeLease = ({ holder, fence }: Lease) => `${fence} ${holder}`;

/** The reply of `take`: the current lease, the last message, and for how many more milliseconds it is stored. */
const takeReply = z.tuple([
  z
    .string()
    .regex(/^\d+ ./)
    .transform((value): Lease => {
      const space = value.indexOf(' ');
      return { fence: Number(value.slice(0, space)), holder: value.slice(space + 1) };
    }),
  z.string(),
  z.number(),
]);

/** KEYS: lease, fence, message. The value of a lease is `<fence> <holder>`. */
const scripts = {
  /**
   * ARGV: holder, lease in ms. Returns the value of the current lease, the last message ('' if there is none) and its remaining time in
   * milliseconds. A holder that already has the lease keeps it, because the reply to its earlier attempt may have been lost.
   * A fence is the server's clock in microseconds, or the last fence plus one, so it grows even if Redis lost all data.
   */
  take: `
    local message = redis.call('GET', KEYS[3]) or ''
    local left = redis.call('PTTL', KEYS[3])
    local held = redis.call('GET', KEYS[1])
    if held then
      if string.match(held, ' (.*)$') == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
      return {held, message, left}
    end
    local clock = redis.call('TIME')
    local fence = math.max(clock[1] * 1000000 + clock[2], (tonumber(redis.call('GET', KEYS[2])) or 0) + 1)
    local text = string.format('%.0f', fence)
    local value = text .. ' ' .. ARGV[1]
    redis.call('SET', KEYS[2], text, 'EX', 86400)
    redis.call('SET', KEYS[1], value, 'PX', ARGV[2])
    return {value, message, left}`,

  /** ARGV: the lease's value, lease in ms. */
  renew: `
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    return redis.call('PEXPIRE', KEYS[1], ARGV[2])`,

  /** ARGV: the lease's value. */
  release: `
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    return redis.call('DEL', KEYS[1])`,

  /** ARGV: the lease's value, the message, for how many ms to store it (0: not at all), the channel, its kind. Any kind but `state` ends the lease. */
  publish: `
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    if ARGV[5] ~= 'state' then redis.call('DEL', KEYS[1]) end
    if ARGV[3] == '0' then redis.call('DEL', KEYS[3])
    else redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3]) end
    redis.call('PUBLISH', ARGV[4], ARGV[2])
    return 1`,
} as const;
