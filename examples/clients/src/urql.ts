import { Client, fetchExchange } from '@urql/core';
import { cacheExchange, type KeyingConfig } from '@urql/exchange-graphcache';

/** Types whose `nodeId` is unique across all types: select it wherever you select one of them. */
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

/** @param gateway the address of the gateway, such as `https://gateway.example` @param headers such as `x-api-key` */
export function createUrqlClient(gateway: string, headers: Record<string, string> = {}) {
  const client = new Client({
    url: `${gateway}/graphql`,
    exchanges: [cacheExchange({ keys }), fetchExchange],
    // A GET needs a header that a form cannot set.
    preferGetMethod: false,
    fetchOptions: { credentials: 'include', headers },
    fetchSubscriptions: true,
  });
  /** Subscriptions over Server-Sent Events have a path of their own: pass this as the context of `client.subscription`. */
  const stream = { url: `${gateway}/graphql/stream` };
  return { client, stream };
}
