import type { Vector } from '../data/embeddings/vector.js';
import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { Company as CompanyModel } from '../domains/companies/loaders.js';
import type { DiscoveryAlreadyRunning as DiscoveryAlreadyRunningModel, Job as JobModel, SearchCriteria as SearchCriteriaModel } from '../domains/discovery/model.js';
import type { ExportRecord as ExportRecordModel } from '../domains/exports/model.js';
import type { Event as EventModel, Observation as ObservationModel } from '../domains/events/model.js';
import type { Market as MarketModel, Topic as TopicModel } from '../domains/markets/model.js';
import type { Context } from '../context.js';
export type Maybe<T> = T | null;
export type InputMaybe<T> = Maybe<T>;
export type Omit<T, K extends keyof T> = Pick<T, Exclude<keyof T, K>>;
export type RequireFields<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: NonNullable<T[P]> };
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  /** A day (`2026-01-31`) or a point in time (`2026-01-31T08:30:00Z`), in UTC. */
  DateOrDateTime: { input: string; output: string; }
  /** A point in time: ISO 8601 in UTC, as the service gave it. Example: `2026-01-31T08:30:00.000Z`. */
  DateTime: { input: string; output: string; }
  /** An object whose members the service does not document. */
  JSONObject: { input: Record<string, unknown>; output: Record<string, unknown>; }
  /** An embedding: the whole array of numbers as one value. */
  Vector: { input: never; output: Vector; }
};

/** A procurement datapoint that an event affects. */
export type AffectedDatapoint = {
  readonly __typename?: 'AffectedDatapoint';
  /** Which way it moves; null where that cannot be told. */
  readonly direction?: Maybe<Direction>;
  /** Its name in the taxonomy. */
  readonly name: Scalars['String']['output'];
  /** By how much, if the sources say so. */
  readonly quantity?: Maybe<Quantity>;
  /** The subject named in the sources, if any. */
  readonly subject?: Maybe<Scalars['String']['output']>;
};

/** An alert type that an event matches. */
export type AlertType = {
  readonly __typename?: 'AlertType';
  /** The text it was mapped from. */
  readonly mappedFrom?: Maybe<Scalars['String']['output']>;
  /** How it was matched; seen: `llm`. */
  readonly method?: Maybe<Scalars['String']['output']>;
  /** Its name. */
  readonly name: Scalars['String']['output'];
  /** Why it matches. */
  readonly rationale?: Maybe<Scalars['String']['output']>;
  /** How close the match is. */
  readonly similarity?: Maybe<Scalars['Float']['output']>;
};

/** A way to be authenticated. */
export type Authentication =
  /** An API key in `x-api-key`. */
  | 'API_KEY'
  /** A bearer token in `Authorization`. */
  | 'BEARER'
  /** The gateway's cookie, after signing in. */
  | 'COOKIE'
  /** A session id in the address, as embedded pages send it. */
  | 'SESSION_ID';

/** The cluster of an observation. */
export type ClusterLabel = {
  readonly __typename?: 'ClusterLabel';
  /** The cluster's number. */
  readonly label?: Maybe<Scalars['Float']['output']>;
  /** How it was clustered. */
  readonly method?: Maybe<Scalars['String']['output']>;
};

/** A company of a market. */
export type Company = {
  readonly __typename?: 'Company';
  /** Its revenue. */
  readonly actualRevenue?: Maybe<Scalars['Float']['output']>;
  /** Fields that the service sends and does not document. */
  readonly attributes?: Maybe<Scalars['JSONObject']['output']>;
  /** An e-mail address. */
  readonly contactEmail?: Maybe<Scalars['String']['output']>;
  /** A telephone number. */
  readonly contactNumber?: Maybe<Scalars['String']['output']>;
  /** What it does. */
  readonly description?: Maybe<Scalars['String']['output']>;
  /** Its internet domain, which identifies it within the market. */
  readonly domain: Scalars['String']['output'];
  /** Its D-U-N-S numbers. */
  readonly dunsNumbers: ReadonlyArray<Scalars['String']['output']>;
  /** Its part of the market's ESG data; null where there is none. Upstream: `GET /v2/markets/{id}/esg`, once for all companies. */
  readonly esg?: Maybe<Scalars['JSONObject']['output']>;
  /**
   * The first events that name the company as an impacted entity. Upstream: `GET /v2/events-monitor/events`; companies of one query share calls. A
   * name with a comma cannot be asked for: `BAD_USER_INPUT`. For more, go on with `Query.events`: a cursor from here is its `after`, if its filter is
   * this one with the company's name as the only one in `impactedEntities`.
   */
  readonly events?: Maybe<EventConnection>;
  /** Its industries. */
  readonly naics: ReadonlyArray<NaicsCode>;
  /** Its name. */
  readonly name?: Maybe<Scalars['String']['output']>;
  /** The countries it operates in: two letters each, lower case. */
  readonly operatesIn: ReadonlyArray<Scalars['String']['output']>;
  /** How fast it moves, by the service's measure. */
  readonly overallMomentum?: Maybe<Scalars['Float']['output']>;
};


/** A company of a market. */
export type CompanyEventsArgs = {
  filter?: InputMaybe<EventFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
};

/** A page of companies. */
export type CompanyConnection = {
  readonly __typename?: 'CompanyConnection';
  /** The companies with their cursors. */
  readonly edges: ReadonlyArray<CompanyEdge>;
  /** The companies alone. */
  readonly nodes: ReadonlyArray<Company>;
  /** Where this page lies. */
  readonly pageInfo: PageInfo;
  /** How many companies pass the filter. */
  readonly totalCount: Scalars['Int']['output'];
};

/** A company and its place in the list. */
export type CompanyEdge = {
  readonly __typename?: 'CompanyEdge';
  /** To be given as `after`. */
  readonly cursor: Scalars['String']['output'];
  /** The company. */
  readonly node: Company;
};

/** Which companies are wanted; the members combine with AND, the values of a list with OR. It is applied by the gateway and costs no call. */
export type CompanyFilter = {
  /** Their domains, at most 10,000. */
  readonly domains?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Codes of NAICS, at most 1,000 of at most 10 characters; a code includes those that begin with it. */
  readonly naics?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Countries they operate in, two letters each, at most 300. */
  readonly operatesIn?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Text in the name, the domain or the description, upper and lower case being one; at most 1,000 characters. */
  readonly search?: InputMaybe<Scalars['String']['input']>;
};

/** A decision about a discovered company. */
export type CompanyReviewStatus =
  /** It does not. */
  | 'EXCLUDE'
  /** It belongs to the market. */
  | 'INCLUDE';

/** A question to turn into criteria. */
export type CreateSearchCriteriaInput = {
  /** The question in natural language, at most 10,000 characters. */
  readonly searchInput: Scalars['String']['input'];
  /** What is searched for; `marketSearch` is known. */
  readonly searchType: Scalars['String']['input'];
};

/** An endpoint to be deleted. */
export type DeleteExportEndpointInput = {
  /** Its name. */
  readonly name: Scalars['String']['input'];
};

/** Which way a datapoint moves. */
export type Direction =
  /** It falls. */
  | 'DOWN'
  /** It goes up and down. */
  | 'FLUCTUATE'
  /** It moves, but the sources do not say which way. */
  | 'UNKNOWN'
  /** It rises. */
  | 'UP';

/** A discovery of the market was running already; nothing was started. */
export type DiscoveryAlreadyRunning = {
  readonly __typename?: 'DiscoveryAlreadyRunning';
  /** The jobs that run. Upstream: `GET /v2/discovery/{id}/jobs`. */
  readonly jobs?: Maybe<ReadonlyArray<Job>>;
  /** The market's identifier. */
  readonly marketId: Scalars['ID']['output'];
};

/** The discovery runs now. */
export type DiscoveryStarted = {
  readonly __typename?: 'DiscoveryStarted';
  /** The jobs that were started. Nullable, so that a document may ask both results for `jobs`. */
  readonly jobs?: Maybe<ReadonlyArray<Job>>;
  /** The market's identifier. */
  readonly marketId: Scalars['ID']['output'];
};

/** A session of limited time, made with an API key. */
export type EmbedSession = {
  readonly __typename?: 'EmbedSession';
  /** The session id: what an embedded page's address carries as `sessionId`. */
  readonly accessToken: Scalars['String']['output'];
  /** A checksum of the session. */
  readonly checksum: Scalars['String']['output'];
  /** How long it lasts, in seconds. */
  readonly expiresIn: Scalars['Int']['output'];
  /** A token that tells who it was made for. */
  readonly idToken: Scalars['String']['output'];
  /** A token to renew the session with. */
  readonly refreshToken: Scalars['String']['output'];
};

/** An occurrence, grouped by the service from the observations that refer to it. */
export type Event = {
  readonly __typename?: 'Event';
  /** Procurement datapoints that the event as a whole affects. */
  readonly affectedDatapoints: ReadonlyArray<AffectedDatapoint>;
  /** Alert types that the event matches. */
  readonly alertTypes: ReadonlyArray<AlertType>;
  /** Keywords for search. */
  readonly eventSearchKeywords: ReadonlyArray<EventSearchKeyword>;
  /** The event's identifier. */
  readonly id: Scalars['ID']['output'];
  /** Entities of the taxonomy that the event touches, and how hard. */
  readonly impactedEntities: ReadonlyArray<ImpactedEntity>;
  /** When the service last updated it; what `from` and `to` refer to. */
  readonly lastUpdated?: Maybe<Scalars['DateTime']['output']>;
  /** The observations it was made from. */
  readonly references: ReadonlyArray<EventReference>;
  /** Free-text entities, not necessarily of the service's taxonomy. */
  readonly relevantEntities: ReadonlyArray<RelevantEntity>;
  /** Generated summary for human readers. */
  readonly summary?: Maybe<Scalars['String']['output']>;
  /** When it happened or will happen, as far as known. */
  readonly timestamps: EventTimestamps;
  /** Generated headline. */
  readonly title?: Maybe<Scalars['String']['output']>;
  /** What similarity search works on. */
  readonly vectorIndex?: Maybe<VectorIndex>;
};

/** A page of events. */
export type EventConnection = {
  readonly __typename?: 'EventConnection';
  /** The events with their cursors. */
  readonly edges: ReadonlyArray<EventEdge>;
  /** The events alone. */
  readonly nodes: ReadonlyArray<Event>;
  /** Where this page lies. */
  readonly pageInfo: PageInfo;
  /** How many events pass the filter. */
  readonly totalCount: Scalars['Int']['output'];
  /** How many events there were before filtering, where the service says so. */
  readonly unfilteredTotalCount?: Maybe<Scalars['Int']['output']>;
};

/** An event and its place in the list. */
export type EventEdge = {
  readonly __typename?: 'EventEdge';
  /** To be given as `after`. */
  readonly cursor: Scalars['String']['output'];
  /** The event. */
  readonly node: Event;
};

