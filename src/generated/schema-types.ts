import type { ReadNumber } from '../data/parsing.js';
import type { ReadTime } from '../data/parsing.js';
import type { Vector } from '../data/vector.js';
export type Maybe<T> = T | null;
export type InputMaybe<T> = Maybe<T>;
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: ReadNumber; }
  Float: { input: number; output: ReadNumber; }
  /** A day (`2026-01-31`) or a point in time (`2026-01-31T08:30:00Z`), in UTC. */
  DateOrDateTime: { input: string; output: string; }
  /** A point in time, in UTC unless it has another offset, with as many digits of a second as the service sends. Example: `2026-01-31T08:30:00.000Z`. */
  DateTime: { input: string; output: ReadTime; }
  /** A JSON object. Its members are not part of this schema. */
  JSONObject: { input: Record<string, unknown>; output: Record<string, unknown>; }
  /** An embedding vector: the whole array of numbers as one value. */
  Vector: { input: never; output: Vector; }
};

/** A procurement datapoint that an event affects. */
export type AffectedDatapoint = {
  readonly __typename?: 'AffectedDatapoint';
  /** Direction of the change. Null if the service cannot determine it. */
  readonly direction?: Maybe<Direction>;
  /** Name of the datapoint in the taxonomy of the service. */
  readonly name: Scalars['String']['output'];
  /** Size of the change. Null if there is none. */
  readonly quantity?: Maybe<Quantity>;
  /** Specific subject named in the sources. Null if there is none. */
  readonly subject?: Maybe<Scalars['String']['output']>;
};

/** An alert type that an event matches. */
export type AlertType = {
  readonly __typename?: 'AlertType';
  /** Text that was mapped to this alert type. */
  readonly mappedFrom?: Maybe<Scalars['String']['output']>;
  /** Method of the match. Value seen: `llm`. */
  readonly method?: Maybe<Scalars['String']['output']>;
  /** Name of the alert type. */
  readonly name: Scalars['String']['output'];
  /** Explanation of the match. */
  readonly rationale?: Maybe<Scalars['String']['output']>;
  /** Similarity of the match. The range is not documented. */
  readonly similarity?: Maybe<Scalars['Float']['output']>;
};

/** Kind of credential. */
export type Authentication =
  /** An API key in the `x-api-key` header. */
  | 'API_KEY'
  /** A bearer token in the `Authorization` header. */
  | 'BEARER'
  /** The gateway's session cookie, set by `signIn`. */
  | 'COOKIE'
  /** A session id in the `sessionId` query parameter, as embedded pages send it. */
  | 'SESSION_ID';

/** What a gateway can do. A field that needs something that is false here fails with `NOT_CONFIGURED`. */
export type Capabilities = {
  readonly __typename?: 'Capabilities';
  /** Whether `EventFilter.search` works. */
  readonly eventSearch: Scalars['Boolean']['output'];
  /** Whether `exportMarketToEndpoint` works. It sends the name of the market, so it needs `marketRecords`. `Viewer.canExport` says who may use it. */
  readonly exports: Scalars['Boolean']['output'];
  /** Whether `suggestKeywords` works. */
  readonly keywordSuggestion: Scalars['Boolean']['output'];
  /** Whether `Market.topics`, `suggestMarkets` and `exportMarketCsv` work. */
  readonly marketData: Scalars['Boolean']['output'];
  /** Whether `Market.name` and the other fields of the market record can be read. */
  readonly marketRecords: Scalars['Boolean']['output'];
};

/** Cluster of an observation. */
export type ClusterLabel = {
  readonly __typename?: 'ClusterLabel';
  /** Label of the cluster, a number. */
  readonly label?: Maybe<Scalars['Float']['output']>;
  /** Clustering method. */
  readonly method?: Maybe<Scalars['String']['output']>;
};

/** A company of a market. */
export type Company = Node & {
  readonly __typename?: 'Company';
  /** Actual revenue as reported by the service. The currency is not documented. */
  readonly actualRevenue?: Maybe<Scalars['Float']['output']>;
  /** Additional fields that the service sends but does not document. Null if there are none. */
  readonly attributes?: Maybe<Scalars['JSONObject']['output']>;
  /** E-mail address to contact the company. */
  readonly contactEmail?: Maybe<Scalars['String']['output']>;
  /** Telephone number to contact the company. */
  readonly contactNumber?: Maybe<Scalars['String']['output']>;
  /** Description of the company. */
  readonly description?: Maybe<Scalars['String']['output']>;
  /** Internet domain. It identifies the company within its market. */
  readonly domain: Scalars['String']['output'];
  /** D-U-N-S numbers of the company. */
  readonly dunsNumbers: ReadonlyArray<Scalars['String']['output']>;
  /** This company's part of the market's ESG data. Null if there is none. */
  readonly esg?: Maybe<Scalars['JSONObject']['output']>;
  /**
   * Events that name this company as an impacted entity, first page only. Fails with `NOT_QUERYABLE` if the name of the company contains a comma,
   * is empty or has more than 255 characters, because the service cannot search for such a name.
   *
   * The scores in `filter` may be those of another entity of the event: the `impact` of an edge is the company's own.
   *
   * To get more, go on with `Query.events`: pass a cursor from here as `after`, and the same filter with the name of the company as the
   * only value of `impactedEntities`.
   */
  readonly events?: Maybe<EventConnection>;
  /** Identifier of the company. The same company has a different `id` in each market. */
  readonly id: Scalars['ID']['output'];
  /** The market that lists the company. No upstream call until a field that needs one is selected. */
  readonly market: Market;
  /** Industries of the company. */
  readonly naics: ReadonlyArray<NaicsCode>;
  /** Name of the company. */
  readonly name?: Maybe<Scalars['String']['output']>;
  /** Identifier of this object across all types. */
  readonly nodeId: Scalars['ID']['output'];
  /** Lower-case two-letter codes of the countries where the company operates. */
  readonly operatesIn: ReadonlyArray<Scalars['String']['output']>;
  /** Overall momentum as reported by the service. Unit and range are not documented. */
  readonly overallMomentum?: Maybe<Scalars['Float']['output']>;
  /** Decision of the last review of the company. Null if the service sends none that is known. `reviewCompanies` changes it. */
  readonly reviewStatus?: Maybe<ReviewDecision>;
  /** Score as reported by the service. Unit and range are not documented. An export to an endpoint sends the companies with the highest scores. */
  readonly score?: Maybe<Scalars['Float']['output']>;
};


/** A company of a market. */
export type CompanyEventsArgs = {
  filter?: InputMaybe<EventFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
};

/** A page of companies. */
export type CompanyConnection = {
  readonly __typename?: 'CompanyConnection';
  /** Companies of this page, each with its cursor. */
  readonly edges: ReadonlyArray<CompanyEdge>;
  /** Companies of this page, without cursors. */
  readonly nodes: ReadonlyArray<Company>;
  /** Position of this page within the list. */
  readonly pageInfo: PageInfo;
  /** Number of companies that match the filter, on all pages. */
  readonly totalCount: Scalars['Int']['output'];
};

/** A company and its cursor. */
export type CompanyEdge = {
  readonly __typename?: 'CompanyEdge';
  /** Pass it as `after` to continue after this company, with the same filter and order. */
  readonly cursor: Scalars['String']['output'];
  /** The company. */
  readonly node: Company;
};

/** Values of companies with their frequency, the most frequent first. Values with equal counts are sorted, ascending. */
export type CompanyFacets = {
  readonly __typename?: 'CompanyFacets';
  /** The companies by `Company.actualRevenue`. Null if none has a revenue. */
  readonly actualRevenue?: Maybe<Histogram>;
  /** Industries of the companies. */
  readonly naics: ReadonlyArray<NaicsFacet>;
  /** Countries where the companies operate. */
  readonly operatesIn: ReadonlyArray<CountryFacet>;
  /** The companies by `Company.overallMomentum`. Null if none has a momentum. */
  readonly overallMomentum?: Maybe<Histogram>;
  /** The companies by `Company.score`. Null if none has a score. */
  readonly score?: Maybe<Histogram>;
};

/**
 * Selects companies of a market. A company must match every member that is set, and at least one value of each list. The gateway applies the filter;
 * it needs no upstream call.
 */
export type CompanyFilter = {
  /** Range of `Company.actualRevenue`. A company without this value does not match any range. */
  readonly actualRevenue?: InputMaybe<FloatRange>;
  /** Internet domains, at most 10,000, in any form. Left out or null: any. Empty: no company. */
  readonly domains?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** D-U-N-S numbers, at most 1,000, each at most 20 characters. Hyphens and spaces do not matter. Left out, null or empty: any. */
  readonly dunsNumbers?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** NAICS codes, at most 1,000, each at most 10 characters. A code also matches every longer code that begins with it. Left out, null or empty: any. */
  readonly naics?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Countries where the company operates, at most 300 two-letter codes such as `de`. Case does not matter. The values are those of `companyFacets`; others match no company. Left out, null or empty: any. */
  readonly operatesIn?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Range of `Company.overallMomentum`. A company without this value does not match any range. */
  readonly overallMomentum?: InputMaybe<FloatRange>;
  /** Text that must occur in name, domain or description, at most 100 characters. Case and the form of Unicode do not matter. */
  readonly search?: InputMaybe<Scalars['String']['input']>;
};

/** Order of a list of companies. Companies without the value come last in both directions. Companies with equal values are sorted by domain, ascending. */
export type CompanyOrder = {
  /** Direction of the order. */
  readonly direction: OrderDirection;
  /** Value to sort by. */
  readonly field: CompanyOrderField;
};

/** Value that companies can be sorted by. */
export type CompanyOrderField =
  /** By `Company.actualRevenue`. */
  | 'ACTUAL_REVENUE'
  /** By `Company.domain`. Case does not matter. */
  | 'DOMAIN'
  /** By `Company.name`, as an English dictionary orders names. Case does not matter. */
  | 'NAME'
  /** By `Company.overallMomentum`. */
  | 'OVERALL_MOMENTUM'
  /** By `Company.score`. */
  | 'SCORE';

/** A page of `Market.companies`. */
export type CompanyPageInput = {
  /** The page has only companies after this cursor: an `endCursor`, or the `cursor` of an edge. It belongs to its market, `filter` and `orderBy`: with others it is `BAD_USER_INPUT`. */
  readonly after?: InputMaybe<Scalars['String']['input']>;
  /** The page has only companies before this cursor: a `startCursor`, or the `cursor` of an edge. It belongs to its market, `filter` and `orderBy`: with others it is `BAD_USER_INPUT`. */
  readonly before?: InputMaybe<Scalars['String']['input']>;
  /** Filter of the list. Left out or null: all companies. */
  readonly filter?: InputMaybe<CompanyFilter>;
  /** Number of companies from the start of the list, 1 to 100. Without `first` and `last`: 10. Cannot be combined with `last`. */
  readonly first?: InputMaybe<Scalars['Int']['input']>;
  /** Number of companies from the end of the list, 1 to 100. Cannot be combined with `first`. */
  readonly last?: InputMaybe<Scalars['Int']['input']>;
  /** Order of the list. Left out or null: the order of the service. */
  readonly orderBy?: InputMaybe<CompanyOrder>;
};

