import { Client, fetchExchange } from '@urql/core';
import { cacheExchange, type KeyingConfig } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';

/**
 * Types whose `nodeId` is unique across all types. Select it wherever you select one of them: without it, graphcache keeps the object as a part of its parent,
 * and updates do not reach it.
 */
const nodes = 'Company Event Export ExportEndpoint Job Market Observation Topic TopicGroup';
/** Types that are parts of the object that has them. */
const parts = `
  AffectedDatapoint AlertType Capabilities ClusterLabel CompanyConnection CompanyEdge CompanyFacets CountryFacet
  CreateEmbedSessionPayload CreateSearchCriteriaPayload DeleteExportEndpointPayload DiscoveryAlreadyRunning DiscoveryStarted
  EmbedSession EventBucket EventConnection EventEdge EventFacet EventReference EventSearchKeyword EventStatistics
  EventTimestamps EventUpdate ExportAttempt ExportConnection ExportDelivered ExportEdge ExportFailed ExportMarketCsvPayload
  ExportReference ExportRejected Histogram HistogramBucket Impact ImpactedEntity JobProgress NaicsCode NaicsFacet PageInfo
  PublishMarketPayload Quantity RegisterExportEndpointPayload RelevantEntity ReviewCompaniesPayload
  RotateExportEndpointSecretPayload ScoreCount SearchCriteria SearchKeywords SearchLocation SeverityCount SignInPayload
  SignOutPayload SuggestKeywordsPayload UpdateExportEndpointPayload VectorIndex Viewer`;

const namesIn = (text: string) => text.trim().split(/\s+/);
export const keys: KeyingConfig = {
  ...Object.fromEntries(namesIn(nodes).map(name => [name, ({ nodeId }) => nodeId as string])),
  ...Object.fromEntries(namesIn(parts).map(name => [name, () => null])),
};

/** Joins the pages of a list, in which `edges` are selected. Without it, page 2 replaces page 1. */
const resolvers = {
  Query: { events: relayPagination(), exports: relayPagination() },
  Market: { companies: relayPagination() },
};

/** @param gateway the address of the gateway, `location.origin` on its own origin or behind a proxy @param headers such as `x-api-key` */
export function createUrqlClient(gateway: string, headers: Record<string, string> = {}) {
  const client = new Client({
    url: `${gateway}/graphql`,
    exchanges: [cacheExchange({ keys, resolvers }), fetchExchange],
    // A GET needs a header that a form cannot set.
    preferGetMethod: false,
    fetchOptions: { credentials: 'include', headers },
    fetchSubscriptions: true,
  });
  /**
   * Subscriptions over Server-Sent Events have a path of their own: pass this as the context of `client.subscription`. urql does not open a lost stream
   * again: for `eventUpdates`, use `subscriptionExchange` with the client of `socket.ts`, and continue behind the last cursor as `updates.ts` does.
   */
  const stream = { url: `${gateway}/graphql/stream` };
  return { client, stream };
}
