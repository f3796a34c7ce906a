import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import { cacheExchange, type KeyingConfig } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import type { Sink, Client as SocketClient } from 'graphql-ws';

/**
 * Types whose `nodeId` is unique across all types. Select it wherever you select one of them: without it, graphcache keeps the object as a part of its parent,
 * and updates do not reach it.
 */
const nodes = 'Company Event Export ExportEndpoint Job Market Observation Topic TopicGroup';
/** Types that are parts of the object that has them. */
const parts = `
  AffectedDatapoint AlertType Capabilities ClusterLabel CompanyConnection CompanyEdge CompanyFacets CountryFacet
  CreateEmbedSessionPayload CreateSearchCriteriaPayload DeleteExportEndpointPayload DiscoveryAlreadyRunning DiscoveryStarted
  EmbedSession EventBucket EventChanges EventConnection EventEdge EventFacet EventReference EventSearchKeyword EventStatistics
  EventTimestamps EventUpdate ExportAttempt ExportConnection ExportDelivered ExportEdge ExportFailed ExportMarketCsvPayload
  ExportReference ExportRejected Histogram HistogramBucket Impact ImpactedEntity JobProgress NaicsCode NaicsFacet PageInfo
  PublishMarketPayload Quantity RegisterExportEndpointPayload RelevantEntity RenewWatchPayload ReviewCompaniesPayload
  RotateExportEndpointSecretPayload ScoreCount SearchCriteria SearchKeywords SearchLocation SeverityCount SignInPayload
  SignOutPayload StopWatchingPayload SuggestKeywordsPayload UpdateExportEndpointPayload Usage VectorIndex Viewer Watch
  WatchDelivery WatchEventsPayload WatchJobPayload`;

const namesIn = (text: string) => text.trim().split(/\s+/);
export const keys: KeyingConfig = {
  ...Object.fromEntries(namesIn(nodes).map(name => [name, ({ nodeId }) => nodeId as string])),
  ...Object.fromEntries(namesIn(parts).map(name => [name, () => null])),
};

/** Without it, graphcache guesses which fragments match, and warns. */
export const possibleTypes: Record<string, string[]> = {
  Node: namesIn(nodes),
  StartDiscoveryResult: ['DiscoveryStarted', 'DiscoveryAlreadyRunning'],
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
