import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** What a fake Redis answers: text, a number, nothing, a list of them, or an error. */
export type RedisValue = string | number | null | Error | readonly RedisValue[];

/** A server that speaks the protocol of Redis and answers what a test says. */
export interface FakeRedis {
  readonly url: string;
  close(): void;
}

/**
 * @param answer is called once for each command, but for those by which a client introduces itself, and heartbeats.
 * @param state what it says about itself
 */
export async function startFakeRedis(
  answer: (command: readonly string[]) => RedisValue,
  state = 'redis_version:7.0.0\r\nloading:0\r\n',
): Promise<FakeRedis> {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    let unread = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', data => {
      unread = Buffer.concat([unread, data]);
      for (let read = commandIn(unread); read !== undefined; read = commandIn(unread)) {
        unread = unread.subarray(read.end);
        const [name = ''] = read.command;
        const isIntroduction = /^(info|client|hello|select|unlink)$/i.test(name);
        socket.write(encoded(isIntroduction ? (/^info$/i.test(name) ? state : 'OK') : answer(read.command)));
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** The first whole command in what has arrived, and where it ends. */
function commandIn(bytes: Buffer): { readonly command: string[]; readonly end: number } | undefined {
  let at = 0;
  const number = () => {
    const end = bytes.indexOf('\r\n', at);
    const found = end === -1 ? undefined : Number(bytes.toString('latin1', at + 1, end));
    at = end + 2;
    return found;
  };
  const count = number();
  if (count === undefined) return undefined;
  const command: string[] = [];
  while (command.length < count) {
    const length = number();
    if (length === undefined || bytes.length < at + length + 2) return undefined;
    command.push(bytes.toString('utf8', at, at + length));
    at += length + 2;
  }
  return { command, end: at };
}

function encoded(value: RedisValue): string {
  if (value === null) return '$-1\r\n';
  if (typeof value === 'number') return `:${value}\r\n`;
  if (typeof value === 'string') return `$${Buffer.byteLength(value)}\r\n${value}\r\n`;
  if (value instanceof Error) return `-ERR ${value.message}\r\n`;
  return `*${value.length}\r\n${value.map(encoded).join('')}`;
}
