import { randomUUID } from 'node:crypto';
import type { Telemetry } from '../../observability/telemetry.js';
import type { Lease, LeaseStore } from './lease-store.js';
import {
  isNewer,
  isOutdated,
  type Observed,
  type PollOutcome,
  refusalError,
  refusalOf,
  type Snapshot,
  type StateMessage,
} from './state-message.js';
import { Topic } from './topic.js';

/** What is watched: where its state comes from, and how to compare states. States must be safe as JSON. */
export interface Watched<S> {
  /** Restores in a state what JSON does not preserve. Must accept its own result. */
  revive?(state: S): S;
  /** Asks the service, never a cache. @param previous the last state that any process of the fleet knows. */
  ask(previous: S | undefined, signal: AbortSignal): Promise<S>;
  /** Whether two states are equal for a listener. */
  same(one: S, other: S): boolean;
  /** Whether no state can follow. */
  isFinal(state: S): boolean;
  /**
   * A token that changes with every write after which new listeners must not get earlier states; undefined if it is unknown now. Left out if
   * there is no such write.
   */
  generation?(): Promise<string | undefined>;
}

export interface WatcherDeps {
  readonly leases: LeaseStore;
  /** The time between two polls, in milliseconds. */
  readonly intervalMs: number;
  readonly telemetry: Telemetry;
}

/** What the owner of a watcher provides. */
interface WatcherHooks {
  /** Called when the last listener has left, or the topic has ended. */
  onEmpty(): void;
  /** If the generation has changed, moves the listeners to the watcher of the new one. */
  switchGeneration(): Promise<void>;
}

/** How often a lease is renewed, or tried for, within its time. */
const heartbeatsPerLease = 3;
/** After this many intervals without a new state, listeners get the last one again, with its age. */
const staleIntervals = 3;

/**
 * One process's part in watching one thing: receives what the fleet publishes, tries to take the lease, and polls while it has it. If the
 * lease store is unavailable for longer than a lease, it polls for its own listeners alone. Runs from `start` to `stop`, or to its end.
 */
export class Watcher {
  readonly topic: Topic<Snapshot<unknown>>;
  readonly #name: string;
  readonly #watched: Watched<unknown>;
  readonly #deps: WatcherDeps;
  readonly #hooks: WatcherHooks;
  readonly #holder = randomUUID();
  #message: StateMessage<unknown> | undefined;
  #lease: (Lease & { until: number }) | undefined;
  /** Messages with a smaller fence are older than this watcher; undefined until the first heartbeat. */
  #oldestFence: number | undefined;
  #unsubscribe = () => {};
  #stopPoller: (() => void) | undefined;
  #heartbeatTimer: NodeJS.Timeout | undefined;
  #staleTimer: NodeJS.Timeout | undefined;
  #heartbeat: Promise<void> = Promise.resolve();
  #storeSeenAt = performance.now();
  #repeated = false;
  #stopped = false;

  constructor(name: string, watched: Watched<unknown>, deps: WatcherDeps, hooks: WatcherHooks) {
    this.#name = name;
    this.#watched = watched;
    this.#deps = deps;
    this.#hooks = hooks;
    this.topic = new Topic({
      onEmpty: hooks.onEmpty,
      refresh: async () => {
        await hooks.switchGeneration();
        await this.catchUp();
      },
      // A final state is always published.
      isOutdated: (snapshot, other) =>
        !watched.isFinal(snapshot.state) && isOutdated(snapshot, other, staleIntervals * deps.intervalMs),
    });
  }

  start(): void {
    this.#unsubscribe = this.#deps.leases.subscribe(this.#name, message => this.#receive(message));
    this.#beat();
  }