/**
 * Which events are wanted. Values in one list combine with OR, different members with AND. The service has a default for each bound that is left
 * out, and no way to say "no bound": to see events of all scores, give `null` for each minimum; to see older events, give a `from`.
 */
export type EventFilter = {
  /** Names of procurement datapoints, at most 100; none may hold a comma. Left out, null or empty: any. */
  readonly affectedDatapoints?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Names of alert types, at most 100; none may hold a comma. Left out, null or empty: any. */
  readonly alertTypes?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** The earliest `lastUpdated`; a day means its 00:00 UTC. Left out or null: the previous UTC day, 00:00. */
  readonly from?: InputMaybe<Scalars['DateOrDateTime']['input']>;
  /** Names of impacted entities, at most 100; none may hold a comma. Left out, null or empty: any. */
  readonly impactedEntities?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** The greatest likelihood of an impacted entity, 0 to 3. Left out: 3. Null is sent as 3. */
  readonly maxLikelihood?: InputMaybe<Scalars['Int']['input']>;
  /** The greatest severity of an impacted entity, 0 to 3. Left out: 3. Null is sent as 3. */
  readonly maxSeverity?: InputMaybe<Scalars['Int']['input']>;
  /** The least likelihood of an impacted entity, 0 to 3. Left out: 2. Null is sent as 0. */
  readonly minLikelihood?: InputMaybe<Scalars['Int']['input']>;
  /** The least severity of an impacted entity, 0 to 3. Left out: 2. Null is sent as 0. */
  readonly minSeverity?: InputMaybe<Scalars['Int']['input']>;
  /** Free text. `NOT_CONFIGURED` where the gateway does not know the service's parameter for it. */
  readonly search?: InputMaybe<Scalars['String']['input']>;
  /** The latest `lastUpdated`; a day means its 23:59 UTC. Left out or null: the current UTC day, 23:59. */
  readonly to?: InputMaybe<Scalars['DateOrDateTime']['input']>;
};

/** An observation as an event refers to it. */
export type EventReference = {
  readonly __typename?: 'EventReference';
  /** The observation's identifier. */
  readonly id: Scalars['ID']['output'];
  /** The whole observation. Upstream: `GET /v2/events-monitor/observation/{id}`, each distinct one once. */
  readonly observation?: Maybe<Observation>;
  /** Its title. */
  readonly title: Scalars['String']['output'];
  /** Its address, where it came from the internet. */
  readonly url?: Maybe<Scalars['String']['output']>;
};

/** A keyword of an event. */
export type EventSearchKeyword = {
  readonly __typename?: 'EventSearchKeyword';
  /** The keyword. */
  readonly keyword?: Maybe<Scalars['String']['output']>;
  /** Where it comes from; seen: `inferred`, `explicit`. */
  readonly propertySource?: Maybe<Scalars['String']['output']>;
};

/** The times of an event; each is null where nothing is known. */
export type EventTimestamps = {
  readonly __typename?: 'EventTimestamps';
  /** When it is expected to end. */
  readonly projectedEnd?: Maybe<Scalars['DateTime']['output']>;
  /** When it is expected to begin. */
  readonly projectedStart?: Maybe<Scalars['DateTime']['output']>;
  /** When it was published. */
  readonly published?: Maybe<Scalars['DateTime']['output']>;
  /** When it ended, as recorded. */
  readonly recordedEnd?: Maybe<Scalars['DateTime']['output']>;
  /** When it began, as recorded. */
  readonly recordedStart?: Maybe<Scalars['DateTime']['output']>;
};

/** An export of a team. */
export type Export = {
  readonly __typename?: 'Export';
  /** The calls that were made, in order. Each is written down before it is made. */
  readonly attempts: ReadonlyArray<ExportAttempt>;
  /** Who asked for it: a user's e-mail address, or a name for the API key that shows nothing of the key. */
  readonly by: Scalars['String']['output'];
  /** The endpoint's name. */
  readonly endpoint: Scalars['String']['output'];
  /** When it ended; null while it runs, and where nobody knows. */
  readonly finishedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Its identifier, which the endpoint has as `Idempotency-Key`. */
  readonly id: Scalars['ID']['output'];
  /** The caller's own name for it. */
  readonly idempotencyKey?: Maybe<Scalars['String']['output']>;
  /** The market. */
  readonly marketId: Scalars['ID']['output'];
  /** How it stands. */
  readonly outcome: ExportOutcome;
  /** What the caller was answered; null while it runs. */
  readonly result?: Maybe<ExportResult>;
  /** How many companies were chosen. */
  readonly selected: Scalars['Int']['output'];
  /** How many of them were sent, at most 500. */
  readonly sent: Scalars['Int']['output'];
  /** When it began. */
  readonly startedAt: Scalars['DateTime']['output'];
  /** The user that the placeholders stood for: the e-mail address, or else the name. */
  readonly user?: Maybe<Scalars['String']['output']>;
};

/** One call of the endpoint. */
export type ExportAttempt = {
  readonly __typename?: 'ExportAttempt';
  /** Why there was no answer; null where there was one, and where nobody knows. */
  readonly fault?: Maybe<ExportFault>;
  /** How long it took; null while it runs, and where nobody knows. */
  readonly milliseconds?: Maybe<Scalars['Int']['output']>;
  /** When it began. */
  readonly startedAt: Scalars['DateTime']['output'];
  /** The status of the answer; null where there was none. */
  readonly status?: Maybe<Scalars['Int']['output']>;
};

/** Which companies of the market. */
export type ExportCompaniesInput =
  /** All of them; must be `true`. */
  { readonly all: Scalars['Boolean']['input']; readonly domains?: never; readonly visible?: never; }
  |  /** Those of these domains, at most 10,000, upper and lower case being one. A domain that is none of the market's is `BAD_USER_INPUT`, and nothing is sent. */
  { readonly all?: never; readonly domains: ReadonlyArray<Scalars['String']['input']>; readonly visible?: never; }
  |  /** Those on one page of `Market.companies` with the same arguments: what the explorer shows, and no others. */
  { readonly all?: never; readonly domains?: never; readonly visible: ExportPageInput; };

/** A page of exports. */
export type ExportConnection = {
  readonly __typename?: 'ExportConnection';
  /** The exports with their cursors. */
  readonly edges: ReadonlyArray<ExportEdge>;
  /** The exports alone. */
  readonly nodes: ReadonlyArray<Export>;
  /** Where this page lies. */
  readonly pageInfo: PageInfo;
  /** How many are kept, at most 100. */
  readonly totalCount: Scalars['Int']['output'];
};

/** The endpoint answered with status 200. */
export type ExportDelivered = {
  readonly __typename?: 'ExportDelivered';
  /** The calls that were made, in order. */
  readonly attempts: ReadonlyArray<ExportAttempt>;
  /** The export's identifier, which the endpoint has as `Idempotency-Key`. */
  readonly exportId: Scalars['ID']['output'];
  /** The endpoint's message as HTML that is safe to show, cut to 4,000 characters before it is cleaned. */
  readonly message: Scalars['String']['output'];
  /** The same as plain text. */
  readonly messageText: Scalars['String']['output'];
  /** Where to send the user in a new window after 5 seconds: an `http` or `https` address, or null. */
  readonly redirectUrl?: Maybe<Scalars['String']['output']>;
  /** The endpoint's headline: plain text, cut to 255 characters. */
  readonly title: Scalars['String']['output'];
};

/** An export and its place in the list. */
export type ExportEdge = {
  readonly __typename?: 'ExportEdge';
  /** To be given as `after`. */
  readonly cursor: Scalars['String']['output'];
  /** The export. */
  readonly node: Export;
};

/** An endpoint that a team can export to. */
export type ExportEndpoint = {
  readonly __typename?: 'ExportEndpoint';
  /** What it is for. */
  readonly description: Scalars['String']['output'];
  /** The names of the headers that are sent to it; their values are never shown. */
  readonly headerNames: ReadonlyArray<Scalars['String']['output']>;
  /** Its name, unique in the team. */
  readonly name: Scalars['String']['output'];
  /** Its address, with the placeholders as they were registered. */
  readonly url: Scalars['String']['output'];
};

/** The export did not get through: no answer, a broken connection or a status of 500 to 599 four times, a status that has no meaning here, or an address that exports may not go to. */
export type ExportFailed = {
  readonly __typename?: 'ExportFailed';
  /** The calls that were made, in order. */
  readonly attempts: ReadonlyArray<ExportAttempt>;
  /** The export's identifier, which the endpoint has as `Idempotency-Key`. */
  readonly exportId: Scalars['ID']['output'];
  /** What to tell the user. */
  readonly message: Scalars['String']['output'];
  /** `FAILED`, or `UNKNOWN` where the gateway that was sending the export died: it may have arrived. */
  readonly outcome: ExportOutcome;
};

/** Why a call had no answer. */
export type ExportFault =
  /** The address is one that exports may not go to; nothing was sent. */
  | 'ADDRESS_REFUSED'
  /** There was no connection, or it broke. */
  | 'BROKEN'
  /** Nothing, or not all, had come after 15 seconds. */
  | 'TIMEOUT';

/** A header to be sent with every call. */
export type ExportHeaderInput = {
  /** Its name; each name once, upper and lower case being one. */
  readonly name: Scalars['String']['input'];
  /** Its value: 1 to 4,096 visible ASCII characters. */
  readonly value: Scalars['String']['input'];
};

/** Companies to write to a CSV file. */
export type ExportMarketCsvInput = {
  /** The companies' domains, 1 to 10,000. */
  readonly domains: ReadonlyArray<Scalars['String']['input']>;
  /** The market's identifier, a whole number. */
  readonly marketId: Scalars['ID']['input'];
};

/** A CSV file that was written. */
export type ExportMarketCsvResult = {
  readonly __typename?: 'ExportMarketCsvResult';
  /** The address to fetch it from. */
  readonly downloadLink: Scalars['String']['output'];
};

/** What is to be exported, and where to. */
export type ExportMarketToEndpointInput = {
  /** Which companies. The 500 with the highest score are sent, in the order of their score. */
  readonly companies: ExportCompaniesInput;
  /** The endpoint's name. */
  readonly endpoint: Scalars['String']['input'];
  /**
   * The caller's own name for this export, at most 255 characters. Within a day, the same key with the same input is answered with the first
   * export's outcome and nothing is sent; with another input, or while the first is running, it is `CONFLICT`.
   */
  readonly idempotencyKey?: InputMaybe<Scalars['String']['input']>;
  /** The market, which must be published. */
  readonly marketId: Scalars['ID']['input'];
  /** The user that the placeholders of the endpoint's url stand for. It counts for API keys alone: a signed-in user is who the session says. */
  readonly onBehalfOf?: InputMaybe<ExportUserInput>;
};