/** Selects companies of a market to export. Set exactly one member. If it selects no company, such as `domains: []`, the error is `BAD_USER_INPUT`. */
export type CompanySelection =
  /** Internet domains of the companies, 1 to 10,000, in any form. */
  { readonly domains: ReadonlyArray<Scalars['String']['input']>; readonly matching?: never; readonly visible?: never; }
  |  /** All companies that match a filter, on all pages. An empty filter, `{}`, selects all companies of the market. */
  { readonly domains?: never; readonly matching: CompanyFilter; readonly visible?: never; }
  |  /** The companies on one page of `Market.companies` with the same arguments, as shown in a market explorer. */
  { readonly domains?: never; readonly matching?: never; readonly visible: CompanyPageInput; };

/** A country and the number of companies that operate there. */
export type CountryFacet = {
  readonly __typename?: 'CountryFacet';
  /** Number of companies that `CompanyFilter.operatesIn` with this code selects. */
  readonly count: Scalars['Int']['output'];
  /** Lower-case two-letter code of the country. */
  readonly value: Scalars['String']['output'];
};

/** Result of creating an embedded session. */
export type CreateEmbedSessionPayload = {
  readonly __typename?: 'CreateEmbedSessionPayload';
  /** The new session. */
  readonly session: EmbedSession;
};

/** A question to turn into search criteria. */
export type CreateSearchCriteriaInput = {
  /** Question in natural language, 1 to 10,000 characters. */
  readonly searchInput: Scalars['String']['input'];
  /** Type of search, 1 to 1,000 characters. Value seen: `marketSearch`. */
  readonly searchType: Scalars['String']['input'];
};

/** Result of turning a question into search criteria. */
export type CreateSearchCriteriaPayload = {
  readonly __typename?: 'CreateSearchCriteriaPayload';
  /** The search criteria. */
  readonly searchCriteria: SearchCriteria;
};

/** An endpoint to delete. */
export type DeleteExportEndpointInput = {
  /** Name of the endpoint. */
  readonly endpoint: Scalars['String']['input'];
};

/** A deleted endpoint. */
export type DeleteExportEndpointPayload = {
  readonly __typename?: 'DeleteExportEndpointPayload';
  /** The endpoint as it was. Its `nodeId` is no longer valid. */
  readonly endpoint: ExportEndpoint;
};

/** Direction of a change. */
export type Direction =
  /** Down. */
  | 'DOWN'
  /** Up and down. */
  | 'FLUCTUATE'
  /** Reported as unknown by the service. */
  | 'UNKNOWN'
  /** Up. */
  | 'UP';

/** Nothing was started, because a discovery of this market is already running. */
export type DiscoveryAlreadyRunning = RunningDiscovery & {
  readonly __typename?: 'DiscoveryAlreadyRunning';
  /** The jobs of the market's discovery. */
  readonly jobs?: Maybe<ReadonlyArray<Job>>;
  /** The market. */
  readonly market: Market;
  /** Market identifier. */
  readonly marketId: Scalars['ID']['output'];
};

/** The discovery was started. */
export type DiscoveryStarted = RunningDiscovery & {
  readonly __typename?: 'DiscoveryStarted';
  /**
   * The jobs that were started. The service may send only their identifiers: then `progress` and `status` are null until `jobProgress` reads them. Never
   * null.
   */
  readonly jobs?: Maybe<ReadonlyArray<Job>>;
  /** The market. */
  readonly market: Market;
  /** Market identifier. */
  readonly marketId: Scalars['ID']['output'];
};

/** A session with a limited lifetime, created with an API key. */
export type EmbedSession = {
  readonly __typename?: 'EmbedSession';
  /** Session id. Pass it as the query parameter `sessionId` in the URL of the embedded page. */
  readonly accessToken: Scalars['String']['output'];
  /** Checksum of the session. */
  readonly checksum: Scalars['String']['output'];
  /** Lifetime of the session, in seconds. */
  readonly expiresIn: Scalars['Int']['output'];
  /** ID token of the session. */
  readonly idToken: Scalars['String']['output'];
  /** Refresh token of the session. */
  readonly refreshToken: Scalars['String']['output'];
};

/** An occurrence. The service groups observations that refer to the same occurrence into one event. */
export type Event = Node & {
  readonly __typename?: 'Event';
  /** Procurement datapoints that the event as a whole affects. */
  readonly affectedDatapoints: ReadonlyArray<AffectedDatapoint>;
  /** Alert types that the event matches. */
  readonly alertTypes: ReadonlyArray<AlertType>;
  /** Keywords for search. */
  readonly eventSearchKeywords: ReadonlyArray<EventSearchKeyword>;
  /** Event identifier. */
  readonly id: Scalars['ID']['output'];
  /** Entities that the event impacts, with likelihood and severity. */
  readonly impactedEntities: ReadonlyArray<ImpactedEntity>;
  /** When the service last updated the event. The filter members `from` and `to` apply to this time. */
  readonly lastUpdated?: Maybe<Scalars['DateTime']['output']>;
  /** Highest likelihood of all its impacted entities, 0 to 3. Null if it has none with a likelihood. */
  readonly likelihood?: Maybe<Scalars['Int']['output']>;
  /** Identifier of this version across all types: it changes with `lastUpdated`. Identify an event by its `id`. */
  readonly nodeId: Scalars['ID']['output'];
  /** Observations that are the source of the event. */
  readonly references: ReadonlyArray<EventReference>;
  /** Entities as free text. They may be missing from the taxonomy of the service. */
  readonly relevantEntities: ReadonlyArray<RelevantEntity>;
  /** Highest severity of all its impacted entities, 0 to 3: for one of them, see its `impact`. Null if it has none with a severity. */
  readonly severity?: Maybe<Scalars['Int']['output']>;
  /** Generated summary for human readers. For text processing, use `vectorIndex.anchorText` and `eventSearchKeywords`. */
  readonly summary?: Maybe<Scalars['String']['output']>;
  /** When the event happened or is expected to happen. */
  readonly timestamps: EventTimestamps;
  /** Generated headline. */
  readonly title?: Maybe<Scalars['String']['output']>;
  /** Text and embedding for similarity search. */
  readonly vectorIndex?: Maybe<VectorIndex>;
};

/** The events of one interval. */
export type EventBucket = {
  readonly __typename?: 'EventBucket';
  /** The same events by their severity, highest first. A severity without events is left out. */
  readonly bySeverity: ReadonlyArray<SeverityCount>;
  /** Number of events. */
  readonly count: Scalars['Int']['output'];
  /** Start of the interval, inclusive. It ends at the start of the next. */
  readonly start: Scalars['DateTime']['output'];
};

/** Updates of events, for a client that asks for them. */
export type EventChanges = {
  readonly __typename?: 'EventChanges';
  /** Where to continue: send it as `after` of the next call, or of `eventUpdates`. It is valid in every gateway of the fleet. */
  readonly cursor: Scalars['String']['output'];
  /** True if updates may be missing before `cursor`, because too many were missed. Read `events` again, and continue behind its `updatesCursor`. */
  readonly gap: Scalars['Boolean']['output'];
  /** True if more updates follow: call again at once. */
  readonly hasMore: Scalars['Boolean']['output'];
  /** Each update once, the oldest first. */
  readonly nodes: ReadonlyArray<EventUpdate>;
};

/** A page of events. */
export type EventConnection = {
  readonly __typename?: 'EventConnection';
  /** Events of this page, each with its cursor. */
  readonly edges: ReadonlyArray<EventEdge>;
  /** Events of this page, without cursors. */
  readonly nodes: ReadonlyArray<Event>;
  /** Position of this page within the list. */
  readonly pageInfo: PageInfo;
  /** Number of events that match the filter, on all pages. */
  readonly totalCount: Scalars['Int']['output'];
  /** Number of events before filtering. Null if the service does not send it. */
  readonly unfilteredTotalCount?: Maybe<Scalars['Int']['output']>;
  /**
   * Where `eventUpdates` continues behind this list: pass it as `after`, with the same filter without `from` and `to`. It sends every update that came
   * after the list was read, and none that is on this page. Of several pages, use the cursor of the one that was read first.
   */
  readonly updatesCursor: Scalars['String']['output'];
};

/** An event and its cursor. */
export type EventEdge = {
  readonly __typename?: 'EventEdge';
  /** Pass it as `after` to continue after this event, with the same filter. */
  readonly cursor: Scalars['String']['output'];
  /**
   * Impact on whom the list asks for: the company of `Company.events`, or the names in `impactedEntities`. Of several, the highest severity counts, then
   * the highest likelihood. Null if the list asks for nobody, and if the event scores nobody of that name, ignoring case.
   */
  readonly impact?: Maybe<Impact>;
  /** The event. */
  readonly node: Event;
};

/** A value and the number of events that have it. */
export type EventFacet = {
  readonly __typename?: 'EventFacet';
  /** Number of events. */
  readonly count: Scalars['Int']['output'];
  /** The value. A filter takes it if it has no comma and at most 255 characters; there is none for `relevantEntities`. */
  readonly value: Scalars['String']['output'];
};

/**
 * Selects events. An event must match every member, and at least one value of each list. To get events with any score, set `severity` and `likelihood`
 * to null. To get older events, set `from`. The service does not document whether an event without impacted entities can match. In a URL, all of it must have at most 7,000 characters.
 */
export type EventFilter = {
  /** Names of procurement datapoints, at most 100, each at most 255 characters and without a comma. Left out, null or empty: any. */
  readonly affectedDatapoints?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Names of alert types, at most 100, each at most 255 characters and without a comma. Left out, null or empty: any. */
  readonly alertTypes?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Earliest `lastUpdated`, inclusive. A day means 00:00 UTC of that day. Left out or null: the previous UTC day, 00:00. */
  readonly from?: InputMaybe<Scalars['DateOrDateTime']['input']>;
  /** Names of impacted entities, at most 100, each at most 255 characters and without a comma. Left out, null or empty: any. */
  readonly impactedEntities?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Range of the likelihood of an impacted entity. Its bounds are 0 to 3. Null: any. */
  readonly likelihood?: InputMaybe<IntRange>;
  /** Free text, 1 to 1,000 characters. Fails with `NOT_CONFIGURED` if `Capabilities.eventSearch` is false. */
  readonly search?: InputMaybe<Scalars['String']['input']>;
  /** Range of the severity of an impacted entity. Its bounds are 0 to 3. Null: any. */
  readonly severity?: InputMaybe<IntRange>;
  /** Latest `lastUpdated`, inclusive. A day means 23:59 UTC of that day. Left out or null: the current UTC day, 23:59. */
  readonly to?: InputMaybe<Scalars['DateOrDateTime']['input']>;
};

/** Length of a bucket. All times are UTC. */
export type EventInterval =
  /** A day. */
  | 'DAY'
  /** An hour. */
  | 'HOUR'
  /** A calendar month. */
  | 'MONTH'
  /** A week, from Monday. */
  | 'WEEK';

/** A reference from an event to one of its observations. */
export type EventReference = {
  readonly __typename?: 'EventReference';
  /** Observation identifier. */
  readonly id: Scalars['ID']['output'];
  /** The whole observation. */
  readonly observation?: Maybe<Observation>;
  /** Title of the observation. */
  readonly title: Scalars['String']['output'];
  /** URL of the observation. Null if it does not come from the internet. */
  readonly url?: Maybe<Scalars['String']['output']>;
};

