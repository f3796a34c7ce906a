// What gateways of a fleet tell each other of their polls, through Redis.
import { hash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { timeNow } from '../../lib/clock.js';
import { oncePerValue } from '../../lib/run.js';
import {
  batchesOf,
  countFaults,
  disconnect,
  releaseLock,
  replacingOtherType,
  subscriberOf,
  takeLock,
} from '../redis.js';
import type { SharedStore } from '../shared-store.js';
import { createSignedJson } from '../signer.js';
import { type PollStore, timesFor } from './poll-store.js';
import { type StateMessage, stateMessageSchema } from './state-message.js';

/** In characters. A command with more than this could miss its deadline on a slow link. */
const maxAtOnce = 64 * 1024;

/** An element of a list, by the hash of its JSON, which vouches for what is read. */
const piece = z.object({ id: z.string(), length: z.int() });
type Piece = Readonly<z.output<typeof piece>>;
const pieceIn = (text: string): Piece => ({ id: hash('sha256', text, 'base64url').slice(0, 32), length: text.length });
const lengthOf = ({ length }: Piece) => length;
const pieceOf = oncePerValue((element: object) => pieceIn(JSON.stringify(element)));

/** A message, and when it was signed, in milliseconds since 1970. Where it has pieces, they are the list that its state lacks. */
const storedSchema = z.object({
  message: stateMessageSchema,
  signedAt: z.number(),
  list: z.object({ member: z.string(), pieces: z.array(piece) }).optional(),
});
type Stored = z.output<typeof storedSchema>;

/**
 * The lists of messages in pieces, so that only what is new is sent and read. Those of one channel are in one hash of Redis; this process keeps the ones of
 * each channel that it follows.
 */
function sharedLists({ redis, telemetry }: SharedStore) {
  const counted = <T>(command: string, send: () => Promise<T>) => countFaults(telemetry, command, send);
  const keyOf = (channel: string) => `${channel}:pieces`;
  /** By channel. Of `join`, the last run: one at a time, so that none reads what another already does. */
  const followed = new Map<string, { elements: Map<string, object>; joining: Promise<unknown> }>();
  const keep = (channel: string, elements: Map<string, object>): void => {
    const here = followed.get(channel);
    if (here !== undefined) here.elements = elements;
  };

  async function join({ message, list }: Stored, channel: string): Promise<StateMessage<unknown>> {
    if (list === undefined || message.kind === 'refused') return message;
    const elements = followed.get(channel)?.elements ?? new Map<string, object>();
    const missing = list.pieces.filter(({ id }) => !elements.has(id));
    for (const batch of batchesOf(missing, lengthOf, maxAtOnce)) {
      const ids = batch.map(({ id }) => id);
      const texts = await counted('HMGET', () => redis.hmget(keyOf(channel), ...ids));
      for (const [index, id] of ids.entries()) {
        const text = texts[index];
        if (text == null || pieceIn(text).id !== id) throw new Error('A piece is missing');
        // If a later one cannot be read, the next attempt continues here.
        elements.set(id, JSON.parse(text));
      }
    }
    const whole = list.pieces.map(({ id }) => elements.get(id) as object);
    keep(channel, new Map(list.pieces.map(({ id }, index) => [id, whole[index] as object])));
    return { ...message, state: { ...(message.state as object), [list.member]: whole } };
  }

  return {
    follow: (channel: string) => followed.set(channel, { elements: new Map(), joining: Promise.resolve() }),
    keep: (channel: string, list: readonly object[]) =>
      keep(channel, new Map(list.map(element => [pieceOf(element).id, element]))),
    leave: (channel: string) => followed.delete(channel),
    /** The message with its list. What this process does not have of it is read. @throws Error if something is missing. */
    joined(stored: Stored, channel: string): Promise<StateMessage<unknown>> {
      const here = followed.get(channel) ?? { joining: Promise.resolve() };
      const next = here.joining.catch(() => {}).then(() => join(stored, channel));
      here.joining = next;
      return next;
    },
    /** Writes what Redis does not have of a list. @returns its pieces, and the ids of what Redis need not have any more. */
    async write(channel: string, list: readonly object[], ms: number) {
      const pieces = list.map(element => pieceOf(element));
      const elements = new Map(pieces.map(({ id }, index) => [id, list[index] as object]));
      keep(channel, elements);
      const key = keyOf(channel);
      const expire = () => counted('PEXPIRE', () => redis.pexpire(key, ms));
      await expire();
      const names = () => replacingOtherType(redis, key, () => redis.hkeys(key));
      const present = new Set(await counted('HKEYS', names));
      const missing = [...elements].flatMap(([id, element]) => (present.has(id) ? [] : [pieceOf(element)]));
      for (const batch of batchesOf(missing, lengthOf, maxAtOnce)) {
        const texts = batch.map(({ id }) => [id, JSON.stringify(elements.get(id))] as const);
        await Promise.all([counted('HSET', () => redis.hset(key, new Map(texts))), expire()]);
      }
      return { pieces, unused: [...present].filter(id => !elements.has(id)) };
    },
    async remove(channel: string, ids: readonly string[]): Promise<void> {
      if (ids.length > 0) await counted('HDEL', () => redis.hdel(keyOf(channel), ...ids));
    },
  };
}

/**
 * A store for a fleet. Locks and last states are keys in Redis; messages are also published on Redis channels. Each process has one connection
 * for all its subscriptions, apart from the one for commands, which must not wait behind a large message (a Cluster client has its own for that).
 * Messages are signed: what no gateway of the fleet wrote is counted and ignored.
 */
export function redisPollStore(shared: SharedStore, intervalMs: number): PollStore {
  const { redis, namespace, signer, telemetry } = shared;
  const { lockMs, keepMs } = timesFor(intervalMs);
  const holder = randomUUID();
  /** An older message was put back by somebody. */
  const maxAgeMs = Math.max(5 * 60_000, keepMs.state);
  /** The keys of one topic share a Cluster slot. */
  const channelOf = (topic: string) => `mig:live:${namespace}:{${topic}}:messages`;
  const redisKey = (topic: string, generation: string, part: 'lock' | 'state') =>
    `mig:live:${namespace}:{${topic}}:${generation}:${part}`;
  const counted = <T>(command: string, send: () => Promise<T>) => countFaults(telemetry, command, send);
  const lists = sharedLists(shared);
  const subscribers = new Map<string, (message: StateMessage<unknown>) => void>();
  const subscriber = subscriberOf(redis);
  // A channel that cannot be subscribed to now is subscribed to when the connection is ready again.
  const subscribeTo = (channels: readonly string[]) => {
    if (channels.length > 0) counted('SUBSCRIBE', () => subscriber.subscribe(...channels)).catch(() => {});
  };
  subscriber.on('ready', () => subscribeTo([...subscribers.keys()]));
  subscriber.on('message', (channel: string, text: string) => {
    const onMessage = subscribers.get(channel);
    const stored = decode(channel, text, 'message');
    if (stored === undefined || onMessage === undefined) return;
    const deliver = (message: StateMessage<unknown>) => subscribers.get(channel) === onMessage && onMessage(message);
    // Without the list, the next read decides.
    lists.joined(stored, channel).then(deliver, () => {});
  });

  /** A message is signed for the channel of its topic, also where it is stored under a key. */
  const signedMessage = createSignedJson(signer, telemetry, storedSchema);
  function decode(channel: string, text: string, what: 'message' | 'state'): Stored | undefined {
    const stored = signedMessage.decode(channel, text, what);
    if (stored === undefined || Math.abs(timeNow() - stored.signedAt) <= maxAgeMs) return stored;
    telemetry.malformed(what);
    return undefined;
  }

  return {
    isShared: true,
    lockMs,
    lock: (topic, generation) => takeLock(redis, redisKey(topic, generation, 'lock'), holder, lockMs, counted),
    isLocked: async (topic, generation) =>
      (await counted('GET', () => redis.get(redisKey(topic, generation, 'lock')))) !== null,
    release: (topic, generation) => releaseLock(redis, redisKey(topic, generation, 'lock'), holder, counted),
    async read(topic, generation) {
      const text = await counted('GET', () => redis.get(redisKey(topic, generation, 'state')));
      const stored = text === null ? undefined : decode(channelOf(topic), text, 'state');
      return stored && lists.joined(stored, channelOf(topic));
    },
    async publish(topic, message, member) {
      const channel = channelOf(topic);
      const key = redisKey(topic, message.generation, 'state');
      const ms = keepMs[message.kind];
      let stored: Stored = { message, signedAt: timeNow() };
      let unused: readonly string[] = [];
      if (message.kind !== 'refused' && member !== undefined) {
        const { [member]: list = [], ...state } = message.state as Readonly<Record<string, readonly object[]>>;
        // For longer than the message that needs them.
        const written = await lists.write(channel, list, 2 * ms);
        stored = { ...stored, message: { ...message, state }, list: { member, pieces: written.pieces } };
        unused = written.unused;
      }
      const text = signedMessage.encode(channel, stored);
      if (ms > 0) await counted('SET', () => redis.set(key, text, 'PX', ms));
      else await counted('DEL', () => redis.del(key));
      await counted('PUBLISH', () => redis.publish(channel, text));
      await lists.remove(channel, unused);
    },
    keep: (topic, list) => lists.keep(channelOf(topic), list),
    subscribe(topic, onMessage) {
      const channel = channelOf(topic);
      subscribers.set(channel, onMessage);
      lists.follow(channel);
      subscribeTo([channel]);
      return () => {
        if (subscribers.get(channel) !== onMessage) return;
        subscribers.delete(channel);
        lists.leave(channel);
        subscriber.unsubscribe(channel).catch(() => {});
      };
    },
    close() {
      if (subscriber !== redis) disconnect(subscriber);
    },
  };
}