/** How an export stands. */
export type ExportOutcome =
  /** The endpoint has taken it. */
  | 'DELIVERED'
  /** It did not get through. */
  | 'FAILED'
  /** The endpoint has turned it down. */
  | 'REJECTED'
  /** It is being sent. */
  | 'RUNNING'
  /** The gateway that was sending it died; it may have arrived. It is never sent again by itself. */
  | 'UNKNOWN';

/** A page, as the arguments of `Market.companies` give it. */
export type ExportPageInput = {
  /** The `endCursor` or `cursor` after which the page begins. */
  readonly after?: InputMaybe<Scalars['String']['input']>;
  /** The filter that the page was read with. Left out: the page is one of all companies. */
  readonly filter?: InputMaybe<CompanyFilter>;
  /** How many, 1 to 100. */
  readonly first?: InputMaybe<Scalars['Int']['input']>;
};

/** Something that the endpoint refers to in turning an export down. */
export type ExportReference = {
  readonly __typename?: 'ExportReference';
  /** Plain text, cut to 500 characters. */
  readonly message?: Maybe<Scalars['String']['output']>;
  /** Plain text, cut to 255 characters. */
  readonly title: Scalars['String']['output'];
  /** How grave it is. */
  readonly type: ExportReferenceType;
  /** An `http` or `https` address. */
  readonly url?: Maybe<Scalars['String']['output']>;
};

/** How grave something is that an endpoint refers to. */
export type ExportReferenceType =
  /** It is wrong. */
  | 'ERROR'
  /** It is worth knowing. */
  | 'INFO'
  /** It is in order. */
  | 'OK'
  /** It needs attention; also where the endpoint says nothing or something else. */
  | 'WARNING';

/** The endpoint turned the export down: a status of 400 to 499, or 207. */
export type ExportRejected = {
  readonly __typename?: 'ExportRejected';
  /** The calls that were made, in order. */
  readonly attempts: ReadonlyArray<ExportAttempt>;
  /** The export's identifier, which the endpoint has as `Idempotency-Key`. */
  readonly exportId: Scalars['ID']['output'];
  /** The endpoint's message as HTML that is safe to show, cut to 4,000 characters before it is cleaned. */
  readonly message: Scalars['String']['output'];
  /** The same as plain text. */
  readonly messageText: Scalars['String']['output'];
  /** What the endpoint refers to; at most 50. */
  readonly references: ReadonlyArray<ExportReference>;
  /** The endpoint's headline: plain text, cut to 255 characters. */
  readonly title: Scalars['String']['output'];
};

/** How an export ended. */
export type ExportResult = ExportDelivered | ExportFailed | ExportRejected;

/** A user as an API key's owner names it. */
export type ExportUserInput = {
  /** The e-mail address. */
  readonly email?: InputMaybe<Scalars['String']['input']>;
  /** The name. */
  readonly name?: InputMaybe<Scalars['String']['input']>;
};

/** How likely and how hard an entity is hit. */
export type Impact = {
  readonly __typename?: 'Impact';
  /** 0 to 3. */
  readonly likelihood?: Maybe<Scalars['Int']['output']>;
  /** Why. */
  readonly rationale?: Maybe<Scalars['String']['output']>;
  /** 0 to 3. */
  readonly severity?: Maybe<Scalars['Int']['output']>;
};

/** An entity of the taxonomy that an event touches. */
export type ImpactedEntity = {
  readonly __typename?: 'ImpactedEntity';
  /** What it is; seen: `category`. */
  readonly entityType?: Maybe<Scalars['String']['output']>;
  /** How likely and how hard it is hit. */
  readonly impact?: Maybe<Impact>;
  /** The text it was mapped from. */
  readonly mappedFrom?: Maybe<Scalars['String']['output']>;
  /** Its name. */
  readonly name: Scalars['String']['output'];
};

/** Work that the service does in the background. */
export type Job = {
  readonly __typename?: 'Job';
  /** When it ended; null while it runs. */
  readonly endTime?: Maybe<Scalars['DateTime']['output']>;
  /** Whether it has ended: `endTime` is set, whatever the status says. */
  readonly finished: Scalars['Boolean']['output'];
  /** The job's identifier. */
  readonly id: Scalars['ID']['output'];
  /** How far it is, as the service counts; 0 to 100 seen. */
  readonly progress?: Maybe<Scalars['Float']['output']>;
  /** When it began. */
  readonly startTime?: Maybe<Scalars['DateTime']['output']>;
  /** Where it stands; seen: `running`. */
  readonly status?: Maybe<Scalars['String']['output']>;
  /** What it does; seen: `first_pass`, `enrichment`, `scrape`, `web_traffic`. */
  readonly workflowName?: Maybe<Scalars['String']['output']>;
};

/** A phase of a market's way, each with jobs of its own. */
export type JobPhase =
  /** The discovery of companies, typically 10 to 15 minutes. */
  | 'DISCOVERY'
  /** The enrichment that publishing starts. */
  | 'PUBLISH';

/** How the jobs of one phase of a market stood when the service was asked. */
export type JobProgress = {
  readonly __typename?: 'JobProgress';
  /** Whether there are jobs and every one has ended; nothing follows then. */
  readonly finished: Scalars['Boolean']['output'];
  /** The jobs; none where the phase has not begun. */
  readonly jobs: ReadonlyArray<Job>;
  /** The market's identifier. */
  readonly marketId: Scalars['ID']['output'];
  /** When the service was asked. Where it cannot be asked for three intervals, the last state comes again with its old time. */
  readonly observedAt: Scalars['DateTime']['output'];
  /** Which phase. */
  readonly phase: JobPhase;
};

/** A market: the companies that answer a business question, and what is known of them. */
export type Market = {
  readonly __typename?: 'Market';
  /** The companies of a published market. Upstream: `GET /v2/markets/{id}/companies`, once, however many pages are read. */
  readonly companies?: Maybe<CompanyConnection>;
  /** One company of a published market; null where the market has none of this domain. Upstream: as `companies`. */
  readonly company?: Maybe<Company>;
  /** How many companies it has. */
  readonly companyCount?: Maybe<Scalars['Int']['output']>;
  /** When it was created. */
  readonly dateCreated?: Maybe<Scalars['DateTime']['output']>;
  /** Purpose and content. */
  readonly description?: Maybe<Scalars['String']['output']>;
  /** ESG data of a published market, as the service gives it. Upstream: `GET /v2/markets/{id}/esg`, once for the market and all its companies. */
  readonly esg?: Maybe<Scalars['JSONObject']['output']>;
  /** The address of its thumbnail. */
  readonly headerImageUrl?: Maybe<Scalars['String']['output']>;
  /** The market's identifier. */
  readonly id: Scalars['ID']['output'];
  /** The jobs of a phase. Upstream: `GET /v2/discovery/{id}/jobs`, or `GET /v2/markets/{id}/jobs` for `PUBLISH`. */
  readonly jobs?: Maybe<ReadonlyArray<Job>>;
  /** Main title. Upstream of this and the other record fields: `GET /dev/markets/{id}`, once for all of them. */
  readonly name?: Maybe<Scalars['String']['output']>;
  /** Where it stands. */
  readonly reviewStatus?: Maybe<MarketReviewStatus>;
  /** The criteria that its discovery used. Upstream: `GET /v2/discovery/{id}/search-criteria`. */
  readonly searchCriteria?: Maybe<SearchCriteria>;
  /** Earlier iterations of its criteria. Upstream: `GET /v2/discovery/{id}/search-criteria/history`. */
  readonly searchCriteriaHistory?: Maybe<ReadonlyArray<SearchCriteria>>;
  /** Short supplementary title. */
  readonly subtitle?: Maybe<Scalars['String']['output']>;
  /** The topics of its companies. Upstream: `POST /markets/{id}/topics`. */
  readonly topics?: Maybe<ReadonlyArray<Topic>>;
};


/** A market: the companies that answer a business question, and what is known of them. */
export type MarketCompaniesArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<CompanyFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
};


/** A market: the companies that answer a business question, and what is known of them. */
export type MarketCompanyArgs = {
  domain: Scalars['String']['input'];
};


/** A market: the companies that answer a business question, and what is known of them. */
export type MarketJobsArgs = {
  phase: JobPhase;
};


/** A market: the companies that answer a business question, and what is known of them. */
export type MarketTopicsArgs = {
  sort?: InputMaybe<TopicSort>;
};

/** Where a market stands on its way to publication. */
export type MarketReviewStatus =
  /** Not published yet. */
  | 'DRAFT'
  /** Companies can be read. */
  | 'PUBLISHED'
  /** Its companies are being reviewed. */
  | 'REVIEWING';

/** Everything that can be done. Each call is sent upstream exactly once; where its outcome is unknown, the error says so and is not `retryable`. */
export type Mutation = {
  readonly __typename?: 'Mutation';
  /** A session that an embedded page may use in place of the API key it is made with. Upstream: `GET /v2/auth/session`. */
  readonly createEmbedSession?: Maybe<EmbedSession>;
  /** Turns a question into search criteria. Upstream: `POST /v2/discovery/search-criteria`. */
  readonly createSearchCriteria?: Maybe<SearchCriteria>;
  /** Deletes an endpoint of the caller's team, whose admin the caller must be. No upstream call. */
  readonly deleteExportEndpoint?: Maybe<ExportEndpoint>;
  /** Writes companies of a published market to a CSV file. Upstream: `POST /markets/{id}/export-csv`. */
  readonly exportMarketCsv?: Maybe<ExportMarketCsvResult>;
  /**
   * Sends companies of a published market to an endpoint of the caller's team, and waits for its answer: at most 15 seconds, four times
   * at most. Upstream: `GET /dev/markets/{id}` and `GET /v2/markets/{id}/companies`. An error means that nothing was sent, unless it is
   * `UPSTREAM_UNAVAILABLE` and not `retryable`: then `exports` says what is known.
   */
  readonly exportMarketToEndpoint?: Maybe<ExportResult>;
  /** Publishes a market, which starts its enrichment. Upstream: `POST /v2/discovery/{id}/publish`. `CONFLICT` while its discovery runs. */
  readonly publishMarket?: Maybe<PublishMarketResult>;
  /** Registers an endpoint for the caller's team, whose admin the caller must be. A name that is taken is `CONFLICT`. No upstream call. */
  readonly registerExportEndpoint?: Maybe<ExportEndpoint>;
  /** Includes or excludes discovered companies. Upstream: `PATCH /v2/discovery/{id}/companies/reviews`. */
  readonly reviewCompanies?: Maybe<ReviewCompaniesResult>;
  /**
   * Signs a user in and sets the gateway's own cookie. Upstream: `POST /v2/auth/sign-in`. A wrong password and an unknown user are one
   * `UNAUTHENTICATED`; too many attempts for an e-mail address or from a network address are `RATE_LIMITED`. Over HTTP only.
   */
  readonly signIn?: Maybe<Viewer>;
  /**
   * Signs the user out: ends the session, so that no copy of the gateway's cookie is accepted any more, and clears the cookie. Through other gateways
   * that takes up to a second. Connections that are open stay open. No upstream call.
   */
  readonly signOut: Scalars['Boolean']['output'];
  /**
   * Starts the discovery of a market's companies, typically 10 to 15 minutes. Upstream: `POST /v2/discovery/{id}/start`. Criteria that the service
   * turns down are `BAD_USER_INPUT`; where the service names members of them, `argument` is the first of these, and the message names all.
   */
  readonly startDiscovery?: Maybe<StartDiscoveryResult>;
  /** Suggests further keywords for search criteria. `NOT_CONFIGURED` where the gateway does not know the service's path for it. */
  readonly suggestKeywords?: Maybe<ReadonlyArray<Scalars['String']['output']>>;
};


