// The polls of one thing, by one gateway of the fleet for all listeners.
import { setTimeout as sleep } from 'node:timers/promises';
import type { AcceptedScopes } from '../../auth/accepted-scopes.js';
import type { Scope } from '../../auth/credentials.js';
import { retryAfterMs } from '../../errors.js';
import { timeNow } from '../../lib/clock.js';
import type { Claim, MemoryBudget } from '../../lib/memory-budget.js';
import type { Telemetry } from '../../observability/telemetry.js';
import { attemptsPerLock, type PollStore, staleIntervals } from './poll-store.js';
import { type PollOutcome, refusalError, refusalOf, type Snapshot, type StateMessage } from './state-message.js';
import { Topic } from './topic.js';

/** What is watched: where its state comes from, and how to compare states. States must be safe as JSON. */
export interface Watched<S> {
  /**
   * The member of a state that is a long list of objects, the newest last: the gateways send each other only what is new of it, and keep no more of its end
   * than there is memory for. Left out where states are small.
   */
  readonly list?: string;
  /** Asks the service, never a cache. @param previous the last state that any process of the fleet knows. */
  ask(previous: S | undefined, signal: AbortSignal): Promise<S>;
  same(one: S, other: S): boolean;
  isFinal(state: S): boolean;
  /** A token that each write changes after which new listeners must not get earlier states; undefined if it is unknown now. Left out where nothing writes. */
  generation?(): Promise<string | undefined>;
}

export interface PollerDeps {
  readonly store: PollStore;
  readonly intervalMs: number;
  readonly telemetry: Telemetry;
  readonly budget: MemoryBudget;
  /** Nothing is locked in the store for the others: anyone can make up a credential. */
  readonly acceptedScopes: Pick<AcceptedScopes, 'has'>;
}

/** With its place in the order of its topic. */
type Ordered<T> = T & Pick<StateMessage<unknown>, 'order'>;

/**
 * One process's part in watching one thing: it receives what the fleet publishes, locks the polls, and polls while the lock is its own. If the store,
 * or what is in it cannot be used for longer than a lock lasts, or there is no state yet, it polls for its own listeners alone. Polls are idempotent: two
 * at once do no harm.
 */
export class Poller {
  readonly topic: Topic<Ordered<Snapshot<unknown>>>;
  readonly #scope: Scope;
  readonly #name: string;
  readonly #watched: Watched<unknown>;
  readonly #deps: PollerDeps;
  readonly #unsubscribe: () => void;
  /** Counts the list of the newest state. */
  readonly #claim: Claim;
  /** The generation of all that is kept here. Undefined while it is unknown: this process then polls for itself. */
  #generation: string | undefined;
  /** How many attempts in a row failed, either to lock or to read what the gateway with the lock has found. */
  #missed = 0;
  #failures = 0;
  /** Whether what this gateway finds is for the others, too: not while one of them has the lock, or it may not lock. */
  #isForAll = false;
  /** Aborts when this process polls no longer. Undefined while it does not poll. */
  #polling: AbortController | undefined;
  #lockTimer: NodeJS.Timeout | undefined;
  #staleTimer: NodeJS.Timeout | undefined;
  /** The order of what listeners got of another generation, or while it was unknown: an older state would be a step back for them. */
  #minOrder = 0;
  /** Whether listeners got the newest state again, because it is old. */
  #isStale = false;
  #isStopped = false;

  /** @param onEmpty is called when the last listener has left, or the topic has ended. */
  constructor(scope: Scope, name: string, watched: Watched<unknown>, deps: PollerDeps, onEmpty: () => void) {
    this.#scope = scope;
    this.#name = name;
    this.#watched = watched;
    this.#deps = deps;
    this.#claim = deps.budget.claim({ scope });
    this.topic = new Topic({ onEmpty, refresh: () => this.refresh() });
    this.#unsubscribe = deps.store.subscribe(name, message => void this.#receive(message));
    void this.#lock();
  }

  /** Brings the newest state up to date for a new listener, as far as that can be known. Never rejects. */
  async refresh(): Promise<void> {
    await this.#readGeneration(undefined);
    await this.#readStored();
  }

