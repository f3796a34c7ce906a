import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import type { Telemetry } from '../../observability/telemetry.js';
import type { Lease, LeaseStore } from './lease-store.js';
import { type Finding, startPoller } from './poller.js';
import {
  errorOf,
  type Found,
  isNewer,
  isPast,
  type News,
  type Observed,
  refusalIn,
  type StateMessage,
} from './state-message.js';
import { Topic } from './topic.js';

/** What is watched: where its state comes from, and what to make of it. States are JSON-safe. */
export interface Watched<S> {
  /** The shape of a state. One of another shape that comes from elsewhere in the fleet is counted and ignored. */
  readonly stateSchema: z.ZodType<S>;
  /** Asks the source, never a cache. @param previous the last state that anybody in the fleet knew. */
  ask(previous: S | undefined, signal: AbortSignal): Promise<S>;
  /** Whether a listener who has the one needs not hear the other. */
  same(one: S, other: S): boolean;
  /** Whether nothing can follow. */
  isFinal(state: S): boolean;
  /**
   * A token that changes with every write after which earlier states are of no use to who comes; undefined where it is not to be had now.
   * Left out: there is no such write.
   */
  generation?(): Promise<string | undefined>;
}

export interface WatcherDeps {
  readonly leases: LeaseStore;
  readonly intervalMs: number;
  readonly telemetry: Telemetry;
}

/** What a watcher depends on its owner for. */
export interface WatcherHooks {
  /** Is called when the last listener has left, or the topic has ended. */
  onEmpty(): void;
  /** Hands the listeners over, and empties the topic, where the generation of what is watched is another by now. */
  moveOn(): Promise<void>;
}

/** How often a lease is renewed, or tried for, within its time. */
const beatsPerLease = 3;
/** After this many intervals without an answer, listeners are told the age of what they have. */
const staleIntervals = 3;

/**
 * One process's part in watching one thing: listens to what the fleet hears, tries for the lease, and asks while it has it. Where the
 * board is away for longer than a lease, it asks for its own listeners alone. Runs from `start` until `stop`, or to its end.
 */
export class Watcher {
  readonly topic: Topic<Found<unknown>>;
  readonly #name: string;
  readonly #watched: Watched<unknown>;
  readonly #parts: WatcherDeps;
  readonly #hooks: WatcherHooks;
  readonly #holder = randomUUID();
  #word: StateMessage<unknown> | undefined;
  #lease: (Lease & { until: number }) | undefined;
  /** Words below are of a time before this watcher's; undefined: nothing is known yet. */
  #floor: number | undefined;
  #unlisten = () => {};
  #stopPoller: (() => void) | undefined;
  #beatTimer: NodeJS.Timeout | undefined;
  #staleTimer: NodeJS.Timeout | undefined;
  #beating: Promise<void> = Promise.resolve();
  #heardOfBoardAt = performance.now();
  #toldStale = false;
  #stopped = false;

  constructor(name: string, watched: Watched<unknown>, parts: WatcherDeps, hooks: WatcherHooks) {
    this.#name = name;
    this.#watched = watched;
    this.#parts = parts;
    this.#hooks = hooks;
    this.topic = new Topic({
      onEmpty: hooks.onEmpty,
      refresh: async () => {
        await hooks.moveOn();
        await this.catchUp();
      },
      // What is final is told for certain.
      isPast: (found, other) =>
        !watched.isFinal(found.state) && isPast(found, other, staleIntervals * parts.intervalMs),
    });
  }

  start(): void {
    this.#unlisten = this.#parts.leases.listen(this.#name, word => this.#overhear(word));
    this.#beat();
  }

  /** Takes over the board's last word, which may not have been heard here yet: a listener may have heard it elsewhere. Never rejects. */
  async catchUp(): Promise<void> {
    if (this.#stopped) return;
    const word = this.#parseLenient(await this.#parts.leases.read(this.#name).catch(() => undefined));
    if (word !== undefined) this.#hear(word);
  }

  /** A word of the board with its state as the schema has it; undefined where it does not fit. */
  #parseLenient(word: StateMessage<unknown> | undefined): StateMessage<unknown> | undefined {
    if (word === undefined || word.kind === 'refused') return word;
    const { data, success } = this.#watched.stateSchema.safeParse(word.state);
    if (success) return { ...word, state: data };
    this.#parts.telemetry.malformed('state');
    return undefined;
  }