  /** Accepts the last stored message, which a listener may already have got through another process. Never rejects. */
  async catchUp(): Promise<void> {
    if (this.#stopped) return;
    const message = await this.#deps.leases.read(this.#name).catch(() => undefined);
    if (message !== undefined) this.#accept(message);
  }

  /** Stops polling and listening, and releases the lease. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    clearTimeout(this.#heartbeatTimer);
    clearTimeout(this.#staleTimer);
    this.#unsubscribe();
    this.#stopPolling();
    await this.#heartbeat;
    const lease = this.#dropLease('released');
    if (lease !== undefined) await this.#deps.leases.release(this.#name, lease).catch(() => {});
  }

  #beat(): void {
    this.#heartbeat = this.#takeOrRenew()
      .catch(() => this.#pollWithoutStore())
      .then(() => this.#hooks.switchGeneration());
    void this.#heartbeat.then(() => {
      if (this.#stopped) return;
      const pause = this.#deps.leases.leaseMs / heartbeatsPerLease;
      this.#heartbeatTimer = setTimeout(() => this.#beat(), pause * (0.8 + 0.2 * Math.random()));
    });
  }

  async #takeOrRenew(): Promise<void> {
    if (this.#lease !== undefined) return this.#renew(this.#lease);
    const { leases, intervalMs } = this.#deps;
    const startedAt = performance.now();
    const { lease, fence, stored } = await leases.take(this.#name, this.#holder);
    this.#storeSeenAt = performance.now();
    this.#oldestFence = fence;
    if (stored !== undefined) this.#accept(stored.message);
    if (lease === undefined) return this.#stopPolling();
    this.#lease = { ...lease, until: startedAt + leases.leaseMs };
    this.#deps.telemetry.leaseChange('taken');
    if (!this.#stopped) this.#startPolling(stored === undefined ? 0 : Math.max(intervalMs - stored.ageMs, 0));
  }

  async #renew(lease: Lease): Promise<void> {
    const { leases } = this.#deps;
    const startedAt = performance.now();
    const renewed = await leases.renew(this.#name, lease);
    this.#storeSeenAt = performance.now();
    if (renewed) this.#lease = { ...lease, until: startedAt + leases.leaseMs };
    else this.#loseLease();
  }

  #loseLease(): void {
    this.#dropLease('lost');
    this.#stopPolling();
  }

  /** Forgets the lease, if there is one. */
  #dropLease(change: 'lost' | 'released'): Lease | undefined {
    const lease = this.#lease;
    this.#lease = undefined;
    if (lease !== undefined) this.#deps.telemetry.leaseChange(change);
    return lease;
  }

  /** While the lease store is unavailable: polls if there is no state yet, or if a whole lease has passed. */
  #pollWithoutStore(): void {
    if (this.#stopped) return;
    const { newest } = this.topic;
    const isAlone = performance.now() - this.#storeSeenAt > this.#deps.leases.leaseMs;
    if (!isAlone && newest !== undefined) return;
    this.#startPolling(
      newest === undefined ? 0 : Math.max(this.#deps.intervalMs - (Date.now() - newest.observedAt), 0),
    );
  }

  #startPolling(firstInMs: number): void {
    if (this.#stopPoller !== undefined) return;
    this.#stopPoller = startPoller(signal => this.#poll(signal), this.#deps.intervalMs, firstInMs);
    this.#deps.telemetry.pollers(1);
  }

  #stopPolling(): void {
    if (this.#stopPoller === undefined) return;
    this.#stopPoller();
    this.#stopPoller = undefined;
    this.#deps.telemetry.pollers(-1);
  }