  /** Stops polling and listening, and gives the lock back. Never rejects. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#claim.release();
    this.#stopPolling('released');
    clearTimeout(this.#lockTimer);
    clearTimeout(this.#staleTimer);
    await this.#release();
  }

  async #release(): Promise<void> {
    if (this.#generation === undefined) return;
    await this.#deps.store.release(this.#name, this.#generation).catch(() => {});
  }

  #lockIn(milliseconds: number): void {
    clearTimeout(this.#lockTimer);
    this.#lockTimer = setTimeout(() => void this.#lock(), milliseconds);
  }

  /** Finds out again and again who polls, because that gateway can be killed. One that does not poll reads the state: a message can be missed. Never rejects. */
  async #lock(): Promise<void> {
    const { store, acceptedScopes } = this.#deps;
    this.#lockIn(store.lockMs / attemptsPerLock);
    const generation = this.#generation;
    const polling = this.#polling;
    /** Whether the generation is another one meanwhile, or this gateway has left the lock to others. */
    const isOutdated = () => generation !== this.#generation || (polling !== undefined && this.#polling === undefined);
    await this.#readGeneration(generation);
    if (this.#isStopped || isOutdated()) return;
    const mayLock = generation !== undefined && acceptedScopes.has(this.#scope);
    const isOurs = !mayLock || (await store.lock(this.#name, generation).catch(() => undefined));
    if (isOutdated()) return;
    this.#isForAll = mayLock && isOurs !== false;
    const isRead = (this.#polling !== undefined && isOurs !== false) || (await this.#readStored());
    if (isOutdated()) return;
    this.#missed = isOurs === undefined || !isRead ? this.#missed + 1 : 0;
    const cannotWait = this.#polling !== undefined || this.topic.newest === undefined;
    const isAlone = this.#missed > attemptsPerLock || (this.#missed > 0 && cannotWait);
    if (isOurs || isAlone) this.#startPolling();
    else if (isOurs === false) this.#stopPolling('lost');
  }

  #startPolling(): void {
    if (this.#polling !== undefined || this.#isStopped) return;
    this.#polling = new AbortController();
    this.#deps.telemetry.poller('taken');
    void this.#pollUntil(this.#polling.signal);
  }

  #stopPolling(change: 'lost' | 'released'): void {
    if (this.#polling === undefined) return;
    this.#polling.abort();
    this.#polling = undefined;
    this.#deps.telemetry.poller(change);
  }

  /**
   * Polls one after the other: the first time an interval after the newest state. After each failure, another gateway has its turn, whose way to the service
   * may be better. Never rejects.
   */
  async #pollUntil(stopping: AbortSignal): Promise<void> {
    const { intervalMs, store } = this.#deps;
    let last: PollResult | undefined;
    let inARow = 0;
    // The clock of the gateway that observed it may be wrong.
    let pauseMs = Math.min((this.topic.newest?.observedAt ?? 0) + intervalMs - timeNow(), intervalMs);
    for (;;) {
      await sleep(Math.max(pauseMs, 0), undefined, { signal: stopping }).catch(() => {});
      if (stopping.aborted) return;
      const hasLock = this.#isForAll && this.#missed === 0;
      if (last === 'failed' && hasLock && store.isShared) return this.#offerLock();
      const startedAt = performance.now();
      const { result, minPauseMs } = await this.#poll(stopping);
      this.#failures = result === 'failed' ? this.#failures + 1 : 0;
      inARow = result === last ? inARow + 1 : 1;
      last = result;
      pauseMs =
        startedAt + Math.max(pauseAfter(result, this.#failures || inARow, intervalMs), minPauseMs) - performance.now();
    }
  }

  /** Leaves the lock to others for as long as each needs to find it free. Never rejects. */
  async #offerLock(): Promise<void> {
    this.#stopPolling('released');
    this.#lockIn((2 * this.#deps.store.lockMs) / attemptsPerLock);
    await this.#release();
  }

  /** Never rejects. */
  async #poll(stopping: AbortSignal): Promise<{ readonly result: PollResult; readonly minPauseMs: number }> {
    const { newest } = this.topic;
    const observedAt = timeNow();
    const order = Math.max(observedAt, (newest?.order ?? this.#minOrder) + 1);
    try {
      const state = this.#fitted(await this.#watched.ask(newest?.state, stopping));
      const kind = this.#watched.isFinal(state) ? 'final' : 'state';
      const isSame = newest !== undefined && this.#watched.same(newest.state, state);
      await this.#publish({ kind, state, observedAt, order }, stopping);
      return { result: isSame ? 'same' : 'changed', minPauseMs: 0 };
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== undefined) await this.#publish({ kind: 'refused', ...refusal, order }, stopping);
      return { result: 'failed', minPauseMs: askedPauseMs(error) };
    }
  }

  async #publish(outcome: Ordered<PollOutcome<unknown>>, stopping: AbortSignal): Promise<void> {
    // By now there may have been a write; and another gateway may poll, if this whole process was paused.
    if (!stopping.aborted) await this.#lock();
    if (stopping.aborted) return;
    const generation = this.#generation;
    if (generation !== undefined && this.#isForAll) {
      const publishing = this.#deps.store.publish(this.#name, { ...outcome, generation }, this.#watched.list);
      // Another gateway may reach the store better.
      await publishing.catch(() => this.#release());
    }
    if (!stopping.aborted) this.#accept(outcome);
  }

  /** Returns whether it could be read. Never rejects. */
  async #readStored(): Promise<boolean> {
    if (this.#generation === undefined) return true;
    try {
      const stored = await this.#deps.store.read(this.#name, this.#generation);
      if (stored !== undefined) await this.#receive(stored);
      return true;
    } catch {
      return false;
    }
  }

  async #receive(message: StateMessage<unknown>): Promise<void> {
    if (message.generation !== this.#generation) await this.#readGeneration(this.#generation);
    if (message.generation === this.#generation) this.#accept(message);
  }

  /** Finds out the generation; if it has changed, forgets what is from before, and polls at once. @param ifUnknown the generation if none is known now. */
  async #readGeneration(ifUnknown: string | undefined): Promise<void> {
    const { generation: read = async () => '' } = this.#watched;
    const generation = (await read().catch(() => undefined)) ?? ifUnknown;
    if (this.#isStopped || generation === this.#generation) return;
    clearTimeout(this.#staleTimer);
    this.#minOrder = this.topic.newest?.order ?? this.#minOrder;
    // The clocks of gateways that polled alone may be wrong.
    this.#staleTimer = setTimeout(() => (this.#minOrder = 0), staleIntervals * this.#deps.intervalMs);
    this.#generation = generation;
    this.topic.forget();
    this.#isStale = false;
    this.#stopPolling('released');
    this.#lockIn(0);
  }

  #accept(outcome: Ordered<PollOutcome<unknown>>): void {
    if (this.#isStopped) return;
    if (outcome.kind === 'refused') {
      this.topic.end(refusalError(outcome));
      return;
    }
    const { kind, order, observedAt } = outcome;
    const { newest } = this.topic;
    // After a long time without a newer state, an older one counts: gateways that polled alone ordered their states by clocks, which may be wrong.
    const isNewer = order > (newest?.order ?? this.#minOrder) || (this.#isStale && order !== newest?.order);
    if (kind === 'state' && !isNewer) return;
    const state = this.#fitted(outcome.state);
    const snapshot = { state, observedAt, order };
    const isNews =
      kind === 'final' || this.#isStale || newest === undefined || !this.#watched.same(newest.state, state);
    if (isNews) this.topic.publish(snapshot);
    else this.topic.newest = snapshot;
    this.#isStale = false;
    clearTimeout(this.#staleTimer);
    if (kind === 'final') this.topic.end();
    else this.#repeatOnceStale(snapshot);
  }

  /** The state, with as much of its list as there is memory for. */
  #fitted(state: unknown): unknown {
    const { list: member } = this.#watched;
    if (member === undefined) return state;
    const { [member]: all = [] } = state as Readonly<Record<string, readonly object[]>>;
    const kept = this.#claim.keepLast(all);
    if (kept.length === all.length) return state;
    this.#deps.store.keep?.(this.#name, kept);
    return { ...(state as object), [member]: kept };
  }

  #repeatOnceStale(snapshot: Ordered<Snapshot<unknown>>): void {
    this.#staleTimer = setTimeout(() => {
      this.#isStale = true;
      // A copy, because listeners compare values by identity.
      this.topic.publish({ ...snapshot });
    }, staleIntervals * this.#deps.intervalMs);
  }
}

/** A service that asks for a longer pause, such as for its whole maintenance, may be back before. Meanwhile the fleet would learn nothing. */
const maxAskedMs = 5 * 60_000;

/** How long to wait after an error because the service asked for it, in milliseconds: at most five minutes. */
export const askedPauseMs = (error: unknown): number => Math.min(retryAfterMs(error), maxAskedMs);

type PollResult = 'changed' | 'same' | 'failed';

/** While nothing changes, a quarter slower each time, up to half as often (docs/upstream-api.md: Discovery workflow: 30 to 60 seconds). */
const slowerEachTime = 0.25;
const maxSlownessUnchanged = 2;
/** After failures in a row, half as often each time. */
const maxSlownessFailing = 4;
/** Spreads pollers that started together. */
const jitter = 0.1;

/** From the start of one poll to the start of the next, in milliseconds: never less than the interval. @param inARow how many polls in a row, from 1. */
export function pauseAfter(result: PollResult, inARow: number, intervalMs: number, random = Math.random): number {
  const slowness = {
    changed: 1,
    same: Math.min(1 + slowerEachTime * (inARow - 1), maxSlownessUnchanged),
    failed: Math.min(2 ** inARow, maxSlownessFailing),
  }[result];
  return intervalMs * slowness * (1 + random() * jitter);
}
