import type * as Types from './schema-types.js';
import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { Company as CompanyModel } from '../domains/companies/client.js';
import type { Job as JobModel, SearchKeywords as SearchKeywordsModel, SearchCriteria as SearchCriteriaModel, DiscoveryAlreadyRunning as DiscoveryAlreadyRunningModel, ReviewCompaniesPayload as ReviewCompaniesPayloadModel } from '../domains/discovery/model.js';
import type { Event as EventModel, Observation as ObservationModel } from '../domains/events/model.js';
import type { ExportAttempt as ExportAttemptModel, ExportRecord as ExportRecordModel, Endpoint as EndpointModel } from '../domains/exports/model.js';
import type { Market as MarketModel, MarketTopic as MarketTopicModel, MarketTopicGroup as MarketTopicGroupModel } from '../domains/markets/model.js';
import type { EmbedSession as EmbedSessionModel } from '../domains/sessions/client.js';
import type { Watch as WatchModel } from '../domains/watches/model.js';
import type { EventUpdate as EventUpdateModel } from '../domains/events/updates.js';
import type { Context } from '../context.js';
export type Omit<T, K extends keyof T> = Pick<T, Exclude<keyof T, K>>;
export type RequireFields<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: NonNullable<T[P]> };


export type ResolverTypeWrapper<T> = Promise<T> | T;


export type ResolverWithResolve<TResult, TParent, TContext, TArgs> = {
  resolve: ResolverFn<TResult, TParent, TContext, TArgs>;
};
export type Resolver<TResult, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = ResolverFn<TResult, TParent, TContext, TArgs> | ResolverWithResolve<TResult, TParent, TContext, TArgs>;

export type ResolverFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => Promise<TResult> | TResult;

export type SubscriptionSubscribeFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => AsyncIterable<TResult> | Promise<AsyncIterable<TResult>>;

export type SubscriptionResolveFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;

export interface SubscriptionSubscriberObject<TResult, TKey extends string, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<{ [key in TKey]: TResult }, TParent, TContext, TArgs>;
  resolve?: SubscriptionResolveFn<TResult, { [key in TKey]: TResult }, TContext, TArgs>;
}

export interface SubscriptionResolverObject<TResult, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<any, TParent, TContext, TArgs>;
  resolve: SubscriptionResolveFn<TResult, any, TContext, TArgs>;
}

export type SubscriptionObject<TResult, TKey extends string, TParent, TContext, TArgs> =
  | SubscriptionSubscriberObject<TResult, TKey, TParent, TContext, TArgs>
  | SubscriptionResolverObject<TResult, TParent, TContext, TArgs>;

export type SubscriptionResolver<TResult, TKey extends string, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> =
  | ((...args: any[]) => SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>)
  | SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>;

export type TypeResolveFn<TTypes, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (
  parent: TParent,
  context: TContext,
  info: GraphQLResolveInfo
) => Types.Maybe<TTypes> | Promise<Types.Maybe<TTypes>>;

export type IsTypeOfResolverFn<T = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (obj: T, context: TContext, info: GraphQLResolveInfo) => boolean | Promise<boolean>;

export type NextResolverFn<T> = () => Promise<T>;

