import { randomUUID } from 'node:crypto';
import type { Telemetry } from '../../observability/telemetry.js';
import { type PollStore, staleIntervals } from './poll-store.js';
import { type PollOutcome, refusalError, refusalOf, type Snapshot, type StateMessage } from './state-message.js';
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

export interface PollerDeps {
  readonly store: PollStore;
  /** The time between two polls, in milliseconds. */
  readonly intervalMs: number;
  readonly telemetry: Telemetry;
  /** Identifies this gateway. */
  readonly gateway: string;
}

/** How often a claim is renewed within its time. */
const renewalsPerClaim = 3;
/** Stands for a generation that is unknown: until it is known, this process polls for itself. */
const unknownGeneration = randomUUID();

/**
 * One process's part in watching one thing: it receives what the fleet publishes, claims the next poll, and polls while the claim is its own. If
 * the store is unavailable for longer than a claim lasts, it polls for its own listeners alone. Polls are idempotent: two at once do no harm.
 */
export class Poller {
  readonly topic: Topic<Snapshot<unknown>>;
  readonly #name: string;
  readonly #watched: Watched<unknown>;
  readonly #deps: PollerDeps;
  readonly #unsubscribe: () => void;
  /** The generation of all that is kept here; undefined before it was asked for. */
  #generation: string | undefined;
  /** How many times the generation was asked for, and which of them was the last one to count. */
  #generationReads = { begun: 0, applied: 0 };
  /** The `order` of the newest state, and when it was new, by the monotonic clock. */
  #newest = { order: 0, at: Number.NEGATIVE_INFINITY };
  #isPolling = false;
  #claimedUntil = 0;
  #storeSeenAt = performance.now();
  #nextPollAt = 0;
  #asking: AbortController | undefined;
  #last: { readonly result: PollResult; readonly inARow: number } | undefined;
  #stepTimer: NodeJS.Timeout | undefined;
  #staleTimer: NodeJS.Timeout | undefined;
  #isRepeated = false;
  #isStopped = false;

  /** @param onEmpty is called when the last listener has left, or the topic has ended. */
  constructor(name: string, watched: Watched<unknown>, deps: PollerDeps, onEmpty: () => void) {
    this.#name = name;
    this.#watched = watched;
    this.#deps = deps;
    this.topic = new Topic({ onEmpty, refresh: () => this.refresh() });
    this.#unsubscribe = deps.store.subscribe(name, message => void this.#receive(message));
    this.#schedule(0);
  }

  /** Brings the newest state up to date for a new listener, as far as that can be known. Never rejects. */
  async refresh(): Promise<void> {
    await this.#readGeneration(unknownGeneration);
    await this.#readStored();
  }

