// The markets of the sandbox: their records, jobs, reviews and publication.
import type { SearchCriteria } from './criteria.js';
import { hasEnded, started, statusOfJob, type TimedJob } from './jobs.js';
import { Problem } from './problem.js';
import type { Company, CompanyReviewStatus, MarketRecord, WorldMarket } from './world/markets.js';

const DAY = 86_400_000;

/** Duration of the jobs of a discovery and of a publication, in milliseconds. */
export interface Durations {
  discoveryMs: number;
  publishMs: number;
}

/** Duration of each publication job as a fraction of the whole publication. */
const PUBLISH_JOBS: Readonly<Record<string, number>> = { enrichment: 0.75, scrape: 0.5, web_traffic: 1 };

/** What takes effect when its jobs have ended. */
interface Pending {
  jobs: readonly TimedJob[];
  apply(): void;
}

/** One market with its discovery, review and publication (docs/upstream-api.md: Discovery workflow). */
export class Market {
  readonly #world: WorldMarket;
  readonly #durations: Durations;
  readonly #nextJobId: () => number;
  readonly #now: () => number;
  readonly #reviews = new Map<string, CompanyReviewStatus>();
  readonly #criteria: SearchCriteria[];
  #record: MarketRecord;
  #discovered: readonly Company[];
  #published: ReadonlySet<string> | undefined;
  #discovery: TimedJob | undefined;
  #publication: TimedJob[];
  readonly #pending = new Map<'discovery' | 'publication', Pending>();

  constructor(world: WorldMarket, durations: Durations, nextJobId: () => number, now: () => number) {
    this.#world = world;
    this.#durations = durations;
    this.#nextJobId = nextJobId;
    this.#now = now;
    this.#record = world.record;
    this.#criteria = [...world.criteria];
    const { review_status: status } = world.record;
    this.#discovered = status === 'draft' ? [] : world.companies;
    for (const { domain, reviewStatus } of this.#discovered) this.#reviews.set(domain, reviewStatus);
    this.#published = status === 'published' ? new Set(world.companies.map(company => company.domain)) : undefined;
    const past = (workflowName: string, daysAgo: number) => this.#job(workflowName, DAY / 100, now() - daysAgo * DAY);
    this.#discovery = status === 'draft' ? undefined : past('first_pass', 11);
    this.#publication = status === 'published' ? Object.keys(PUBLISH_JOBS).map(name => past(name, 10)) : [];
  }

  get record(): MarketRecord {
    this.#settle();
    return this.#record;
  }

  /** Starts the discovery. Throws CONFLICT while one runs (docs/upstream-api.md: Discovery workflow). */
  startDiscovery(criteria: SearchCriteria, skipReview: boolean) {
    this.#settle();
    if (this.#pending.has('discovery'))
      throw new Problem('CONFLICT', 'A discovery is already in progress for this market');
    this.#criteria.push(criteria);
    const job = this.#job('first_pass', this.#durations.discoveryMs, this.#now());
    this.#discovery = job;
    this.#pending.set('discovery', { jobs: [job], apply: () => this.#discover(criteria.count, skipReview) });
    return [started(job)];
  }

  /** The job of the last discovery. Empty if there was none. */
  get discoveryJobs() {
    return this.#discovery ? [statusOfJob(this.#discovery, this.#now())] : [];
  }

  /** The jobs of the last publication. */
  get publishJobs() {
    return this.#publication.map(job => statusOfJob(job, this.#now()));
  }

  /** The criteria of the last discovery. Throws NOT_FOUND if there was none. */
  get criteria(): SearchCriteria {
    const last = this.#criteria.at(-1);
    if (!last) throw new Problem('NOT_FOUND', 'No discovery has been started for this market');
    return last;
  }

  /** Earlier criteria, newest first. */
  get criteriaHistory(): SearchCriteria[] {
    return this.#criteria.slice(0, -1).reverse();
  }

  /**
   * Includes or excludes discovered companies, all of them if no domains are given. Returns the affected companies.
   * Throws CONFLICT before the discovery is complete, QUERY_VALIDATION_FAILED for a domain that was not discovered.
   */
  review(reviewStatus: 'include' | 'exclude', domains?: readonly string[]) {
    this.#requireDiscovered();
    const known = this.#discovered.map(company => company.domain);
    const unknown = domains?.find(domain => !this.#reviews.has(domain));
    if (unknown !== undefined)
      throw new Problem('QUERY_VALIDATION_FAILED', `${unknown} is not a company of this market`);
    const concerned = [...new Set(domains ?? known)];
    for (const domain of concerned) this.#reviews.set(domain, reviewStatus);
    return concerned.map(domain => ({ domain, reviewStatus }));
  }

  /**
   * Starts the three jobs after which the included companies can be read. Throws CONFLICT before the discovery is
   * complete, while a publication runs, and if no company is included.
   */
  publish() {
    this.#requireDiscovered();
    if (this.#pending.has('publication')) throw new Problem('CONFLICT', 'The market is already being published');
    const domains = new Set(this.#included());
    if (domains.size === 0) throw new Problem('CONFLICT', 'No company of this market has been included by a review');
    this.#publication = Object.entries(PUBLISH_JOBS).map(([workflowName, share]) =>
      this.#job(workflowName, this.#durations.publishMs * share, this.#now()),
    );
    this.#pending.set('publication', {
      jobs: this.#publication,
      apply: () => {
        this.#published = domains;
        this.#record = { ...this.#record, company_count: domains.size, review_status: 'published' };
      },
    });
    return this.#publication.map(started);
  }

  /** The published companies. Throws as `published` does. */
  get companies(): Company[] {
    const { companies, isPublished } = this.published;
    return companies
      .filter(isPublished)
      .map(company => ({ ...company, reviewStatus: this.#reviews.get(company.domain) ?? null }));
  }

  /** What only a published market has, and whether a company is published. Throws NOT_FOUND if the market is not published. */
  get published() {
    this.#settle();
    const domains = this.#published;
    if (!domains) throw new Problem('NOT_FOUND', 'The market is not published');
    return { ...this.#world, isPublished: ({ domain }: Pick<Company, 'domain'>) => domains.has(domain) };
  }

  #requireDiscovered(): void {
    this.#settle();
    if (this.#pending.has('discovery') || this.#discovered.length === 0) {
      throw new Problem('CONFLICT', 'The discovery of this market is not complete');
    }
  }

  /** Applies the results of jobs that have ended. Only the clock drives the jobs. */
  #settle(): void {
    const now = this.#now();
    for (const [name, { jobs, apply }] of this.#pending) {
      if (!jobs.every(job => hasEnded(job, now))) continue;
      this.#pending.delete(name);
      apply();
    }
  }

  /** The first `count` companies, or all of them. */
  #discover(count: number | undefined, skipReview: boolean): void {
    this.#discovered = this.#world.companies.slice(0, count);
    for (const { domain } of this.#discovered) {
      this.#reviews.set(domain, skipReview ? 'include' : (this.#reviews.get(domain) ?? null));
    }
    if (this.#published) return;
    const { review_status: before } = this.#record;
    const review_status = skipReview ? before : 'reviewing';
    this.#record = { ...this.#record, company_count: this.#discovered.length, review_status };
  }

  #included = () =>
    this.#discovered.map(company => company.domain).filter(domain => this.#reviews.get(domain) === 'include');

  #job = (workflowName: string, durationMs: number, startedAt: number): TimedJob => ({
    jobId: this.#nextJobId(),
    workflowName,
    startedAt,
    endsAt: startedAt + durationMs,
  });
}