export type DirectiveResolverFn<TResult = Record<PropertyKey, never>, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = (
  next: NextResolverFn<TResult>,
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;



/** Mapping of union types */
export type ResolversUnionTypes<_RefType extends Record<string, unknown>> = {
  ExportResult:
    | ( Omit<Types.ExportDelivered, 'attempts'> & { attempts: ReadonlyArray<_RefType['ExportAttempt']> } )
    | ( Omit<Types.ExportFailed, 'attempts'> & { attempts: ReadonlyArray<_RefType['ExportAttempt']> } )
    | ( Omit<Types.ExportRejected, 'attempts'> & { attempts: ReadonlyArray<_RefType['ExportAttempt']> } )
  ;
  StartDiscoveryResult:
    | ( DiscoveryAlreadyRunningModel )
    | ( Omit<Types.DiscoveryStarted, 'jobs' | 'market'> & { jobs: ReadonlyArray<_RefType['Job']>, market: _RefType['Market'] } )
  ;
};

/** Mapping of interface types */
export type ResolversInterfaceTypes<_RefType extends Record<string, unknown>> = {
  ExportEnding:
    | ( Omit<Types.ExportDelivered, 'attempts'> & { attempts: ReadonlyArray<_RefType['ExportAttempt']> } )
    | ( Omit<Types.ExportFailed, 'attempts'> & { attempts: ReadonlyArray<_RefType['ExportAttempt']> } )
    | ( Omit<Types.ExportRejected, 'attempts'> & { attempts: ReadonlyArray<_RefType['ExportAttempt']> } )
  ;
  Node:
    | ( CompanyModel )
    | ( EventModel )
    | ( ExportRecordModel )
    | ( EndpointModel )
    | ( JobModel )
    | ( MarketModel )
    | ( ObservationModel )
    | ( MarketTopicModel )
    | ( MarketTopicGroupModel )
  ;
  RunningDiscovery:
    | ( DiscoveryAlreadyRunningModel )
    | ( Omit<Types.DiscoveryStarted, 'jobs' | 'market'> & { jobs: ReadonlyArray<_RefType['Job']>, market: _RefType['Market'] } )
  ;
};

/** Mapping between all available schema types and the resolvers types */
export type ResolversTypes = {
  AffectedDatapoint: ResolverTypeWrapper<Types.AffectedDatapoint>;
  AlertType: ResolverTypeWrapper<Types.AlertType>;
  Authentication: Types.Authentication;
  Boolean: ResolverTypeWrapper<Types.Scalars['Boolean']['output']>;
  Capabilities: ResolverTypeWrapper<Types.Capabilities>;
  ClusterLabel: ResolverTypeWrapper<Types.ClusterLabel>;
  Company: ResolverTypeWrapper<CompanyModel>;
  CompanyConnection: ResolverTypeWrapper<Omit<Types.CompanyConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['CompanyEdge']>, nodes: ReadonlyArray<ResolversTypes['Company']> }>;
  CompanyEdge: ResolverTypeWrapper<Omit<Types.CompanyEdge, 'node'> & { node: ResolversTypes['Company'] }>;
  CompanyFacets: ResolverTypeWrapper<Types.CompanyFacets>;
  CompanyFilter: Types.CompanyFilter;
  CompanyOrder: Types.CompanyOrder;
  CompanyOrderField: Types.CompanyOrderField;
  CompanyPageInput: Types.CompanyPageInput;
  CompanySelection: Types.CompanySelection;
  CountryFacet: ResolverTypeWrapper<Types.CountryFacet>;
  CreateEmbedSessionPayload: ResolverTypeWrapper<Omit<Types.CreateEmbedSessionPayload, 'session'> & { session: ResolversTypes['EmbedSession'] }>;
  CreateSearchCriteriaInput: Types.CreateSearchCriteriaInput;
  CreateSearchCriteriaPayload: ResolverTypeWrapper<Omit<Types.CreateSearchCriteriaPayload, 'searchCriteria'> & { searchCriteria: ResolversTypes['SearchCriteria'] }>;
  DateOrDateTime: ResolverTypeWrapper<Types.Scalars['DateOrDateTime']['output']>;
  DateTime: ResolverTypeWrapper<Types.Scalars['DateTime']['output']>;
  DeleteExportEndpointInput: Types.DeleteExportEndpointInput;
  DeleteExportEndpointPayload: ResolverTypeWrapper<Omit<Types.DeleteExportEndpointPayload, 'endpoint'> & { endpoint: ResolversTypes['ExportEndpoint'] }>;
  Direction: Types.Direction;
  DiscoveryAlreadyRunning: ResolverTypeWrapper<DiscoveryAlreadyRunningModel>;
  DiscoveryStarted: ResolverTypeWrapper<Omit<Types.DiscoveryStarted, 'jobs' | 'market'> & { jobs: ReadonlyArray<ResolversTypes['Job']>, market: ResolversTypes['Market'] }>;
  EmbedSession: ResolverTypeWrapper<EmbedSessionModel>;
  Event: ResolverTypeWrapper<EventModel>;
  EventBucket: ResolverTypeWrapper<Types.EventBucket>;
  EventChanges: ResolverTypeWrapper<Omit<Types.EventChanges, 'nodes'> & { nodes: ReadonlyArray<ResolversTypes['EventUpdate']> }>;
  EventConnection: ResolverTypeWrapper<Omit<Types.EventConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['EventEdge']>, nodes: ReadonlyArray<ResolversTypes['Event']> }>;
  EventEdge: ResolverTypeWrapper<Omit<Types.EventEdge, 'node'> & { node: ResolversTypes['Event'] }>;
  EventFacet: ResolverTypeWrapper<Types.EventFacet>;
  EventFilter: Types.EventFilter;
  EventInterval: Types.EventInterval;
  EventReference: ResolverTypeWrapper<Omit<Types.EventReference, 'observation'> & { observation: ResolversTypes['Observation'] }>;
  EventSearchKeyword: ResolverTypeWrapper<Types.EventSearchKeyword>;
  EventStatistics: ResolverTypeWrapper<Types.EventStatistics>;
  EventTimestamps: ResolverTypeWrapper<Types.EventTimestamps>;
  EventUpdate: ResolverTypeWrapper<EventUpdateModel>;
  EventUpdateKind: Types.EventUpdateKind;
  Export: ResolverTypeWrapper<ExportRecordModel>;
  ExportAttempt: ResolverTypeWrapper<ExportAttemptModel>;
  ExportConnection: ResolverTypeWrapper<Omit<Types.ExportConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['ExportEdge']>, nodes: ReadonlyArray<ResolversTypes['Export']> }>;
  ExportDelivered: ResolverTypeWrapper<Omit<Types.ExportDelivered, 'attempts'> & { attempts: ReadonlyArray<ResolversTypes['ExportAttempt']> }>;
  ExportEdge: ResolverTypeWrapper<Omit<Types.ExportEdge, 'node'> & { node: ResolversTypes['Export'] }>;
  ExportEnding: ResolverTypeWrapper<ResolversInterfaceTypes<ResolversTypes>['ExportEnding']>;
  ExportEndpoint: ResolverTypeWrapper<EndpointModel>;
  ExportFailed: ResolverTypeWrapper<Omit<Types.ExportFailed, 'attempts'> & { attempts: ReadonlyArray<ResolversTypes['ExportAttempt']> }>;
  ExportFault: Types.ExportFault;
  ExportFilter: Types.ExportFilter;
  ExportHeaderInput: Types.ExportHeaderInput;
  ExportLookup: Types.ExportLookup;
  ExportMarketCsvInput: Types.ExportMarketCsvInput;
  ExportMarketCsvPayload: ResolverTypeWrapper<Types.ExportMarketCsvPayload>;
  ExportMarketToEndpointInput: Types.ExportMarketToEndpointInput;
  ExportOutcome: Types.ExportOutcome;
  ExportReference: ResolverTypeWrapper<Types.ExportReference>;
  ExportReferenceType: Types.ExportReferenceType;
  ExportRejected: ResolverTypeWrapper<Omit<Types.ExportRejected, 'attempts'> & { attempts: ReadonlyArray<ResolversTypes['ExportAttempt']> }>;
  ExportResult: ResolverTypeWrapper<ResolversUnionTypes<ResolversTypes>['ExportResult']>;
  ExportUserInput: Types.ExportUserInput;
  Float: ResolverTypeWrapper<Types.Scalars['Float']['output']>;
  FloatRange: Types.FloatRange;
  Histogram: ResolverTypeWrapper<Types.Histogram>;
  HistogramBucket: ResolverTypeWrapper<Types.HistogramBucket>;
  ID: ResolverTypeWrapper<Types.Scalars['ID']['output']>;
  Impact: ResolverTypeWrapper<Types.Impact>;
  ImpactedEntity: ResolverTypeWrapper<Types.ImpactedEntity>;
  Int: ResolverTypeWrapper<Types.Scalars['Int']['output']>;
  IntRange: Types.IntRange;
  JSONObject: ResolverTypeWrapper<Types.Scalars['JSONObject']['output']>;
  Job: ResolverTypeWrapper<JobModel>;
  JobPhase: Types.JobPhase;
  JobProgress: ResolverTypeWrapper<Omit<Types.JobProgress, 'jobs' | 'market'> & { jobs: ReadonlyArray<ResolversTypes['Job']>, market: ResolversTypes['Market'] }>;
  Market: ResolverTypeWrapper<MarketModel>;
  MarketReviewStatus: Types.MarketReviewStatus;
  Mutation: ResolverTypeWrapper<Record<PropertyKey, never>>;
  NaicsCode: ResolverTypeWrapper<Types.NaicsCode>;
  NaicsFacet: ResolverTypeWrapper<Types.NaicsFacet>;
  Node: ResolverTypeWrapper<ResolversInterfaceTypes<ResolversTypes>['Node']>;
  Observation: ResolverTypeWrapper<ObservationModel>;
  OrderDirection: Types.OrderDirection;
  PageInfo: ResolverTypeWrapper<Types.PageInfo>;
  PublishMarketInput: Types.PublishMarketInput;
  PublishMarketPayload: ResolverTypeWrapper<Omit<Types.PublishMarketPayload, 'jobs' | 'market'> & { jobs: ReadonlyArray<ResolversTypes['Job']>, market: ResolversTypes['Market'] }>;
  Quantity: ResolverTypeWrapper<Types.Quantity>;
  QuantityOperator: Types.QuantityOperator;
  Query: ResolverTypeWrapper<Record<PropertyKey, never>>;
  RegisterExportEndpointInput: Types.RegisterExportEndpointInput;
  RegisterExportEndpointPayload: ResolverTypeWrapper<Omit<Types.RegisterExportEndpointPayload, 'endpoint'> & { endpoint: ResolversTypes['ExportEndpoint'] }>;
  RelevantEntity: ResolverTypeWrapper<Types.RelevantEntity>;
  RelevantEntityType: Types.RelevantEntityType;
  RenewWatchInput: Types.RenewWatchInput;
  RenewWatchPayload: ResolverTypeWrapper<Omit<Types.RenewWatchPayload, 'watch'> & { watch: ResolversTypes['Watch'] }>;
  RetryExportInput: Types.RetryExportInput;
  ReviewCompaniesInput: Types.ReviewCompaniesInput;
  ReviewCompaniesPayload: ResolverTypeWrapper<ReviewCompaniesPayloadModel>;
  ReviewDecision: Types.ReviewDecision;
  ReviewTarget: Types.ReviewTarget;
  RotateExportEndpointSecretInput: Types.RotateExportEndpointSecretInput;
  RotateExportEndpointSecretPayload: ResolverTypeWrapper<Omit<Types.RotateExportEndpointSecretPayload, 'endpoint'> & { endpoint: ResolversTypes['ExportEndpoint'] }>;
  RunningDiscovery: ResolverTypeWrapper<ResolversInterfaceTypes<ResolversTypes>['RunningDiscovery']>;
  ScoreCount: ResolverTypeWrapper<Types.ScoreCount>;
  SearchCriteria: ResolverTypeWrapper<SearchCriteriaModel>;
  SearchCriteriaInput: Types.SearchCriteriaInput;
  SearchKeywords: ResolverTypeWrapper<SearchKeywordsModel>;
  SearchKeywordsInput: Types.SearchKeywordsInput;
  SearchLocation: ResolverTypeWrapper<Types.SearchLocation>;
  SearchLocationInput: Types.SearchLocationInput;
  SeverityCount: ResolverTypeWrapper<Types.SeverityCount>;
  SignInInput: Types.SignInInput;
  SignInPayload: ResolverTypeWrapper<Types.SignInPayload>;
  SignOutPayload: ResolverTypeWrapper<Types.SignOutPayload>;
  StartDiscoveryInput: Types.StartDiscoveryInput;
  StartDiscoveryResult: ResolverTypeWrapper<ResolversUnionTypes<ResolversTypes>['StartDiscoveryResult']>;
  StopWatchingInput: Types.StopWatchingInput;
  StopWatchingPayload: ResolverTypeWrapper<Omit<Types.StopWatchingPayload, 'watch'> & { watch: ResolversTypes['Watch'] }>;
  String: ResolverTypeWrapper<Types.Scalars['String']['output']>;
  Subscription: ResolverTypeWrapper<Record<PropertyKey, never>>;
  SuggestKeywordsInput: Types.SuggestKeywordsInput;
  SuggestKeywordsPayload: ResolverTypeWrapper<Omit<Types.SuggestKeywordsPayload, 'suggested'> & { suggested?: Types.Maybe<ResolversTypes['SearchKeywords']> }>;
  TestExportEndpointInput: Types.TestExportEndpointInput;
  Topic: ResolverTypeWrapper<MarketTopicModel>;
  TopicGroup: ResolverTypeWrapper<MarketTopicGroupModel>;
  TopicOrder: Types.TopicOrder;
  TopicOrderField: Types.TopicOrderField;
  UpdateExportEndpointInput: Types.UpdateExportEndpointInput;
  UpdateExportEndpointPayload: ResolverTypeWrapper<Omit<Types.UpdateExportEndpointPayload, 'endpoint'> & { endpoint: ResolversTypes['ExportEndpoint'] }>;
  Usage: ResolverTypeWrapper<Types.Usage>;
  Vector: ResolverTypeWrapper<Types.Scalars['Vector']['output']>;
  VectorIndex: ResolverTypeWrapper<Types.VectorIndex>;
  Viewer: ResolverTypeWrapper<Types.Viewer>;
  Watch: ResolverTypeWrapper<WatchModel>;
  WatchDelivery: ResolverTypeWrapper<Types.WatchDelivery>;
  WatchEventsInput: Types.WatchEventsInput;
  WatchEventsPayload: ResolverTypeWrapper<Omit<Types.WatchEventsPayload, 'watch'> & { watch: ResolversTypes['Watch'] }>;
  WatchJobInput: Types.WatchJobInput;
  WatchJobPayload: ResolverTypeWrapper<Omit<Types.WatchJobPayload, 'watch'> & { watch: ResolversTypes['Watch'] }>;
};

