// Counts what happens, and warns of what fails outside the gateway. A function is called once for each event, and must not throw.
import { LRUCache } from 'lru-cache';
import type { Counter } from 'prom-client';
import { timeNow } from '../lib/clock.js';
import { linesLost } from '../lib/output.js';
import { minuteMs } from '../lib/time.js';
import type { Metrics } from './metrics.js';
import type { Span, Transport } from './operation-info.js';
import type { Source } from './response-metadata.js';
import { redisWarning, type Warnings } from './warnings.js';

/** How an upstream call ended: a reply of any status, or none. */
export type CallOutcome = 'answered' | 'timeout' | 'broken' | 'abandoned';

/** What can be malformed in Redis: a record, a response, a message on a channel, a subscription's state, a generation; in `DATA_DIR` too: a team's exports. */
const malformedKinds = ['record', 'response', 'message', 'state', 'generation', 'exports'] as const;
export type Malformed = (typeof malformedKinds)[number];

/** Why a gateway refuses: too many operations, requests or connections at once, no memory; or too much of one client. */
const shedReasons = ['concurrency', 'requests_in_flight', 'connections', 'memory', 'share'] as const;
export type ShedReason = (typeof shedReasons)[number];

/** What the alerts call a failure of an operation. */
const failures = ['UPSTREAM_UNAVAILABLE', 'UPSTREAM_TIMEOUT', 'UPSTREAM_INVALID_RESPONSE', 'INTERNAL_SERVER_ERROR'];

/** Calls of one family to the service that ended alike. */
interface UpstreamCalls {
  readonly family: string;
  readonly outcome: CallOutcome;
  readonly status: number | null;
  /** Of a single call that is traced. */
  readonly span?: Span | undefined;
}

/** In seconds. */
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 1, 2.5, 10];
const callBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A clock of another host may differ by so much before the log says so, in milliseconds. */
const maxClockDifferenceMs = 1_000;
/** What Redis says counts for so long, in milliseconds: it is asked every five seconds. */
const redisClockMs = 15_000;

/** What an endpoint of a team did not take counts for so long, in milliseconds. */
const failingMs = 15 * 60_000;
const maxFailing = 1_000;

/** How long nothing may be refused before the log says that it is over, in milliseconds. */
const calmMs = 5_000;
const tooMuch = 'Too much at once';

export type Telemetry = ReturnType<typeof createTelemetry>;

/** The metrics that count events. Each value of a label that is known counts from 0. */
function createMeters({ counter, counting, gauge, histogram, readGauge }: Metrics) {
  /** By family. Copied at each scrape: to count one with `inc` costs more than to look it up in memory. */
  const lookups = new Map<string, Record<Source, number>>();
  counter('gateway_lookups_total', ['family', 'source'], function () {
    this.reset();
    for (const [family, counts] of lookups)
      for (const [source, count] of Object.entries(counts)) this.inc({ family, source }, count);
  });
  counter('gateway_log_lines_lost_total', [], function () {
    this.reset();
    this.inc(linesLost);
  });
  /** Since when endpoints have taken nothing; infinite where one that failed, perhaps of another gateway, has taken something again. */
  const failing = new LRUCache<string, number>({ max: maxFailing, ttl: failingMs });
  const secondsOf = ([name, since]: readonly [string, number]) => [name, Math.max(timeNow() - since, 0) / 1_000];
  const readFailing = () => Object.fromEntries([...failing.entries()].map(secondsOf));
  readGauge('gateway_endpoint_failing_seconds', readFailing, 'name');
  /** In seconds, by the label of the other clock, as long as it is known. */
  const clocks = new LRUCache<string, number>({ max: 2, ttl: minuteMs, perf: performance });
  readGauge('gateway_clock_difference_seconds', () => Object.fromEntries(clocks.entries()), 'clock');
  const listeners = gauge('gateway_live_listeners', ['transport']);
  for (const transport of ['websocket', 'sse', 'multipart']) listeners.set({ transport }, 0);
  return {
    requests: createOperationCounts(counter('gateway_requests_total', ['transport', 'operation', 'outcome'])),
    requestTimes: histogram('gateway_request_seconds', requestBuckets, ['operation']),
    clientRequests: counter('gateway_client_requests_total', ['client']),
    deprecatedUses: counter('gateway_deprecated_uses_total', ['coordinate', 'client']),
    calls: histogram('gateway_upstream_call_seconds', callBuckets, ['family', 'outcome', 'status']),
    lookups,
    failing,
    clocks,
    cachedResponses: counting('gateway_response_cache_hits_total', 'tier', ['memory', 'redis', 'flight']),
    redisFaults: counting<string>('gateway_redis_faults_total', 'command', ['connect']),
    dataDir: gauge('gateway_data_dir_failing'),
    reloads: gauge('gateway_reload_success', ['file']),
    reloadTimes: gauge('gateway_reload_timestamp_seconds', ['file']),
    pollers: gauge('gateway_live_pollers'),
    pollerChanges: counting('gateway_live_lease_changes_total', 'change', ['taken', 'lost', 'released']),
    listeners,
    untrustedDocuments: counter('gateway_untrusted_documents_total'),
    unenforced: counter('gateway_rate_limit_unenforced_total'),
    refusals: counting('gateway_shed_total', 'reason', shedReasons),
    drift: counting('gateway_upstream_drift_total', 'field'),
    unreadable: counting('gateway_upstream_unreadable_total', 'family'),
    malformed: counting('gateway_redis_malformed_total', 'what', malformedKinds),
    exported: counting('gateway_exports_total', 'outcome', ['DELIVERED', 'REJECTED', 'FAILED', 'UNKNOWN']),
  };
}