/** A search keyword of an event. */
export type EventSearchKeyword = {
  readonly __typename?: 'EventSearchKeyword';
  /** The keyword. */
  readonly keyword?: Maybe<Scalars['String']['output']>;
  /** How the service found the keyword: `inferred` or `explicit`. Only `inferred` is currently produced. */
  readonly propertySource?: Maybe<Scalars['String']['output']>;
};

/** Counts of events. */
export type EventStatistics = {
  readonly __typename?: 'EventStatistics';
  /** Names of procurement datapoints, at most 100, most frequent first. An event counts once for each name. */
  readonly affectedDatapoints: ReadonlyArray<EventFacet>;
  /** Names of alert types, at most 100, most frequent first. An event counts once for each name. */
  readonly alertTypes: ReadonlyArray<EventFacet>;
  /**
   * The counted events by their `lastUpdated`. The first bucket has the earliest of them, the last bucket the latest; buckets between them are there
   * even if they have no event. A plot of the whole range of the filter adds empty buckets at both ends. An event without `lastUpdated`, or
   * outside the range of the filter, is in no bucket.
   */
  readonly buckets: ReadonlyArray<EventBucket>;
  /** Number of events that were counted, each once. Less than `total` if more match than the gateway reads, or if events changed or could not be read. */
  readonly counted: Scalars['Int']['output'];
  /** Names of impacted entities, at most 100, most frequent first. An event counts once for each name. */
  readonly impactedEntities: ReadonlyArray<EventFacet>;
  /** Names of relevant entities, at most 100, most frequent first. An event counts once for each name. */
  readonly relevantEntities: ReadonlyArray<EventFacet>;
  /**
   * Pairs of severity and likelihood, the highest severity first, then the highest likelihood. An impacted entity that has both scores gives its event one
   * pair; an event counts once for each pair. A pair without events is left out.
   */
  readonly scores: ReadonlyArray<ScoreCount>;
  /** Number of events that match the filter. */
  readonly total: Scalars['Int']['output'];
};

/** Times of an event. Each is null if the service does not know it. */
export type EventTimestamps = {
  readonly __typename?: 'EventTimestamps';
  /** Projected end. */
  readonly projectedEnd?: Maybe<Scalars['DateTime']['output']>;
  /** Projected start. */
  readonly projectedStart?: Maybe<Scalars['DateTime']['output']>;
  /** When the event was published. */
  readonly published?: Maybe<Scalars['DateTime']['output']>;
  /** Recorded end. */
  readonly recordedEnd?: Maybe<Scalars['DateTime']['output']>;
  /** Recorded start. */
  readonly recordedStart?: Maybe<Scalars['DateTime']['output']>;
};

/** One message of `eventUpdates`, or one update of `eventChanges`. */
export type EventUpdate = {
  readonly __typename?: 'EventUpdate';
  /** Where to continue behind it: send it as `after` of `eventUpdates` or `eventChanges`. It is valid in every gateway of the fleet. */
  readonly cursor: Scalars['String']['output'];
  /** The event in its newest version. Null in a message that only says where the subscription begins. */
  readonly event?: Maybe<Event>;
  /** True if updates may be missing before this message, because the client missed too many. Read `events` again. */
  readonly gap: Scalars['Boolean']['output'];
  /** Null if the message has no event. */
  readonly kind?: Maybe<EventUpdateKind>;
};

/** How an event came to be in a message. */
export type EventUpdateKind =
  /**
   * The gateway has not seen the event since it began to follow the list, or follows no list (`eventChanges` without a subscription). The service does not say when an event was created: one that was not updated
   * for long is `NEW` too.
   */
  | 'NEW'
  /** The gateway has seen an earlier version of the event. */
  | 'UPDATED';

/** An export of a team. */
export type Export = Node & {
  readonly __typename?: 'Export';
  /** Calls to the endpoint, in order. The gateway records each call before it makes it. */
  readonly attempts: ReadonlyArray<ExportAttempt>;
  /** The client that requested the export: the e-mail address of the user, or a name for the API key that reveals nothing about the key. */
  readonly by: Scalars['String']['output'];
  /** The endpoint with this name, as it is now. Null if it was deleted. */
  readonly endpoint?: Maybe<ExportEndpoint>;
  /** Name of the endpoint. */
  readonly endpointName: Scalars['String']['output'];
  /** URL that the endpoint had when the export started. All its calls went there, also if the endpoint was changed since. */
  readonly endpointUrl: Scalars['String']['output'];
  /** When the export ended. Null while it is running, and if the time is not known. */
  readonly finishedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Export identifier. The endpoint receives it as `Idempotency-Key`. */
  readonly id: Scalars['ID']['output'];
  /** The `idempotencyKey` of the request. Null if it had none. */
  readonly idempotencyKey?: Maybe<Scalars['String']['output']>;
  /** Whether it was sent by `testExportEndpoint`. */
  readonly isTest: Scalars['Boolean']['output'];
  /** The market. Null for a test. No upstream call until a field that needs one is selected. */
  readonly market?: Maybe<Market>;
  /** Market identifier. Null for a test. */
  readonly marketId?: Maybe<Scalars['ID']['output']>;
  /** Identifier of this object across all types. */
  readonly nodeId: Scalars['ID']['output'];
  /** State of the export. */
  readonly outcome: ExportOutcome;
  /** Result that the client received. Null while the export is running. If it is longer than 65,536 characters, its URLs are null. */
  readonly result?: Maybe<ExportResult>;
  /** The export that retries this one. Null if there is none. */
  readonly retriedBy?: Maybe<Export>;
  /** The export that this one retries. Null if it is no retry, and if the export is no longer remembered. */
  readonly retryOf?: Maybe<Export>;
  /** Number of companies that were selected. */
  readonly selected: Scalars['Int']['output'];
  /** Number of companies that were sent, at most 500. 0 if no call went out. */
  readonly sent: Scalars['Int']['output'];
  /** When the export started. */
  readonly startedAt: Scalars['DateTime']['output'];
  /** The user for the placeholders in the URL: the e-mail address if there is one, otherwise the name. */
  readonly user?: Maybe<Scalars['String']['output']>;
};

/** One call to an endpoint. */
export type ExportAttempt = {
  readonly __typename?: 'ExportAttempt';
  /** What the endpoint did, and what would be right, for the people who maintain it. Null if nothing is wrong, and while the call is running. */
  readonly explanation?: Maybe<Scalars['String']['output']>;
  /** Why there was no response. Null if there was one, while the call is running, and if the reason is not known. */
  readonly fault?: Maybe<ExportFault>;
  /** Duration in milliseconds. Null while the call is running, and if the duration is not known. */
  readonly milliseconds?: Maybe<Scalars['Int']['output']>;
  /** When the call started. */
  readonly startedAt: Scalars['DateTime']['output'];
  /** HTTP status of the response. Null if there was none. */
  readonly status?: Maybe<Scalars['Int']['output']>;
};

/** A page of exports. */
export type ExportConnection = {
  readonly __typename?: 'ExportConnection';
  /** Exports of this page, each with its cursor. */
  readonly edges: ReadonlyArray<ExportEdge>;
  /** Exports of this page, without cursors. */
  readonly nodes: ReadonlyArray<Export>;
  /** Position of this page within the list. */
  readonly pageInfo: PageInfo;
  /** Number of exports that match the filter, on all pages, at most 100. */
  readonly totalCount: Scalars['Int']['output'];
};

/** The endpoint accepted the export: it returned status 200. */
export type ExportDelivered = ExportEnding & {
  readonly __typename?: 'ExportDelivered';
  /** Calls to the endpoint, in order. */
  readonly attempts: ReadonlyArray<ExportAttempt>;
  /** Number of companies that were sent: at most the 500 of the selection with the highest score, the same in each call. 0 if no call went out. */
  readonly delivered: Scalars['Int']['output'];
  /** Export identifier. The endpoint receives it as `Idempotency-Key`. */
  readonly exportId: Scalars['ID']['output'];
  /** Number of companies that the selection has. */
  readonly matching: Scalars['Int']['output'];
  /** Message from the endpoint as sanitized HTML. Cut to 4,000 characters before it is sanitized. */
  readonly message: Scalars['String']['output'];
  /** The same message as plain text. */
  readonly messageText: Scalars['String']['output'];
  /** An `http` or `https` URL of any length. If it is not null, open it for the user in a new window after 5 seconds. */
  readonly redirectUrl?: Maybe<Scalars['String']['output']>;
  /** Title from the endpoint, plain text. Cut to 255 characters. */
  readonly title: Scalars['String']['output'];
};

/** An export and its cursor. */
export type ExportEdge = {
  readonly __typename?: 'ExportEdge';
  /** Pass it as `after` to continue after this export, with the same filter. */
  readonly cursor: Scalars['String']['output'];
  /** The export. */
  readonly node: Export;
};

/** What all results of an export have in common. */
export type ExportEnding = {
  /** Calls to the endpoint, in order. */
  readonly attempts: ReadonlyArray<ExportAttempt>;
  /** Number of companies that were sent: at most the 500 of the selection with the highest score, the same in each call. 0 if no call went out. */
  readonly delivered: Scalars['Int']['output'];
  /** Export identifier. The endpoint receives it as `Idempotency-Key`. */
  readonly exportId: Scalars['ID']['output'];
  /** Number of companies that the selection has. */
  readonly matching: Scalars['Int']['output'];
};

/** An endpoint that a team can export companies to. */
export type ExportEndpoint = Node & {
  readonly __typename?: 'ExportEndpoint';
  /** Description of the endpoint. */
  readonly description: Scalars['String']['output'];
  /**
   * Since when the endpoint has taken nothing: since then, each export to it was `FAILED`, and each delivery of a watch got no status of 200 to 299. Null if it
   * took the last one, and as long as nothing was sent to it as it is now.
   */
  readonly failingSince?: Maybe<Scalars['DateTime']['output']>;
  /** Names of the headers that are sent with every call. Their values are never shown. */
  readonly headerNames: ReadonlyArray<Scalars['String']['output']>;
  /** Identifier within the team: the name. */
  readonly id: Scalars['ID']['output'];
  /** Name, unique within the team. It cannot be changed. */
  readonly name: Scalars['String']['output'];
  /** Identifier of this object across all types. */
  readonly nodeId: Scalars['ID']['output'];
  /** URL as it was registered, with its placeholders. */
  readonly url: Scalars['String']['output'];
};

/**
 * The export failed. There are five reasons. Four calls failed: each got no response, a broken connection or a status of 500 to 599. Or the endpoint
 * returned a status that the specification of exports does not name, such as 302. Or exports may not go to the address of its URL. Or the endpoint was
 * changed or deleted meanwhile: no call followed, and there may have been none. Or the `outcome` is `UNKNOWN`.
 */
export type ExportFailed = ExportEnding & {
  readonly __typename?: 'ExportFailed';
  /** Calls to the endpoint, in order. */
  readonly attempts: ReadonlyArray<ExportAttempt>;
  /** Number of companies that were sent: at most the 500 of the selection with the highest score, the same in each call. 0 if no call went out. */
  readonly delivered: Scalars['Int']['output'];
  /** Export identifier. The endpoint receives it as `Idempotency-Key`. */
  readonly exportId: Scalars['ID']['output'];
  /** Number of companies that the selection has. */
  readonly matching: Scalars['Int']['output'];
  /** Message for the user. */
  readonly message: Scalars['String']['output'];
  /** `FAILED`, or `UNKNOWN` if the gateway could not record how the export ended, such as because its process stopped. The export may then have arrived. */
  readonly outcome: ExportOutcome;
};