/** Mapping between all available schema types and the resolvers parents */
export type ResolversParentTypes = {
  AffectedDatapoint: Types.AffectedDatapoint;
  AlertType: Types.AlertType;
  Boolean: Types.Scalars['Boolean']['output'];
  Capabilities: Types.Capabilities;
  ClusterLabel: Types.ClusterLabel;
  Company: CompanyModel;
  CompanyConnection: Omit<Types.CompanyConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['CompanyEdge']>, nodes: ReadonlyArray<ResolversParentTypes['Company']> };
  CompanyEdge: Omit<Types.CompanyEdge, 'node'> & { node: ResolversParentTypes['Company'] };
  CompanyFacets: Types.CompanyFacets;
  CompanyFilter: Types.CompanyFilter;
  CompanyOrder: Types.CompanyOrder;
  CompanyPageInput: Types.CompanyPageInput;
  CompanySelection: Types.CompanySelection;
  CountryFacet: Types.CountryFacet;
  CreateEmbedSessionPayload: Omit<Types.CreateEmbedSessionPayload, 'session'> & { session: ResolversParentTypes['EmbedSession'] };
  CreateSearchCriteriaInput: Types.CreateSearchCriteriaInput;
  CreateSearchCriteriaPayload: Omit<Types.CreateSearchCriteriaPayload, 'searchCriteria'> & { searchCriteria: ResolversParentTypes['SearchCriteria'] };
  DateOrDateTime: Types.Scalars['DateOrDateTime']['output'];
  DateTime: Types.Scalars['DateTime']['output'];
  DeleteExportEndpointInput: Types.DeleteExportEndpointInput;
  DeleteExportEndpointPayload: Omit<Types.DeleteExportEndpointPayload, 'endpoint'> & { endpoint: ResolversParentTypes['ExportEndpoint'] };
  DiscoveryAlreadyRunning: DiscoveryAlreadyRunningModel;
  DiscoveryStarted: Omit<Types.DiscoveryStarted, 'jobs' | 'market'> & { jobs: ReadonlyArray<ResolversParentTypes['Job']>, market: ResolversParentTypes['Market'] };
  EmbedSession: EmbedSessionModel;
  Event: EventModel;
  EventBucket: Types.EventBucket;
  EventChanges: Omit<Types.EventChanges, 'nodes'> & { nodes: ReadonlyArray<ResolversParentTypes['EventUpdate']> };
  EventConnection: Omit<Types.EventConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['EventEdge']>, nodes: ReadonlyArray<ResolversParentTypes['Event']> };
  EventEdge: Omit<Types.EventEdge, 'node'> & { node: ResolversParentTypes['Event'] };
  EventFacet: Types.EventFacet;
  EventFilter: Types.EventFilter;
  EventReference: Omit<Types.EventReference, 'observation'> & { observation: ResolversParentTypes['Observation'] };
  EventSearchKeyword: Types.EventSearchKeyword;
  EventStatistics: Types.EventStatistics;
  EventTimestamps: Types.EventTimestamps;
  EventUpdate: EventUpdateModel;
  Export: ExportRecordModel;
  ExportAttempt: ExportAttemptModel;
  ExportConnection: Omit<Types.ExportConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['ExportEdge']>, nodes: ReadonlyArray<ResolversParentTypes['Export']> };
  ExportDelivered: Omit<Types.ExportDelivered, 'attempts'> & { attempts: ReadonlyArray<ResolversParentTypes['ExportAttempt']> };
  ExportEdge: Omit<Types.ExportEdge, 'node'> & { node: ResolversParentTypes['Export'] };
  ExportEnding: ResolversInterfaceTypes<ResolversParentTypes>['ExportEnding'];
  ExportEndpoint: EndpointModel;
  ExportFailed: Omit<Types.ExportFailed, 'attempts'> & { attempts: ReadonlyArray<ResolversParentTypes['ExportAttempt']> };
  ExportFilter: Types.ExportFilter;
  ExportHeaderInput: Types.ExportHeaderInput;
  ExportLookup: Types.ExportLookup;
  ExportMarketCsvInput: Types.ExportMarketCsvInput;
  ExportMarketCsvPayload: Types.ExportMarketCsvPayload;
  ExportMarketToEndpointInput: Types.ExportMarketToEndpointInput;
  ExportReference: Types.ExportReference;
  ExportRejected: Omit<Types.ExportRejected, 'attempts'> & { attempts: ReadonlyArray<ResolversParentTypes['ExportAttempt']> };
  ExportResult: ResolversUnionTypes<ResolversParentTypes>['ExportResult'];
  ExportUserInput: Types.ExportUserInput;
  Float: Types.Scalars['Float']['output'];
  FloatRange: Types.FloatRange;
  Histogram: Types.Histogram;
  HistogramBucket: Types.HistogramBucket;
  ID: Types.Scalars['ID']['output'];
  Impact: Types.Impact;
  ImpactedEntity: Types.ImpactedEntity;
  Int: Types.Scalars['Int']['output'];
  IntRange: Types.IntRange;
  JSONObject: Types.Scalars['JSONObject']['output'];
  Job: JobModel;
  JobProgress: Omit<Types.JobProgress, 'jobs' | 'market'> & { jobs: ReadonlyArray<ResolversParentTypes['Job']>, market: ResolversParentTypes['Market'] };
  Market: MarketModel;
  Mutation: Record<PropertyKey, never>;
  NaicsCode: Types.NaicsCode;
  NaicsFacet: Types.NaicsFacet;
  Node: ResolversInterfaceTypes<ResolversParentTypes>['Node'];
  Observation: ObservationModel;
  PageInfo: Types.PageInfo;
  PublishMarketInput: Types.PublishMarketInput;
  PublishMarketPayload: Omit<Types.PublishMarketPayload, 'jobs' | 'market'> & { jobs: ReadonlyArray<ResolversParentTypes['Job']>, market: ResolversParentTypes['Market'] };
  Quantity: Types.Quantity;
  Query: Record<PropertyKey, never>;
  RegisterExportEndpointInput: Types.RegisterExportEndpointInput;
  RegisterExportEndpointPayload: Omit<Types.RegisterExportEndpointPayload, 'endpoint'> & { endpoint: ResolversParentTypes['ExportEndpoint'] };
  RelevantEntity: Types.RelevantEntity;
  RenewWatchInput: Types.RenewWatchInput;
  RenewWatchPayload: Omit<Types.RenewWatchPayload, 'watch'> & { watch: ResolversParentTypes['Watch'] };
  RetryExportInput: Types.RetryExportInput;
  ReviewCompaniesInput: Types.ReviewCompaniesInput;
  ReviewCompaniesPayload: ReviewCompaniesPayloadModel;
  ReviewTarget: Types.ReviewTarget;
  RotateExportEndpointSecretInput: Types.RotateExportEndpointSecretInput;
  RotateExportEndpointSecretPayload: Omit<Types.RotateExportEndpointSecretPayload, 'endpoint'> & { endpoint: ResolversParentTypes['ExportEndpoint'] };
  RunningDiscovery: ResolversInterfaceTypes<ResolversParentTypes>['RunningDiscovery'];
  ScoreCount: Types.ScoreCount;
  SearchCriteria: SearchCriteriaModel;
  SearchCriteriaInput: Types.SearchCriteriaInput;
  SearchKeywords: SearchKeywordsModel;
  SearchKeywordsInput: Types.SearchKeywordsInput;
  SearchLocation: Types.SearchLocation;
  SearchLocationInput: Types.SearchLocationInput;
  SeverityCount: Types.SeverityCount;
  SignInInput: Types.SignInInput;
  SignInPayload: Types.SignInPayload;
  SignOutPayload: Types.SignOutPayload;
  StartDiscoveryInput: Types.StartDiscoveryInput;
  StartDiscoveryResult: ResolversUnionTypes<ResolversParentTypes>['StartDiscoveryResult'];
  StopWatchingInput: Types.StopWatchingInput;
  StopWatchingPayload: Omit<Types.StopWatchingPayload, 'watch'> & { watch: ResolversParentTypes['Watch'] };
  String: Types.Scalars['String']['output'];
  Subscription: Record<PropertyKey, never>;
  SuggestKeywordsInput: Types.SuggestKeywordsInput;
  SuggestKeywordsPayload: Omit<Types.SuggestKeywordsPayload, 'suggested'> & { suggested?: Types.Maybe<ResolversParentTypes['SearchKeywords']> };
  TestExportEndpointInput: Types.TestExportEndpointInput;
  Topic: MarketTopicModel;
  TopicGroup: MarketTopicGroupModel;
  TopicOrder: Types.TopicOrder;
  UpdateExportEndpointInput: Types.UpdateExportEndpointInput;
  UpdateExportEndpointPayload: Omit<Types.UpdateExportEndpointPayload, 'endpoint'> & { endpoint: ResolversParentTypes['ExportEndpoint'] };
  Usage: Types.Usage;
  Vector: Types.Scalars['Vector']['output'];
  VectorIndex: Types.VectorIndex;
  Viewer: Types.Viewer;
  Watch: WatchModel;
  WatchDelivery: Types.WatchDelivery;
  WatchEventsInput: Types.WatchEventsInput;
  WatchEventsPayload: Omit<Types.WatchEventsPayload, 'watch'> & { watch: ResolversParentTypes['Watch'] };
  WatchJobInput: Types.WatchJobInput;
  WatchJobPayload: Omit<Types.WatchJobPayload, 'watch'> & { watch: ResolversParentTypes['Watch'] };
};

