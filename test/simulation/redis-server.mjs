// The simulated Redis as a server: commands over the network, publish and subscribe, and what goes wrong with it. It is a primary, or refuses.

import { listen, reset } from './network.mjs';
import { ok, RedisData } from './redis-data.mjs';
import { Host } from './time.mjs';

const writing = /^(set|del|unlink|incr|incrby|p?expire|hset|hdel|sadd|zadd|zremrangebyscore|eval|flushall)$/i;
/** What a full Redis refuses: it can still forget. */
const growing = /^(set|incr|incrby|hset|sadd|zadd|eval)$/i;

export function startRedis(seed) {
  const host = new Host('redis', seed);
  const data = new RedisData(() => host.run(() => Date.now()));
  const subscribers = new Map();
  /** What writes get in place of their reply, such as `READONLY ...`. */
  let refusal;

  function execute(client, [name = '', ...args]) {
    const list = ['subscribe', 'unsubscribe'].indexOf(name.toLowerCase());
    if (list !== -1) {
      const channels = args.length > 0 ? args : [...client.channels];
      for (const channel of channels) {
        const all = subscribers.get(channel) ?? new Set();
        subscribers.set(channel, all);
        client.channels[list === 0 ? 'add' : 'delete'](channel);
        all[list === 0 ? 'add' : 'delete'](client);
        client.reply([name.toLowerCase(), channel, client.channels.size]);
      }
      return;
    }
    client.reply(answer(client, name, args));
  }

  function answer(client, name, args) {
    try {
      switch (name.toLowerCase()) {
        case 'info':
          return 'redis_version:7.0.0\r\nloading:0\r\n';
        case 'client':
        case 'select':
        case 'script':
          return ok;
        case 'ping':
          return { ok: 'PONG' };
        case 'multi':
          client.queue = [];
          return ok;
        case 'exec': {
          const queued = client.queue ?? [];
          client.queue = undefined;
          return queued.map(([each, ...rest]) => attempt(each, rest));
        }
        case 'publish': {
          const [channel, message] = args;
          const all = [...(subscribers.get(channel) ?? [])];
          for (const subscriber of all) subscriber.reply(['message', channel, message]);
          return all.length;
        }
        default:
          if (client.queue?.push([name, ...args]) > 0) return { ok: 'QUEUED' };
          return attempt(name, args);
      }
    } catch (error) {
      return error;
    }
  }

  function attempt(name, args) {
    const isRefused = refusal !== undefined && (refusal.startsWith('OOM') ? growing : writing).test(name);
    if (isRefused) throw new Error(refusal);
    return data.call(name, ...args);
  }

  listen('redis', host, socket => {
    const client = {
      channels: new Set(),
      queue: undefined,
      reply: value => socket.destroyed || socket.write(encoded(value), 'latin1'),
    };
    let unread = '';
    socket.on('error', () => {});
    socket.on('close', () => {
      for (const channel of client.channels) subscribers.get(channel)?.delete(client);
    });
    socket.on('end', () => socket.destroy());
    socket.on('data', bytes => {
      unread += bytes.toString('latin1');
      for (let found = commandIn(unread); found !== undefined; found = commandIn(unread)) {
        unread = unread.slice(found.end);
        execute(client, found.command);
      }
    });
  });

  return {
    host,
    data,
    refuseWrites: words => (refusal = words),
    /** A replica takes over that lacks the last writes. */
    failOver(lostMs) {
      data.loseSince(host.run(() => Date.now()) - lostMs);
      reset(host);
    },
    breakConnections: () => reset(host),
  };
}

function commandIn(text) {
  if (!text.includes('\r\n')) return undefined;
  let at = 0;
  const number = () => {
    const end = text.indexOf('\r\n', at);
    const found = end === -1 ? Number.NaN : Number(text.slice(at + 1, end));
    at = end + 2;
    return found;
  };
  const command = [];
  for (let left = number(); left > 0; left -= 1) {
    const length = number();
    if (!(text.length >= at + length + 2)) return undefined;
    command.push(text.slice(at, at + length));
    at += length + 2;
  }
  return { command, end: at };
}

function encoded(value) {
  if (value === null) return '$-1\r\n';
  if (typeof value === 'number') return `:${value}\r\n`;
  if (typeof value === 'string') return `$${value.length}\r\n${value}\r\n`;
  if (value instanceof Error) return `-${value.message}\r\n`;
  return Array.isArray(value) ? `*${value.length}\r\n${value.map(encoded).join('')}` : `+${value.ok}\r\n`;
}