/** Why a call to an endpoint got no response. */
export type ExportFault =
  /** Exports may not go to the address of the endpoint. Nothing was sent. */
  | 'ADDRESS_REFUSED'
  /** The connection could not be opened, or it broke. */
  | 'BROKEN'
  /** The response was not complete within 15 seconds. */
  | 'TIMEOUT';

/** Selects exports. Different members combine with AND. */
export type ExportFilter = {
  /** Name of the endpoint, at most 255 characters. Case matters. */
  readonly endpoint?: InputMaybe<Scalars['String']['input']>;
  /** Market identifier, a whole number. */
  readonly marketId?: InputMaybe<Scalars['ID']['input']>;
  /** State of the export. */
  readonly outcome?: InputMaybe<ExportOutcome>;
};

/** A header to send with every call of an endpoint. */
export type ExportHeaderInput = {
  /** Header name, at most 255 characters. Each name may occur once; case does not matter. */
  readonly name: Scalars['String']['input'];
  /** Header value, 1 to 4,096 visible ASCII characters. */
  readonly value: Scalars['String']['input'];
};

/** Identifies an export of a team. Set exactly one member. */
export type ExportLookup =
  /** Export identifier. */
  { readonly id: Scalars['ID']['input']; readonly idempotencyKey?: never; }
  |  /** The `idempotencyKey` of the request, at most 255 characters. If several exports have it, the newest one is returned. */
  { readonly id?: never; readonly idempotencyKey: Scalars['String']['input']; };

/** Companies to export to a CSV file. */
export type ExportMarketCsvInput = {
  /** Companies to export. The gateway does not check whether a domain given in `domains` belongs to the market: the service decides what it does with others. */
  readonly companies: CompanySelection;
  /** Market identifier, a whole number. */
  readonly marketId: Scalars['ID']['input'];
};

/** A finished CSV export. */
export type ExportMarketCsvPayload = {
  readonly __typename?: 'ExportMarketCsvPayload';
  /** URL of the CSV file. */
  readonly downloadLink: Scalars['String']['output'];
  /** Number of companies that were selected, each domain counted once. */
  readonly selected: Scalars['Int']['output'];
};

/** An export to send. */
export type ExportMarketToEndpointInput = {
  /**
   * Companies to export. The gateway sends the 500 companies of the selection with the highest score, in descending order of score. If a domain is
   * not in the market, the error is `BAD_USER_INPUT` and nothing is sent.
   */
  readonly companies: CompanySelection;
  /** Name of the endpoint. */
  readonly endpoint: Scalars['String']['input'];
  /**
   * Your own key for this export, at most 255 characters. If you repeat a request with the same key and the same input within 24 hours, the gateway
   * sends nothing and returns the result of the first export. Fails with `CONFLICT` if the input differs, or if the first export is still running.
   */
  readonly idempotencyKey?: InputMaybe<Scalars['String']['input']>;
  /** Identifier of the market, which must be published. Otherwise the error is `CONFLICT`. */
  readonly marketId: Scalars['ID']['input'];
  /** User for the placeholders in the URL of the endpoint. Ignored for a signed-in user: the gateway then uses the user of the session. */
  readonly onBehalfOf?: InputMaybe<ExportUserInput>;
};

/** State of an export. */
export type ExportOutcome =
  /** The endpoint accepted the export. */
  | 'DELIVERED'
  /** The export failed. */
  | 'FAILED'
  /** The endpoint rejected the export. */
  | 'REJECTED'
  /** The export is being sent. */
  | 'RUNNING'
  /** The gateway could not record how the export ended, such as because its process stopped. The export may have arrived. The gateway does not send it again. */
  | 'UNKNOWN';

/** A detail that the endpoint gives when it rejects an export. */
export type ExportReference = {
  readonly __typename?: 'ExportReference';
  /** Plain text. Cut to 500 characters. */
  readonly message?: Maybe<Scalars['String']['output']>;
  /** Plain text. Cut to 255 characters. */
  readonly title: Scalars['String']['output'];
  /** Severity of the detail. */
  readonly type: ExportReferenceType;
  /** An `http` or `https` URL of any length. */
  readonly url?: Maybe<Scalars['String']['output']>;
};

/** Severity of a detail that an endpoint gives. */
export type ExportReferenceType =
  /** Error. */
  | 'ERROR'
  /** Information. */
  | 'INFO'
  /** Success. */
  | 'OK'
  /** Warning. Also used if the endpoint gives no type, or an unknown one. */
  | 'WARNING';

/** The endpoint rejected the export: it returned status 207 or 400 to 499. */
export type ExportRejected = ExportEnding & {
  readonly __typename?: 'ExportRejected';
  /** Calls to the endpoint, in order. */
  readonly attempts: ReadonlyArray<ExportAttempt>;
  /** Number of companies that were sent: at most the 500 of the selection with the highest score, the same in each call. 0 if no call went out. */
  readonly delivered: Scalars['Int']['output'];
  /** Export identifier. The endpoint receives it as `Idempotency-Key`. */
  readonly exportId: Scalars['ID']['output'];
  /** Number of companies that the selection has. */
  readonly matching: Scalars['Int']['output'];
  /** Message from the endpoint as sanitized HTML. Cut to 4,000 characters before it is sanitized. */
  readonly message: Scalars['String']['output'];
  /** The same message as plain text. */
  readonly messageText: Scalars['String']['output'];
  /** Details from the endpoint, at most 50. */
  readonly references: ReadonlyArray<ExportReference>;
  /** Title from the endpoint, plain text. Cut to 255 characters. */
  readonly title: Scalars['String']['output'];
};

/** Result of an export. */
export type ExportResult = ExportDelivered | ExportFailed | ExportRejected;

/** A user, as named by a client with an API key. */
export type ExportUserInput = {
  /** E-mail address, at most 320 characters. */
  readonly email?: InputMaybe<Scalars['String']['input']>;
  /** Name, at most 255 characters. */
  readonly name?: InputMaybe<Scalars['String']['input']>;
};

/** A range of numbers, which includes its ends. */
export type FloatRange = {
  /** Largest number of the range. Left out or null: no upper end. */
  readonly max?: InputMaybe<Scalars['Float']['input']>;
  /** Smallest number of the range, not above `max`. Left out or null: no lower end. */
  readonly min?: InputMaybe<Scalars['Float']['input']>;
};

/** Companies by a number, without those that do not have it. */
export type Histogram = {
  readonly __typename?: 'Histogram';
  /** At most 20 ranges of equal width with round bounds, in ascending order and without gaps. The first has the smallest value, the last the largest. */
  readonly buckets: ReadonlyArray<HistogramBucket>;
  /** Largest value. */
  readonly max: Scalars['Float']['output'];
  /** Smallest value. */
  readonly min: Scalars['Float']['output'];
};

/** The companies within one range. */
export type HistogramBucket = {
  readonly __typename?: 'HistogramBucket';
  /** Number of companies. */
  readonly count: Scalars['Int']['output'];
  /** End of the range, which belongs to the next one. Only the last range includes it. */
  readonly end: Scalars['Float']['output'];
  /** Start of the range, inclusive. */
  readonly start: Scalars['Float']['output'];
};

/** Likelihood and severity of an impact. */
export type Impact = {
  readonly __typename?: 'Impact';
  /** Likelihood, 0 to 3. */
  readonly likelihood?: Maybe<Scalars['Int']['output']>;
  /** Explanation of the scores. */
  readonly rationale?: Maybe<Scalars['String']['output']>;
  /** Severity, 0 to 3. */
  readonly severity?: Maybe<Scalars['Int']['output']>;
};

/** An entity that an event impacts. */
export type ImpactedEntity = {
  readonly __typename?: 'ImpactedEntity';
  /** Kind of entity. Value seen: `category`. */
  readonly entityType?: Maybe<Scalars['String']['output']>;
  /** Likelihood and severity of the impact. */
  readonly impact?: Maybe<Impact>;
  /** Text that was mapped to this entity. */
  readonly mappedFrom?: Maybe<Scalars['String']['output']>;
  /** Name of the entity. */
  readonly name: Scalars['String']['output'];
};

/** A range of whole numbers, which includes its ends. */
export type IntRange = {
  /** Largest number of the range. Left out or null: no upper end. */
  readonly max?: InputMaybe<Scalars['Int']['input']>;
  /** Smallest number of the range, not above `max`. Left out or null: no lower end. */
  readonly min?: InputMaybe<Scalars['Int']['input']>;
};

/** A background job of the service. */
export type Job = Node & {
  readonly __typename?: 'Job';
  /**
   * How much of the job is done, 0 to 1, computed by the gateway. A job that has ended is 1. The service does not document the scale of `progress`: the
   * gateway reads all jobs as percent if one is above 1, and as shares if one is between 0 and 1. Null if it cannot tell, or the progress cannot be read.
   * `jobProgress` can also tell from earlier states.
   */
  readonly completion?: Maybe<Scalars['Float']['output']>;
  /** When the job ended. Null if the service sends no time, or one that cannot be read. */
  readonly endTime?: Maybe<Scalars['DateTime']['output']>;
  /** Whether the job has ended. A job has ended when the service sends an end time, whatever its `status` says. */
  readonly finished: Scalars['Boolean']['output'];
  /** Job identifier. */
  readonly id: Scalars['ID']['output'];
  /** Identifier across all types. */
  readonly nodeId: Scalars['ID']['output'];
  /** Progress as reported by the service. The scale is not documented. */
  readonly progress?: Maybe<Scalars['Float']['output']>;
  /** When the job started. */
  readonly startTime?: Maybe<Scalars['DateTime']['output']>;
  /** Status as reported by the service. Value seen: `running`. */
  readonly status?: Maybe<Scalars['String']['output']>;
  /** Name of the workflow. Values seen: `first_pass`, `enrichment`, `scrape`, `web_traffic`. */
  readonly workflowName?: Maybe<Scalars['String']['output']>;
};

/** A phase of a market that runs jobs in the background. */
export type JobPhase =
  /** Discovery of companies. Typically takes 10 to 15 minutes. */
  | 'DISCOVERY'
  /** The jobs that publishing starts: `enrichment`, `scrape` and `web_traffic`. */
  | 'PUBLISH';

/** State of the jobs in one phase of a market. */
export type JobProgress = {
  readonly __typename?: 'JobProgress';
  /**
   * When the last job probably ends, estimated by the gateway from the progress that it has observed. Null until every running job has made
   * progress between two observations, if no job is running, and if it is more than a week away. Never before `observedAt`.
   */
  readonly estimatedEndAt?: Maybe<Scalars['DateTime']['output']>;
  /**
   * True if there are jobs and all of them have ended. The subscription then completes. While there are `unlisted` jobs, and where the
   * start named no jobs, false for a minute after the start.
   */
  readonly finished: Scalars['Boolean']['output'];
  /** The jobs. Empty if the service lists none. */
  readonly jobs: ReadonlyArray<Job>;
  /** The market. */
  readonly market: Market;
  /** Market identifier. */
  readonly marketId: Scalars['ID']['output'];
  /** When the gateway read this state from the service. If polling fails for three intervals, the last state is sent again with its original time. */
  readonly observedAt: Scalars['DateTime']['output'];
  /**
   * Mean of `Job.completion`, 0 to 1, computed by the gateway. A job whose `completion` is null is left out, and one that is `unlisted` counts as 0 for a
   * minute after the start. Null if there is nothing to count.
   */
  readonly overallProgress?: Maybe<Scalars['Float']['output']>;
  /** Phase of the jobs. */
  readonly phase: JobPhase;
  /**
   * Identifiers of jobs that the gateways' last `startDiscovery` or `publishMarket` has started, and that the service does not list: it may be late, or has
   * dropped them. Empty ten minutes after the start.
   */
  readonly unlisted: ReadonlyArray<Scalars['ID']['output']>;
};