export type CostDirectiveArgs = {
  calls: Types.Scalars['Int']['input'];
  eventsCounted: Types.Scalars['Boolean']['input'];
  maxPage?: Types.Maybe<Types.Scalars['Int']['input']>;
  objects?: Types.Maybe<Types.Scalars['Int']['input']>;
  pages: Types.Scalars['Boolean']['input'];
  per?: Types.Maybe<Types.Scalars['String']['input']>;
  records: Types.Scalars['Int']['input'];
  recordsByArgument: Types.Scalars['Int']['input'];
  shares?: Types.Maybe<Types.Scalars['String']['input']>;
  values: Types.Scalars['Int']['input'];
};

export type CostDirectiveResolver<Result, Parent, ContextType = Context, Args = CostDirectiveArgs> = DirectiveResolverFn<Result, Parent, ContextType, Args>;

export type DeferDirectiveArgs = {
  if: Types.Scalars['Boolean']['input'];
  label?: Types.Maybe<Types.Scalars['String']['input']>;
};

export type DeferDirectiveResolver<Result, Parent, ContextType = Context, Args = DeferDirectiveArgs> = DirectiveResolverFn<Result, Parent, ContextType, Args>;

export type AffectedDatapointResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AffectedDatapoint'] = ResolversParentTypes['AffectedDatapoint']> = {
  direction?: Resolver<Types.Maybe<ResolversTypes['Direction']>, ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  quantity?: Resolver<Types.Maybe<ResolversTypes['Quantity']>, ParentType, ContextType>;
  subject?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type AlertTypeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AlertType'] = ResolversParentTypes['AlertType']> = {
  mappedFrom?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  method?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  rationale?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  similarity?: Resolver<Types.Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
};

export type CapabilitiesResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Capabilities'] = ResolversParentTypes['Capabilities']> = {
  eventSearch?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  exports?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  keywordSuggestion?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  marketData?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  marketRecords?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
};

export type ClusterLabelResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ClusterLabel'] = ResolversParentTypes['ClusterLabel']> = {
  label?: Resolver<Types.Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  method?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type CompanyResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Company'] = ResolversParentTypes['Company']> = {
  actualRevenue?: Resolver<Types.Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  attributes?: Resolver<Types.Maybe<ResolversTypes['JSONObject']>, ParentType, ContextType>;
  contactEmail?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  contactNumber?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  description?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  domain?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  dunsNumbers?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  esg?: Resolver<Types.Maybe<ResolversTypes['JSONObject']>, ParentType, ContextType>;
  events?: Resolver<ResolversTypes['EventConnection'], ParentType, ContextType, RequireFields<Types.CompanyEventsArgs, 'first'>>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  market?: Resolver<ResolversTypes['Market'], ParentType, ContextType>;
  naics?: Resolver<ReadonlyArray<ResolversTypes['NaicsCode']>, ParentType, ContextType>;
  name?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  nodeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  operatesIn?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  overallMomentum?: Resolver<Types.Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  reviewStatus?: Resolver<Types.Maybe<ResolversTypes['ReviewDecision']>, ParentType, ContextType>;
  score?: Resolver<Types.Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type CompanyConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CompanyConnection'] = ResolversParentTypes['CompanyConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['CompanyEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Company']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type CompanyEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CompanyEdge'] = ResolversParentTypes['CompanyEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Company'], ParentType, ContextType>;
};

export type CompanyFacetsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CompanyFacets'] = ResolversParentTypes['CompanyFacets']> = {
  actualRevenue?: Resolver<Types.Maybe<ResolversTypes['Histogram']>, ParentType, ContextType>;
  naics?: Resolver<ReadonlyArray<ResolversTypes['NaicsFacet']>, ParentType, ContextType>;
  operatesIn?: Resolver<ReadonlyArray<ResolversTypes['CountryFacet']>, ParentType, ContextType>;
  overallMomentum?: Resolver<Types.Maybe<ResolversTypes['Histogram']>, ParentType, ContextType>;
  score?: Resolver<Types.Maybe<ResolversTypes['Histogram']>, ParentType, ContextType>;
};

export type CountryFacetResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CountryFacet'] = ResolversParentTypes['CountryFacet']> = {
  count?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  value?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type CreateEmbedSessionPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CreateEmbedSessionPayload'] = ResolversParentTypes['CreateEmbedSessionPayload']> = {
  session?: Resolver<ResolversTypes['EmbedSession'], ParentType, ContextType>;
};

export type CreateSearchCriteriaPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CreateSearchCriteriaPayload'] = ResolversParentTypes['CreateSearchCriteriaPayload']> = {
  searchCriteria?: Resolver<ResolversTypes['SearchCriteria'], ParentType, ContextType>;
};

export interface DateOrDateTimeScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['DateOrDateTime'], any> {
  name: 'DateOrDateTime';
}

export interface DateTimeScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['DateTime'], any> {
  name: 'DateTime';
}

export type DeleteExportEndpointPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['DeleteExportEndpointPayload'] = ResolversParentTypes['DeleteExportEndpointPayload']> = {
  endpoint?: Resolver<ResolversTypes['ExportEndpoint'], ParentType, ContextType>;
};

