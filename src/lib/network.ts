import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';
import ipaddr from 'ipaddr.js';

/** The network that counts as one client: an IPv4 address, or 64 bits of an IPv6 address, all of which belong to one client. */
export function networkOf(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 8).join('.');
}

/** Reads the client's address and the host from a request, by the headers of trusted proxies. Works as Fastify does, for requests that Fastify has not seen yet. */
export interface ProxyHeaders {
  /** The client's network address; that of the proxy, where the header has no valid one. */
  addressOf(request: IncomingMessage): string;
  /** The requested host, with its port where the client sent one; empty where the client sent no host. */
  hostOf(request: IncomingMessage): string;
  /** The scheme of the requested URL. The gateway itself speaks no TLS. */
  schemeOf(request: IncomingMessage): 'http' | 'https';
}

/** @param trustProxy true: trust all proxies; false: trust none; a list: trust the proxies at these addresses. */
export function createProxyHeaders(trustProxy: boolean | readonly string[]): ProxyHeaders {
  if (trustProxy === false) {
    return {
      addressOf: ({ socket }) => socket.remoteAddress ?? '',
      hostOf: ({ headers }) => headers.host ?? '',
      schemeOf: () => 'http',
    };
  }
  const trustsAddress = trustProxy === true ? () => true : proxyAddr.compile([...trustProxy]);
  const trusts = (address: string, hop: number) => trustsAddress(withoutPort(address), hop);
  /** The trusted proxy appended the last entry. The client may have sent those before it. */
  const forwarded = ({ headers, socket }: IncomingMessage, name: string) =>
    trusts(socket.remoteAddress ?? '', 0) ? headers[name]?.toString().split(',').at(-1)?.trim() : undefined;
  return {
    addressOf(request) {
      const address = withoutPort(proxyAddr(request, trusts));
      return isIP(address) === 0 ? (request.socket.remoteAddress ?? '') : address;
    },
    hostOf: request => forwarded(request, 'x-forwarded-host') || (request.headers.host ?? ''),
    schemeOf: request => (forwarded(request, 'x-forwarded-proto') === 'https' ? 'https' : 'http'),
  };
}

/** Some proxies write the port, too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(address: string): string {
  const [, bracketed, plain] = /^\[(.+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(address) ?? [];
  return bracketed ?? plain ?? address;
}
