// Watches: what is new of events, or of the jobs of a market, sent to an endpoint of a team for a client that holds no connection.
//
// Promises: each change is sent at least once behind the last cursor that the client renewed with, in order, one delivery for each. What is sent again has the
//   same `webhook-id`, also from another gateway, and behind an earlier cursor. Says with `gap` where something may be missing.
// States: it follows; or it has a pending delivery, which is sent until the endpoint answers 2xx. It ends with its lease (15 minutes, unless renewed), with its
//   job, when the service, the team or an operator refuses its client, when its endpoint is deleted, and when the client stops it or signs out.
// Needs: a store (of this process, or Redis), feeds that follow what is watched, and what sends to an endpoint.
// Never: keeps or uses a credential longer than the lease, or has it unsealed outside of the process; sends to an endpoint of another team; reads, or keeps what it has read,
//   for an endpoint that takes nothing.
import { hash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Credential, ownerOf, type Scope } from '../../auth/credentials.js';
import { requiredTeamOf, type TeamKey, type Teams } from '../../auth/teams.js';
import type { Reloadable } from '../../config/values.js';
import { modelJson } from '../../data/parsing.js';
import { shortHash } from '../../data/shared-store.js';
import type { RequestAuth } from '../../data/upstream/request.js';
import { Conflict, Forbidden, NotFound, RateLimited, Unauthenticated, UpstreamUnavailable } from '../../errors.js';
import { timeNow } from '../../lib/clock.js';
import { iso } from '../../lib/time.js';
import { ResponseMetadata } from '../../observability/response-metadata.js';
import type { Delivery, Subject, Watch, WatchedChange } from './model.js';
import type { WatchStore } from './store.js';

/** The status of the answer, null without one, and whether the endpoint took it. */
type Sent = { readonly status: number | null; readonly isTaken: boolean };
type Send = (call: Pick<Delivery, 'id' | 'body'>) => Promise<Sent>;

type IsBlocked = (client: Pick<RequestAuth, 'scope' | 'credential'>) => boolean;

interface WatchesDeps {
  readonly store: WatchStore;
  readonly teams: Reloadable<Teams>;
  readonly scopeOf: (credential: Credential) => Scope;
  /** Whether a client has signed out by now. */
  readonly hasEnded: (credential: Credential) => Promise<boolean>;
  /** Follows a subject behind a cursor. @throws BadUserInput for a cursor of something else. */
  readonly follow: (
    subject: Subject,
    after: string | null,
    credential: Credential,
  ) => (auth: RequestAuth) => AsyncIterable<WatchedChange>;
  /** Prepares to send to an endpoint, as it is now. @throws NotFound and others where that is not possible. */
  readonly prepare: (
    team: TeamKey,
    endpoint: string,
    by: 'name' | 'registration',
    credential: Credential,
  ) => Promise<{ readonly registration: string; readonly send: Send }>;
  /** Reports why a watch ended before its lease, unless its client stopped it. @param watch undefined if its store failed. */
  readonly report: (error: unknown, watch?: Watch) => void;
}

interface Running {
  readonly watch: Watch;
  /** By which it was found. That of the watch is another one where the store failed while it was renewed. */
  readonly foundLease: string;
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

const leaseMs = 15 * 60_000;
const maxOfTeam = 20;
/** How often a gateway looks for watches that no other one serves any more. */
const lookEveryMs = 2_000;
/** A watch of events may have missed something where it is known only later, or in another process, where it has begun. */
const promptMs = 60_000;
const retryMs = { first: 1_000, max: 60_000 };
/** How long a call that is on its way may take while the gateway closes: less than what else runs. Another gateway sends it again. */
const closingMs = 3_000;

export class Watches {
  readonly #deps: WatchesDeps;
  readonly #running = new Map<string, Running>();
  #isBlocked: IsBlocked = () => true;
  #timer: NodeJS.Timeout | undefined;
  readonly #process = randomUUID();
  /** What may be stored, although its client does not know that it has begun. */
  readonly #unknown = new Set<string>();
  #looking = Promise.resolve();
  /** Whether the latest look has not begun, and so sees all that is stored by now. */
  #willLook = false;

  constructor(deps: WatchesDeps) {
    this.#deps = deps;
  }

