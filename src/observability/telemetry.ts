import { Counter, Gauge, Histogram } from 'prom-client';
import { linesLost } from '../lib/output.js';
import type { Metrics } from './metrics.js';
import type { Span, Transport } from './operation-info.js';
import type { Source } from './response-metadata.js';
import { redisWarning, type Warnings } from './warnings.js';

/** How an upstream call ended: a reply of any status, or none. */
export type CallOutcome = 'answered' | 'timeout' | 'broken' | 'abandoned';

/** What can be malformed in Redis: a record, a response, a message on a channel, a subscription's state, a generation; in `DATA_DIR` too: a team's exports. */
const malformedKinds = ['record', 'response', 'message', 'state', 'generation', 'exports'] as const;
export type Malformed = (typeof malformedKinds)[number];

/** Why an overloaded gateway refuses: too many operations at once, too many requests in flight, no memory, or too many on one connection. */
const shedReasons = ['concurrency', 'requests_in_flight', 'memory', 'connection'] as const;
export type ShedReason = (typeof shedReasons)[number];

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

/** Counts what happens, and warns of what fails outside the gateway. A function is called once for each event, and must not throw. */
export type Telemetry = ReturnType<typeof createTelemetry>;

/** Creates the metrics that count events. */
export function createTelemetry({ registry, exemplars }: Metrics, { warn, works }: Warnings) {
  const registers = [registry];
  const counter = <T extends string>(name: string, help: string, ...labelNames: T[]) =>
    new Counter({ name, help, labelNames, registers });
  /** Makes a counter, and returns the function that counts. @param known values of its label, counted from 0: a rate does not see the step from no count to the first. */
  const counting = <T extends string>(name: string, help: string, label: string, known: readonly T[] = []) => {
    const counted = counter(name, help, label);
    for (const value of known) counted.labels(value).inc(0);
    return (value: T) => counted.labels(value).inc();
  };
  const gauge = <T extends string>(name: string, help: string, ...labelNames: T[]) =>
    new Gauge({ name, help, labelNames, registers });
  const histogram = <T extends string>(name: string, help: string, buckets: number[], ...labelNames: T[]) =>
    new Histogram({ name, help, buckets, labelNames, registers });
  const requests = counter(
    'gateway_requests_total',
    'Operations, by transport, name and outcome: ok, the code of the first error, OVERLOADED for a refusal with 503, or ABANDONED',
    'transport',
    'operation',
    'outcome',
  );
  const requestTimes = histogram(
    'gateway_request_seconds',
    'Duration of queries and mutations, by name',
    requestBuckets,
    'operation',
  );
  const clientRequests = counter(
    'gateway_client_requests_total',
    'Operations, by the name and version of the client: other where they are not known, none where it has no name',
    'client',
  );
  const deprecatedUses = counter(
    'gateway_deprecated_uses_total',
    'Operations that use something deprecated, by its schema coordinate and the name and version of the client, as in gateway_client_requests_total',
    'coordinate',
    'client',
  );
  const calls = histogram(
    'gateway_upstream_call_seconds',
    'Duration of calls to the service, by endpoint family, outcome and status',
    callBuckets,
    'family',
    'outcome',
    'status',
  );
  /** By family. Copied at each scrape: to count one with `inc` costs more than to look it up in memory. */
  const lookups = new Map<string, Record<Source, number>>();
  new Counter({
    name: 'gateway_lookups_total',
    help: 'Reads, by endpoint family and source: memory, redis, flight (a read that was already running) or network',
    labelNames: ['family', 'source'],
    registers,
    collect() {
      this.reset();
      for (const [family, counts] of lookups)
        for (const [source, count] of Object.entries(counts)) this.inc({ family, source }, count);
    },
  });
  new Counter({
    name: 'gateway_log_lines_lost_total',
    help: 'Lines of the log that were lost, because nobody read them in time',
    registers,
    collect() {
      this.reset();
      this.inc(linesLost);
    },
  });
  // The second name is that of earlier releases. It goes with the next one.
  const cachedResponses = ['gateway_response_cache_hits_total', 'gateway_kept_answers_total'].map(name =>
    counting(
      name,
      'Requests that were answered from the response cache, by tier: memory, redis, or flight (the response to an equal request that was already running)',
      'tier',
      ['memory', 'redis', 'flight'],
    ),
  );
  const redisFaults = counting(
    'gateway_redis_faults_total',
    'Redis commands that failed, or were not sent because Redis is unavailable',
    'command',
  );
  const clocks = gauge(
    'gateway_clock_difference_seconds',
    "By how much the clock of this host is ahead of Redis' (redis) and of the service's (service)",
    'clock',
  );
  const pollers = gauge('gateway_live_pollers', 'Pollers in this process that read from the service for subscriptions');
  const pollerChanges = counting(
    'gateway_live_lease_changes_total',
    'How often this process began to poll for a topic, lost that to another process, or gave it up',
    'change',
    ['taken', 'lost', 'released'],
  );
  const listeners = gauge('gateway_live_listeners', 'Running subscriptions, by transport', 'transport');
  for (const transport of ['websocket', 'sse', 'multipart']) listeners.set({ transport }, 0);
  const untrustedDocuments = counter(
    'gateway_untrusted_documents_total',
    'Operations that PERSISTED_DOCUMENTS_MODE=only would have refused, counted in mode log',
  );
  const unenforced = counter(
    'gateway_rate_limit_unenforced_total',
    'Requests that only this process counted for a rate limit, because Redis is unavailable',
  );
  const refusals = counting(
    'gateway_shed_total',
    'What was refused with 503, because the gateway has too much to do: requests, operations and fields, by reason',
    'reason',
    shedReasons,
  );
  return {
    warn,
    works,
    /** @param milliseconds undefined for a subscription. */
    request(transport: Transport, operation: string, outcome: string, milliseconds: number | undefined, span?: Span) {
      requests.inc({ transport, operation, outcome });
      if (milliseconds === undefined) return;
      const seconds = milliseconds / 1_000;
      requestTimes.observe({ operation }, seconds);
      if (span !== undefined) exemplars.note('gateway_request_seconds', requestBuckets, { operation }, seconds, span);
    },
    untrustedDocument: () => untrustedDocuments.inc(),
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
      void removeSeries(requests, 'operation', operation);
      requestTimes.remove({ operation });
      exemplars.remove('operation', operation);
    },
    upstreamCalls({ family, outcome, status, span }: UpstreamCalls, milliseconds: readonly number[]) {
      const labels = { family, outcome, status: status ?? 'none' };
      const histogram = calls.labels(labels);
      for (const each of milliseconds) {
        histogram.observe(each / 1_000);
        if (span !== undefined)
          exemplars.note('gateway_upstream_call_seconds', callBuckets, labels, each / 1_000, span);
      }
    },
    lookup(family: string, source: Source) {
      let counts = lookups.get(family);
      if (counts === undefined) {
        counts = { memory: 0, redis: 0, flight: 0, network: 0 };
        lookups.set(family, counts);
      }
      counts[source] += 1;
    },
    responseCacheHit(tier: 'memory' | 'redis' | 'flight') {
      for (const count of cachedResponses) count(tier);
    },
    drift: counting(
      'gateway_upstream_drift_total',
      'Fields, records and whole responses (by family) that differ from the specification of the service',
      'field',
    ),
    /** A command failed, or was not tried. @param error from Redis or its client; the log describes it. */
    redisFault(command: string, error: unknown) {
      redisFaults(command);
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
      clocks.set({ clock: other === 'Redis' ? 'redis' : 'service' }, milliseconds / 1_000);
      const seconds = Math.round(Math.abs(milliseconds) / 1_000);
      const subject = `Clock of ${other}`;
      if (Math.abs(milliseconds) <= maxClockDifferenceMs) works(subject);
      else warn(subject, `this host is ${milliseconds > 0 ? 'ahead' : 'behind'} by ${seconds} s`);
    },
    rateLimitUnenforced: () => unenforced.inc(),
    malformed: counting(
      'gateway_redis_malformed_total',
      'Messages and values in Redis, and teams in DATA_DIR, that were ignored because their signature or format is invalid',
      'what',
      malformedKinds,
    ),
    shed(reason: ShedReason) {
      refusals(reason);
      warn('Too much at once', `requests are refused with 503 (${reason})`, reason);
    },
    poller(change: 'taken' | 'lost' | 'released') {
      pollers.inc(change === 'taken' ? 1 : -1);
      pollerChanges(change);
    },
    listeners: (transport: Exclude<Transport, 'http'>, change: 1 | -1) => listeners.inc({ transport }, change),
    exported: counting(
      'gateway_exports_total',
      'Finished exports, by outcome; UNKNOWN: it could not be recorded',
      'outcome',
      ['DELIVERED', 'REJECTED', 'FAILED', 'UNKNOWN'],
    ),
  };
}

/** Removes the counts with a value of a label. Otherwise every value would take memory until the process ends. */
async function removeSeries<T extends string>(counter: Counter<T>, label: T, value: string): Promise<void> {
  const { values } = await counter.get();
  for (const { labels } of values) if (labels[label] === value) counter.remove(labels);
}
