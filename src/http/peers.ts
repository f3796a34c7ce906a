import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';

/** What is known of the other end of a request, by the proxies whose word counts. Works as Fastify does, for requests that Fastify has not seen yet. */
export interface Peers {
  /** The client's network address. */
  addressOf(request: IncomingMessage): string;
  /** The host that the client asked for, with its port where it named one; empty where it named none. */
  hostOf(request: IncomingMessage): string;
}

/** @param trustProxy whose word counts: everybody's, nobody's, or that of proxies at these addresses. */
export function createPeers(trustProxy: boolean | readonly string[]): Peers {
  if (trustProxy === false) {
    return {
      addressOf: ({ socket }) => socket.remoteAddress ?? '',
      hostOf: ({ headers }) => headers.host ?? '',
    };
  }
  const trusts = trustProxy === true ? () => true : proxyAddr.compile([...trustProxy]);
  return {
    addressOf: request => proxyAddr(request, trusts),
    hostOf({ headers, socket }) {
      // Only the last entry is the word of the peer itself; a client may have sent those before it.
      const forwarded = headers['x-forwarded-host']?.toString().split(',').at(-1)?.trim();
      return forwarded && trusts(socket.remoteAddress ?? '', 0) ? forwarded : (headers.host ?? '');
    },
  };
}