  /** Begins to serve the watches of others. Call it before the first `begin`. @param isBlocked whether an operator has blocked a client. */
  start(isBlocked: IsBlocked): void {
    this.#isBlocked = isBlocked;
    this.#timer = setInterval(() => void this.#look(), lookEveryMs).unref();
  }

  /**
   * Begins a watch. @param name of the endpoint. @param after null: from now on.
   * @throws Forbidden without a team; BadUserInput for a cursor of something else; NotFound and others for the endpoint; RateLimited.
   */
  async begin(auth: RequestAuth, subject: Subject, name: string, after: string | null): Promise<Watch> {
    const { store, follow, prepare } = this.#deps;
    const { key, client } = this.#clientOf(auth);
    follow(subject, after, client.credential);
    const { registration: endpoint } = await prepare(key, name, 'name', client.credential);
    const id = randomUUID();
    const state = { begunIn: this.#process, cursor: after, pending: null, latest: null, lastDelivery: null };
    const watch = { id, ...client, endpoint, endpointName: name, subject, ...leased(), ...state };
    try {
      await this.#put(watch);
      // Counted with the new one, so that two at once cannot exceed the limit.
      const ofTeam = [...(await store.leases()).values()].filter(({ team }) => team === client.team);
      if (ofTeam.length > maxOfTeam) throw new RateLimited(`A team can have at most ${maxOfTeam} watches at a time`);
    } catch (error) {
      this.#unknown.add(id);
      await this.#look();
      throw error;
    }
    await this.#look();
    return watch;
  }

  /** Renews the lease. @param after continues behind this cursor; null: where it is. @throws NotFound; BadUserInput for a cursor of something else. */
  async renew(auth: RequestAuth, id: string, after: string | null): Promise<Watch> {
    const { credential } = this.#clientOf(auth).client;
    const before = await this.#own(auth, id);
    if (after !== null) this.#deps.follow(before.subject, after, credential);
    const isElsewhere = after !== null && after !== before.cursor;
    const watch = {
      ...before,
      credential,
      ...leased(),
      begunIn: null,
      ...(isElsewhere && { cursor: after, pending: null }),
    };
    // It was renewed twice at once, or has ended.
    if (!(await this.#put(watch, before.lease))) return this.renew(auth, id, after);
    await this.#look();
    return watch;
  }

  /** Ends a watch. @throws NotFound */
  async stop(auth: RequestAuth, id: string): Promise<Watch> {
    const watch = await this.#own(auth, id);
    await this.#deps.store.remove(id);
    await this.#look();
    return watch;
  }

  async list(auth: RequestAuth): Promise<readonly Watch[]> {
    const { client } = this.#clientOf(auth);
    return (await this.#ownedBy(client.credential)).filter(({ team }) => team === client.team);
  }

  /** Ends all watches of a client that has signed out. Never rejects: they end with their leases at the latest. */
  async endOf(credential: Credential): Promise<void> {
    const removed = this.#ownedBy(credential).then(watches =>
      Promise.all(watches.map(watch => this.#end(watch, sessionEnded()))),
    );
    await removed.then(() => this.#look(), this.#deps.report);
  }

  /** Leaves what has a lease that is over. Whatever reads for a watch calls it before: after a pause of the process, the timer would be late. */
  endOverdue(): void {
    for (const [id, { watch }] of this.#running) if (watch.until <= timeNow()) this.#leave(id);
  }

  /** Leaves its watches to the other gateways. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    const running = [...this.#running];
    for (const [id] of running) this.#leave(id);
    const allEnded = Promise.all(running.map(([, { ended }]) => ended));
    await Promise.race([allEnded, sleep(closingMs, undefined, { ref: false })]);
    await Promise.allSettled(running.map(([id]) => this.#deps.store.release(id)));
  }

  #clientOf({ credential, metadata }: RequestAuth) {
    metadata.forbidCaching();
    const key = requiredTeamOf(this.#deps.teams.current, credential);
    return { key, client: { team: shortHash(key), owner: ownerIndex(credential), credential } };
  }

  /** Stores a watch as `WatchStore.put` does. @throws Unauthenticated if its client has signed out, which may have ended only the watches from before. */
  async #put(watch: Watch, lease?: string): Promise<boolean> {
    const { store, hasEnded } = this.#deps;
    const isStored = await store.put(watch, lease);
    if (!(await hasEnded(watch.credential))) return isStored;
    await store.remove(watch.id);
    throw sessionEnded();
  }

  async #ownedBy(credential: Credential): Promise<readonly Watch[]> {
    const leases = [...(await this.#deps.store.leases())];
    const ids = leases.flatMap(([id, { owner }]) => (owner === ownerIndex(credential) ? id : []));
    const watches = await Promise.all(ids.map(id => this.#deps.store.get(id)));
    // Of a user, each session has its own.
    return watches.filter(watch => watch?.credential.secret.reveal() === credential.secret.reveal()) as Watch[];
  }

  async #own(auth: RequestAuth, id: string): Promise<Watch> {
    const found = (await this.list(auth)).find(watch => watch.id === id);
    if (found !== undefined) return found;
    throw new NotFound(
      'This client has no such watch, or its lease has ended; begin another one behind your last cursor',
      undefined,
      'input.watch',
    );
  }

  /** Serves what no other gateway serves, and leaves what has ended, was renewed, or is served by another one. One look at a time. Never rejects. */
  #look(): Promise<void> {
    if (this.#willLook) return this.#looking;
    this.#willLook = true;
    this.#looking = this.#looking
      .then(async () => {
        this.#willLook = false;
        const removed = [...this.#unknown].map(id => this.#deps.store.remove(id).then(() => this.#unknown.delete(id)));
        await Promise.allSettled(removed);
        const leases = await this.#deps.store.leases();
        for (const [id, { watch, foundLease }] of this.#running)
          if (leases.get(id)?.lease !== foundLease || this.#blocks(watch)) this.#leave(id);
        const known = [...leases].filter(([id]) => !this.#unknown.has(id));
        await Promise.allSettled(known.map(([id, { lease }]) => this.#serve(id, lease)));
      })
      // What is served goes on while the store is away.
      .catch(() => {});
    return this.#looking;
  }

  /** Whether an operator has blocked the client of a watch. */
  #blocks({ credential }: Watch): boolean {
    return this.#isBlocked({ credential, scope: this.#deps.scopeOf(credential) });
  }

  /** Ends a watch before its lease. */
  #end(watch: Watch, reason: Error): Promise<void> {
    this.#deps.report(reason, watch);
    return this.#deps.store.remove(watch.id);
  }

  #leave(id: string): void {
    this.#running.get(id)?.controller.abort();
  }

  /** Serves a watch, unless it is served already, or by another gateway. */
  async #serve(id: string, foundLease: string): Promise<void> {
    const { store, hasEnded } = this.#deps;
    if (!(await store.lock(id))) return this.#leave(id);
    if (this.#running.get(id)?.controller.signal.aborted === false) return;
    const watch = await store.get(id);
    // Another gateway may know the secret that opens it.
    if (watch === undefined) return store.release(id);
    // Nothing more is read for it.
    if (this.#blocks(watch)) return this.#end(watch, blocked());
    if (await hasEnded(watch.credential)) return this.#end(watch, sessionEnded());
    const controller = new AbortController();
    const before = this.#running.get(id)?.ended;
    const atEnd = setTimeout(() => controller.abort(), watch.until - timeNow()).unref();
    const serve = async () => {
      // A call that is on its way ends first.
      await before;
      await this.#run(watch, controller).catch(error => {
        if (!controller.signal.aborted) this.#deps.report(error, watch);
      });
      clearTimeout(atEnd);
      const isOver = !controller.signal.aborted;
      // Ends what it follows.
      controller.abort();
      if (this.#running.get(id)?.controller === controller) this.#running.delete(id);
      if (isOver) await store.remove(id, watch.lease).catch(this.#deps.report);
    };
    this.#running.set(id, { watch, foundLease, controller, ended: serve() });
  }

  /** Sends what is new, until there is no more, or something refuses. */
  async #run(watch: Watch, controller: AbortController): Promise<void> {
    const { signal } = controller;
    let state = watch;
    /** Goes on if the store is away. */
    const save = async (change: Partial<Watch>) => {
      state = { ...state, ...change };
      const isKept = await this.#deps.store.put(state, state.lease).catch(() => true);
      if (!isKept) controller.abort();
      signal.throwIfAborted();
    };
    /** Returns whether the endpoint took it. */
    const deliver = async (delivery: Delivery): Promise<boolean> => {
      const { status, isTaken } = await this.#send(state, delivery, signal);
      const lastDelivery = { at: iso(timeNow()), status };
      await save({ lastDelivery, ...(isTaken && { cursor: delivery.cursor, pending: null }) });
      return isTaken;
    };
    const { credential, subject } = watch;
    const scope = this.#deps.scopeOf(credential);
    const auth = { credential, scope, cancellation: { signal }, metadata: new ResponseMetadata() };
    let pause = retryMs.first;
    /** Returns whether there is no more; false as soon as the endpoint does not take something. */
    const sendAll = async (): Promise<boolean> => {
      if (state.pending !== null && !(await deliver(state.pending))) return false;
      const changes = this.#deps.follow(subject, state.cursor, credential)(auth);
      for await (const { key, cursor, change, ...found } of changes) {
        pause = retryMs.first;
        const isLate = watch.begunIn !== this.#process || timeNow() > watch.until - leaseMs + promptMs;
        const gap = found.gap || (isLate && change === undefined && state.cursor === null);
        if (change === undefined && !gap) await save({ cursor });
        else {
          const id = deliveryId(state, key);
          const body = modelJson({ watch: watch.id, cursor, gap, changes: change === undefined ? [] : [change] });
          const pending = { id, cursor, body };
          // Before it is sent, so that another gateway would send the same.
          await save({ pending, latest: { id, key } });
          if (!(await deliver(pending))) return false;
        }
      }
      return true;
    };
    // What this process has too much of now, it has less of later.
    const laterIfLimited = (error: unknown) => {
      if (error instanceof RateLimited) return false;
      throw error;
    };
    while (!(await sendAll().catch(laterIfLimited))) {
      await sleep(pause, undefined, { signal });
      pause = Math.min(2 * pause, retryMs.max);
    }
    // An aborted feed ends as one that is complete.
    signal.throwIfAborted();
  }

  /** @throws if the lease or the watch has ended, or nothing can be sent to the endpoint any more. */
  async #send(watch: Watch, delivery: Delivery, signal: AbortSignal): Promise<Sent> {
    try {
      const key = this.#teamNow(watch);
      const { send } = await this.#deps.prepare(key, watch.endpoint, 'registration', watch.credential);
      if (await this.#deps.hasEnded(watch.credential)) throw sessionEnded();
      // That may have taken long.
      this.#teamNow(watch);
      signal.throwIfAborted();
      return await send(delivery);
    } catch (error) {
      // Another gateway may know the secret that signed the endpoint, or have a newer `TEAMS_FILE`.
      if (error instanceof Conflict) {
        await this.#deps.store.release(watch.id).catch(() => {});
        this.#leave(watch.id);
        signal.throwIfAborted();
      }
      if (error instanceof UpstreamUnavailable) return { status: null, isTaken: false };
      throw error;
    }
  }

  /** The team of a watch for which something may be sent now. @throws Forbidden; Conflict if this gateway knows the client in no team, or in another one */
  #teamNow(watch: Watch): TeamKey {
    const team = this.#deps.teams.current.teamOf(watch.credential);
    if (team === null || shortHash(team.key) !== watch.team) throw new Conflict('The client is not in its team');
    // The process may have been paused.
    if (watch.until <= timeNow()) throw new Forbidden('The lease has ended');
    if (this.#blocks(watch)) throw blocked();
    return team.key;
  }
}

const sessionEnded = () => new Unauthenticated('The session has ended; sign in again');
const blocked = () => new Forbidden('An operator has blocked the client');

const ownerIndex = (credential: Credential) => shortHash(ownerOf(credential));

/** Follows from what is sent. A job can come back to an earlier state, which is another change: it follows from the one before, too. */
function deliveryId({ id, subject, latest }: Watch, key: string): string {
  if (key === latest?.key) return latest.id;
  return hash('sha256', JSON.stringify([id, key, subject.kind === 'job' && latest?.id]), 'base64url');
}

const leased = () => ({ lease: randomUUID(), until: timeNow() + leaseMs });
