import { createHash, randomUUID } from 'node:crypto';
import type { Scope } from '../../auth/credentials.js';
import { RateLimited } from '../../errors.js';
import type { Snapshot } from './state-message.js';
import type { TopicSubscription } from './topic.js';
import { type Watched, Watcher, type WatcherDeps } from './watcher.js';

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
  /** Stops polling, releases the leases and closes the lease store. */
  close(): Promise<void>;
}

/** What is watched, and for which scope. */
interface Subject {
  readonly scope: Scope;
  readonly key: string;
  readonly watched: Watched<unknown>;
}

/** How many different things one scope may watch through this process. Each costs one call per interval. */
const defaultMostWatched = 1_000;

export function createPolling(deps: WatcherDeps, mostWatched = defaultMostWatched): Polling {
  const watchers = new Map<string, Watcher>();
  const watchedBy = new Map<Scope, number>();
  /** A watcher starts only after the earlier one of the same name has released its lease. */
  const stopping = new Map<string, Promise<void>>();
  /** Stands for a generation that is unknown: until it is known, this process polls for itself. */
  const unknown = randomUUID();

  function countWatched(scope: Scope, change: 1 | -1): void {
    const count = (watchedBy.get(scope) ?? 0) + change;
    if (count === 0) watchedBy.delete(scope);
    else watchedBy.set(scope, count);
  }

  function stop(name: string, watcher: Watcher): void {
    if (watchers.get(name) !== watcher) return;
    watchers.delete(name);
    countWatched(scopeIn(name), -1);
    const stopped = watcher.stop().finally(() => {
      if (stopping.get(name) === stopped) stopping.delete(name);
    });
    stopping.set(name, stopped);
  }

  /** The caller must add a listener synchronously: a watcher that never had one would never stop. */
  function start(name: string, subject: Subject, generation: string): Watcher {
    const watcher: Watcher = new Watcher(name, subject.watched, deps, {
      onEmpty: () => stop(name, watcher),
      switchGeneration: () => switchGeneration(watcher, name, subject, generation),
    });
    watchers.set(name, watcher);
    countWatched(subject.scope, 1);
    void Promise.resolve(stopping.get(name)).then(() => {
      if (watchers.get(name) === watcher) watcher.start();
    });
    return watcher;
  }

  const currentGeneration = async ({ watched }: Subject): Promise<string> =>
    watched.generation === undefined
      ? 'the only one'
      : ((await watched.generation().catch(() => undefined)) ?? unknown);

  async function switchGeneration(watcher: Watcher, name: string, subject: Subject, generation: string): Promise<void> {
    const current = await currentGeneration(subject);
    if (current === unknown || current === generation || watchers.get(name) !== watcher) return;
    const next = watcherName(subject, current);
    watcher.topic.handOver((watchers.get(next) ?? start(next, subject, current)).topic);
  }

  return {
    id: randomUUID(),
    async watch<S>(scope: Scope, key: string, watched: Watched<S>, signal: AbortSignal) {
      const subject: Subject = { scope, key, watched };
      for (;;) {
        const generation = await currentGeneration(subject);
        const name = watcherName(subject, generation);
        const running = watchers.get(name);
        await running?.catchUp();
        // It may have started or stopped meanwhile.
        if (watchers.get(name) !== running) continue;
        if (running === undefined && (watchedBy.get(scope) ?? 0) >= mostWatched) {
          throw new RateLimited(`More than ${mostWatched} different subscriptions with this credential`);
        }
        const watcher = running ?? start(name, subject, generation);
        return watcher.topic.subscribe(signal) as TopicSubscription<Snapshot<S>>;
      }
    },
    async close() {
      for (const [name, watcher] of watchers) stop(name, watcher);
      await Promise.all(stopping.values());
      deps.leases.close();
    },
  };
}

function watcherName({ scope, key }: Subject, generation: string): string {
  const hash = createHash('sha256').update(JSON.stringify([key, generation]));
  return `${scope} ${hash.digest('base64url')}`;
}

/** The scope in what `watcherName` returned. */
const scopeIn = (name: string) => name.slice(0, name.lastIndexOf(' ')) as Scope;