/** Counts operations. Failures begin at 0: Prometheus sees no increase in a count that begins with its first one. */
function createOperationCounts(requests: Counter<'transport' | 'operation' | 'outcome'>) {
  const begun = new Map<string, Set<Transport>>();
  const begin = (transport: Transport, operation: string): void => {
    begun.set(operation, (begun.get(operation) ?? new Set()).add(transport));
    for (const outcome of failures) requests.inc({ transport, operation, outcome }, 0);
  };
  for (const operation of ['other', 'unnamed']) begin('http', operation);
  for (const transport of ['http', 'websocket'])
    for (const outcome of ['OVERLOADED', 'OVER_SHARE', 'RATE_LIMITED'])
      requests.inc({ transport, operation: 'none', outcome }, 0);
  return {
    count(transport: Transport, operation: string, outcome: string): void {
      if (begun.get(operation)?.has(transport) !== true) begin(transport, operation);
      requests.inc({ transport, operation, outcome });
    },
    forget(operation: string): void {
      begun.delete(operation);
      void removeSeries(requests, 'operation', operation);
    },
  };
}

/** What happens in this process, as counts for Prometheus and as warnings for operators. */
export function createTelemetry(metrics: Metrics, { warn, works }: Warnings) {
  const { requests, requestTimes, clientRequests, deprecatedUses, calls, lookups, ...meters } = createMeters(metrics);
  /** Nothing but the time without another refusal tells that it is over. */
  const calm: Partial<Record<ShedReason, NodeJS.Timeout>> = {};
  return {
    warn,
    works,
    /** @param milliseconds undefined for a subscription, and for what was not executed. */
    request(transport: Transport, operation: string, outcome: string, milliseconds: number | undefined, span?: Span) {
      requests.count(transport, operation, outcome);
      if (milliseconds === undefined) return;
      requestTimes.observe({ labels: { operation }, value: milliseconds / 1_000, exemplarLabels: exemplarOf(span) });
    },
    untrustedDocument: () => meters.untrustedDocuments.inc(),
    clientRequest: (client: string) => clientRequests.inc({ client }),
    /** @param coordinate such as `Market.name`. */
    deprecatedUse: (coordinate: string, client: string) => deprecatedUses.inc({ coordinate, client }),
    /** A client is no longer known: what was counted under it is dropped. */
    forgetClient(client: string) {
      clientRequests.remove({ client });
      void removeSeries(deprecatedUses, 'client', client);
    },
    /** An operation's name is no longer known: what was counted under it is dropped. */
    forgetOperation(operation: string) {
      requests.forget(operation);
      requestTimes.remove({ operation });
    },
    upstreamCalls({ family, outcome, status, span }: UpstreamCalls, milliseconds: readonly number[]) {
      const labels = { family, outcome, status: status ?? 'none' };
      const exemplarLabels = exemplarOf(span);
      for (const each of milliseconds) calls.observe({ labels, value: each / 1_000, exemplarLabels });
    },
    lookup(family: string, source: Source) {
      let counts = lookups.get(family);
      if (counts === undefined) {
        counts = { memory: 0, redis: 0, flight: 0, network: 0 };
        lookups.set(family, counts);
      }
      counts[source] += 1;
    },
    responseCacheHit: meters.cachedResponses,
    drift: meters.drift,
    unreadable: meters.unreadable,
    /** A command failed, or was not tried. @param error from Redis or its client; the log describes it. */
    redisFault(command: string, error: unknown) {
      meters.redisFaults(command);
      const words = redisWarning(command, error);
      if (words !== undefined) warn('REDIS_URL', words, command);
    },
    /** A command succeeded, or `connect`. */
    redisWorks(command: string) {
      works('REDIS_URL', 'connect');
      works('REDIS_URL', command);
    },
    /** @param milliseconds by which the clock of this host is ahead of another one. */
    clockOf(other: 'Redis' | 'the service', milliseconds: number) {
      if (other === 'Redis') meters.clocks.set('redis', milliseconds / 1_000, { ttl: redisClockMs });
      else meters.clocks.set('service', milliseconds / 1_000);
      const seconds = Math.round(Math.abs(milliseconds) / 1_000);
      const subject = `Clock of ${other}`;
      if (Math.abs(milliseconds) <= maxClockDifferenceMs) works(subject);
      else warn(subject, `this host is ${milliseconds > 0 ? 'ahead' : 'behind'} by ${seconds} s`);
    },
    /** `DATA_DIR` was written, or not. @param fault why not, in words. */
    stored(fault?: string) {
      meters.dataDir.set(fault === undefined ? 0 : 1);
      if (fault === undefined) works('DATA_DIR');
      else warn('DATA_DIR', fault);
    },
    /** A file was read, or refused. @param file its variable. */
    fileRead(file: string, isValid: boolean) {
      meters.reloads.set({ file }, Number(isValid));
      meters.reloadTimes.set({ file }, timeNow() / 1_000);
    },
    rateLimitUnenforced: () => meters.unenforced.inc(),
    malformed: meters.malformed,
    shed(reason: ShedReason) {
      meters.refusals(reason);
      warn(tooMuch, `requests are refused (${reason})`, reason);
      calm[reason] = calm[reason]?.refresh() ?? setTimeout(() => works(tooMuch, reason, 0), calmMs).unref();
    },
    poller(change: 'taken' | 'lost' | 'released') {
      meters.pollers.inc(change === 'taken' ? 1 : -1);
      meters.pollerChanges(change);
    },
    listeners: (transport: Exclude<Transport, 'http'>, change: 1 | -1) => meters.listeners.inc({ transport }, change),
    exported: meters.exported,
    endpointWorks(name: string, hasFailed: boolean) {
      if (hasFailed || meters.failing.has(name)) meters.failing.set(name, Number.POSITIVE_INFINITY);
      works(name);
    },
    /** An endpoint of a team did not take a call, nor any since a time. */
    endpointFails(name: string, since: string, words: string) {
      meters.failing.set(name, Date.parse(since));
      warn(name, words);
    },
  };
}

const noExemplar = {};

/** What a bucket of a histogram shows of the latest observation in it: its trace, if that is exported. */
const exemplarOf = (span: Span | undefined) => (span?.isSampled ? span.logged : noExemplar);

/** Removes the counts with a value of a label. Otherwise every value would take memory until the process ends. */
async function removeSeries<T extends string>(counter: Counter<T>, label: T, value: string): Promise<void> {
  const { values } = await counter.get();
  for (const { labels } of values) if (labels[label] === value) counter.remove(labels);
}