  /** Ends asking and listening, and gives the lease back. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    clearTimeout(this.#beatTimer);
    clearTimeout(this.#staleTimer);
    this.#unlisten();
    this.#rest();
    await this.#beating;
    const lease = this.#part('released');
    if (lease !== undefined) await this.#parts.leases.release(this.#name, lease).catch(() => {});
  }

  #beat(): void {
    this.#beating = this.#tryBeat()
      .catch(() => this.#withoutBoard())
      .then(() => this.#hooks.moveOn());
    void this.#beating.then(() => {
      if (this.#stopped) return;
      const pause = this.#parts.leases.leaseMs / beatsPerLease;
      this.#beatTimer = setTimeout(() => this.#beat(), pause * (0.8 + 0.2 * Math.random()));
    });
  }

  async #tryBeat(): Promise<void> {
    if (this.#lease !== undefined) return this.#renew(this.#lease);
    const { leases, intervalMs } = this.#parts;
    const begunAt = performance.now();
    const { lease, fence, kept } = await leases.take(this.#name, this.#holder);
    this.#heardOfBoardAt = performance.now();
    this.#floor = fence;
    const word = this.#parseLenient(kept?.word);
    if (word !== undefined) this.#hear(word);
    if (lease === undefined) return this.#rest();
    this.#lease = { ...lease, until: begunAt + leases.leaseMs };
    this.#parts.telemetry.leaseChange('taken');
    if (!this.#stopped) this.#poll(word === undefined || kept === undefined ? 0 : Math.max(intervalMs - kept.ageMs, 0));
  }

  async #renew(lease: Lease): Promise<void> {
    const { leases } = this.#parts;
    const begunAt = performance.now();
    const renewed = await leases.renew(this.#name, lease);
    this.#heardOfBoardAt = performance.now();
    if (renewed) this.#lease = { ...lease, until: begunAt + leases.leaseMs };
    else this.#lose();
  }

  #lose(): void {
    this.#part('lost');
    this.#rest();
  }

  /** Forgets the lease, if there is one. */
  #part(change: 'lost' | 'released'): Lease | undefined {
    const lease = this.#lease;
    this.#lease = undefined;
    if (lease !== undefined) this.#parts.telemetry.leaseChange(change);
    return lease;
  }

  /** The board is away: whoever has nothing to tell yet, or has waited for as long as a lease lasts, asks alone. */
  #withoutBoard(): void {
    if (this.#stopped) return;
    const alone = performance.now() - this.#heardOfBoardAt > this.#parts.leases.leaseMs;
    if (!alone && this.topic.newest !== undefined) return;
    const age = this.topic.newest === undefined ? undefined : Date.now() - this.topic.newest.observedAt;
    this.#poll(age === undefined ? 0 : Math.max(this.#parts.intervalMs - age, 0));
  }

  #poll(firstInMs: number): void {
    if (this.#stopPoller !== undefined) return;
    this.#stopPoller = startPoller(signal => this.#ask(signal), this.#parts.intervalMs, firstInMs);
    this.#parts.telemetry.pollers(1);
  }

  #rest(): void {
    if (this.#stopPoller === undefined) return;
    this.#stopPoller();
    this.#stopPoller = undefined;
    this.#parts.telemetry.pollers(-1);
  }

  async #ask(signal: AbortSignal): Promise<Finding> {
    // After a pause of the whole process the lease may be another's by now.
    if (this.#lease !== undefined && performance.now() > this.#lease.until) {
      await this.#renew(this.#lease).catch(() => this.#lose());
      if (signal.aborted) return 'failed';
    }
    const observedAt = Date.now();
    const before = this.topic.newest?.state;
    try {
      const state = await this.#watched.ask(before, signal);
      if (signal.aborted) return 'failed';
      await this.#announce({ kind: this.#watched.isFinal(state) ? 'final' : 'state', state, observedAt }, signal);
      return before !== undefined && this.#watched.same(before, state) ? 'same' : 'changed';
    } catch (error) {
      const refusal = refusalIn(error);
      if (refusal !== undefined && !signal.aborted) await this.#announce({ kind: 'refused', ...refusal }, signal);
      return 'failed';
    }
  }

  async #announce(news: News<unknown>, signal: AbortSignal): Promise<void> {
    // What was found before a write is told before what is found after it, or not at all.
    await this.#hooks.moveOn();
    if (signal.aborted) return;
    const lease = this.#lease;
    const fence = lease?.fence ?? this.#word?.fence ?? 0;
    const seq = this.#word?.fence === fence ? this.#word.seq + 1 : 1;
    const word: StateMessage<unknown> = { ...news, fence, seq };
    if (lease === undefined) return this.#hear(word, true);
    // Undefined where the board is away: then nobody knows, and this process may have been stopped meanwhile.
    const told = await this.#parts.leases.announce(this.#name, lease, word).catch(() => undefined);
    if (told === undefined && signal.aborted) return;
    if (told ?? performance.now() < lease.until) this.#hear(word, told === undefined);
    else this.#lose();
  }

  /** An end that was told before this watcher began is none of its own. */
  #overhear(told: StateMessage<unknown>): void {
    if (this.#floor === undefined || told.fence < this.#floor) return;
    const word = this.#parseLenient(told);
    if (word === undefined) return;
    // Who hears that somebody else asks is not alone, and has no lease.
    if (word.fence !== this.#lease?.fence) this.#lose();
    this.#hear(word);
  }

  /** @param isAlone whether the word is this process's own, and was told to nobody else. */
  #hear(word: StateMessage<unknown>, isAlone = false): void {
    if (this.#stopped || !isNewer(word, this.#word)) return;
    this.#word = word;
    if (word.kind !== 'state') this.#part('released');
    if (word.kind === 'refused') this.topic.end(errorOf(word));
    else this.#show(word, isAlone);
  }

  #show({ kind, state, observedAt, fence }: StateMessage<unknown> & Observed<unknown>, isAlone: boolean): void {
    const { newest } = this.topic;
    const found: Found<unknown> = isAlone
      ? { state, observedAt, fence: undefined, asOf: Date.now() }
      : { state, observedAt, fence, asOf: observedAt };
    const changed = newest === undefined || !this.#watched.same(newest.state, state) || this.#toldStale;
    this.#toldStale = false;
    if (changed || kind === 'final') this.topic.tell(found);
    else this.topic.keep(found);
    if (kind === 'final') this.topic.end();
    else this.#watchAge();
  }

  #watchAge(): void {
    clearTimeout(this.#staleTimer);
    this.#staleTimer = setTimeout(() => {
      this.#toldStale = true;
      // A value of its own, since it is told anew.
      if (this.topic.newest !== undefined) this.topic.tell({ ...this.topic.newest });
    }, staleIntervals * this.#parts.intervalMs);
  }
}