export type DiscoveryAlreadyRunningResolvers<ContextType = Context, ParentType extends ResolversParentTypes['DiscoveryAlreadyRunning'] = ResolversParentTypes['DiscoveryAlreadyRunning']> = {
  jobs?: Resolver<ReadonlyArray<ResolversTypes['Job']>, ParentType, ContextType>;
  market?: Resolver<ResolversTypes['Market'], ParentType, ContextType>;
  marketId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type DiscoveryStartedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['DiscoveryStarted'] = ResolversParentTypes['DiscoveryStarted']> = {
  jobs?: Resolver<ReadonlyArray<ResolversTypes['Job']>, ParentType, ContextType>;
  market?: Resolver<ResolversTypes['Market'], ParentType, ContextType>;
  marketId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type EmbedSessionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EmbedSession'] = ResolversParentTypes['EmbedSession']> = {
  accessToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  checksum?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  expiresIn?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  idToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  refreshToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type EventResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Event'] = ResolversParentTypes['Event']> = {
  affectedDatapoints?: Resolver<ReadonlyArray<ResolversTypes['AffectedDatapoint']>, ParentType, ContextType>;
  alertTypes?: Resolver<ReadonlyArray<ResolversTypes['AlertType']>, ParentType, ContextType>;
  eventSearchKeywords?: Resolver<ReadonlyArray<ResolversTypes['EventSearchKeyword']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  impactedEntities?: Resolver<ReadonlyArray<ResolversTypes['ImpactedEntity']>, ParentType, ContextType>;
  lastUpdated?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  likelihood?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  nodeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  references?: Resolver<ReadonlyArray<ResolversTypes['EventReference']>, ParentType, ContextType>;
  relevantEntities?: Resolver<ReadonlyArray<ResolversTypes['RelevantEntity']>, ParentType, ContextType>;
  severity?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  summary?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  timestamps?: Resolver<ResolversTypes['EventTimestamps'], ParentType, ContextType>;
  title?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  vectorIndex?: Resolver<Types.Maybe<ResolversTypes['VectorIndex']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type EventBucketResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventBucket'] = ResolversParentTypes['EventBucket']> = {
  bySeverity?: Resolver<ReadonlyArray<ResolversTypes['SeverityCount']>, ParentType, ContextType>;
  count?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  start?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type EventChangesResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventChanges'] = ResolversParentTypes['EventChanges']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  gap?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  hasMore?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['EventUpdate']>, ParentType, ContextType>;
};

export type EventConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventConnection'] = ResolversParentTypes['EventConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['EventEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Event']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  unfilteredTotalCount?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  updatesCursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type EventEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventEdge'] = ResolversParentTypes['EventEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  impact?: Resolver<Types.Maybe<ResolversTypes['Impact']>, ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Event'], ParentType, ContextType>;
};

export type EventFacetResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventFacet'] = ResolversParentTypes['EventFacet']> = {
  count?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  value?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type EventReferenceResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventReference'] = ResolversParentTypes['EventReference']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  observation?: Resolver<ResolversTypes['Observation'], ParentType, ContextType>;
  title?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  url?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type EventSearchKeywordResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventSearchKeyword'] = ResolversParentTypes['EventSearchKeyword']> = {
  keyword?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  propertySource?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type EventStatisticsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventStatistics'] = ResolversParentTypes['EventStatistics']> = {
  affectedDatapoints?: Resolver<ReadonlyArray<ResolversTypes['EventFacet']>, ParentType, ContextType>;
  alertTypes?: Resolver<ReadonlyArray<ResolversTypes['EventFacet']>, ParentType, ContextType>;
  buckets?: Resolver<ReadonlyArray<ResolversTypes['EventBucket']>, ParentType, ContextType>;
  counted?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  impactedEntities?: Resolver<ReadonlyArray<ResolversTypes['EventFacet']>, ParentType, ContextType>;
  relevantEntities?: Resolver<ReadonlyArray<ResolversTypes['EventFacet']>, ParentType, ContextType>;
  scores?: Resolver<ReadonlyArray<ResolversTypes['ScoreCount']>, ParentType, ContextType>;
  total?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type EventTimestampsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventTimestamps'] = ResolversParentTypes['EventTimestamps']> = {
  projectedEnd?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  projectedStart?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  published?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  recordedEnd?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  recordedStart?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
};

export type EventUpdateResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventUpdate'] = ResolversParentTypes['EventUpdate']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  event?: Resolver<Types.Maybe<ResolversTypes['Event']>, ParentType, ContextType>;
  gap?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  kind?: Resolver<Types.Maybe<ResolversTypes['EventUpdateKind']>, ParentType, ContextType>;
};

export type ExportResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Export'] = ResolversParentTypes['Export']> = {
  attempts?: Resolver<ReadonlyArray<ResolversTypes['ExportAttempt']>, ParentType, ContextType>;
  by?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  endpoint?: Resolver<Types.Maybe<ResolversTypes['ExportEndpoint']>, ParentType, ContextType>;
  endpointName?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  endpointUrl?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  finishedAt?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  idempotencyKey?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  isTest?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  market?: Resolver<Types.Maybe<ResolversTypes['Market']>, ParentType, ContextType>;
  marketId?: Resolver<Types.Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  nodeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  outcome?: Resolver<ResolversTypes['ExportOutcome'], ParentType, ContextType>;
  result?: Resolver<Types.Maybe<ResolversTypes['ExportResult']>, ParentType, ContextType>;
  retriedBy?: Resolver<Types.Maybe<ResolversTypes['Export']>, ParentType, ContextType>;
  retryOf?: Resolver<Types.Maybe<ResolversTypes['Export']>, ParentType, ContextType>;
  selected?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  sent?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  startedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  user?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type ExportAttemptResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportAttempt'] = ResolversParentTypes['ExportAttempt']> = {
  explanation?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  fault?: Resolver<Types.Maybe<ResolversTypes['ExportFault']>, ParentType, ContextType>;
  milliseconds?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  startedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  status?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
};

export type ExportConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportConnection'] = ResolversParentTypes['ExportConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['ExportEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Export']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type ExportDeliveredResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportDelivered'] = ResolversParentTypes['ExportDelivered']> = {
  attempts?: Resolver<ReadonlyArray<ResolversTypes['ExportAttempt']>, ParentType, ContextType>;
  delivered?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  exportId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  matching?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  message?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  messageText?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  redirectUrl?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  title?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type ExportEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportEdge'] = ResolversParentTypes['ExportEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Export'], ParentType, ContextType>;
};

export type ExportEndingResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportEnding'] = ResolversParentTypes['ExportEnding']> = {
  __resolveType: TypeResolveFn<'ExportDelivered' | 'ExportFailed' | 'ExportRejected', ParentType, ContextType>;
};

export type ExportEndpointResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportEndpoint'] = ResolversParentTypes['ExportEndpoint']> = {
  description?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  failingSince?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  headerNames?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  nodeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  url?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type ExportFailedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportFailed'] = ResolversParentTypes['ExportFailed']> = {
  attempts?: Resolver<ReadonlyArray<ResolversTypes['ExportAttempt']>, ParentType, ContextType>;
  delivered?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  exportId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  matching?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  message?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  outcome?: Resolver<ResolversTypes['ExportOutcome'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type ExportMarketCsvPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportMarketCsvPayload'] = ResolversParentTypes['ExportMarketCsvPayload']> = {
  downloadLink?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  selected?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type ExportReferenceResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportReference'] = ResolversParentTypes['ExportReference']> = {
  message?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  title?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  type?: Resolver<ResolversTypes['ExportReferenceType'], ParentType, ContextType>;
  url?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type ExportRejectedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportRejected'] = ResolversParentTypes['ExportRejected']> = {
  attempts?: Resolver<ReadonlyArray<ResolversTypes['ExportAttempt']>, ParentType, ContextType>;
  delivered?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  exportId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  matching?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  message?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  messageText?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  references?: Resolver<ReadonlyArray<ResolversTypes['ExportReference']>, ParentType, ContextType>;
  title?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type ExportResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportResult'] = ResolversParentTypes['ExportResult']> = {
  __resolveType: TypeResolveFn<'ExportDelivered' | 'ExportFailed' | 'ExportRejected', ParentType, ContextType>;
};

