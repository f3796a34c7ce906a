// What the service does not push is polled: once for a scope and a thing in the whole fleet, whoever listens at which gateway.
//
//   listeners - Topic - Poller -- locks, polls --> service
//                         |  ^
//                     publish  receive: the store (Redis, or this process alone)
//
// Promises: the newest state at once if any gateway knows it, then each change, never an older state after a newer one; one gateway polls once the fleet is
// quiet; the next gateway takes over within an interval; a listener that reads slowly skips states, and queues none.
// A poller listens, polls with the lock, or polls alone: while the store cannot be used, or the service has not accepted the scope (docs/protocols.md).
// Needs: how to ask, what is the same and what is final (`Watched`); where something writes, its generation.
// Never: asks with a credential of another scope, asks more than once in an interval, or goes on after the service has refused.
import { createHash } from 'node:crypto';
import type { Scope } from '../../auth/credentials.js';
import { RateLimited } from '../../errors.js';
import { timeNow } from '../../lib/clock.js';
import type { SharedStore } from '../shared-store.js';
import { localPollStore, staleIntervals } from './poll-store.js';
import { Poller, type PollerDeps, type Watched } from './poller.js';
import { redisPollStore } from './redis-poll-store.js';
import type { Snapshot } from './state-message.js';
import type { TopicSubscription } from './topic.js';

export type Polling = ReturnType<typeof createPolling>;

/** How many different things one scope may watch through this process. Each costs one call per interval. */
const defaultMaxWatched = 1_000;

/** @param shared where pollers share locks and states; undefined: this gateway is alone. */
export function createPolling(
  shared: SharedStore | undefined,
  given: Omit<PollerDeps, 'store'>,
  maxWatched = defaultMaxWatched,
) {
  const { intervalMs } = given;
  const store = shared === undefined ? localPollStore(intervalMs) : redisPollStore(shared, intervalMs);
  const deps: PollerDeps = { ...given, store };
  /** By their names. A scope without a poller has no entry. */
  const pollersOf = new Map<Scope, Map<string, Poller>>();
  const nameOf = (scope: Scope, key: string) => `${scope} ${createHash('sha256').update(key).digest('base64url')}`;
  const stopping = new Set<Promise<void>>();

  /** The caller must add a listener synchronously: a poller that never had one would never stop. @throws RateLimited */
  function start(scope: Scope, name: string, watched: Watched<unknown>): Poller {
    const pollers = pollersOf.get(scope) ?? new Map<string, Poller>();
    if (pollers.size >= maxWatched) {
      throw new RateLimited(`More than ${maxWatched} different subscriptions with this credential`);
    }
    const poller = new Poller(scope, name, watched, deps, () => {
      pollers.delete(name);
      if (pollers.size === 0) pollersOf.delete(scope);
      const stopped = poller.stop().finally(() => stopping.delete(stopped));
      stopping.add(stopped);
    });
    pollersOf.set(scope, pollers.set(name, poller));
    return poller;
  }

  return {
    /**
     * Gives the current state at once if any process knows it, then each change, until a state is final or the signal aborts. If the service
     * fails, the last state is repeated once it is older than three intervals, and the next state follows as soon as there is one. After a
     * write that changes the generation, new listeners get no state from before it; earlier listeners continue with the states after it.
     * @param scope only credentials of this scope are used to ask for it.
     * @throws RateLimited if the scope already watches too many different things; while reading: Unauthenticated, Forbidden, NotFound or
     * UpstreamBadInput if the service refuses.
     */
    async watch<S>(
      scope: Scope,
      key: string,
      watched: Watched<S>,
      signal: AbortSignal,
    ): Promise<TopicSubscription<Snapshot<S>>> {
      const name = nameOf(scope, key);
      for (;;) {
        const running = pollersOf.get(scope)?.get(name);
        await running?.refresh();
        // It may have stopped meanwhile.
        if (pollersOf.get(scope)?.get(name) !== running) continue;
        const { topic } = running ?? start(scope, name, watched as Watched<unknown>);
        return topic.subscribe(signal) as unknown as TopicSubscription<Snapshot<S>>;
      }
    },
    /** What a poll that runs in the fleet has found last; undefined if none runs, or it is not known. Asks no service. Not for what has generations. */
    async newest<S>(scope: Scope, key: string): Promise<S | undefined> {
      const name = nameOf(scope, key);
      const running = pollersOf.get(scope)?.get(name);
      await running?.refresh();
      const stored = async () => ((await store.isLocked(name, '')) ? store.read(name, '') : undefined);
      const found = running === undefined ? await stored().catch(() => undefined) : running.topic.newest;
      const isCurrent =
        found !== undefined && 'state' in found && found.observedAt > timeNow() - staleIntervals * intervalMs;
      return isCurrent ? (found.state as S) : undefined;
    },
    async close(): Promise<void> {
      for (const pollers of [...pollersOf.values()]) for (const { topic } of [...pollers.values()]) topic.end();
      await Promise.all(stopping);
      store.close();
    },
  };
}