/** Everything that can be done. Each call is sent upstream exactly once; where its outcome is unknown, the error says so and is not `retryable`. */
export type MutationCreateSearchCriteriaArgs = {
  input: CreateSearchCriteriaInput;
};


/** Everything that can be done. Each call is sent upstream exactly once; where its outcome is unknown, the error says so and is not `retryable`. */
export type MutationDeleteExportEndpointArgs = {
  input: DeleteExportEndpointInput;
};


/** Everything that can be done. Each call is sent upstream exactly once; where its outcome is unknown, the error says so and is not `retryable`. */
export type MutationExportMarketCsvArgs = {
  input: ExportMarketCsvInput;
};


/** Everything that can be done. Each call is sent upstream exactly once; where its outcome is unknown, the error says so and is not `retryable`. */
export type MutationExportMarketToEndpointArgs = {
  input: ExportMarketToEndpointInput;
};


/** Everything that can be done. Each call is sent upstream exactly once; where its outcome is unknown, the error says so and is not `retryable`. */
export type MutationPublishMarketArgs = {
  input: PublishMarketInput;
};


/** Everything that can be done. Each call is sent upstream exactly once; where its outcome is unknown, the error says so and is not `retryable`. */
export type MutationRegisterExportEndpointArgs = {
  input: RegisterExportEndpointInput;
};


/** Everything that can be done. Each call is sent upstream exactly once; where its outcome is unknown, the error says so and is not `retryable`. */
export type MutationReviewCompaniesArgs = {
  input: ReviewCompaniesInput;
};


/** Everything that can be done. Each call is sent upstream exactly once; where its outcome is unknown, the error says so and is not `retryable`. */
export type MutationSignInArgs = {
  input: SignInInput;
};


/** Everything that can be done. Each call is sent upstream exactly once; where its outcome is unknown, the error says so and is not `retryable`. */
export type MutationStartDiscoveryArgs = {
  input: StartDiscoveryInput;
};


/** Everything that can be done. Each call is sent upstream exactly once; where its outcome is unknown, the error says so and is not `retryable`. */
export type MutationSuggestKeywordsArgs = {
  input: SuggestKeywordsInput;
};

/** An industry by the North American Industry Classification System. */
export type NaicsCode = {
  readonly __typename?: 'NaicsCode';
  /** The code. */
  readonly code: Scalars['String']['output'];
  /** Whether it is the company's main industry. */
  readonly isPrimary?: Maybe<Scalars['Boolean']['output']>;
  /** How fine the code is: its number of digits. */
  readonly level?: Maybe<Scalars['Int']['output']>;
  /** The industry's name. */
  readonly name?: Maybe<Scalars['String']['output']>;
};

/** One collected piece of information, such as a news article. */
export type Observation = {
  readonly __typename?: 'Observation';
  /** When the service added it. */
  readonly addedAt?: Maybe<Scalars['DateTime']['output']>;
  /** The cluster it belongs to, if it has been clustered. */
  readonly clusterLabel?: Maybe<ClusterLabel>;
  /** Snippets of its text; not necessarily all of it. */
  readonly content: ReadonlyArray<Scalars['String']['output']>;
  /** What duplicates of it have in common. */
  readonly dedupeId?: Maybe<Scalars['String']['output']>;
  /** The observation's identifier. */
  readonly id: Scalars['ID']['output'];
  /** When it was published or recorded. */
  readonly publishedAt?: Maybe<Scalars['DateTime']['output']>;
  /** The service it came from. */
  readonly sourceService?: Maybe<Scalars['String']['output']>;
  /** The embedding of its content. Asking for it makes the answer much larger. */
  readonly textEmbedding?: Maybe<Scalars['Vector']['output']>;
  /** Its title; for articles, the publisher's. */
  readonly title?: Maybe<Scalars['String']['output']>;
  /** Its address, where it is public. */
  readonly url?: Maybe<Scalars['String']['output']>;
  /** Named weights, such as a multiplier for media bias. */
  readonly weight?: Maybe<Scalars['JSONObject']['output']>;
};

/** Where a page lies in its list. */
export type PageInfo = {
  readonly __typename?: 'PageInfo';
  /** The cursor of the last item, to be given as `after` for the next page; null on an empty page. */
  readonly endCursor?: Maybe<Scalars['String']['output']>;
  /** Whether items follow this page. */
  readonly hasNextPage: Scalars['Boolean']['output'];
  /** Whether items precede this page. */
  readonly hasPreviousPage: Scalars['Boolean']['output'];
  /** The cursor of the first item; null on an empty page. */
  readonly startCursor?: Maybe<Scalars['String']['output']>;
};

/** A market to publish. */
export type PublishMarketInput = {
  /** The market's identifier, a whole number. */
  readonly marketId: Scalars['ID']['input'];
};

/** A publication that has begun. */
export type PublishMarketResult = {
  readonly __typename?: 'PublishMarketResult';
  /** The jobs that were started. */
  readonly jobs: ReadonlyArray<Job>;
  /** The market's identifier. */
  readonly marketId: Scalars['ID']['output'];
};

/** The size of a change. */
export type Quantity = {
  readonly __typename?: 'Quantity';
  /** How the values are meant; null where the service uses an operator that it does not document. */
  readonly operator?: Maybe<QuantityOperator>;
  /** The unit: a percent sign, a currency, a physical unit. */
  readonly unit: Scalars['String']['output'];
  /** One value, or two for `RANGE`: the lower and the upper. */
  readonly values: ReadonlyArray<Scalars['Float']['output']>;
};

/** How the values of a quantity are meant. */
export type QuantityOperator =
  /** About the value (`~`). */
  | 'APPROXIMATELY'
  /** The value (`=`). */
  | 'EQUAL'
  /** More than the value (`>`). */
  | 'GREATER_THAN'
  /** The value or more (`>=`). */
  | 'GREATER_THAN_OR_EQUAL'
  /** Less than the value (`<`). */
  | 'LESS_THAN'
  /** The value or less (`<=`). */
  | 'LESS_THAN_OR_EQUAL'
  /** Between two values (`range`). */
  | 'RANGE';

/** Everything that can be read. Whatever needs an upstream call of its own is nullable: where that call fails, the field is null and `errors` says why. */
export type Query = {
  readonly __typename?: 'Query';
  /**
   * Events in the order in which the service lists them, which it does not specify. Upstream: `GET /v2/events-monitor/events`, one call wherever one page can hold the window, else two.
   * The API key must be subscribed to the events monitor.
   */
  readonly events?: Maybe<EventConnection>;
  /** The endpoints that the caller's team can export to, by name. No upstream call. */
  readonly exportEndpoints?: Maybe<ReadonlyArray<ExportEndpoint>>;
  /** The last 100 exports of the caller's team, the newest first. No upstream call. */
  readonly exports?: Maybe<ExportConnection>;
  /** A market, by its number. No upstream call by itself: each field calls only what it needs. */
  readonly market?: Maybe<Market>;
  /** One observation. Upstream: `GET /v2/events-monitor/observation/{id}`, batched and de-duplicated. An unknown id is `NOT_FOUND`. */
  readonly observation?: Maybe<Observation>;
  /** Names of markets that fit a keyword. Upstream: `POST /markets/suggest`. */
  readonly suggestMarkets?: Maybe<ReadonlyArray<Scalars['String']['output']>>;
  /** Who is asking. No upstream call. */
  readonly viewer?: Maybe<Viewer>;
};


/** Everything that can be read. Whatever needs an upstream call of its own is nullable: where that call fails, the field is null and `errors` says why. */
export type QueryEventsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<EventFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
};


/** Everything that can be read. Whatever needs an upstream call of its own is nullable: where that call fails, the field is null and `errors` says why. */
export type QueryExportsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
};


/** Everything that can be read. Whatever needs an upstream call of its own is nullable: where that call fails, the field is null and `errors` says why. */
export type QueryMarketArgs = {
  id: Scalars['ID']['input'];
};


/** Everything that can be read. Whatever needs an upstream call of its own is nullable: where that call fails, the field is null and `errors` says why. */
export type QueryObservationArgs = {
  id: Scalars['ID']['input'];
};


/** Everything that can be read. Whatever needs an upstream call of its own is nullable: where that call fails, the field is null and `errors` says why. */
export type QuerySuggestMarketsArgs = {
  keyword: Scalars['String']['input'];
};

/** An endpoint to be registered. */
export type RegisterExportEndpointInput = {
  /** One line, at most 1,024 characters. */
  readonly description: Scalars['String']['input'];
  /**
   * Headers to be sent with every call, at most 50, such as those that the endpoint recognises its callers by. Their values are sealed and
   * never shown. `Content-Type`, `Idempotency-Key` and those that belong to the connection cannot be set.
   */
  readonly headers?: InputMaybe<ReadonlyArray<ExportHeaderInput>>;
  /** Unique in the team, at most 255 characters. It cannot be changed: delete the endpoint and register it again. */
  readonly name: Scalars['String']['input'];
  /**
   * An `http` or `https` address on the internet, at most 1,024 characters; in production `https` only. Path and query may hold `{user.name}`
   * and `{user.email}`, which each export replaces with those of its user, percent-encoded.
   */
  readonly url: Scalars['String']['input'];
};

/** A free-text entity of an event. */
export type RelevantEntity = {
  readonly __typename?: 'RelevantEntity';
  /** What it is; null where the service does not say, or says something new. */
  readonly entityType?: Maybe<RelevantEntityType>;
  /** Its name. */
  readonly name?: Maybe<Scalars['String']['output']>;
  /** Where it comes from; seen: `inferred`, `explicit`. */
  readonly propertySource?: Maybe<Scalars['String']['output']>;
};

/** What a relevant entity is. */
export type RelevantEntityType =
  /** A category of goods or services. */
  | 'CATEGORY'
  /** A company. */
  | 'COMPANY'
  /** A country. */
  | 'COUNTRY'
  /** Any other place. */
  | 'LOCATION';