export type HistogramResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Histogram'] = ResolversParentTypes['Histogram']> = {
  buckets?: Resolver<ReadonlyArray<ResolversTypes['HistogramBucket']>, ParentType, ContextType>;
  max?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  min?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type HistogramBucketResolvers<ContextType = Context, ParentType extends ResolversParentTypes['HistogramBucket'] = ResolversParentTypes['HistogramBucket']> = {
  count?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  end?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  start?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type ImpactResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Impact'] = ResolversParentTypes['Impact']> = {
  likelihood?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  rationale?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  severity?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
};

export type ImpactedEntityResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ImpactedEntity'] = ResolversParentTypes['ImpactedEntity']> = {
  entityType?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  impact?: Resolver<Types.Maybe<ResolversTypes['Impact']>, ParentType, ContextType>;
  mappedFrom?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export interface JsonObjectScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['JSONObject'], any> {
  name: 'JSONObject';
}

export type JobResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Job'] = ResolversParentTypes['Job']> = {
  completion?: Resolver<Types.Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  endTime?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  finished?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  nodeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  progress?: Resolver<Types.Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  startTime?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  status?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  workflowName?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type JobProgressResolvers<ContextType = Context, ParentType extends ResolversParentTypes['JobProgress'] = ResolversParentTypes['JobProgress']> = {
  estimatedEndAt?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  finished?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  jobs?: Resolver<ReadonlyArray<ResolversTypes['Job']>, ParentType, ContextType>;
  market?: Resolver<ResolversTypes['Market'], ParentType, ContextType>;
  marketId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  observedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  overallProgress?: Resolver<Types.Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  phase?: Resolver<ResolversTypes['JobPhase'], ParentType, ContextType>;
  unlisted?: Resolver<ReadonlyArray<ResolversTypes['ID']>, ParentType, ContextType>;
};

export type MarketResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Market'] = ResolversParentTypes['Market']> = {
  companies?: Resolver<ResolversTypes['CompanyConnection'], ParentType, ContextType, Partial<Types.MarketCompaniesArgs>>;
  company?: Resolver<Types.Maybe<ResolversTypes['Company']>, ParentType, ContextType, RequireFields<Types.MarketCompanyArgs, 'domain'>>;
  companyCount?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  companyFacets?: Resolver<ResolversTypes['CompanyFacets'], ParentType, ContextType, Partial<Types.MarketCompanyFacetsArgs>>;
  dateCreated?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  description?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  esg?: Resolver<ResolversTypes['JSONObject'], ParentType, ContextType>;
  headerImageUrl?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  jobs?: Resolver<ReadonlyArray<ResolversTypes['Job']>, ParentType, ContextType, RequireFields<Types.MarketJobsArgs, 'phase'>>;
  name?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  nodeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  reviewStatus?: Resolver<Types.Maybe<ResolversTypes['MarketReviewStatus']>, ParentType, ContextType>;
  searchCriteria?: Resolver<ResolversTypes['SearchCriteria'], ParentType, ContextType>;
  searchCriteriaHistory?: Resolver<ReadonlyArray<ResolversTypes['SearchCriteria']>, ParentType, ContextType>;
  subtitle?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  topics?: Resolver<ReadonlyArray<ResolversTypes['Topic']>, ParentType, ContextType, Partial<Types.MarketTopicsArgs>>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type MutationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  createEmbedSession?: Resolver<ResolversTypes['CreateEmbedSessionPayload'], ParentType, ContextType>;
  createSearchCriteria?: Resolver<ResolversTypes['CreateSearchCriteriaPayload'], ParentType, ContextType, RequireFields<Types.MutationCreateSearchCriteriaArgs, 'input'>>;
  deleteExportEndpoint?: Resolver<ResolversTypes['DeleteExportEndpointPayload'], ParentType, ContextType, RequireFields<Types.MutationDeleteExportEndpointArgs, 'input'>>;
  exportMarketCsv?: Resolver<ResolversTypes['ExportMarketCsvPayload'], ParentType, ContextType, RequireFields<Types.MutationExportMarketCsvArgs, 'input'>>;
  exportMarketToEndpoint?: Resolver<ResolversTypes['ExportResult'], ParentType, ContextType, RequireFields<Types.MutationExportMarketToEndpointArgs, 'input'>>;
  publishMarket?: Resolver<ResolversTypes['PublishMarketPayload'], ParentType, ContextType, RequireFields<Types.MutationPublishMarketArgs, 'input'>>;
  registerExportEndpoint?: Resolver<ResolversTypes['RegisterExportEndpointPayload'], ParentType, ContextType, RequireFields<Types.MutationRegisterExportEndpointArgs, 'input'>>;
  renewWatch?: Resolver<ResolversTypes['RenewWatchPayload'], ParentType, ContextType, RequireFields<Types.MutationRenewWatchArgs, 'input'>>;
  retryExport?: Resolver<ResolversTypes['ExportResult'], ParentType, ContextType, RequireFields<Types.MutationRetryExportArgs, 'input'>>;
  reviewCompanies?: Resolver<ResolversTypes['ReviewCompaniesPayload'], ParentType, ContextType, RequireFields<Types.MutationReviewCompaniesArgs, 'input'>>;
  rotateExportEndpointSecret?: Resolver<ResolversTypes['RotateExportEndpointSecretPayload'], ParentType, ContextType, RequireFields<Types.MutationRotateExportEndpointSecretArgs, 'input'>>;
  signIn?: Resolver<ResolversTypes['SignInPayload'], ParentType, ContextType, RequireFields<Types.MutationSignInArgs, 'input'>>;
  signOut?: Resolver<ResolversTypes['SignOutPayload'], ParentType, ContextType>;
  startDiscovery?: Resolver<ResolversTypes['StartDiscoveryResult'], ParentType, ContextType, RequireFields<Types.MutationStartDiscoveryArgs, 'input'>>;
  stopWatching?: Resolver<ResolversTypes['StopWatchingPayload'], ParentType, ContextType, RequireFields<Types.MutationStopWatchingArgs, 'input'>>;
  testExportEndpoint?: Resolver<ResolversTypes['ExportResult'], ParentType, ContextType, RequireFields<Types.MutationTestExportEndpointArgs, 'input'>>;
  updateExportEndpoint?: Resolver<ResolversTypes['UpdateExportEndpointPayload'], ParentType, ContextType, RequireFields<Types.MutationUpdateExportEndpointArgs, 'input'>>;
  watchEvents?: Resolver<ResolversTypes['WatchEventsPayload'], ParentType, ContextType, RequireFields<Types.MutationWatchEventsArgs, 'input'>>;
  watchJob?: Resolver<ResolversTypes['WatchJobPayload'], ParentType, ContextType, RequireFields<Types.MutationWatchJobArgs, 'input'>>;
};

export type NaicsCodeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['NaicsCode'] = ResolversParentTypes['NaicsCode']> = {
  code?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  isPrimary?: Resolver<Types.Maybe<ResolversTypes['Boolean']>, ParentType, ContextType>;
  level?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  name?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type NaicsFacetResolvers<ContextType = Context, ParentType extends ResolversParentTypes['NaicsFacet'] = ResolversParentTypes['NaicsFacet']> = {
  code?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  count?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  name?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type NodeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Node'] = ResolversParentTypes['Node']> = {
  __resolveType: TypeResolveFn<'Company' | 'Event' | 'Export' | 'ExportEndpoint' | 'Job' | 'Market' | 'Observation' | 'Topic' | 'TopicGroup', ParentType, ContextType>;
};

export type ObservationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Observation'] = ResolversParentTypes['Observation']> = {
  addedAt?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  clusterLabel?: Resolver<Types.Maybe<ResolversTypes['ClusterLabel']>, ParentType, ContextType>;
  content?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  dedupeId?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  nodeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  publishedAt?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  sourceService?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  textEmbedding?: Resolver<Types.Maybe<ResolversTypes['Vector']>, ParentType, ContextType>;
  title?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  url?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  weight?: Resolver<Types.Maybe<ResolversTypes['JSONObject']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type PageInfoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PageInfo'] = ResolversParentTypes['PageInfo']> = {
  endCursor?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  hasNextPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  hasPreviousPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  startCursor?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type PublishMarketPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PublishMarketPayload'] = ResolversParentTypes['PublishMarketPayload']> = {
  jobs?: Resolver<ReadonlyArray<ResolversTypes['Job']>, ParentType, ContextType>;
  market?: Resolver<ResolversTypes['Market'], ParentType, ContextType>;
  marketId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type QuantityResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Quantity'] = ResolversParentTypes['Quantity']> = {
  operator?: Resolver<Types.Maybe<ResolversTypes['QuantityOperator']>, ParentType, ContextType>;
  unit?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  values?: Resolver<ReadonlyArray<ResolversTypes['Float']>, ParentType, ContextType>;
};