  /** Stops polling and listening, and gives the claim back. Never rejects. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#stopPolling('released');
    clearTimeout(this.#stepTimer);
    clearTimeout(this.#staleTimer);
    const { store, gateway } = this.#deps;
    await store.release(this.#name, this.#generation ?? '', gateway).catch(() => {});
  }

  get #renewMs(): number {
    return this.#deps.store.claimMs / renewalsPerClaim;
  }

  #schedule(pauseMs: number): void {
    clearTimeout(this.#stepTimer);
    if (!this.#isStopped) this.#stepTimer = setTimeout(() => void this.#step(), pauseMs);
  }

  /** Claims the next poll, and begins it if it is due. */
  async #step(): Promise<void> {
    await this.#readGeneration(this.#generation ?? unknownGeneration);
    if (this.#isStopped) return;
    const generation = this.#generation;
    const othersMs = await this.#claim();
    if (generation !== this.#generation) return this.#schedule(0);
    const renewMs = this.#renewMs;
    const dueMs = this.#nextPollAt - performance.now();
    // A message can be missed, and the store can fail: so a gateway that waits asks as often as the one that polls.
    if (!this.#isPolling) this.#schedule(Math.min(othersMs || renewMs, renewMs));
    else if (this.#asking !== undefined) this.#schedule(renewMs);
    else if (dueMs > 0) this.#schedule(Math.min(dueMs, renewMs));
    else {
      this.#schedule(renewMs);
      void this.#poll();
    }
  }

  /**
   * Notes who polls now. While the store is unavailable, that does not change for the time of a claim; then, or if there is no state yet, this process
   * polls alone.
   * @returns for how many more milliseconds another gateway has the claim; 0 if none is known to have it.
   */
  async #claim(): Promise<number> {
    const { store, gateway } = this.#deps;
    const startedAt = performance.now();
    const generation = this.#generation ?? unknownGeneration;
    if (generation === unknownGeneration) {
      this.#startPolling();
      return 0;
    }
    try {
      const othersMs = await store.claim(this.#name, generation, gateway);
      this.#storeSeenAt = performance.now();
      if (othersMs > 0) this.#stopPolling('lost');
      else this.#claimedUntil = startedAt + store.claimMs;
      if (this.#isPolling) return 0;
      await this.#readStored();
      if (othersMs === 0 && generation === this.#generation) this.#startPolling();
      return othersMs;
    } catch {
      const isAlone = performance.now() - this.#storeSeenAt > store.claimMs;
      if (isAlone || this.topic.newest === undefined) this.#startPolling();
      return 0;
    }
  }

  #startPolling(): void {
    if (this.#isPolling || this.#isStopped) return;
    this.#isPolling = true;
    this.#last = undefined;
    this.#nextPollAt = this.#newest.at + this.#deps.intervalMs;
    this.#deps.telemetry.poller('taken');
  }

  #stopPolling(change: 'lost' | 'released'): void {
    this.#asking?.abort();
    this.#asking = undefined;
    if (!this.#isPolling) return;
    this.#isPolling = false;
    this.#deps.telemetry.poller(change);
  }

  /** Never rejects. */
  async #poll(): Promise<void> {
    const asking = new AbortController();
    this.#asking = asking;
    const startedAt = performance.now();
    const observedAt = Date.now();
    const order = Math.max(observedAt, this.#newest.order + 1);
    const generation = this.#generation ?? unknownGeneration;
    const before = this.topic.newest?.state;
    let result: PollResult = 'failed';
    let outcome: PollOutcome<unknown> | undefined;
    let minPauseMs = 0;
    try {
      const state = await this.#watched.ask(before, asking.signal);
      outcome = { kind: this.#watched.isFinal(state) ? 'final' : 'state', state, observedAt };
      result = before !== undefined && this.#watched.same(before, state) ? 'same' : 'changed';
    } catch (error) {
      const refusal = refusalOf(error);
      outcome = refusal && { kind: 'refused', ...refusal };
      minPauseMs = retryAfterMs(error);
    }
    if (outcome !== undefined) await this.#publish({ ...outcome, generation, order }, asking.signal);
    if (asking.signal.aborted) return;
    this.#asking = undefined;
    const inARow = result === this.#last?.result ? this.#last.inARow + 1 : 1;
    this.#last = { result, inARow };
    const pauseMs = Math.max(pauseAfter(result, inARow, this.#deps.intervalMs), minPauseMs);
    this.#nextPollAt = startedAt + pauseMs;
    // The interval may be shorter than the time between two renewals.
    if (pauseMs < this.#renewMs) this.#schedule(pauseMs);
  }

  async #publish(message: StateMessage<unknown>, signal: AbortSignal): Promise<void> {
    // A state from before a write must not be published after one from after the write.
    if (!signal.aborted) await this.#readGeneration(message.generation);
    // If the whole process was paused, another gateway may have the claim by now.
    if (!signal.aborted && performance.now() > this.#claimedUntil) await this.#claim();
    if (signal.aborted) return;
    if (message.generation !== unknownGeneration) {
      await this.#deps.store.publish(this.#name, message).catch(() => {});
    }
    this.#accept(message);
  }

  async #receive(message: StateMessage<unknown>): Promise<void> {
    if (message.generation !== this.#generation) await this.#readGeneration(this.#generation ?? unknownGeneration);
    this.#accept(message);
  }

  async #readStored(): Promise<void> {
    const stored = await this.#deps.store.read(this.#name, this.#generation ?? '').catch(() => undefined);
    if (stored !== undefined) this.#accept(stored.message, stored.ageMs);
  }

  /** Finds out the generation; if it has changed, forgets what is from before, and polls at once. @param ifUnknown the generation if none is known now. */
  async #readGeneration(ifUnknown: string): Promise<void> {
    this.#generationReads.begun += 1;
    const read = this.#generationReads.begun;
    const current =
      this.#watched.generation === undefined ? '' : await this.#watched.generation().catch(() => undefined);
    if (this.#isStopped || read < this.#generationReads.applied) return;
    if (current !== undefined) this.#generationReads.applied = read;
    const generation = current ?? ifUnknown;
    if (generation === this.#generation) return;
    this.#generation = generation;
    this.#newest = { order: 0, at: Number.NEGATIVE_INFINITY };
    this.topic.forget();
    clearTimeout(this.#staleTimer);
    this.#stopPolling('released');
    this.#schedule(0);
  }

  /** @param ageMs how long ago the message was stored. */
  #accept(message: StateMessage<unknown>, ageMs = 0): void {
    if (this.#isStopped || message.generation !== this.#generation) return;
    const at = performance.now() - ageMs;
    if (message.kind === 'refused') this.topic.end(refusalError(message));
    else if (message.kind === 'final' || this.#isNewer(message.order, at)) this.#show(message, at);
  }

  /** An older state counts if there was no newer one for long: while the store was unavailable, gateways ordered their states by clocks that may be wrong. */
  #isNewer(order: number, at: number): boolean {
    if (order === this.#newest.order) return false;
    return order > this.#newest.order || at - this.#newest.at > staleIntervals * this.#deps.intervalMs;
  }

  #show({ kind, order, state: received, observedAt }: StateMessage<unknown> & Snapshot<unknown>, at: number): void {
    this.#newest = { order, at };
    const state = this.#watched.revive?.(received) ?? received;
    const before = this.topic.newest;
    const isNew = kind === 'final' || before === undefined || !this.#watched.same(before.state, state);
    if (isNew || this.#isRepeated) this.topic.publish({ state, observedAt });
    else this.topic.replace({ state, observedAt });
    this.#isRepeated = false;
    if (kind === 'final') this.topic.end();
    else this.#repeatWhenStale();
  }

  #repeatWhenStale(): void {
    clearTimeout(this.#staleTimer);
    this.#staleTimer = setTimeout(() => {
      this.#isRepeated = true;
      // A copy, because listeners compare values by identity.
      if (this.topic.newest !== undefined) this.topic.publish({ ...this.topic.newest });
    }, staleIntervals * this.#deps.intervalMs);
  }
}

/** How long the service asked to wait after an error, in milliseconds. */
const retryAfterMs = (error: unknown): number =>
  1_000 * Number((error as { retryAfterSeconds?: number } | undefined)?.retryAfterSeconds ?? 0);

/** What a poll brought: a new state, the same as before, or an error. */
type PollResult = 'changed' | 'same' | 'failed';

/** While nothing changes, a quarter slower each time, up to half as often (docs/upstream-api.md: Discovery workflow: 30 to 60 seconds). */
const slowerEachTime = 0.25;
const maxSlownessUnchanged = 2;
/** After failures in a row, half as often each time. */
const maxSlownessFailing = 4;
/** Spreads pollers that started together. */
const jitter = 0.1;

/**
 * The time from the start of one poll to the start of the next, in milliseconds. Never less than the interval.
 * @param inARow how many polls in a row had this result, from 1.
 */
export function pauseAfter(result: PollResult, inARow: number, intervalMs: number, random = Math.random): number {
  const slowness = {
    changed: 1,
    same: Math.min(1 + slowerEachTime * (inARow - 1), maxSlownessUnchanged),
    failed: Math.min(2 ** inARow, maxSlownessFailing),
  }[result];
  return intervalMs * slowness * (1 + random() * jitter);
}