/** A decision about discovered companies. */
export type ReviewCompaniesInput = {
  /** The market's identifier, a whole number. */
  readonly marketId: Scalars['ID']['input'];
  /** The decision. */
  readonly reviewStatus: CompanyReviewStatus;
  /** The companies. */
  readonly target: ReviewTarget;
};

/** A decision that was carried out. */
export type ReviewCompaniesResult = {
  readonly __typename?: 'ReviewCompaniesResult';
  /** The market, for what to read next. */
  readonly market: Market;
  /** The market's identifier. */
  readonly marketId: Scalars['ID']['output'];
};

/** The companies that a decision is about: exactly one member. */
export type ReviewTarget =
  /** All of the market; must be true. */
  { readonly all: Scalars['Boolean']['input']; readonly domains?: never; }
  |  /** Those of these domains, 1 to 10,000. */
  { readonly all?: never; readonly domains: ReadonlyArray<Scalars['String']['input']>; };

/** What a discovery looks for. */
export type SearchCriteria = {
  readonly __typename?: 'SearchCriteria';
  /** Fields that the service sends and does not document. */
  readonly attributes?: Maybe<Scalars['JSONObject']['output']>;
  /** How many companies to find; null in new criteria. */
  readonly count?: Maybe<Scalars['Int']['output']>;
  /** Words to look for, and to avoid. */
  readonly keywords?: Maybe<SearchKeywords>;
  /** Where to look. */
  readonly locations: ReadonlyArray<SearchLocation>;
  /** The market's name. */
  readonly marketName?: Maybe<Scalars['String']['output']>;
  /** Seen: `serviceProvider`. */
  readonly marketRole?: Maybe<Scalars['String']['output']>;
  /** Seen: `service`. */
  readonly marketType?: Maybe<Scalars['String']['output']>;
  /** Whether to search; null in new criteria. */
  readonly performSearch?: Maybe<Scalars['Boolean']['output']>;
  /** Seen: `first_pass`. */
  readonly projectKind?: Maybe<Scalars['String']['output']>;
  /** Domains of companies to start from. */
  readonly seedDomains: ReadonlyArray<Scalars['String']['output']>;
  /** The question in natural language. */
  readonly userPrompt?: Maybe<Scalars['String']['output']>;
};

/** What a discovery is to look for, with every member that `SearchCriteria` has: criteria that were read can be sent back unchanged. A member that is null or left out is not sent. */
export type SearchCriteriaInput = {
  /** Fields that the service sends and does not document. It must hold none of the other members. */
  readonly attributes?: InputMaybe<Scalars['JSONObject']['input']>;
  /** How many companies to find, 1 or more. */
  readonly count?: InputMaybe<Scalars['Int']['input']>;
  /** Words to look for, and to avoid. */
  readonly keywords?: InputMaybe<SearchKeywordsInput>;
  /** Where to look, at most 300 countries. */
  readonly locations?: InputMaybe<ReadonlyArray<SearchLocationInput>>;
  /** The market's name, at most 10,000 characters. */
  readonly marketName?: InputMaybe<Scalars['String']['input']>;
  /** `serviceProvider` is known; at most 10,000 characters. */
  readonly marketRole?: InputMaybe<Scalars['String']['input']>;
  /** `service` is known; at most 10,000 characters. */
  readonly marketType?: InputMaybe<Scalars['String']['input']>;
  /** Whether to search. */
  readonly performSearch?: InputMaybe<Scalars['Boolean']['input']>;
  /** `first_pass` is known; at most 10,000 characters. */
  readonly projectKind?: InputMaybe<Scalars['String']['input']>;
  /** Domains of companies to start from, at most 10,000. */
  readonly seedDomains?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** The question in natural language, at most 10,000 characters. */
  readonly userPrompt?: InputMaybe<Scalars['String']['input']>;
};

/** The words of search criteria. */
export type SearchKeywords = {
  readonly __typename?: 'SearchKeywords';
  /** What the companies offer. */
  readonly features: ReadonlyArray<Scalars['String']['output']>;
  /** What is not meant. */
  readonly irrelevant: ReadonlyArray<Scalars['String']['output']>;
  /** Other words for it. */
  readonly synonyms: ReadonlyArray<Scalars['String']['output']>;
  /** Who uses it. */
  readonly user: ReadonlyArray<Scalars['String']['output']>;
};

/** The words of search criteria, at most 1,000 in each list, of at most 10,000 characters each. */
export type SearchKeywordsInput = {
  /** What the companies offer, at most 1,000. */
  readonly features: ReadonlyArray<Scalars['String']['input']>;
  /** What is not meant, at most 1,000. */
  readonly irrelevant: ReadonlyArray<Scalars['String']['input']>;
  /** Other words for it, at most 1,000. */
  readonly synonyms: ReadonlyArray<Scalars['String']['input']>;
  /** Who uses it, at most 1,000. */
  readonly user: ReadonlyArray<Scalars['String']['input']>;
};

/** A country to look in. */
export type SearchLocation = {
  readonly __typename?: 'SearchLocation';
  /** Two letters. */
  readonly countryCode: Scalars['String']['output'];
  /** Its name. */
  readonly countryName?: Maybe<Scalars['String']['output']>;
};

/** A country to look in. */
export type SearchLocationInput = {
  /** Two letters. */
  readonly countryCode: Scalars['String']['input'];
  /** Its name, at most 10,000 characters. */
  readonly countryName?: InputMaybe<Scalars['String']['input']>;
};

/** Who signs in, and the proof. */
export type SignInInput = {
  /** The e-mail address, at most 320 characters. */
  readonly email: Scalars['String']['input'];
  /** The password, at most 1,024 characters. */
  readonly password: Scalars['String']['input'];
};

/** A discovery to start. */
export type StartDiscoveryInput = {
  /** The market's identifier, a whole number. */
  readonly marketId: Scalars['ID']['input'];
  /** What to look for. */
  readonly searchCriteria: SearchCriteriaInput;
  /** Whether to skip the review of the companies found. */
  readonly skipDiscoveryReview: Scalars['Boolean']['input'];
};

/** What came of starting a discovery. */
export type StartDiscoveryResult = DiscoveryAlreadyRunning | DiscoveryStarted;

/** Everything that can be listened to, over WebSocket (`graphql-transport-ws`) at `/graphql` or as Server-Sent Events at `/graphql/stream`. */
export type Subscription = {
  readonly __typename?: 'Subscription';
  /**
   * Events that are new or updated since the subscription began, each once for each update, the oldest update first. The service is asked
   * every `POLL_INTERVAL_MS`, once for all who listen with the same credential and filter. A client that was away, however briefly, may miss
   * updates: it reads `events` again once it is connected.
   */
  readonly eventUpdates?: Maybe<Event>;
  /**
   * How the jobs of a market's phase stand: at once, then with each change, until every one has ended. The service is asked every
   * `POLL_INTERVAL_MS`, once for all who listen with the same credential. A refusal of the service (401, 403, 404) ends it with that error;
   * after any other failure it goes on trying.
   */
  readonly jobProgress?: Maybe<JobProgress>;
};


/** Everything that can be listened to, over WebSocket (`graphql-transport-ws`) at `/graphql` or as Server-Sent Events at `/graphql/stream`. */
export type SubscriptionEventUpdatesArgs = {
  filter?: InputMaybe<EventFilter>;
};


/** Everything that can be listened to, over WebSocket (`graphql-transport-ws`) at `/graphql` or as Server-Sent Events at `/graphql/stream`. */
export type SubscriptionJobProgressArgs = {
  marketId: Scalars['ID']['input'];
  phase: JobPhase;
};

/** Criteria to suggest keywords for. */
export type SuggestKeywordsInput = {
  /** The criteria. */
  readonly searchCriteria: SearchCriteriaInput;
};

/** A topic and the groups below it. */
export type Topic = {
  readonly __typename?: 'Topic';
  /** The groups below it. */
  readonly groups: ReadonlyArray<TopicGroup>;
  /** The topic's identifier. */
  readonly id: Scalars['ID']['output'];
  /** Its label. */
  readonly label: Scalars['String']['output'];
};

/** A group of a topic. */
export type TopicGroup = {
  readonly __typename?: 'TopicGroup';
  /** The group's identifier. */
  readonly id: Scalars['ID']['output'];
  /** Its label. */
  readonly label: Scalars['String']['output'];
};

/** An order of topics. */
export type TopicSort =
  /** By label, ascending. */
  | 'LABEL_ASC';

/** The text and the vector that stand for an event in similarity search. */
export type VectorIndex = {
  readonly __typename?: 'VectorIndex';
  /** What happened, without entities. */
  readonly anchorText?: Maybe<Scalars['String']['output']>;
  /** The embedding. Asking for it makes the answer much larger. */
  readonly embeddings?: Maybe<Scalars['Vector']['output']>;
  /** The model that made the embedding. */
  readonly embeddingsModelName?: Maybe<Scalars['String']['output']>;
};

/** Who is asking, as far as the gateway knows. */
export type Viewer = {
  readonly __typename?: 'Viewer';
  /** How the caller is authenticated. */
  readonly authentication: Authentication;
  /** The signed-in user's e-mail address. */
  readonly email?: Maybe<Scalars['String']['output']>;
  /** The signed-in user's name, where the service gave one. */
  readonly name?: Maybe<Scalars['String']['output']>;
  /**
   * The name of the caller's team. Without a teams file, each API key is a team of its own, with a name that stays the same and shows nothing
   * of the key; a signed-in user has none.
   */
  readonly team?: Maybe<Scalars['String']['output']>;
};



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
) => Maybe<TTypes> | Promise<Maybe<TTypes>>;

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
    | ( Omit<ExportDelivered, 'attempts'> & { attempts: ReadonlyArray<_RefType['ExportAttempt']> } )
    | ( Omit<ExportFailed, 'attempts'> & { attempts: ReadonlyArray<_RefType['ExportAttempt']> } )
    | ( Omit<ExportRejected, 'attempts'> & { attempts: ReadonlyArray<_RefType['ExportAttempt']> } )
  ;
  StartDiscoveryResult:
    | ( DiscoveryAlreadyRunningModel )
    | ( Omit<DiscoveryStarted, 'jobs'> & { jobs?: Maybe<ReadonlyArray<_RefType['Job']>> } )
  ;
};


