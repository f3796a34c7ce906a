// Addresses of clients, and URLs of requests.
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';
import ipaddr from 'ipaddr.js';

/** Where the IPv4 address of the client is, in the bytes of an address that embeds it: mapped, SIIT (RFC 6145), NAT64 (RFC 6052) and 6to4 (RFC 3056). */
const embedded: Readonly<Record<string, number>> = { ipv4Mapped: 12, rfc6145: 12, rfc6052: 12, '6to4': 2 };

/** The network that counts as one client: an IPv4 address, also an embedded one, or 64 bits of an IPv6 address, all of which belong to one client. */
export function networkOf(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  const start = embedded[range];
  const bytes = parsed.toByteArray();
  if (start === undefined) return bytes.slice(0, 8).join('.');
  // Behind a NAT64 prefix of 48, 56 or 64 bits, the address is around the ninth byte, and only zeros follow it (RFC 6052, 2.2).
  const end = Math.max(
    10,
    bytes.findLastIndex(byte => byte !== 0),
  );
  const isAroundNinth = range === 'rfc6052' && end <= 12;
  const found = isAroundNinth
    ? [...bytes.slice(end - 4, 8), ...bytes.slice(9, end + 1)]
    : bytes.slice(start, start + 4);
  return found.join('.');
}

/** A network as people write it, and `networkOf` reads it: 64 bits of an IPv6 address as its first address. */
export function shownNetwork(network: string): string {
  const bytes = network.split('.').map(Number);
  return bytes.length === 8 ? ipaddr.fromByteArray([...bytes, 0, 0, 0, 0, 0, 0, 0, 0]).toString() : network;
}

/** Reads the client's address and the host from a request, by the headers of trusted proxies. Works as Fastify does, for requests that Fastify has not seen yet. */
export type ProxyHeaders = ReturnType<typeof createProxyHeaders>;

/** @param trustProxy true: trust all proxies; false: trust none; a list: trust the proxies at these addresses. */
export function createProxyHeaders(trustProxy: boolean | readonly string[]) {
  const trustsAddress = trustProxy === true ? () => true : proxyAddr.compile([...(trustProxy || [])]);
  const trusts = (address: string, hop: number) => trustsAddress(withoutPort(address), hop);
  /** The trusted proxy appended the last entry. The client may have sent those before it. */
  const forwarded = ({ headers, socket }: IncomingMessage, name: string) =>
    trusts(socket.remoteAddress ?? '', 0) ? headers[name]?.toString().split(',').at(-1)?.trim() : undefined;
  return {
    isFromProxy: ({ socket }: IncomingMessage): boolean => trusts(socket.remoteAddress ?? '', 0),
    /** The client's network address; that of the proxy, where the header has no valid one. */
    addressOf(request: IncomingMessage): string {
      const address = withoutPort(proxyAddr(request, trusts));
      return isIP(address) === 0 ? (request.socket.remoteAddress ?? '') : address;
    },
    /** The requested host, with its port where the client sent one; empty where the client sent no host. */
    hostOf: (request: IncomingMessage): string =>
      forwarded(request, 'x-forwarded-host') || (request.headers.host ?? ''),
    /** The scheme of the requested URL. The gateway itself speaks no TLS. */
    schemeOf: (request: IncomingMessage) =>
      forwarded(request, 'x-forwarded-proto')?.toLowerCase() === 'https' ? ('https' as const) : ('http' as const),
  };
}

/** Some proxies write the port, too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(address: string): string {
  const [, bracketed, plain] = /^\[(.+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(address) ?? [];
  return bracketed ?? plain ?? address;
}

/** A request's URL in the one spelling of its path: without scheme and host, and with no escape that it does not need (RFC 3986, 6.2.2.2). */
export function normalizedUrl(url: string): string {
  if (url.startsWith('/') && !url.includes('%')) return url;
  const [head = '', path = ''] = /^(?:https?:\/\/[^/?#]*)?([^?#]*)/i.exec(url) ?? [];
  const unescaped = path.replace(/%([\da-f]{2})/gi, (escaped, code) => {
    const character = String.fromCharCode(Number.parseInt(code, 16));
    return /[\w.~-]/.test(character) ? character : escaped;
  });
  return (unescaped || '/') + url.slice(head.length);
}

/** The path of a normalized URL, without the query, which may hold a credential. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

/** The same for a log, up to the first character that no path of the gateway has: what comes behind it may be meant as a query. */
export function loggedPathOf(url: string): string {
  return /^[\w/.~@+-]*/.exec(pathOf(url))?.[0] ?? '';
}

/** The session ids in the query of a request's URL, decoded. Each is a credential. */
export function sessionIdsIn(url: string): readonly string[] {
  const start = url.indexOf('?');
  return start === -1 ? [] : new URLSearchParams(url.slice(start)).getAll('sessionId');
}

/** A request's URL without the parameters that `sessionIdsIn` reads. All other parameters stay unchanged. */
export function withoutSessionIds(url: string): string {
  const start = url.indexOf('?');
  if (start === -1) return url;
  const others = url
    .slice(start + 1)
    .split('&')
    // With the question mark, since URLSearchParams drops one at the beginning.
    .filter(parameter => sessionIdsIn(`?${parameter}`).length === 0);
  return `${url.slice(0, start)}?${others.join('&')}`;
}
