/** The resources of the service, with its own names (docs/upstream-api.md: The upstream interface). Times are UTC ISO 8601. */

type EntityType = 'company' | 'category' | 'country' | 'location';
type PropertySource = 'inferred' | 'explicit';
export type Direction = 'up' | 'down' | 'fluctuate' | 'unknown';
export type Operator = '>' | '<' | '>=' | '<=' | '=' | '~' | 'range';

interface Quantity {
  operator: Operator;
  values: number[];
  unit: string;
}

interface AffectedDatapoint {
  name: string;
  subject: string | null;
  direction: Direction | null;
  quantity: Quantity | null;
}

interface AlertType {
  name: string;
  mappedFrom: string;
  method: string;
  similarity: number;
  rationale: string;
}

/** `likelihood` and `severity` are integers from 0 to 3. */
interface ImpactedEntity {
  name: string;
  entityType: string;
  mappedFrom: string;
  impact: { likelihood: number; severity: number; rationale: string };
}

export interface TaxonomicMatches {
  affectedDatapoints: AffectedDatapoint[];
  alertTypes: AlertType[];
  impactedEntities: ImpactedEntity[];
}

interface Timestamps {
  published?: string | null;
  recordedStart?: string | null;
  recordedEnd?: string | null;
  projectedStart?: string | null;
  projectedEnd?: string | null;
}

export interface MarketEvent {
  _id: string;
  title: string;
  summary: string;
  vectorIndex: { anchorText: string | null; embeddings: readonly number[] | null; embeddingsModelName: string | null };
  eventSearchKeywords: { keyword: string | null; propertySource: PropertySource | null }[];
  relevantEntities: { name: string | null; entityType: EntityType | null; propertySource: PropertySource | null }[];
  timestamps: Timestamps;
  references: { _id: string; title: string; url?: string }[];
  lastUpdated: string;
  taxonomicMatches: TaxonomicMatches;
}

export interface Observation {
  _id: string;
  dedupeId: string;
  sourceService: string;
  title: string;
  content: string[];
  textEmbedding: readonly number[];
  weight: Record<string, number>;
  publishedAt: string;
  addedAt: string;
  clusterLabel?: { label: number; method: string };
  url?: string;
}

type MarketReviewStatus = 'published' | 'draft' | 'reviewing';

export interface MarketRecord {
  id: number;
  name: string;
  subtitle: string;
  description: string;
  date_created: string;
  company_count: number;
  header_image_url: string;
  review_status: MarketReviewStatus;
}

export interface Topic {
  topicId: number;
  label: string;
  groups: { topicId: number; label: string }[];
}

export interface Job {
  jobId: number;
  workflowName: string;
  startTime: string;
}

/** `jobProgress` is a percentage. `endTime` is null until the job has ended. */
export interface JobStatus extends Job {
  jobProgress: number;
  status: string;
  endTime: string | null;
}

/** Null: not reviewed yet. */
export type CompanyReviewStatus = 'include' | 'exclude' | null;

/** The fields of the export payload and, from `score` on, those that only the companies endpoint has. */
export interface Company {
  domain: string;
  name: string;
  description: string;
  overallMomentum: number;
  contactNumber: string | null;
  contactEmail: string | null;
  actualRevenue: number;
  naics: { code: string; name: string; level: number; isPrimary: boolean }[];
  operatesIn: string[];
  dunsNumbers: string[];
  score: number;
  reviewStatus: CompanyReviewStatus;
  employeeCount: number;
  foundedYear: number;
  headquarters: { city: string; countryCode: string };
}

/** Scores from 0 to 100. */
export interface EsgRecord {
  domain: string;
  environment: number;
  social: number;
  governance: number;
  overall: number;
  rating: string;
  controversies: number;
  assessedAt: string;
}