/** Mapping between all available schema types and the resolvers types */
export type ResolversTypes = {
  AffectedDatapoint: ResolverTypeWrapper<AffectedDatapoint>;
  AlertType: ResolverTypeWrapper<AlertType>;
  Authentication: Authentication;
  Boolean: ResolverTypeWrapper<Scalars['Boolean']['output']>;
  ClusterLabel: ResolverTypeWrapper<ClusterLabel>;
  Company: ResolverTypeWrapper<CompanyModel>;
  CompanyConnection: ResolverTypeWrapper<Omit<CompanyConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['CompanyEdge']>, nodes: ReadonlyArray<ResolversTypes['Company']> }>;
  CompanyEdge: ResolverTypeWrapper<Omit<CompanyEdge, 'node'> & { node: ResolversTypes['Company'] }>;
  CompanyFilter: CompanyFilter;
  CompanyReviewStatus: CompanyReviewStatus;
  CreateSearchCriteriaInput: CreateSearchCriteriaInput;
  DateOrDateTime: ResolverTypeWrapper<Scalars['DateOrDateTime']['output']>;
  DateTime: ResolverTypeWrapper<Scalars['DateTime']['output']>;
  DeleteExportEndpointInput: DeleteExportEndpointInput;
  Direction: Direction;
  DiscoveryAlreadyRunning: ResolverTypeWrapper<DiscoveryAlreadyRunningModel>;
  DiscoveryStarted: ResolverTypeWrapper<Omit<DiscoveryStarted, 'jobs'> & { jobs?: Maybe<ReadonlyArray<ResolversTypes['Job']>> }>;
  EmbedSession: ResolverTypeWrapper<EmbedSession>;
  Event: ResolverTypeWrapper<EventModel>;
  EventConnection: ResolverTypeWrapper<Omit<EventConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['EventEdge']>, nodes: ReadonlyArray<ResolversTypes['Event']> }>;
  EventEdge: ResolverTypeWrapper<Omit<EventEdge, 'node'> & { node: ResolversTypes['Event'] }>;
  EventFilter: EventFilter;
  EventReference: ResolverTypeWrapper<Omit<EventReference, 'observation'> & { observation?: Maybe<ResolversTypes['Observation']> }>;
  EventSearchKeyword: ResolverTypeWrapper<EventSearchKeyword>;
  EventTimestamps: ResolverTypeWrapper<EventTimestamps>;
  Export: ResolverTypeWrapper<ExportRecordModel>;
  ExportAttempt: ResolverTypeWrapper<ExportAttempt>;
  ExportCompaniesInput: ExportCompaniesInput;
  ExportConnection: ResolverTypeWrapper<Omit<ExportConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['ExportEdge']>, nodes: ReadonlyArray<ResolversTypes['Export']> }>;
  ExportDelivered: ResolverTypeWrapper<Omit<ExportDelivered, 'attempts'> & { attempts: ReadonlyArray<ResolversTypes['ExportAttempt']> }>;
  ExportEdge: ResolverTypeWrapper<Omit<ExportEdge, 'node'> & { node: ResolversTypes['Export'] }>;
  ExportEndpoint: ResolverTypeWrapper<ExportEndpoint>;
  ExportFailed: ResolverTypeWrapper<Omit<ExportFailed, 'attempts'> & { attempts: ReadonlyArray<ResolversTypes['ExportAttempt']> }>;
  ExportFault: ExportFault;
  ExportHeaderInput: ExportHeaderInput;
  ExportMarketCsvInput: ExportMarketCsvInput;
  ExportMarketCsvResult: ResolverTypeWrapper<ExportMarketCsvResult>;
  ExportMarketToEndpointInput: ExportMarketToEndpointInput;
  ExportOutcome: ExportOutcome;
  ExportPageInput: ExportPageInput;
  ExportReference: ResolverTypeWrapper<ExportReference>;
  ExportReferenceType: ExportReferenceType;
  ExportRejected: ResolverTypeWrapper<Omit<ExportRejected, 'attempts'> & { attempts: ReadonlyArray<ResolversTypes['ExportAttempt']> }>;
  ExportResult: ResolverTypeWrapper<ResolversUnionTypes<ResolversTypes>['ExportResult']>;
  ExportUserInput: ExportUserInput;
  Float: ResolverTypeWrapper<Scalars['Float']['output']>;
  ID: ResolverTypeWrapper<Scalars['ID']['output']>;
  Impact: ResolverTypeWrapper<Impact>;
  ImpactedEntity: ResolverTypeWrapper<ImpactedEntity>;
  Int: ResolverTypeWrapper<Scalars['Int']['output']>;
  JSONObject: ResolverTypeWrapper<Scalars['JSONObject']['output']>;
  Job: ResolverTypeWrapper<JobModel>;
  JobPhase: JobPhase;
  JobProgress: ResolverTypeWrapper<Omit<JobProgress, 'jobs'> & { jobs: ReadonlyArray<ResolversTypes['Job']> }>;
  Market: ResolverTypeWrapper<MarketModel>;
  MarketReviewStatus: MarketReviewStatus;
  Mutation: ResolverTypeWrapper<Record<PropertyKey, never>>;
  NaicsCode: ResolverTypeWrapper<NaicsCode>;
  Observation: ResolverTypeWrapper<ObservationModel>;
  PageInfo: ResolverTypeWrapper<PageInfo>;
  PublishMarketInput: PublishMarketInput;
  PublishMarketResult: ResolverTypeWrapper<Omit<PublishMarketResult, 'jobs'> & { jobs: ReadonlyArray<ResolversTypes['Job']> }>;
  Quantity: ResolverTypeWrapper<Quantity>;
  QuantityOperator: QuantityOperator;
  Query: ResolverTypeWrapper<Record<PropertyKey, never>>;
  RegisterExportEndpointInput: RegisterExportEndpointInput;
  RelevantEntity: ResolverTypeWrapper<RelevantEntity>;
  RelevantEntityType: RelevantEntityType;
  ReviewCompaniesInput: ReviewCompaniesInput;
  ReviewCompaniesResult: ResolverTypeWrapper<Omit<ReviewCompaniesResult, 'market'> & { market: ResolversTypes['Market'] }>;
  ReviewTarget: ReviewTarget;
  SearchCriteria: ResolverTypeWrapper<SearchCriteriaModel>;
  SearchCriteriaInput: SearchCriteriaInput;
  SearchKeywords: ResolverTypeWrapper<SearchKeywords>;
  SearchKeywordsInput: SearchKeywordsInput;
  SearchLocation: ResolverTypeWrapper<SearchLocation>;
  SearchLocationInput: SearchLocationInput;
  SignInInput: SignInInput;
  StartDiscoveryInput: StartDiscoveryInput;
  StartDiscoveryResult: ResolverTypeWrapper<ResolversUnionTypes<ResolversTypes>['StartDiscoveryResult']>;
  String: ResolverTypeWrapper<Scalars['String']['output']>;
  Subscription: ResolverTypeWrapper<Record<PropertyKey, never>>;
  SuggestKeywordsInput: SuggestKeywordsInput;
  Topic: ResolverTypeWrapper<TopicModel>;
  TopicGroup: ResolverTypeWrapper<TopicGroup>;
  TopicSort: TopicSort;
  Vector: ResolverTypeWrapper<Scalars['Vector']['output']>;
  VectorIndex: ResolverTypeWrapper<VectorIndex>;
  Viewer: ResolverTypeWrapper<Viewer>;
};

/** Mapping between all available schema types and the resolvers parents */
export type ResolversParentTypes = {
  AffectedDatapoint: AffectedDatapoint;
  AlertType: AlertType;
  Boolean: Scalars['Boolean']['output'];
  ClusterLabel: ClusterLabel;
  Company: CompanyModel;
  CompanyConnection: Omit<CompanyConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['CompanyEdge']>, nodes: ReadonlyArray<ResolversParentTypes['Company']> };
  CompanyEdge: Omit<CompanyEdge, 'node'> & { node: ResolversParentTypes['Company'] };
  CompanyFilter: CompanyFilter;
  CreateSearchCriteriaInput: CreateSearchCriteriaInput;
  DateOrDateTime: Scalars['DateOrDateTime']['output'];
  DateTime: Scalars['DateTime']['output'];
  DeleteExportEndpointInput: DeleteExportEndpointInput;
  DiscoveryAlreadyRunning: DiscoveryAlreadyRunningModel;
  DiscoveryStarted: Omit<DiscoveryStarted, 'jobs'> & { jobs?: Maybe<ReadonlyArray<ResolversParentTypes['Job']>> };
  EmbedSession: EmbedSession;
  Event: EventModel;
  EventConnection: Omit<EventConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['EventEdge']>, nodes: ReadonlyArray<ResolversParentTypes['Event']> };
  EventEdge: Omit<EventEdge, 'node'> & { node: ResolversParentTypes['Event'] };
  EventFilter: EventFilter;
  EventReference: Omit<EventReference, 'observation'> & { observation?: Maybe<ResolversParentTypes['Observation']> };
  EventSearchKeyword: EventSearchKeyword;
  EventTimestamps: EventTimestamps;
  Export: ExportRecordModel;
  ExportAttempt: ExportAttempt;
  ExportCompaniesInput: ExportCompaniesInput;
  ExportConnection: Omit<ExportConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['ExportEdge']>, nodes: ReadonlyArray<ResolversParentTypes['Export']> };
  ExportDelivered: Omit<ExportDelivered, 'attempts'> & { attempts: ReadonlyArray<ResolversParentTypes['ExportAttempt']> };
  ExportEdge: Omit<ExportEdge, 'node'> & { node: ResolversParentTypes['Export'] };
  ExportEndpoint: ExportEndpoint;
  ExportFailed: Omit<ExportFailed, 'attempts'> & { attempts: ReadonlyArray<ResolversParentTypes['ExportAttempt']> };
  ExportHeaderInput: ExportHeaderInput;
  ExportMarketCsvInput: ExportMarketCsvInput;
  ExportMarketCsvResult: ExportMarketCsvResult;
  ExportMarketToEndpointInput: ExportMarketToEndpointInput;
  ExportPageInput: ExportPageInput;
  ExportReference: ExportReference;
  ExportRejected: Omit<ExportRejected, 'attempts'> & { attempts: ReadonlyArray<ResolversParentTypes['ExportAttempt']> };
  ExportResult: ResolversUnionTypes<ResolversParentTypes>['ExportResult'];
  ExportUserInput: ExportUserInput;
  Float: Scalars['Float']['output'];
  ID: Scalars['ID']['output'];
  Impact: Impact;
  ImpactedEntity: ImpactedEntity;
  Int: Scalars['Int']['output'];
  JSONObject: Scalars['JSONObject']['output'];
  Job: JobModel;
  JobProgress: Omit<JobProgress, 'jobs'> & { jobs: ReadonlyArray<ResolversParentTypes['Job']> };
  Market: MarketModel;
  Mutation: Record<PropertyKey, never>;
  NaicsCode: NaicsCode;
  Observation: ObservationModel;
  PageInfo: PageInfo;
  PublishMarketInput: PublishMarketInput;
  PublishMarketResult: Omit<PublishMarketResult, 'jobs'> & { jobs: ReadonlyArray<ResolversParentTypes['Job']> };
  Quantity: Quantity;
  Query: Record<PropertyKey, never>;
  RegisterExportEndpointInput: RegisterExportEndpointInput;
  RelevantEntity: RelevantEntity;
  ReviewCompaniesInput: ReviewCompaniesInput;
  ReviewCompaniesResult: Omit<ReviewCompaniesResult, 'market'> & { market: ResolversParentTypes['Market'] };
  ReviewTarget: ReviewTarget;
  SearchCriteria: SearchCriteriaModel;
  SearchCriteriaInput: SearchCriteriaInput;
  SearchKeywords: SearchKeywords;
  SearchKeywordsInput: SearchKeywordsInput;
  SearchLocation: SearchLocation;
  SearchLocationInput: SearchLocationInput;
  SignInInput: SignInInput;
  StartDiscoveryInput: StartDiscoveryInput;
  StartDiscoveryResult: ResolversUnionTypes<ResolversParentTypes>['StartDiscoveryResult'];
  String: Scalars['String']['output'];
  Subscription: Record<PropertyKey, never>;
  SuggestKeywordsInput: SuggestKeywordsInput;
  Topic: TopicModel;
  TopicGroup: TopicGroup;
  Vector: Scalars['Vector']['output'];
  VectorIndex: VectorIndex;
  Viewer: Viewer;
};