/** A market: a set of companies that answers a business question. Each field makes only the upstream calls it needs. */
export type Market = Node & {
  readonly __typename?: 'Market';
  /** Companies of a published market. For any other market the error is `NOT_FOUND`. */
  readonly companies?: Maybe<CompanyConnection>;
  /** The company with this domain. Null if the market has no such company. */
  readonly company?: Maybe<Company>;
  /** Number of companies in the market. */
  readonly companyCount?: Maybe<Scalars['Int']['output']>;
  /** Values of the companies that match a filter, with their frequency. */
  readonly companyFacets?: Maybe<CompanyFacets>;
  /** When the market was created. */
  readonly dateCreated?: Maybe<Scalars['DateTime']['output']>;
  /** Purpose and content of the market. */
  readonly description?: Maybe<Scalars['String']['output']>;
  /** ESG data of a published market. The service does not document its fields. */
  readonly esg?: Maybe<Scalars['JSONObject']['output']>;
  /** URL of the thumbnail image. */
  readonly headerImageUrl?: Maybe<Scalars['String']['output']>;
  /** Market identifier. */
  readonly id: Scalars['ID']['output'];
  /** Jobs of one phase. The gateway caches them for 10 seconds; subscribe to `jobProgress` to get each change sooner. */
  readonly jobs?: Maybe<ReadonlyArray<Job>>;
  /** Main title. */
  readonly name?: Maybe<Scalars['String']['output']>;
  /** Identifier across all types. */
  readonly nodeId: Scalars['ID']['output'];
  /** Review status of the market. */
  readonly reviewStatus?: Maybe<MarketReviewStatus>;
  /** Search criteria that the discovery of this market used. */
  readonly searchCriteria?: Maybe<SearchCriteria>;
  /** Earlier iterations of the search criteria, in the order of the service. */
  readonly searchCriteriaHistory?: Maybe<ReadonlyArray<SearchCriteria>>;
  /** Short supplementary title. */
  readonly subtitle?: Maybe<Scalars['String']['output']>;
  /** Topic hierarchy of the market. */
  readonly topics?: Maybe<ReadonlyArray<Topic>>;
};


/** A market: a set of companies that answers a business question. Each field makes only the upstream calls it needs. */
export type MarketCompaniesArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<CompanyFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  orderBy?: InputMaybe<CompanyOrder>;
};


/** A market: a set of companies that answers a business question. Each field makes only the upstream calls it needs. */
export type MarketCompanyArgs = {
  domain: Scalars['String']['input'];
};


/** A market: a set of companies that answers a business question. Each field makes only the upstream calls it needs. */
export type MarketCompanyFacetsArgs = {
  filter?: InputMaybe<CompanyFilter>;
};


/** A market: a set of companies that answers a business question. Each field makes only the upstream calls it needs. */
export type MarketJobsArgs = {
  phase: JobPhase;
};


/** A market: a set of companies that answers a business question. Each field makes only the upstream calls it needs. */
export type MarketTopicsArgs = {
  orderBy?: InputMaybe<TopicOrder>;
};

/** Review status of a market. */
export type MarketReviewStatus =
  /** The market is a draft. */
  | 'DRAFT'
  /** The market is published. */
  | 'PUBLISHED'
  /** The market is being reviewed. */
  | 'REVIEWING';

