import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/**
 * What a name server says of a name: its IPv4 addresses, and of IPv6 that there are none, or nothing, or at once `::1`, and the others late; or for both that
 * the server fails, or nothing.
 */
type Answer =
  | readonly string[]
  | { readonly ipv4: readonly string[]; readonly ipv6: 'silence' | 'first' }
  | 'failure'
  | 'silence';

const lateMs = 300;
const loopback = Buffer.from([...Array<number>(15).fill(0), 1]);

/** A name server. */
export interface NameServer {
  /** It listens at port 53, as everywhere. */
  readonly address: string;
  /** By name. What is not here does not exist. */
  readonly answers: Map<string, Answer>;
  /** The names that it was asked for, in their order, and as often. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** Starts a name server on loopback. Only root may. */
export async function startNameServer(answers: Record<string, Answer>): Promise<NameServer> {
  const socket = createSocket('udp4');
  const server = { answers: new Map(Object.entries(answers)), asked: [] as string[] };
  socket.on('message', (query, { address, port }) => {
    const { name, type, end } = questionIn(query);
    server.asked.push(name);
    const answer = server.answers.get(name);
    const whole = Array.isArray(answer) ? answer : [];
    const { ipv4, ipv6 } = typeof answer === 'object' && 'ipv4' in answer ? answer : { ipv4: whole };
    if (answer === 'silence' || (ipv6 === 'silence' && type !== 1)) return;
    const ofIPv6 = ipv6 === 'first' ? [loopback] : [];
    const addresses = type === 1 ? ipv4.map(each => Buffer.from(each.split('.').map(Number))) : ofIPv6;
    const code = answer === undefined ? 3 : answer === 'failure' ? 2 : 0;
    const head = Buffer.from([0x81, 0x80 | code, 0, 1, 0, addresses.length, 0, 0, 0, 0]);
    // The name is that of the question, the class is IN, and it may be remembered for no time.
    const records = addresses.map(each =>
      Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, each.length]), each]),
    );
    const response = Buffer.concat([query.subarray(0, 2), head, query.subarray(12, end), ...records]);
    setTimeout(() => socket.send(response, port, address), ipv6 === 'first' && type === 1 ? lateMs : 0);
  });
  const [second, third, fourth] = Array.from({ length: 3 }, () => 1 + Math.floor(Math.random() * 250));
  socket.bind(53, `127.${second}.${third}.${fourth}`);
  await once(socket, 'listening');
  return { ...server, address: socket.address().address, close: () => new Promise(resolve => socket.close(resolve)) };
}

function questionIn(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}