export type CacheControlDirectiveArgs = {
  maxAge: Scalars['Int']['input'];
};

export type CacheControlDirectiveResolver<Result, Parent, ContextType = Context, Args = CacheControlDirectiveArgs> = DirectiveResolverFn<Result, Parent, ContextType, Args>;

export type AffectedDatapointResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AffectedDatapoint'] = ResolversParentTypes['AffectedDatapoint']> = {
  direction?: Resolver<Maybe<ResolversTypes['Direction']>, ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  quantity?: Resolver<Maybe<ResolversTypes['Quantity']>, ParentType, ContextType>;
  subject?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type AlertTypeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AlertType'] = ResolversParentTypes['AlertType']> = {
  mappedFrom?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  method?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  rationale?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  similarity?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
};

export type ClusterLabelResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ClusterLabel'] = ResolversParentTypes['ClusterLabel']> = {
  label?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  method?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type CompanyResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Company'] = ResolversParentTypes['Company']> = {
  actualRevenue?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  attributes?: Resolver<Maybe<ResolversTypes['JSONObject']>, ParentType, ContextType>;
  contactEmail?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  contactNumber?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  description?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  domain?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  dunsNumbers?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  esg?: Resolver<Maybe<ResolversTypes['JSONObject']>, ParentType, ContextType>;
  events?: Resolver<Maybe<ResolversTypes['EventConnection']>, ParentType, ContextType, RequireFields<CompanyEventsArgs, 'first'>>;
  naics?: Resolver<ReadonlyArray<ResolversTypes['NaicsCode']>, ParentType, ContextType>;
  name?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  operatesIn?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  overallMomentum?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
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

export interface DateOrDateTimeScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['DateOrDateTime'], any> {
  name: 'DateOrDateTime';
}

export interface DateTimeScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['DateTime'], any> {
  name: 'DateTime';
}

export type DiscoveryAlreadyRunningResolvers<ContextType = Context, ParentType extends ResolversParentTypes['DiscoveryAlreadyRunning'] = ResolversParentTypes['DiscoveryAlreadyRunning']> = {
  jobs?: Resolver<Maybe<ReadonlyArray<ResolversTypes['Job']>>, ParentType, ContextType>;
  marketId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type DiscoveryStartedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['DiscoveryStarted'] = ResolversParentTypes['DiscoveryStarted']> = {
  jobs?: Resolver<Maybe<ReadonlyArray<ResolversTypes['Job']>>, ParentType, ContextType>;
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
  lastUpdated?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  references?: Resolver<ReadonlyArray<ResolversTypes['EventReference']>, ParentType, ContextType>;
  relevantEntities?: Resolver<ReadonlyArray<ResolversTypes['RelevantEntity']>, ParentType, ContextType>;
  summary?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  timestamps?: Resolver<ResolversTypes['EventTimestamps'], ParentType, ContextType>;
  title?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  vectorIndex?: Resolver<Maybe<ResolversTypes['VectorIndex']>, ParentType, ContextType>;
};

export type EventConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventConnection'] = ResolversParentTypes['EventConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['EventEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Event']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  unfilteredTotalCount?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
};

export type EventEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventEdge'] = ResolversParentTypes['EventEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Event'], ParentType, ContextType>;
};

export type EventReferenceResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventReference'] = ResolversParentTypes['EventReference']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  observation?: Resolver<Maybe<ResolversTypes['Observation']>, ParentType, ContextType>;
  title?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  url?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type EventSearchKeywordResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventSearchKeyword'] = ResolversParentTypes['EventSearchKeyword']> = {
  keyword?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  propertySource?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type EventTimestampsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventTimestamps'] = ResolversParentTypes['EventTimestamps']> = {
  projectedEnd?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  projectedStart?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  published?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  recordedEnd?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  recordedStart?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
};

export type ExportResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Export'] = ResolversParentTypes['Export']> = {
  attempts?: Resolver<ReadonlyArray<ResolversTypes['ExportAttempt']>, ParentType, ContextType>;
  by?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  endpoint?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  finishedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  idempotencyKey?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  marketId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  outcome?: Resolver<ResolversTypes['ExportOutcome'], ParentType, ContextType>;
  result?: Resolver<Maybe<ResolversTypes['ExportResult']>, ParentType, ContextType>;
  selected?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  sent?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  startedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  user?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type ExportAttemptResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportAttempt'] = ResolversParentTypes['ExportAttempt']> = {
  fault?: Resolver<Maybe<ResolversTypes['ExportFault']>, ParentType, ContextType>;
  milliseconds?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  startedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  status?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
};

export type ExportConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportConnection'] = ResolversParentTypes['ExportConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['ExportEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Export']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type ExportDeliveredResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportDelivered'] = ResolversParentTypes['ExportDelivered']> = {
  attempts?: Resolver<ReadonlyArray<ResolversTypes['ExportAttempt']>, ParentType, ContextType>;
  exportId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  message?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  messageText?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  redirectUrl?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  title?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type ExportEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportEdge'] = ResolversParentTypes['ExportEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Export'], ParentType, ContextType>;
};

export type ExportEndpointResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportEndpoint'] = ResolversParentTypes['ExportEndpoint']> = {
  description?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  headerNames?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  url?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ExportFailedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportFailed'] = ResolversParentTypes['ExportFailed']> = {
  attempts?: Resolver<ReadonlyArray<ResolversTypes['ExportAttempt']>, ParentType, ContextType>;
  exportId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  message?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  outcome?: Resolver<ResolversTypes['ExportOutcome'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type ExportMarketCsvResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportMarketCsvResult'] = ResolversParentTypes['ExportMarketCsvResult']> = {
  downloadLink?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ExportReferenceResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportReference'] = ResolversParentTypes['ExportReference']> = {
  message?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  title?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  type?: Resolver<ResolversTypes['ExportReferenceType'], ParentType, ContextType>;
  url?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type ExportRejectedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportRejected'] = ResolversParentTypes['ExportRejected']> = {
  attempts?: Resolver<ReadonlyArray<ResolversTypes['ExportAttempt']>, ParentType, ContextType>;
  exportId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  message?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  messageText?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  references?: Resolver<ReadonlyArray<ResolversTypes['ExportReference']>, ParentType, ContextType>;
  title?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type ExportResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportResult'] = ResolversParentTypes['ExportResult']> = {
  __resolveType: TypeResolveFn<'ExportDelivered' | 'ExportFailed' | 'ExportRejected', ParentType, ContextType>;
};

export type ImpactResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Impact'] = ResolversParentTypes['Impact']> = {
  likelihood?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  rationale?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  severity?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
};

export type ImpactedEntityResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ImpactedEntity'] = ResolversParentTypes['ImpactedEntity']> = {
  entityType?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  impact?: Resolver<Maybe<ResolversTypes['Impact']>, ParentType, ContextType>;
  mappedFrom?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export interface JsonObjectScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['JSONObject'], any> {
  name: 'JSONObject';
}

export type JobResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Job'] = ResolversParentTypes['Job']> = {
  endTime?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  finished?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  progress?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  startTime?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  status?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  workflowName?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type JobProgressResolvers<ContextType = Context, ParentType extends ResolversParentTypes['JobProgress'] = ResolversParentTypes['JobProgress']> = {
  finished?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  jobs?: Resolver<ReadonlyArray<ResolversTypes['Job']>, ParentType, ContextType>;
  marketId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  observedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  phase?: Resolver<ResolversTypes['JobPhase'], ParentType, ContextType>;
};

export type MarketResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Market'] = ResolversParentTypes['Market']> = {
  companies?: Resolver<Maybe<ResolversTypes['CompanyConnection']>, ParentType, ContextType, RequireFields<MarketCompaniesArgs, 'first'>>;
  company?: Resolver<Maybe<ResolversTypes['Company']>, ParentType, ContextType, RequireFields<MarketCompanyArgs, 'domain'>>;
  companyCount?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  dateCreated?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  description?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  esg?: Resolver<Maybe<ResolversTypes['JSONObject']>, ParentType, ContextType>;
  headerImageUrl?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  jobs?: Resolver<Maybe<ReadonlyArray<ResolversTypes['Job']>>, ParentType, ContextType, RequireFields<MarketJobsArgs, 'phase'>>;
  name?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  reviewStatus?: Resolver<Maybe<ResolversTypes['MarketReviewStatus']>, ParentType, ContextType>;
  searchCriteria?: Resolver<Maybe<ResolversTypes['SearchCriteria']>, ParentType, ContextType>;
  searchCriteriaHistory?: Resolver<Maybe<ReadonlyArray<ResolversTypes['SearchCriteria']>>, ParentType, ContextType>;
  subtitle?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  topics?: Resolver<Maybe<ReadonlyArray<ResolversTypes['Topic']>>, ParentType, ContextType, Partial<MarketTopicsArgs>>;
};