export type QueryResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  capabilities?: Resolver<ResolversTypes['Capabilities'], ParentType, ContextType>;
  event?: Resolver<ResolversTypes['Event'], ParentType, ContextType, RequireFields<Types.QueryEventArgs, 'id'>>;
  eventChanges?: Resolver<ResolversTypes['EventChanges'], ParentType, ContextType, RequireFields<Types.QueryEventChangesArgs, 'first'>>;
  eventStatistics?: Resolver<ResolversTypes['EventStatistics'], ParentType, ContextType, RequireFields<Types.QueryEventStatisticsArgs, 'interval'>>;
  events?: Resolver<ResolversTypes['EventConnection'], ParentType, ContextType, Partial<Types.QueryEventsArgs>>;
  export?: Resolver<Types.Maybe<ResolversTypes['Export']>, ParentType, ContextType, RequireFields<Types.QueryExportArgs, 'by'>>;
  exportEndpoints?: Resolver<ReadonlyArray<ResolversTypes['ExportEndpoint']>, ParentType, ContextType>;
  exports?: Resolver<ResolversTypes['ExportConnection'], ParentType, ContextType, Partial<Types.QueryExportsArgs>>;
  market?: Resolver<ResolversTypes['Market'], ParentType, ContextType, RequireFields<Types.QueryMarketArgs, 'id'>>;
  markets?: Resolver<ReadonlyArray<ResolversTypes['Market']>, ParentType, ContextType, RequireFields<Types.QueryMarketsArgs, 'ids'>>;
  node?: Resolver<Types.Maybe<ResolversTypes['Node']>, ParentType, ContextType, RequireFields<Types.QueryNodeArgs, 'nodeId'>>;
  nodes?: Resolver<ReadonlyArray<Types.Maybe<ResolversTypes['Node']>>, ParentType, ContextType, RequireFields<Types.QueryNodesArgs, 'nodeIds'>>;
  observation?: Resolver<ResolversTypes['Observation'], ParentType, ContextType, RequireFields<Types.QueryObservationArgs, 'id'>>;
  observations?: Resolver<ReadonlyArray<ResolversTypes['Observation']>, ParentType, ContextType, RequireFields<Types.QueryObservationsArgs, 'ids'>>;
  suggestKeywords?: Resolver<ResolversTypes['SuggestKeywordsPayload'], ParentType, ContextType, RequireFields<Types.QuerySuggestKeywordsArgs, 'input'>>;
  suggestMarkets?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType, RequireFields<Types.QuerySuggestMarketsArgs, 'keyword'>>;
  viewer?: Resolver<Types.Maybe<ResolversTypes['Viewer']>, ParentType, ContextType>;
  watches?: Resolver<ReadonlyArray<ResolversTypes['Watch']>, ParentType, ContextType>;
};

export type RegisterExportEndpointPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RegisterExportEndpointPayload'] = ResolversParentTypes['RegisterExportEndpointPayload']> = {
  endpoint?: Resolver<ResolversTypes['ExportEndpoint'], ParentType, ContextType>;
  signingSecret?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type RelevantEntityResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RelevantEntity'] = ResolversParentTypes['RelevantEntity']> = {
  entityType?: Resolver<Types.Maybe<ResolversTypes['RelevantEntityType']>, ParentType, ContextType>;
  name?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  propertySource?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type RenewWatchPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RenewWatchPayload'] = ResolversParentTypes['RenewWatchPayload']> = {
  watch?: Resolver<ResolversTypes['Watch'], ParentType, ContextType>;
};

export type ReviewCompaniesPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ReviewCompaniesPayload'] = ResolversParentTypes['ReviewCompaniesPayload']> = {
  companies?: Resolver<ReadonlyArray<ResolversTypes['Company']>, ParentType, ContextType>;
  market?: Resolver<ResolversTypes['Market'], ParentType, ContextType>;
  marketId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type RotateExportEndpointSecretPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RotateExportEndpointSecretPayload'] = ResolversParentTypes['RotateExportEndpointSecretPayload']> = {
  endpoint?: Resolver<ResolversTypes['ExportEndpoint'], ParentType, ContextType>;
  signingSecret?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type RunningDiscoveryResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RunningDiscovery'] = ResolversParentTypes['RunningDiscovery']> = {
  __resolveType: TypeResolveFn<'DiscoveryAlreadyRunning' | 'DiscoveryStarted', ParentType, ContextType>;
};

export type ScoreCountResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ScoreCount'] = ResolversParentTypes['ScoreCount']> = {
  count?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  likelihood?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  severity?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type SearchCriteriaResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SearchCriteria'] = ResolversParentTypes['SearchCriteria']> = {
  attributes?: Resolver<Types.Maybe<ResolversTypes['JSONObject']>, ParentType, ContextType>;
  count?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  keywords?: Resolver<Types.Maybe<ResolversTypes['SearchKeywords']>, ParentType, ContextType>;
  locations?: Resolver<ReadonlyArray<ResolversTypes['SearchLocation']>, ParentType, ContextType>;
  marketName?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  marketRole?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  marketType?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  performSearch?: Resolver<Types.Maybe<ResolversTypes['Boolean']>, ParentType, ContextType>;
  projectKind?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  seedDomains?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  userPrompt?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type SearchKeywordsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SearchKeywords'] = ResolversParentTypes['SearchKeywords']> = {
  attributes?: Resolver<Types.Maybe<ResolversTypes['JSONObject']>, ParentType, ContextType>;
  features?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  irrelevant?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  synonyms?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  user?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
};

export type SearchLocationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SearchLocation'] = ResolversParentTypes['SearchLocation']> = {
  attributes?: Resolver<Types.Maybe<ResolversTypes['JSONObject']>, ParentType, ContextType>;
  countryCode?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  countryName?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type SeverityCountResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SeverityCount'] = ResolversParentTypes['SeverityCount']> = {
  count?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  severity?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
};

export type SignInPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SignInPayload'] = ResolversParentTypes['SignInPayload']> = {
  viewer?: Resolver<ResolversTypes['Viewer'], ParentType, ContextType>;
};

export type SignOutPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SignOutPayload'] = ResolversParentTypes['SignOutPayload']> = {
  viewer?: Resolver<Types.Maybe<ResolversTypes['Viewer']>, ParentType, ContextType>;
};

export type StartDiscoveryResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StartDiscoveryResult'] = ResolversParentTypes['StartDiscoveryResult']> = {
  __resolveType: TypeResolveFn<'DiscoveryAlreadyRunning' | 'DiscoveryStarted', ParentType, ContextType>;
};

export type StopWatchingPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StopWatchingPayload'] = ResolversParentTypes['StopWatchingPayload']> = {
  watch?: Resolver<ResolversTypes['Watch'], ParentType, ContextType>;
};

export type SubscriptionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Subscription'] = ResolversParentTypes['Subscription']> = {
  eventUpdates?: SubscriptionResolver<ResolversTypes['EventUpdate'], "eventUpdates", ParentType, ContextType, Partial<Types.SubscriptionEventUpdatesArgs>>;
  exportProgress?: SubscriptionResolver<ResolversTypes['Export'], "exportProgress", ParentType, ContextType, RequireFields<Types.SubscriptionExportProgressArgs, 'exportId'>>;
  jobProgress?: SubscriptionResolver<ResolversTypes['JobProgress'], "jobProgress", ParentType, ContextType, RequireFields<Types.SubscriptionJobProgressArgs, 'marketId' | 'phase'>>;
};

export type SuggestKeywordsPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SuggestKeywordsPayload'] = ResolversParentTypes['SuggestKeywordsPayload']> = {
  keywords?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  suggested?: Resolver<Types.Maybe<ResolversTypes['SearchKeywords']>, ParentType, ContextType>;
};

export type TopicResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Topic'] = ResolversParentTypes['Topic']> = {
  groups?: Resolver<ReadonlyArray<ResolversTypes['TopicGroup']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  label?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  nodeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type TopicGroupResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TopicGroup'] = ResolversParentTypes['TopicGroup']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  label?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  nodeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type UpdateExportEndpointPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['UpdateExportEndpointPayload'] = ResolversParentTypes['UpdateExportEndpointPayload']> = {
  endpoint?: Resolver<ResolversTypes['ExportEndpoint'], ParentType, ContextType>;
};

