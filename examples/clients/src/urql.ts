import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import { cacheExchange, type KeyingConfig } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import type { Sink, Client as SocketClient } from 'graphql-ws';

/**
 * The `nodeId` is unique across all types. Select it wherever an object has one: without it, graphcache keeps the object as a part of its parent, as it does all
 * others, and updates do not reach it.
 */
export const keys = new Proxy<KeyingConfig>(
  {},
  {
    get:
      () =>
      ({ nodeId }: { nodeId?: string }) =>
        nodeId ?? null,
  },
);

/** Without it, graphcache guesses which fragments match, and warns. */
export const possibleTypes: Record<string, string[]> = {
  Node: 'Company Event Export ExportEndpoint Job Market Observation Topic TopicGroup'.split(' '),
  StartDiscoveryResult: ['DiscoveryStarted', 'DiscoveryAlreadyRunning'],
  RunningDiscovery: ['DiscoveryStarted', 'DiscoveryAlreadyRunning'],
  ExportResult: ['ExportDelivered', 'ExportRejected', 'ExportFailed'],
  ExportEnding: ['ExportDelivered', 'ExportRejected', 'ExportFailed'],
};

/**
 * Joins the pages of a list, in which `edges` are selected. Without it, page 2 replaces page 1. It shows pages from both ends of a list (`first` and `last`) as
 * if nothing were between them, and `page` as another list: begin each list at one end. `updatesCursor` is that of the page that was read last: keep the first.
 */
const resolvers = {
  Query: { events: relayPagination(), exports: relayPagination() },
  Market: { companies: relayPagination() },
};

/**
 * Make a new client after signing in and out: its cache has what the last user has read.
 * @param gateway the address of the gateway, `location.origin` on its own origin or behind a proxy @param socket of `socket.ts`
 * @param headers such as `x-api-key`
 */
export function createUrqlClient(
  gateway: string,
  socket: Pick<SocketClient, 'subscribe'>,
  headers: Record<string, string> = {},
) {
  return new Client({
    url: `${gateway}/graphql`,
    exchanges: [
      cacheExchange({ keys, possibleTypes, resolvers }),
      subscriptionExchange({
        forwardSubscription: ({ query = '', variables }) => ({
          subscribe: sink => ({ unsubscribe: socket.subscribe({ query, variables }, sink as Sink) }),
        }),
      }),
      fetchExchange,
    ],
    // A GET needs a header that a form cannot set.
    preferGetMethod: false,
    fetchOptions: { credentials: 'include', headers },
  });
}