export type MutationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  createEmbedSession?: Resolver<Maybe<ResolversTypes['EmbedSession']>, ParentType, ContextType>;
  createSearchCriteria?: Resolver<Maybe<ResolversTypes['SearchCriteria']>, ParentType, ContextType, RequireFields<MutationCreateSearchCriteriaArgs, 'input'>>;
  deleteExportEndpoint?: Resolver<Maybe<ResolversTypes['ExportEndpoint']>, ParentType, ContextType, RequireFields<MutationDeleteExportEndpointArgs, 'input'>>;
  exportMarketCsv?: Resolver<Maybe<ResolversTypes['ExportMarketCsvResult']>, ParentType, ContextType, RequireFields<MutationExportMarketCsvArgs, 'input'>>;
  exportMarketToEndpoint?: Resolver<Maybe<ResolversTypes['ExportResult']>, ParentType, ContextType, RequireFields<MutationExportMarketToEndpointArgs, 'input'>>;
  publishMarket?: Resolver<Maybe<ResolversTypes['PublishMarketResult']>, ParentType, ContextType, RequireFields<MutationPublishMarketArgs, 'input'>>;
  registerExportEndpoint?: Resolver<Maybe<ResolversTypes['ExportEndpoint']>, ParentType, ContextType, RequireFields<MutationRegisterExportEndpointArgs, 'input'>>;
  reviewCompanies?: Resolver<Maybe<ResolversTypes['ReviewCompaniesResult']>, ParentType, ContextType, RequireFields<MutationReviewCompaniesArgs, 'input'>>;
  signIn?: Resolver<Maybe<ResolversTypes['Viewer']>, ParentType, ContextType, RequireFields<MutationSignInArgs, 'input'>>;
  signOut?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  startDiscovery?: Resolver<Maybe<ResolversTypes['StartDiscoveryResult']>, ParentType, ContextType, RequireFields<MutationStartDiscoveryArgs, 'input'>>;
  suggestKeywords?: Resolver<Maybe<ReadonlyArray<ResolversTypes['String']>>, ParentType, ContextType, RequireFields<MutationSuggestKeywordsArgs, 'input'>>;
};

export type NaicsCodeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['NaicsCode'] = ResolversParentTypes['NaicsCode']> = {
  code?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  isPrimary?: Resolver<Maybe<ResolversTypes['Boolean']>, ParentType, ContextType>;
  level?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  name?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type ObservationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Observation'] = ResolversParentTypes['Observation']> = {
  addedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  clusterLabel?: Resolver<Maybe<ResolversTypes['ClusterLabel']>, ParentType, ContextType>;
  content?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  dedupeId?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  publishedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  sourceService?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  textEmbedding?: Resolver<Maybe<ResolversTypes['Vector']>, ParentType, ContextType>;
  title?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  url?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  weight?: Resolver<Maybe<ResolversTypes['JSONObject']>, ParentType, ContextType>;
};

export type PageInfoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PageInfo'] = ResolversParentTypes['PageInfo']> = {
  endCursor?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  hasNextPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  hasPreviousPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  startCursor?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type PublishMarketResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PublishMarketResult'] = ResolversParentTypes['PublishMarketResult']> = {
  jobs?: Resolver<ReadonlyArray<ResolversTypes['Job']>, ParentType, ContextType>;
  marketId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type QuantityResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Quantity'] = ResolversParentTypes['Quantity']> = {
  operator?: Resolver<Maybe<ResolversTypes['QuantityOperator']>, ParentType, ContextType>;
  unit?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  values?: Resolver<ReadonlyArray<ResolversTypes['Float']>, ParentType, ContextType>;
};

export type QueryResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  events?: Resolver<Maybe<ResolversTypes['EventConnection']>, ParentType, ContextType, RequireFields<QueryEventsArgs, 'first'>>;
  exportEndpoints?: Resolver<Maybe<ReadonlyArray<ResolversTypes['ExportEndpoint']>>, ParentType, ContextType>;
  exports?: Resolver<Maybe<ResolversTypes['ExportConnection']>, ParentType, ContextType, RequireFields<QueryExportsArgs, 'first'>>;
  market?: Resolver<Maybe<ResolversTypes['Market']>, ParentType, ContextType, RequireFields<QueryMarketArgs, 'id'>>;
  observation?: Resolver<Maybe<ResolversTypes['Observation']>, ParentType, ContextType, RequireFields<QueryObservationArgs, 'id'>>;
  suggestMarkets?: Resolver<Maybe<ReadonlyArray<ResolversTypes['String']>>, ParentType, ContextType, RequireFields<QuerySuggestMarketsArgs, 'keyword'>>;
  viewer?: Resolver<Maybe<ResolversTypes['Viewer']>, ParentType, ContextType>;
};

export type RelevantEntityResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RelevantEntity'] = ResolversParentTypes['RelevantEntity']> = {
  entityType?: Resolver<Maybe<ResolversTypes['RelevantEntityType']>, ParentType, ContextType>;
  name?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  propertySource?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type ReviewCompaniesResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ReviewCompaniesResult'] = ResolversParentTypes['ReviewCompaniesResult']> = {
  market?: Resolver<ResolversTypes['Market'], ParentType, ContextType>;
  marketId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type SearchCriteriaResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SearchCriteria'] = ResolversParentTypes['SearchCriteria']> = {
  attributes?: Resolver<Maybe<ResolversTypes['JSONObject']>, ParentType, ContextType>;
  count?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  keywords?: Resolver<Maybe<ResolversTypes['SearchKeywords']>, ParentType, ContextType>;
  locations?: Resolver<ReadonlyArray<ResolversTypes['SearchLocation']>, ParentType, ContextType>;
  marketName?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  marketRole?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  marketType?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  performSearch?: Resolver<Maybe<ResolversTypes['Boolean']>, ParentType, ContextType>;
  projectKind?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  seedDomains?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  userPrompt?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type SearchKeywordsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SearchKeywords'] = ResolversParentTypes['SearchKeywords']> = {
  features?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  irrelevant?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  synonyms?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  user?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
};

export type SearchLocationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SearchLocation'] = ResolversParentTypes['SearchLocation']> = {
  countryCode?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  countryName?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type StartDiscoveryResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StartDiscoveryResult'] = ResolversParentTypes['StartDiscoveryResult']> = {
  __resolveType: TypeResolveFn<'DiscoveryAlreadyRunning' | 'DiscoveryStarted', ParentType, ContextType>;
};

export type SubscriptionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Subscription'] = ResolversParentTypes['Subscription']> = {
  eventUpdates?: SubscriptionResolver<Maybe<ResolversTypes['Event']>, "eventUpdates", ParentType, ContextType, Partial<SubscriptionEventUpdatesArgs>>;
  jobProgress?: SubscriptionResolver<Maybe<ResolversTypes['JobProgress']>, "jobProgress", ParentType, ContextType, RequireFields<SubscriptionJobProgressArgs, 'marketId' | 'phase'>>;
};

export type TopicResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Topic'] = ResolversParentTypes['Topic']> = {
  groups?: Resolver<ReadonlyArray<ResolversTypes['TopicGroup']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  label?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type TopicGroupResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TopicGroup'] = ResolversParentTypes['TopicGroup']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  label?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export interface VectorScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['Vector'], any> {
  name: 'Vector';
}

export type VectorIndexResolvers<ContextType = Context, ParentType extends ResolversParentTypes['VectorIndex'] = ResolversParentTypes['VectorIndex']> = {
  anchorText?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  embeddings?: Resolver<Maybe<ResolversTypes['Vector']>, ParentType, ContextType>;
  embeddingsModelName?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type ViewerResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Viewer'] = ResolversParentTypes['Viewer']> = {
  authentication?: Resolver<ResolversTypes['Authentication'], ParentType, ContextType>;
  email?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  name?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  team?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type Resolvers<ContextType = Context> = {
  AffectedDatapoint?: AffectedDatapointResolvers<ContextType>;
  AlertType?: AlertTypeResolvers<ContextType>;
  ClusterLabel?: ClusterLabelResolvers<ContextType>;
  Company?: CompanyResolvers<ContextType>;
  CompanyConnection?: CompanyConnectionResolvers<ContextType>;
  CompanyEdge?: CompanyEdgeResolvers<ContextType>;
  DateOrDateTime?: GraphQLScalarType;
  DateTime?: GraphQLScalarType;
  DiscoveryAlreadyRunning?: DiscoveryAlreadyRunningResolvers<ContextType>;
  DiscoveryStarted?: DiscoveryStartedResolvers<ContextType>;
  EmbedSession?: EmbedSessionResolvers<ContextType>;
  Event?: EventResolvers<ContextType>;
  EventConnection?: EventConnectionResolvers<ContextType>;
  EventEdge?: EventEdgeResolvers<ContextType>;
  EventReference?: EventReferenceResolvers<ContextType>;
  EventSearchKeyword?: EventSearchKeywordResolvers<ContextType>;
  EventTimestamps?: EventTimestampsResolvers<ContextType>;
  Export?: ExportResolvers<ContextType>;
  ExportAttempt?: ExportAttemptResolvers<ContextType>;
  ExportConnection?: ExportConnectionResolvers<ContextType>;
  ExportDelivered?: ExportDeliveredResolvers<ContextType>;
  ExportEdge?: ExportEdgeResolvers<ContextType>;
  ExportEndpoint?: ExportEndpointResolvers<ContextType>;
  ExportFailed?: ExportFailedResolvers<ContextType>;
  ExportMarketCsvResult?: ExportMarketCsvResultResolvers<ContextType>;
  ExportReference?: ExportReferenceResolvers<ContextType>;
  ExportRejected?: ExportRejectedResolvers<ContextType>;
  ExportResult?: ExportResultResolvers<ContextType>;
  Impact?: ImpactResolvers<ContextType>;
  ImpactedEntity?: ImpactedEntityResolvers<ContextType>;
  JSONObject?: GraphQLScalarType;
  Job?: JobResolvers<ContextType>;
  JobProgress?: JobProgressResolvers<ContextType>;
  Market?: MarketResolvers<ContextType>;
  Mutation?: MutationResolvers<ContextType>;
  NaicsCode?: NaicsCodeResolvers<ContextType>;
  Observation?: ObservationResolvers<ContextType>;
  PageInfo?: PageInfoResolvers<ContextType>;
  PublishMarketResult?: PublishMarketResultResolvers<ContextType>;
  Quantity?: QuantityResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  RelevantEntity?: RelevantEntityResolvers<ContextType>;
  ReviewCompaniesResult?: ReviewCompaniesResultResolvers<ContextType>;
  SearchCriteria?: SearchCriteriaResolvers<ContextType>;
  SearchKeywords?: SearchKeywordsResolvers<ContextType>;
  SearchLocation?: SearchLocationResolvers<ContextType>;
  StartDiscoveryResult?: StartDiscoveryResultResolvers<ContextType>;
  Subscription?: SubscriptionResolvers<ContextType>;
  Topic?: TopicResolvers<ContextType>;
  TopicGroup?: TopicGroupResolvers<ContextType>;
  Vector?: GraphQLScalarType;
  VectorIndex?: VectorIndexResolvers<ContextType>;
  Viewer?: ViewerResolvers<ContextType>;
};

export type DirectiveResolvers<ContextType = Context> = {
  cacheControl?: CacheControlDirectiveResolver<any, any, ContextType>;
};
