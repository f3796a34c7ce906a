import { connect, type Socket } from 'node:net';
import { demoHeaders } from './gateway.js';

/** The bytes of a POST to `/graphql` with the sandbox's demo key; `headers` are whole lines without their ends. */
export function post(query: string, headers: readonly string[] = []): string {
  const body = JSON.stringify({ query });
  const head = [
    'POST /graphql HTTP/1.1',
    'host: gateway',
    `x-api-key: ${demoHeaders['x-api-key']}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...headers,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** The bytes of a GET; `headers` are whole lines without their ends. */
export const get = (path: string, headers: readonly string[] = []): string =>
  `${[`GET ${path} HTTP/1.1`, 'host: gateway', ...headers].join('\r\n')}\r\n\r\n`;

/** Header lines that ask for a WebSocket; without `protocol` the gateway refuses them. */
export const toWebSocket = (protocol = 'unknown'): string[] => [
  'connection: upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
  `sec-websocket-protocol: ${protocol}`,
];

/** One TCP connection that is told what to send, byte by byte. */
export interface RawConnection {
  readonly socket: Socket;
  /** Everything that was received so far. */
  received(): string;
  /** The statuses of the responses that were received so far. */
  statuses(): number[];
  /** The other side has ended. */
  readonly ended: Promise<void>;
  /** The socket is closed on both sides, or was reset. */
  readonly closed: Promise<void>;
}

/** Opens a TCP connection and sends `bytes`. The connection stays half open when the other side ends. */
export function rawConnection(url: string, bytes = ''): RawConnection {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let received = '';
  socket.on('data', part => {
    received += part.toString('latin1');
  });
  socket.on('error', () => {});
  socket.write(bytes);
  return {
    socket,
    received: () => received,
    statuses: () => [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status)),
    ended: new Promise(resolve => socket.once('end', () => resolve())),
    closed: new Promise(resolve => socket.once('close', () => resolve())),
  };
}