export type UsageResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Usage'] = ResolversParentTypes['Usage']> = {
  limit?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  remaining?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  resetAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export interface VectorScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['Vector'], any> {
  name: 'Vector';
}

export type VectorIndexResolvers<ContextType = Context, ParentType extends ResolversParentTypes['VectorIndex'] = ResolversParentTypes['VectorIndex']> = {
  anchorText?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  embeddings?: Resolver<Types.Maybe<ResolversTypes['Vector']>, ParentType, ContextType>;
  embeddingsModelName?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type ViewerResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Viewer'] = ResolversParentTypes['Viewer']> = {
  authentication?: Resolver<ResolversTypes['Authentication'], ParentType, ContextType>;
  canExport?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  canManageExportEndpoints?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  email?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  name?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  team?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  usage?: Resolver<Types.Maybe<ResolversTypes['Usage']>, ParentType, ContextType>;
};

export type WatchResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Watch'] = ResolversParentTypes['Watch']> = {
  cursor?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  endpoint?: Resolver<Types.Maybe<ResolversTypes['ExportEndpoint']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  lastDelivery?: Resolver<Types.Maybe<ResolversTypes['WatchDelivery']>, ParentType, ContextType>;
  until?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type WatchDeliveryResolvers<ContextType = Context, ParentType extends ResolversParentTypes['WatchDelivery'] = ResolversParentTypes['WatchDelivery']> = {
  at?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  status?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
};

export type WatchEventsPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['WatchEventsPayload'] = ResolversParentTypes['WatchEventsPayload']> = {
  watch?: Resolver<ResolversTypes['Watch'], ParentType, ContextType>;
};

export type WatchJobPayloadResolvers<ContextType = Context, ParentType extends ResolversParentTypes['WatchJobPayload'] = ResolversParentTypes['WatchJobPayload']> = {
  watch?: Resolver<ResolversTypes['Watch'], ParentType, ContextType>;
};

export type Resolvers<ContextType = Context> = {
  AffectedDatapoint?: AffectedDatapointResolvers<ContextType>;
  AlertType?: AlertTypeResolvers<ContextType>;
  Capabilities?: CapabilitiesResolvers<ContextType>;
  ClusterLabel?: ClusterLabelResolvers<ContextType>;
  Company?: CompanyResolvers<ContextType>;
  CompanyConnection?: CompanyConnectionResolvers<ContextType>;
  CompanyEdge?: CompanyEdgeResolvers<ContextType>;
  CompanyFacets?: CompanyFacetsResolvers<ContextType>;
  CountryFacet?: CountryFacetResolvers<ContextType>;
  CreateEmbedSessionPayload?: CreateEmbedSessionPayloadResolvers<ContextType>;
  CreateSearchCriteriaPayload?: CreateSearchCriteriaPayloadResolvers<ContextType>;
  DateOrDateTime?: GraphQLScalarType;
  DateTime?: GraphQLScalarType;
  DeleteExportEndpointPayload?: DeleteExportEndpointPayloadResolvers<ContextType>;
  DiscoveryAlreadyRunning?: DiscoveryAlreadyRunningResolvers<ContextType>;
  DiscoveryStarted?: DiscoveryStartedResolvers<ContextType>;
  EmbedSession?: EmbedSessionResolvers<ContextType>;
  Event?: EventResolvers<ContextType>;
  EventBucket?: EventBucketResolvers<ContextType>;
  EventChanges?: EventChangesResolvers<ContextType>;
  EventConnection?: EventConnectionResolvers<ContextType>;
  EventEdge?: EventEdgeResolvers<ContextType>;
  EventFacet?: EventFacetResolvers<ContextType>;
  EventReference?: EventReferenceResolvers<ContextType>;
  EventSearchKeyword?: EventSearchKeywordResolvers<ContextType>;
  EventStatistics?: EventStatisticsResolvers<ContextType>;
  EventTimestamps?: EventTimestampsResolvers<ContextType>;
  EventUpdate?: EventUpdateResolvers<ContextType>;
  Export?: ExportResolvers<ContextType>;
  ExportAttempt?: ExportAttemptResolvers<ContextType>;
  ExportConnection?: ExportConnectionResolvers<ContextType>;
  ExportDelivered?: ExportDeliveredResolvers<ContextType>;
  ExportEdge?: ExportEdgeResolvers<ContextType>;
  ExportEnding?: ExportEndingResolvers<ContextType>;
  ExportEndpoint?: ExportEndpointResolvers<ContextType>;
  ExportFailed?: ExportFailedResolvers<ContextType>;
  ExportMarketCsvPayload?: ExportMarketCsvPayloadResolvers<ContextType>;
  ExportReference?: ExportReferenceResolvers<ContextType>;
  ExportRejected?: ExportRejectedResolvers<ContextType>;
  ExportResult?: ExportResultResolvers<ContextType>;
  Histogram?: HistogramResolvers<ContextType>;
  HistogramBucket?: HistogramBucketResolvers<ContextType>;
  Impact?: ImpactResolvers<ContextType>;
  ImpactedEntity?: ImpactedEntityResolvers<ContextType>;
  JSONObject?: GraphQLScalarType;
  Job?: JobResolvers<ContextType>;
  JobProgress?: JobProgressResolvers<ContextType>;
  Market?: MarketResolvers<ContextType>;
  Mutation?: MutationResolvers<ContextType>;
  NaicsCode?: NaicsCodeResolvers<ContextType>;
  NaicsFacet?: NaicsFacetResolvers<ContextType>;
  Node?: NodeResolvers<ContextType>;
  Observation?: ObservationResolvers<ContextType>;
  PageInfo?: PageInfoResolvers<ContextType>;
  PublishMarketPayload?: PublishMarketPayloadResolvers<ContextType>;
  Quantity?: QuantityResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  RegisterExportEndpointPayload?: RegisterExportEndpointPayloadResolvers<ContextType>;
  RelevantEntity?: RelevantEntityResolvers<ContextType>;
  RenewWatchPayload?: RenewWatchPayloadResolvers<ContextType>;
  ReviewCompaniesPayload?: ReviewCompaniesPayloadResolvers<ContextType>;
  RotateExportEndpointSecretPayload?: RotateExportEndpointSecretPayloadResolvers<ContextType>;
  RunningDiscovery?: RunningDiscoveryResolvers<ContextType>;
  ScoreCount?: ScoreCountResolvers<ContextType>;
  SearchCriteria?: SearchCriteriaResolvers<ContextType>;
  SearchKeywords?: SearchKeywordsResolvers<ContextType>;
  SearchLocation?: SearchLocationResolvers<ContextType>;
  SeverityCount?: SeverityCountResolvers<ContextType>;
  SignInPayload?: SignInPayloadResolvers<ContextType>;
  SignOutPayload?: SignOutPayloadResolvers<ContextType>;
  StartDiscoveryResult?: StartDiscoveryResultResolvers<ContextType>;
  StopWatchingPayload?: StopWatchingPayloadResolvers<ContextType>;
  Subscription?: SubscriptionResolvers<ContextType>;
  SuggestKeywordsPayload?: SuggestKeywordsPayloadResolvers<ContextType>;
  Topic?: TopicResolvers<ContextType>;
  TopicGroup?: TopicGroupResolvers<ContextType>;
  UpdateExportEndpointPayload?: UpdateExportEndpointPayloadResolvers<ContextType>;
  Usage?: UsageResolvers<ContextType>;
  Vector?: GraphQLScalarType;
  VectorIndex?: VectorIndexResolvers<ContextType>;
  Viewer?: ViewerResolvers<ContextType>;
  Watch?: WatchResolvers<ContextType>;
  WatchDelivery?: WatchDeliveryResolvers<ContextType>;
  WatchEventsPayload?: WatchEventsPayloadResolvers<ContextType>;
  WatchJobPayload?: WatchJobPayloadResolvers<ContextType>;
};

export type DirectiveResolvers<ContextType = Context> = {
  cost?: CostDirectiveResolver<any, any, ContextType>;
  defer?: DeferDirectiveResolver<any, any, ContextType>;
};
