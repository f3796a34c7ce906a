import { createHash, randomUUID } from 'node:crypto';
import type { Scope } from '../../auth/credentials.js';
import { RateLimited } from '../../errors.js';
import { Poller, type PollerDeps, type Watched } from './poller.js';
import type { Snapshot } from './state-message.js';
import type { TopicSubscription } from './topic.js';

/** Watches what the service does not push, with one poller for each scope and key in the whole fleet. */
export interface Polling {
  /** Identifies this gateway in what it shares with others. */
  readonly id: string;
  /**
   * Gives the current state at once if any process knows it, then each change, until a state is final or the signal aborts. If the service
   * fails, the last state is repeated once it is older than three intervals, and the next state follows as soon as there is one. After a
   * write that changes the generation, new listeners get no state from before it; earlier listeners continue with the states after it.
   * @param scope only credentials of this scope are used to ask for it.
   * @throws RateLimited if the scope already watches too many different things; while reading: Unauthenticated, Forbidden, NotFound or
   * UpstreamBadInput if the service refuses.
   */
  watch<S>(
    scope: Scope,
    key: string,
    watched: Watched<S>,
    signal: AbortSignal,
  ): Promise<TopicSubscription<Snapshot<S>>>;
  /** Stops polling, gives the claims back and closes the store. */
  close(): Promise<void>;
}

/** How many different things one scope may watch through this process. Each costs one call per interval. */
const defaultMaxWatched = 1_000;

export function createPolling(deps: Omit<PollerDeps, 'gateway'>, maxWatched = defaultMaxWatched): Polling {
  const id = randomUUID();
  const pollers = new Map<string, Poller>();
  const watchedBy = new Map<Scope, number>();
  const stopping = new Set<Promise<void>>();

  function countWatched(scope: Scope, change: 1 | -1): void {
    const count = (watchedBy.get(scope) ?? 0) + change;
    if (count === 0) watchedBy.delete(scope);
    else watchedBy.set(scope, count);
  }

  /** The caller must add a listener synchronously: a poller that never had one would never stop. */
  function start(name: string, scope: Scope, watched: Watched<unknown>): Poller {
    const poller: Poller = new Poller(name, watched, { ...deps, gateway: id }, () => {
      if (pollers.get(name) !== poller) return;
      pollers.delete(name);
      countWatched(scope, -1);
      stop(poller);
    });
    pollers.set(name, poller);
    countWatched(scope, 1);
    return poller;
  }

  function stop(poller: Poller): void {
    const stopped = poller.stop().finally(() => stopping.delete(stopped));
    stopping.add(stopped);
  }

  return {
    id,
    async watch<S>(scope: Scope, key: string, watched: Watched<S>, signal: AbortSignal) {
      const name = `${scope} ${createHash('sha256').update(key).digest('base64url')}`;
      for (;;) {
        const running = pollers.get(name);
        await running?.refresh();
        // It may have stopped meanwhile.
        if (pollers.get(name) !== running) continue;
        if (running === undefined && (watchedBy.get(scope) ?? 0) >= maxWatched) {
          throw new RateLimited(`More than ${maxWatched} different subscriptions with this credential`);
        }
        const poller = running ?? start(name, scope, watched as Watched<unknown>);
        return poller.topic.subscribe(signal) as TopicSubscription<Snapshot<S>>;
      }
    },
    async close() {
      for (const poller of pollers.values()) stop(poller);
      pollers.clear();
      await Promise.all(stopping);
      deps.store.close();
    },
  };
}