  async #poll(signal: AbortSignal): Promise<PollResult> {
    // If the whole process was paused, another process may have the lease by now.
    if (this.#lease !== undefined && performance.now() > this.#lease.until) {
      await this.#renew(this.#lease).catch(() => this.#loseLease());
      if (signal.aborted) return 'failed';
    }
    const observedAt = Date.now();
    const before = this.topic.newest?.state;
    try {
      const state = await this.#watched.ask(before, signal);
      if (signal.aborted) return 'failed';
      await this.#publish({ kind: this.#watched.isFinal(state) ? 'final' : 'state', state, observedAt }, signal);
      return before !== undefined && this.#watched.same(before, state) ? 'same' : 'changed';
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== undefined && !signal.aborted) await this.#publish({ kind: 'refused', ...refusal }, signal);
      return 'failed';
    }
  }

  async #publish(outcome: PollOutcome<unknown>, signal: AbortSignal): Promise<void> {
    // A state from before a write must not be published after one from after the write.
    await this.#hooks.switchGeneration();
    if (signal.aborted) return;
    const lease = this.#lease;
    const fence = lease?.fence ?? this.#message?.fence ?? 0;
    const seq = this.#message?.fence === fence ? this.#message.seq + 1 : 1;
    const message: StateMessage<unknown> = { ...outcome, fence, seq };
    if (lease === undefined) return this.#accept(message, true);
    // Undefined if the store is unavailable: no other gateway received it, and this watcher may have been stopped meanwhile.
    const published = await this.#deps.leases.publish(this.#name, lease, message).catch(() => undefined);
    if (published === undefined && signal.aborted) return;
    if (published ?? performance.now() < lease.until) this.#accept(message, published === undefined);
    else this.#loseLease();
  }

  /** Ignores messages from before this watcher started: the end of an earlier run must not end this one. */
  #receive(message: StateMessage<unknown>): void {
    if (this.#oldestFence === undefined || message.fence < this.#oldestFence) return;
    // Another process polls, so this one is not alone and has no lease.
    if (message.fence !== this.#lease?.fence) this.#loseLease();
    this.#accept(message);
  }

  /** @param isLocal whether only this process has the message. */
  #accept(message: StateMessage<unknown>, isLocal = false): void {
    if (this.#stopped || !isNewer(message, this.#message)) return;
    this.#message = message;
    if (message.kind !== 'state') this.#dropLease('released');
    if (message.kind === 'refused') this.topic.end(refusalError(message));
    else this.#show(message, isLocal);
  }

  #show(
    { kind, state: received, observedAt, fence }: StateMessage<unknown> & Observed<unknown>,
    isLocal: boolean,
  ): void {
    const { newest } = this.topic;
    const state = this.#watched.revive?.(received) ?? received;
    const snapshot: Snapshot<unknown> = isLocal
      ? { state, observedAt, fence: undefined, asOf: Date.now() }
      : { state, observedAt, fence, asOf: observedAt };
    const changed = newest === undefined || !this.#watched.same(newest.state, state) || this.#repeated;
    this.#repeated = false;
    if (changed || kind === 'final') this.topic.publish(snapshot);
    else this.topic.replace(snapshot);
    if (kind === 'final') this.topic.end();
    else this.#repeatWhenStale();
  }

  #repeatWhenStale(): void {
    clearTimeout(this.#staleTimer);
    this.#staleTimer = setTimeout(() => {
      this.#repeated = true;
      // A copy, because listeners compare values by identity.
      if (this.topic.newest !== undefined) this.topic.publish({ ...this.topic.newest });
    }, staleIntervals * this.#deps.intervalMs);
  }
}

/** What a poll brought: a new state, the same as before, or an error. */
export type PollResult = 'changed' | 'same' | 'failed';

/** While nothing changes, a quarter slower each time, up to half as often (docs/upstream-api.md: Discovery workflow: 30 to 60 seconds). */
const slowerEachTime = 0.25;
const slowestUnchanged = 2;
/** After failures in a row, half as often each time. */
const slowestFailing = 4;
/** Spreads pollers that started together. */
const jitter = 0.1;

/**
 * The time from the start of one poll to the start of the next, in milliseconds. Never less than the interval.
 * @param inARow how many polls in a row had this result, from 1.
 */
export function pauseAfter(result: PollResult, inARow: number, intervalMs: number, random = Math.random): number {
  const slowness = {
    changed: 1,
    same: Math.min(1 + slowerEachTime * (inARow - 1), slowestUnchanged),
    failed: Math.min(2 ** inARow, slowestFailing),
  }[result];
  return intervalMs * slowness * (1 + random() * jitter);
}

/**
 * Polls until it is stopped, one poll at a time.
 * @param poll must not reject; its signal aborts when the poller is stopped.
 * @param firstInMs the delay before the first poll.
 * @returns a function that stops it.
 */
export function startPoller(
  poll: (signal: AbortSignal) => Promise<PollResult>,
  intervalMs: number,
  firstInMs: number,
): () => void {
  const stopping = new AbortController();
  let last: PollResult | undefined;
  let inARow = 0;

  const round = async () => {
    const startedAt = performance.now();
    const result = await poll(stopping.signal);
    if (stopping.signal.aborted) return;
    inARow = result === last ? inARow + 1 : 1;
    last = result;
    const pause = pauseAfter(result, inARow, intervalMs) - (performance.now() - startedAt);
    timer = setTimeout(round, Math.max(pause, 0));
  };
  let timer = setTimeout(round, firstInMs);
  return () => {
    clearTimeout(timer);
    stopping.abort();
  };
}