/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type Mutation = {
  readonly __typename?: 'Mutation';
  /**
   * Creates a session that an embedded page can use instead of the API key. The request must carry an API key, otherwise the error is
   * `FORBIDDEN`.
   */
  readonly createEmbedSession?: Maybe<CreateEmbedSessionPayload>;
  /** Turns a question into search criteria. */
  readonly createSearchCriteria?: Maybe<CreateSearchCriteriaPayload>;
  /**
   * Deletes an endpoint of the client's team and returns it. An export that is running makes no further call, and is `FAILED`. Only an admin of the team may do this, otherwise the error is `FORBIDDEN`. Fails with
   * `NOT_FOUND` if the team has no such endpoint. No upstream call.
   */
  readonly deleteExportEndpoint?: Maybe<DeleteExportEndpointPayload>;
  /** Exports companies of a published market to a CSV file. */
  readonly exportMarketCsv?: Maybe<ExportMarketCsvPayload>;
  /**
   * Sends companies of a published market to an endpoint of the client's team and waits for the result. The gateway calls the endpoint up to four
   * times and waits at most 15 seconds for each response.
   *
   * An error means that nothing was sent, with one exception: `UPSTREAM_UNAVAILABLE` with `retryable: false`. In that case, read `exports` to find
   * out what happened.
   */
  readonly exportMarketToEndpoint?: Maybe<ExportResult>;
  /**
   * Publishes a market, for which the service starts the jobs `enrichment`, `scrape` and `web_traffic`. Its discovery must be complete. If the service
   * refuses, the error `CONFLICT` says what the jobs of the market show, and what to do.
   */
  readonly publishMarket?: Maybe<PublishMarketPayload>;
  /**
   * Registers an endpoint for the client's team. Only an admin of the team may do this, otherwise the error is `FORBIDDEN`. Fails with
   * `CONFLICT` if the team already has an endpoint with this name, or has 100 endpoints. No upstream call, or one for a key that is new to the gateway.
   */
  readonly registerExportEndpoint?: Maybe<RegisterExportEndpointPayload>;
  /**
   * Lets a watch last for 15 more minutes. Fails with `NOT_FOUND` if this client has no such watch, or if its lease has ended: then begin another one behind
   * your last cursor. No upstream call.
   */
  readonly renewWatch?: Maybe<RenewWatchPayload>;
  /**
   * Sends an export again whose outcome is `FAILED`, `REJECTED` or `UNKNOWN`. The retry is an export of its own with a new identifier. It goes to the same
   * endpoint and selects the companies in the same way, from the current data of the market. An export can be retried once; if the retry fails,
   * retry the retry. Otherwise the error is `CONFLICT`, also for a test: call `testExportEndpoint` again. Other errors and calls are those of `exportMarketToEndpoint`.
   */
  readonly retryExport?: Maybe<ExportResult>;
  /**
   * Includes or excludes discovered companies. If the service rejects a domain and names it, so does the error, `BAD_USER_INPUT`. Refusals are those of
   * `publishMarket`.
   */
  readonly reviewCompanies?: Maybe<ReviewCompaniesPayload>;
  /**
   * Replaces the secret that signs the exports to an endpoint. For 24 hours, exports are signed with both the new and the old secret, and with no earlier one:
   * after a second call, the first secret signs nothing. Only an admin of the team may do this, otherwise the error is `FORBIDDEN`. Fails with `NOT_FOUND` if the
   * team has no such endpoint. No upstream call.
   */
  readonly rotateExportEndpointSecret?: Maybe<RotateExportEndpointSecretPayload>;
  /**
   * Signs a user in and sets the gateway's session cookie. Only available over HTTP. Fails with `FORBIDDEN` for a page of another site than the gateway,
   * because the browser would not keep the cookie. A wrong password and an unknown user cause the same error, `SIGN_IN_FAILED`. Too many attempts for one e-mail address or from one network address cause `RATE_LIMITED`.
   */
  readonly signIn?: Maybe<SignInPayload>;
  /**
   * Signs the user out and clears the session cookie. The session ends at once, for every copy of the cookie; other instances of the gateway
   * may accept a copy for up to one second more. Open connections stay open. No upstream call.
   */
  readonly signOut?: Maybe<SignOutPayload>;
  /**
   * Starts the discovery of a market's companies, which typically takes 10 to 15 minutes. If the service rejects the search criteria, the
   * error is `BAD_USER_INPUT`. If it says which members it rejects, the message lists all of them and `argument` is the first.
   */
  readonly startDiscovery?: Maybe<StartDiscoveryResult>;
  /** Ends a watch of this client, and returns it. Fails with `NOT_FOUND` as `renewWatch` does. No upstream call. */
  readonly stopWatching?: Maybe<StopWatchingPayload>;
  /**
   * Sends an export without companies to an endpoint, so that you can try it: `data` is empty, `meta.totalItems` is 0, `meta.isTest` is true and
   * `market` is `{ "id": 0, "name": "Test" }`. The placeholders in its URL get the user of the session, or an example for an API key. Errors are those of
   * `exportMarketToEndpoint`. No upstream call.
   */
  readonly testExportEndpoint?: Maybe<ExportResult>;
  /**
   * Changes an endpoint of the client's team. What is left out or null stays as it is; the name and the signing secret always stay. With another
   * URL or with headers, an export that is running makes no further call, and is `FAILED`. Only an admin of the team may do this, otherwise the error is
   * `FORBIDDEN`. Fails with `NOT_FOUND` if the team has no such endpoint. No upstream call.
   */
  readonly updateExportEndpoint?: Maybe<UpdateExportEndpointPayload>;
  /**
   * Sends events that are new or updated to an endpoint of the client's team, for 15 minutes: renew it before with `renewWatch`. The gateway reads with the credential
   * of this client, and keeps it, sealed, no longer than the lease lasts. Each delivery is a POST with `{ "watch", "cursor", "gap", "changes" }`, in order, signed as
   * exports are. `changes` has one change, `{ "kind", "event" }`; none where it says only that there is a gap. `event` has the members of `Event` but `nodeId`, and null,
   * without an error, for the embedding and for each value that cannot be read. Answer with status 200 to 299 once you have stored the cursor; any other answer gets
   * the same delivery again, until the lease ends. A change that is sent again has the same `webhook-id`, also behind an earlier cursor: drop what has one that you
   * know. It also ends when the service refuses the credential, when the client signs out or leaves its team, and when the endpoint is deleted. Fails with `NOT_FOUND`
   * if the team has no such endpoint, and with `RATE_LIMITED` if it has 20 watches. No upstream call; the gateway then polls as for `eventUpdates`.
   */
  readonly watchEvents?: Maybe<WatchEventsPayload>;
  /**
   * Sends the state of the jobs of a market to an endpoint of the client's team, now and after each change, until all jobs have ended: as `watchEvents` does, but each
   * change is `{ "marketId", "phase", "finished", "unlisted", "jobs" }`, a whole state. `jobs` have the members of `Job` but `nodeId`, and `marketId` and `phase`; their
   * `completion` follows from this state alone. No upstream call; the gateway then polls as for `jobProgress`.
   */
  readonly watchJob?: Maybe<WatchJobPayload>;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationCreateSearchCriteriaArgs = {
  input: CreateSearchCriteriaInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationDeleteExportEndpointArgs = {
  input: DeleteExportEndpointInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationExportMarketCsvArgs = {
  input: ExportMarketCsvInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationExportMarketToEndpointArgs = {
  input: ExportMarketToEndpointInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationPublishMarketArgs = {
  input: PublishMarketInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationRegisterExportEndpointArgs = {
  input: RegisterExportEndpointInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationRenewWatchArgs = {
  input: RenewWatchInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationRetryExportArgs = {
  input: RetryExportInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationReviewCompaniesArgs = {
  input: ReviewCompaniesInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationRotateExportEndpointSecretArgs = {
  input: RotateExportEndpointSecretInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationSignInArgs = {
  input: SignInInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationStartDiscoveryArgs = {
  input: StartDiscoveryInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationStopWatchingArgs = {
  input: StopWatchingInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationTestExportEndpointArgs = {
  input: TestExportEndpointInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationUpdateExportEndpointArgs = {
  input: UpdateExportEndpointInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationWatchEventsArgs = {
  input: WatchEventsInput;
};


/** Write operations. The gateway never repeats the upstream call of a mutation. If it cannot tell whether the call took effect, the error has `retryable: false`. */
export type MutationWatchJobArgs = {
  input: WatchJobInput;
};

/** An industry in the North American Industry Classification System (NAICS). */
export type NaicsCode = {
  readonly __typename?: 'NaicsCode';
  /** NAICS code. */
  readonly code: Scalars['String']['output'];
  /** Whether this is the company's primary industry. */
  readonly isPrimary?: Maybe<Scalars['Boolean']['output']>;
  /** Level of the code within the classification, as reported by the service. */
  readonly level?: Maybe<Scalars['Int']['output']>;
  /** Name of the industry. */
  readonly name?: Maybe<Scalars['String']['output']>;
};

/** An industry and the number of its companies. */
export type NaicsFacet = {
  readonly __typename?: 'NaicsFacet';
  /** NAICS code. */
  readonly code: Scalars['String']['output'];
  /** Number of companies that `CompanyFilter.naics` with this code selects: those with this code, or with a longer one that begins with it. */
  readonly count: Scalars['Int']['output'];
  /** Name of the industry. */
  readonly name?: Maybe<Scalars['String']['output']>;
};

/** An object with an identifier that is unique across all types of this schema. */
export type Node = {
  /** Identifier of the object across all types. Its content is not part of this schema: pass it back as it is. */
  readonly nodeId: Scalars['ID']['output'];
};

/** A collected piece of information, such as a news article. */
export type Observation = Node & {
  readonly __typename?: 'Observation';
  /** When the observation was added to the service. */
  readonly addedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Cluster of the observation. Null if it has not been clustered. */
  readonly clusterLabel?: Maybe<ClusterLabel>;
  /** Text snippets. They may be shortened and are not guaranteed to be the full text. */
  readonly content: ReadonlyArray<Scalars['String']['output']>;
  /** Identifier that the service uses to detect and merge duplicates. */
  readonly dedupeId?: Maybe<Scalars['String']['output']>;
  /** Observation identifier. */
  readonly id: Scalars['ID']['output'];
  /** Identifier across all types, for `node`. */
  readonly nodeId: Scalars['ID']['output'];
  /** When the observation was published or recorded. */
  readonly publishedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Name of the service that the observation comes from. */
  readonly sourceService?: Maybe<Scalars['String']['output']>;
  /** Embedding vector of the content. Selecting it makes the response much larger. */
  readonly textEmbedding?: Maybe<Scalars['Vector']['output']>;
  /** Title. For an article, the title given by its publisher. */
  readonly title?: Maybe<Scalars['String']['output']>;
  /** URL of the source. Null if the source is not public. */
  readonly url?: Maybe<Scalars['String']['output']>;
  /** Weights by name, such as a multiplier for media bias. */
  readonly weight?: Maybe<Scalars['JSONObject']['output']>;
};

/** Direction of an order. */
export type OrderDirection =
  /** Ascending: the smallest value first. */
  | 'ASC'
  /** Descending: the largest value first. */
  | 'DESC';

/** Position of a page within its list. */
export type PageInfo = {
  readonly __typename?: 'PageInfo';
  /** Cursor of the last item. Pass it as `after` to get the next page. Null on an empty page. */
  readonly endCursor?: Maybe<Scalars['String']['output']>;
  /** Whether there are items after this page. False on an empty page. */
  readonly hasNextPage: Scalars['Boolean']['output'];
  /** Whether there are items before this page. False on an empty page of `last`. */
  readonly hasPreviousPage: Scalars['Boolean']['output'];
  /** Cursor of the first item. Null on an empty page. */
  readonly startCursor?: Maybe<Scalars['String']['output']>;
};

/** A market to publish. */
export type PublishMarketInput = {
  /** Market identifier, a whole number. */
  readonly marketId: Scalars['ID']['input'];
};

/** Result of publishing a market. */
export type PublishMarketPayload = {
  readonly __typename?: 'PublishMarketPayload';
  /** The jobs that were started. */
  readonly jobs: ReadonlyArray<Job>;
  /** The market. */
  readonly market: Market;
  /** Market identifier. */
  readonly marketId: Scalars['ID']['output'];
};

/** Size of a change. */
export type Quantity = {
  readonly __typename?: 'Quantity';
  /** How to read `values`. Null if the service sends an operator that it does not document. */
  readonly operator?: Maybe<QuantityOperator>;
  /** Unit of the values, such as a percent sign, a currency or a physical unit. */
  readonly unit: Scalars['String']['output'];
  /** One value, or two for `RANGE`: the lower and the upper bound. */
  readonly values: ReadonlyArray<Scalars['Float']['output']>;
};

/** How to read the values of a quantity. */
export type QuantityOperator =
  /** Approximately the value (`~`). */
  | 'APPROXIMATELY'
  /** Equal to the value (`=`). */
  | 'EQUAL'
  /** Greater than the value (`>`). */
  | 'GREATER_THAN'
  /** Greater than or equal to the value (`>=`). */
  | 'GREATER_THAN_OR_EQUAL'
  /** Less than the value (`<`). */
  | 'LESS_THAN'
  /** Less than or equal to the value (`<=`). */
  | 'LESS_THAN_OR_EQUAL'
  /** Between two values (`range`). */
  | 'RANGE';

/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type Query = {
  readonly __typename?: 'Query';
  /** What the operator of this gateway has configured. The same for every client. No upstream call. */
  readonly capabilities: Capabilities;
  /**
   * One event, found in the list: of more than 2,000 events (an operator may set another number), among the newest of the last 30 days. Otherwise
   * `NOT_FOUND`. `node` finds older ones: the `nodeId` of an event says when it was last updated.
   */
  readonly event?: Maybe<Event>;
  /**
   * What `eventUpdates` would have sent after a cursor, for a client that holds no connection: call it each minute, or each hour. An event that was updated
   * several times meanwhile comes once, in its newest version. Only if 2,000 updates or fewer were missed; otherwise `gap` is true.
   */
  readonly eventChanges?: Maybe<EventChanges>;
  /**
   * Counts of events, for plots and filter menus. The gateway reads the events that match the filter and counts them. It has a
   * limit, by default 2,000 events. If more match, it counts the newest, by `lastUpdated`: more than half of the limit, unless very many events were
   * updated within the same hour.
   */
  readonly eventStatistics?: Maybe<EventStatistics>;
  /**
   * Events that match a filter. They come in the order of the service, which does not document it. The API key must be subscribed to the events
   * monitor, otherwise the error is `FORBIDDEN`.
   */
  readonly events?: Maybe<EventConnection>;
  /**
   * One export of the client's team. The gateway remembers all exports of the last 24 hours, and of the earlier ones those that are among the last 100 and
   * within the last 8 MB. The result is null for any other export. Fails with `FORBIDDEN` if the client belongs to no team. No upstream call.
   */
  readonly export?: Maybe<Export>;
  /** Export endpoints of the client's team, sorted by name. Fails with `FORBIDDEN` if the client belongs to no team. No upstream call. */
  readonly exportEndpoints?: Maybe<ReadonlyArray<ExportEndpoint>>;
  /**
   * Exports of the client's team, newest first. The gateway lists the last 100 exports of a team; the filter selects among them. An export that begins
   * while you page moves the others by one place. Fails with `FORBIDDEN` if the client belongs to no team. No upstream call.
   */
  readonly exports?: Maybe<ExportConnection>;
  /** A market by its identifier. This field makes no upstream call, so it does not check that the market exists. */
  readonly market?: Maybe<Market>;
  /** Several markets, in the order of their identifiers. A market whose identifier is not a whole number is null, with an error. No upstream call. */
  readonly markets: ReadonlyArray<Maybe<Market>>;
  /**
   * An object by its `nodeId`. The gateway makes the calls that the selected fields need. Null if the object does not exist. An `Event` is searched for in
   * the list, from its last update on: `NOT_FOUND` if it is not among the newest 2,000 events (an operator setting).
   */
  readonly node?: Maybe<Node>;
  /** Several objects, in the order of their identifiers. Each is null, with an error, if `node` would fail for it. */
  readonly nodes: ReadonlyArray<Maybe<Node>>;
  /** One observation. Fails with `NOT_FOUND` if the identifier is unknown. */
  readonly observation?: Maybe<Observation>;
  /** Several observations, in the order of their identifiers. Each is null, with an error, if `observation` would fail for it. */
  readonly observations: ReadonlyArray<Maybe<Observation>>;
  /**
   * Suggests keywords for search criteria. A query, because the criteria are all that it depends on and the service keeps nothing of it: asking twice changes
   * nothing. Fails with `NOT_CONFIGURED` if `Capabilities.keywordSuggestion` is false.
   */
  readonly suggestKeywords?: Maybe<SuggestKeywordsPayload>;
  /** Names of markets that the service suggests for a keyword. */
  readonly suggestMarkets?: Maybe<ReadonlyArray<Scalars['String']['output']>>;
  /**
   * The client that made the request, as the gateway identifies it. Null, without an error, if the request has no credential. If its session has
   * ended, it is null with the error `UNAUTHENTICATED`. No upstream call.
   */
  readonly viewer?: Maybe<Viewer>;
  /**
   * Watches of this client whose leases last. Fails with `FORBIDDEN` if the client belongs to no team. It is never null: where it fails, the whole `data` of the
   * response is null. No upstream call.
   */
  readonly watches: ReadonlyArray<Watch>;
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QueryEventArgs = {
  id: Scalars['ID']['input'];
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QueryEventChangesArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<EventFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QueryEventStatisticsArgs = {
  filter?: InputMaybe<EventFilter>;
  interval: EventInterval;
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QueryEventsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<EventFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  page?: InputMaybe<Scalars['Int']['input']>;
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QueryExportArgs = {
  by: ExportLookup;
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QueryExportsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<ExportFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QueryMarketArgs = {
  id: Scalars['ID']['input'];
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QueryMarketsArgs = {
  ids: ReadonlyArray<Scalars['ID']['input']>;
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QueryNodeArgs = {
  nodeId: Scalars['ID']['input'];
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QueryNodesArgs = {
  nodeIds: ReadonlyArray<Scalars['ID']['input']>;
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QueryObservationArgs = {
  id: Scalars['ID']['input'];
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QueryObservationsArgs = {
  ids: ReadonlyArray<Scalars['ID']['input']>;
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QuerySuggestKeywordsArgs = {
  input: SuggestKeywordsInput;
};


/** Read operations. A field that needs its own upstream call is nullable: if that call fails, the field is null and `errors` says why. */
export type QuerySuggestMarketsArgs = {
  keyword: Scalars['String']['input'];
};

/** An endpoint to register. */
export type RegisterExportEndpointInput = {
  /** Description, one line of at most 1,024 characters. */
  readonly description: Scalars['String']['input'];
  /**
   * Headers to send with every call, at most 50 with 32,768 characters in all names and values, for example to authenticate at the endpoint. The gateway encrypts the values and never shows
   * them. You cannot set `Content-Type`, `Idempotency-Key`, the headers of signatures (`webhook-...`) or headers that
   * control the connection.
   */
  readonly headers?: InputMaybe<ReadonlyArray<ExportHeaderInput>>;
  /** Name, unique within the team, at most 255 characters. Blanks at its ends are left out. It cannot be changed later. */
  readonly name: Scalars['String']['input'];
  /**
   * URL that is reachable from the internet, at most 1,024 characters. It begins with `https://`, or with `http://` outside production. Path and
   * query may contain the placeholders `{user.name}` and `{user.email}`. Each export replaces them with the percent-encoded values of its user.
   */
  readonly url: Scalars['String']['input'];
};

/** A registered endpoint. */
export type RegisterExportEndpointPayload = {
  readonly __typename?: 'RegisterExportEndpointPayload';
  /** The endpoint. */
  readonly endpoint: ExportEndpoint;
  /** Secret that signs the exports to this endpoint (Standard Webhooks). It is never shown again: store it where you receive exports. */
  readonly signingSecret: Scalars['String']['output'];
};

/** An entity of an event, as free text. */
export type RelevantEntity = {
  readonly __typename?: 'RelevantEntity';
  /** Kind of entity. Null if the service sends none, or a value that it does not document. */
  readonly entityType?: Maybe<RelevantEntityType>;
  /** Name of the entity. */
  readonly name?: Maybe<Scalars['String']['output']>;
  /** How the service found the entity: `inferred` or `explicit`. Only `inferred` is currently produced. */
  readonly propertySource?: Maybe<Scalars['String']['output']>;
};

/** Kind of relevant entity. */
export type RelevantEntityType =
  /** A category. */
  | 'CATEGORY'
  /** A company. */
  | 'COMPANY'
  /** A country. */
  | 'COUNTRY'
  /** A location. */
  | 'LOCATION';

/** A watch to renew. */
export type RenewWatchInput = {
  /** The last cursor that you have stored. The watch sends again what it sent behind it, with the same `webhook-id`s. Left out or null: it goes on behind what the endpoint has taken. */
  readonly after?: InputMaybe<Scalars['String']['input']>;
  /** Identifier of the watch. */
  readonly watch: Scalars['ID']['input'];
};

/** The watch that was renewed. */
export type RenewWatchPayload = {
  readonly __typename?: 'RenewWatchPayload';
  /** The watch. */
  readonly watch: Watch;
};

/** An export to send again. */
export type RetryExportInput = {
  /** Identifier of the export that failed. */
  readonly exportId: Scalars['ID']['input'];
  /** As in `ExportMarketToEndpointInput`: your own key for this retry, at most 255 characters. */
  readonly idempotencyKey?: InputMaybe<Scalars['String']['input']>;
};

/** A decision about discovered companies. */
export type ReviewCompaniesInput = {
  /** Market identifier, a whole number. */
  readonly marketId: Scalars['ID']['input'];
  /** The decision. */
  readonly reviewStatus: ReviewDecision;
  /** The companies that the decision applies to. */
  readonly target: ReviewTarget;
};

/** Result of a review. */
export type ReviewCompaniesPayload = {
  readonly __typename?: 'ReviewCompaniesPayload';
  /**
   * The companies that the decision applies to, as they are now, in the order of the service: one read of the companies of the market, and only if selected.
   * For a market that is not published the error is `NOT_FOUND`; the decision is made all the same.
   */
  readonly companies?: Maybe<ReadonlyArray<Company>>;
  /** The market. */
  readonly market: Market;
  /** Market identifier. */
  readonly marketId: Scalars['ID']['output'];
};

/** Decision about a company of a market. */
export type ReviewDecision =
  /** Exclude the company from the market. */
  | 'EXCLUDE'
  /** Include the company in the market. */
  | 'INCLUDE';

/** Companies that a decision applies to. Set exactly one member. */
export type ReviewTarget =
  /** All companies of the market. Must be `true`. */
  { readonly all: Scalars['Boolean']['input']; readonly domains?: never; }
  |  /** Internet domains of the companies, 1 to 10,000. */
  { readonly all?: never; readonly domains: ReadonlyArray<Scalars['String']['input']>; };

/** An endpoint whose secret is to be replaced. */
export type RotateExportEndpointSecretInput = {
  /** Name of the endpoint. */
  readonly endpoint: Scalars['String']['input'];
};

/** An endpoint with a new secret. */
export type RotateExportEndpointSecretPayload = {
  readonly __typename?: 'RotateExportEndpointSecretPayload';
  /** The endpoint. */
  readonly endpoint: ExportEndpoint;
  /** Secret that signs the exports to this endpoint from now on. It is never shown again. */
  readonly signingSecret: Scalars['String']['output'];
};

/** What both results have in common: a discovery that runs. */
export type RunningDiscovery = {
  /** The jobs of the discovery. */
  readonly jobs?: Maybe<ReadonlyArray<Job>>;
  /** The market. */
  readonly market: Market;
  /** Market identifier. */
  readonly marketId: Scalars['ID']['output'];
};

/** A severity, a likelihood, and the number of events with an impacted entity that has both. */
export type ScoreCount = {
  readonly __typename?: 'ScoreCount';
  /** Number of events. */
  readonly count: Scalars['Int']['output'];
  /** Likelihood, 0 to 3. */
  readonly likelihood: Scalars['Int']['output'];
  /** Severity, 0 to 3. */
  readonly severity: Scalars['Int']['output'];
};

/** Search criteria for a discovery. */
export type SearchCriteria = {
  readonly __typename?: 'SearchCriteria';
  /** Additional fields that the service sends but does not document. Null if there are none. */
  readonly attributes?: Maybe<Scalars['JSONObject']['output']>;
  /** The `count` value used to start the discovery. Null in criteria from `createSearchCriteria`, and if it is not a whole number of at least 1. */
  readonly count?: Maybe<Scalars['Int']['output']>;
  /** Keywords of the search. */
  readonly keywords?: Maybe<SearchKeywords>;
  /** Locations of the search. */
  readonly locations: ReadonlyArray<SearchLocation>;
  /** Name of the market. */
  readonly marketName?: Maybe<Scalars['String']['output']>;
  /** Role in the market. Value seen: `serviceProvider`. */
  readonly marketRole?: Maybe<Scalars['String']['output']>;
  /** Type of the market. Value seen: `service`. */
  readonly marketType?: Maybe<Scalars['String']['output']>;
  /** The `performSearch` value used to start the discovery. Null in criteria from `createSearchCriteria`. */
  readonly performSearch?: Maybe<Scalars['Boolean']['output']>;
  /** Kind of project. Value seen: `first_pass`. */
  readonly projectKind?: Maybe<Scalars['String']['output']>;
  /** Seed domains of the search. */
  readonly seedDomains: ReadonlyArray<Scalars['String']['output']>;
  /** Question in natural language. */
  readonly userPrompt?: Maybe<Scalars['String']['output']>;
};

/**
 * Search criteria for a discovery. It has every member of `SearchCriteria`, so you can send back what you read: the service may refuse criteria that lack
 * some. What the service stores beyond the bounds of a member can be read, but not sent back. The gateway does not send members that are null or left out.
 */
export type SearchCriteriaInput = {
  /** Additional fields, sent to the service as they are. Must not contain the name of another member. */
  readonly attributes?: InputMaybe<Scalars['JSONObject']['input']>;
  /** The service uses it when it starts a discovery. At least 1. */
  readonly count?: InputMaybe<Scalars['Int']['input']>;
  /** Keywords of the search. */
  readonly keywords?: InputMaybe<SearchKeywordsInput>;
  /** Locations of the search, at most 300. */
  readonly locations?: InputMaybe<ReadonlyArray<SearchLocationInput>>;
  /** Name of the market, at most 10,000 characters. */
  readonly marketName?: InputMaybe<Scalars['String']['input']>;
  /** Role in the market, at most 10,000 characters. Value seen: `serviceProvider`. */
  readonly marketRole?: InputMaybe<Scalars['String']['input']>;
  /** Type of the market, at most 10,000 characters. Value seen: `service`. */
  readonly marketType?: InputMaybe<Scalars['String']['input']>;
  /** The service uses it when it starts a discovery. */
  readonly performSearch?: InputMaybe<Scalars['Boolean']['input']>;
  /** Kind of project, at most 10,000 characters. Value seen: `first_pass`. */
  readonly projectKind?: InputMaybe<Scalars['String']['input']>;
  /** Seed domains of the search, at most 10,000 of at most 10,000 characters each. */
  readonly seedDomains?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Question in natural language, at most 10,000 characters. */
  readonly userPrompt?: InputMaybe<Scalars['String']['input']>;
};

/** Keywords in four lists. */
export type SearchKeywords = {
  readonly __typename?: 'SearchKeywords';
  /** Additional fields that the service sends but does not document. Null if there are none. */
  readonly attributes?: Maybe<Scalars['JSONObject']['output']>;
  /** Keywords in the list `features`. */
  readonly features: ReadonlyArray<Scalars['String']['output']>;
  /** Keywords in the list `irrelevant`. */
  readonly irrelevant: ReadonlyArray<Scalars['String']['output']>;
  /** Keywords in the list `synonyms`. */
  readonly synonyms: ReadonlyArray<Scalars['String']['output']>;
  /** Keywords in the list `user`. */
  readonly user: ReadonlyArray<Scalars['String']['output']>;
};

/** Keywords of search criteria, in four lists. Each keyword has at most 10,000 characters. */
export type SearchKeywordsInput = {
  /** Additional fields, sent to the service as they are. Must not contain the name of another member. */
  readonly attributes?: InputMaybe<Scalars['JSONObject']['input']>;
  /** Keywords for the list `features`, at most 1,000. */
  readonly features: ReadonlyArray<Scalars['String']['input']>;
  /** Keywords for the list `irrelevant`, at most 1,000. */
  readonly irrelevant: ReadonlyArray<Scalars['String']['input']>;
  /** Keywords for the list `synonyms`, at most 1,000. */
  readonly synonyms: ReadonlyArray<Scalars['String']['input']>;
  /** Keywords for the list `user`, at most 1,000. */
  readonly user: ReadonlyArray<Scalars['String']['input']>;
};

/** A location of a search. One without a two-letter country code is left out, with an error. */
export type SearchLocation = {
  readonly __typename?: 'SearchLocation';
  /** Additional fields that the service sends but does not document. Null if there are none. */
  readonly attributes?: Maybe<Scalars['JSONObject']['output']>;
  /** Two-letter country code. */
  readonly countryCode: Scalars['String']['output'];
  /** Name of the country. */
  readonly countryName?: Maybe<Scalars['String']['output']>;
};

/** A location of a search. */
export type SearchLocationInput = {
  /** Additional fields, sent to the service as they are. Must not contain the name of another member. */
  readonly attributes?: InputMaybe<Scalars['JSONObject']['input']>;
  /** Two-letter country code. */
  readonly countryCode: Scalars['String']['input'];
  /** Name of the country, at most 10,000 characters. */
  readonly countryName?: InputMaybe<Scalars['String']['input']>;
};

/** A severity and the number of events that have it. */
export type SeverityCount = {
  readonly __typename?: 'SeverityCount';
  /** Number of events. */
  readonly count: Scalars['Int']['output'];
  /** Severity of the event: the highest of its impacted entities, 0 to 3. Null for events without one. */
  readonly severity?: Maybe<Scalars['Int']['output']>;
};

/** Credentials of a user. */
export type SignInInput = {
  /** E-mail address, at most 320 characters. */
  readonly email: Scalars['String']['input'];
  /** Password, at most 1,024 characters. */
  readonly password: Scalars['String']['input'];
};

/** Result of signing in. */
export type SignInPayload = {
  readonly __typename?: 'SignInPayload';
  /** The client as the signed-in user. */
  readonly viewer: Viewer;
};

/** Result of signing out. */
export type SignOutPayload = {
  readonly __typename?: 'SignOutPayload';
  /** Always null: no user is signed in. */
  readonly viewer?: Maybe<Viewer>;
};

/** A discovery to start. */
export type StartDiscoveryInput = {
  /** Market identifier, a whole number. */
  readonly marketId: Scalars['ID']['input'];
  /** What to search for. */
  readonly searchCriteria: SearchCriteriaInput;
  /** Whether to skip the review of discovered companies. */
  readonly skipDiscoveryReview: Scalars['Boolean']['input'];
};

/** Result of starting a discovery. */
export type StartDiscoveryResult = DiscoveryAlreadyRunning | DiscoveryStarted;

/** A watch to end. */
export type StopWatchingInput = {
  /** Identifier of the watch. */
  readonly watch: Scalars['ID']['input'];
};

/** The watch that has ended. */
export type StopWatchingPayload = {
  readonly __typename?: 'StopWatchingPayload';
  /** The watch. */
  readonly watch: Watch;
};

/** Live updates, over WebSocket (`graphql-transport-ws`) or as `multipart/mixed;subscriptionSpec=1.0` at `/graphql`, or as Server-Sent Events at `/graphql/stream`. */
export type Subscription = {
  readonly __typename?: 'Subscription';
  /**
   * Events that are new, or were updated, after the subscription began. Sends each update once, the oldest update first.
   *
   * The gateway polls the service, by default every 30 seconds, once for all clients with the same credential and filter. The first
   * message has no event, but a cursor. A client that reconnects sends the last cursor as `after`, and gets what it has missed.
   */
  readonly eventUpdates?: Maybe<EventUpdate>;
  /**
   * Progress of one export of the client's team. Sends the current state at once, and the new state after each call to the endpoint. Several
   * calls within one interval are one message. Completes when the export has ended. Fails with `NOT_FOUND` if the team has no such export. No upstream call.
   */
  readonly exportProgress?: Maybe<Export>;
  /**
   * Progress of the jobs in one phase of a market. Sends the current state at once and then every change. Completes when all jobs have ended.
   *
   * The gateway polls the service, by default every 30 seconds, once for all clients with the same credential. If the
   * answer is an error with the code `UNAUTHENTICATED`, `FORBIDDEN`, `NOT_FOUND` or `BAD_USER_INPUT`, the subscription ends with it. After any other failure,
   * the gateway keeps polling.
   */
  readonly jobProgress?: Maybe<JobProgress>;
};


/** Live updates, over WebSocket (`graphql-transport-ws`) or as `multipart/mixed;subscriptionSpec=1.0` at `/graphql`, or as Server-Sent Events at `/graphql/stream`. */
export type SubscriptionEventUpdatesArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<EventFilter>;
};


/** Live updates, over WebSocket (`graphql-transport-ws`) or as `multipart/mixed;subscriptionSpec=1.0` at `/graphql`, or as Server-Sent Events at `/graphql/stream`. */
export type SubscriptionExportProgressArgs = {
  exportId: Scalars['ID']['input'];
};


/** Live updates, over WebSocket (`graphql-transport-ws`) or as `multipart/mixed;subscriptionSpec=1.0` at `/graphql`, or as Server-Sent Events at `/graphql/stream`. */
export type SubscriptionJobProgressArgs = {
  marketId: Scalars['ID']['input'];
  phase: JobPhase;
};

/** Search criteria to suggest keywords for. */
export type SuggestKeywordsInput = {
  /** The search criteria. */
  readonly searchCriteria: SearchCriteriaInput;
};

/** Result of suggesting keywords. */
export type SuggestKeywordsPayload = {
  readonly __typename?: 'SuggestKeywordsPayload';
  /** The suggested keywords in one list, without those of the list `irrelevant`. */
  readonly keywords: ReadonlyArray<Scalars['String']['output']>;
  /** The suggested keywords in four lists. Null if the service answered with a single list. */
  readonly suggested?: Maybe<SearchKeywords>;
};

/** An endpoint to try. */
export type TestExportEndpointInput = {
  /** Name of the endpoint. */
  readonly endpoint: Scalars['String']['input'];
};

/** A topic with its groups. */
export type Topic = Node & {
  readonly __typename?: 'Topic';
  /** Groups within the topic. */
  readonly groups: ReadonlyArray<TopicGroup>;
  /** Topic identifier. */
  readonly id: Scalars['ID']['output'];
  /** Label of the topic. */
  readonly label: Scalars['String']['output'];
  /** Identifier across all types. */
  readonly nodeId: Scalars['ID']['output'];
};

/** A group within a topic. */
export type TopicGroup = Node & {
  readonly __typename?: 'TopicGroup';
  /** Group identifier. */
  readonly id: Scalars['ID']['output'];
  /** Label of the group. */
  readonly label: Scalars['String']['output'];
  /** Identifier across all types. */
  readonly nodeId: Scalars['ID']['output'];
};

/** Order of a list of topics. */
export type TopicOrder = {
  /** Direction of the order. */
  readonly direction: OrderDirection;
  /** Value to sort by. */
  readonly field: TopicOrderField;
};

/** Value that topics can be sorted by. */
export type TopicOrderField =
  /** By `Topic.label`, as the service orders labels. */
  | 'LABEL';

/** Changes of an endpoint. What is left out or null stays as it is. */
export type UpdateExportEndpointInput = {
  /** Description, one line of at most 1,024 characters. */
  readonly description?: InputMaybe<Scalars['String']['input']>;
  /** Name of the endpoint. */
  readonly endpoint: Scalars['String']['input'];
  /**
   * All headers to send with every call, at most 50, in place of those before, as in `RegisterExportEndpointInput`. An empty list removes them. Must be given if `url` has
   * another scheme, host or port and the endpoint has headers: the gateway does not send their values to a server that they were not registered for.
   */
  readonly headers?: InputMaybe<ReadonlyArray<ExportHeaderInput>>;
  /** URL, as in `RegisterExportEndpointInput`. */
  readonly url?: InputMaybe<Scalars['String']['input']>;
};

/** A changed endpoint. */
export type UpdateExportEndpointPayload = {
  readonly __typename?: 'UpdateExportEndpointPayload';
  /** The endpoint as it is now. */
  readonly endpoint: ExportEndpoint;
};

/** How much of its rate limit a client has used. Where two limits apply, such as that of its team: the tighter one. */
export type Usage = {
  readonly __typename?: 'Usage';
  /** Requests that are allowed in a minute. */
  readonly limit: Scalars['Int']['output'];
  /** Requests that are left, this one counted. */
  readonly remaining: Scalars['Int']['output'];
  /** When the limit is whole again. */
  readonly resetAt: Scalars['DateTime']['output'];
};

/** Text and embedding of an event for similarity search. */
export type VectorIndex = {
  readonly __typename?: 'VectorIndex';
  /** Short description of what happened, without entities. */
  readonly anchorText?: Maybe<Scalars['String']['output']>;
  /** Embedding vector. Selecting it makes the response much larger. */
  readonly embeddings?: Maybe<Scalars['Vector']['output']>;
  /** Name of the model that produced the embedding. */
  readonly embeddingsModelName?: Maybe<Scalars['String']['output']>;
};

/** The client that made the request: its credential, team and user. */
export type Viewer = {
  readonly __typename?: 'Viewer';
  /** Kind of credential in the request. */
  readonly authentication: Authentication;
  /** Whether the client may export markets to the endpoints of its team: it belongs to a team. */
  readonly canExport: Scalars['Boolean']['output'];
  /** Whether the client may register and delete the endpoints of its team: it is an admin of the team. */
  readonly canManageExportEndpoints: Scalars['Boolean']['output'];
  /** E-mail address of the signed-in user. Null for other kinds of credential. */
  readonly email?: Maybe<Scalars['String']['output']>;
  /** Name of the signed-in user. Null if the service did not send one, and for other kinds of credential. */
  readonly name?: Maybe<Scalars['String']['output']>;
  /**
   * Name of the client's team. If the gateway has no teams file, each API key is a team of its own: the name is stable and reveals nothing
   * about the key. Null if the client belongs to no team.
   */
  readonly team?: Maybe<Scalars['String']['output']>;
  /**
   * The client's rate limit when this request was counted, with the numbers of the headers `ratelimit-limit`, `ratelimit-remaining` and `ratelimit-reset`. Null
   * where nothing is limited, and on a WebSocket or an event stream.
   */
  readonly usage?: Maybe<Usage>;
};

/** What a client is sent at an endpoint of its team, for as long as it renews it. */
export type Watch = {
  readonly __typename?: 'Watch';
  /** Behind which it continues: the cursor of the last delivery that the endpoint has taken. Null until the first one is known. */
  readonly cursor?: Maybe<Scalars['String']['output']>;
  /** Where it is sent to. Null after the endpoint was deleted, which ends the watch. */
  readonly endpoint?: Maybe<ExportEndpoint>;
  /** Identifier, in each delivery as `watch`. */
  readonly id: Scalars['ID']['output'];
  /** The last delivery. Null if there was none. */
  readonly lastDelivery?: Maybe<WatchDelivery>;
  /** When its lease ends. */
  readonly until: Scalars['DateTime']['output'];
};

/** A delivery of a watch. */
export type WatchDelivery = {
  readonly __typename?: 'WatchDelivery';
  /** When it ended. */
  readonly at: Scalars['DateTime']['output'];
  /** Status of the answer. Null if there was none. */
  readonly status?: Maybe<Scalars['Int']['output']>;
};

/** Events to watch. */
export type WatchEventsInput = {
  /** The cursor behind which to begin: of a delivery, of `eventUpdates` or `updatesCursor`, with the same filter. Left out or null: the watch begins now. */
  readonly after?: InputMaybe<Scalars['String']['input']>;
  /** Name of the endpoint. */
  readonly endpoint: Scalars['String']['input'];
  /** Which events to send, without `from` and `to`. Left out or null: events with likelihood and severity 2 to 3. */
  readonly filter?: InputMaybe<EventFilter>;
};

/** The watch that has begun. */
export type WatchEventsPayload = {
  readonly __typename?: 'WatchEventsPayload';
  /** The watch. */
  readonly watch: Watch;
};

/** Jobs to watch. */
export type WatchJobInput = {
  /** Name of the endpoint. */
  readonly endpoint: Scalars['String']['input'];
  /** Market identifier, a whole number. */
  readonly marketId: Scalars['ID']['input'];
  /** Phase of the jobs. */
  readonly phase: JobPhase;
};

/** The watch that has begun. */
export type WatchJobPayload = {
  readonly __typename?: 'WatchJobPayload';
  /** The watch. */
  readonly watch: Watch;
};
