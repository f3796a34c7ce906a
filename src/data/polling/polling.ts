import { createHash, randomUUID } from 'node:crypto';
import type { Scope } from '../../auth/credentials.js';
import { RateLimited } from '../../errors.js';
import type { Found } from './state-message.js';
import type { TopicSubscription } from './topic.js';
import { type Watched, Watcher, type WatcherDeps } from './watcher.js';

/** Watches what can only be asked for, with one poller for each scope and key in the whole fleet. */
export interface Polling {
  /**
   * The state at once where anybody knows it, then each change, until it is final or the signal aborts. Where the source fails, the last
   * state comes again once it is older than three intervals, and a fresh one when there is one. What was found before a write that changed
   * the generation is told to nobody who comes after it; who was there before goes on with what is found from then on.
   * @param scope whose view of it: only who listens with the credential of a scope ever asks for that scope.
   * @throws RateLimited where the scope watches too many different things already; Unauthenticated, Forbidden, NotFound or UpstreamBadInput
   * while reading, where the source refuses.
   */
  watch<S>(scope: Scope, key: string, watched: Watched<S>, signal: AbortSignal): Promise<TopicSubscription<Found<S>>>;
  /** Ends asking, gives the leases back and lets the board go. */
  close(): Promise<void>;
}

/** What is watched, for whom. */
interface Subject {
  readonly scope: Scope;
  readonly key: string;
  readonly watched: Watched<unknown>;
}

/** Different things that one scope may watch through this process. Each costs a call in every interval. */
const defaultMostWatched = 1_000;

/** @param parts with the board of the fleet, or of this process alone, and the time between two asks in milliseconds. */
export function createPolling(parts: WatcherDeps, mostWatched = defaultMostWatched): Polling {
  const watchers = new Map<string, Watcher>();
  const watchedBy = new Map<Scope, number>();
  /** A topic begins anew only after it has given its lease back. */
  const stopping = new Map<string, Promise<void>>();
  /** Stands for a generation that is not to be had: this process asks for itself until it is. */
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

  /** Its listeners must come before anybody else has a turn: without any it would not end. */
  function begin(name: string, subject: Subject, generation: string): Watcher {
    const watcher: Watcher = new Watcher(name, subject.watched, parts, {
      onEmpty: () => stop(name, watcher),
      moveOn: () => moveOn(watcher, name, subject, generation),
    });
    watchers.set(name, watcher);
    countWatched(subject.scope, 1);
    void Promise.resolve(stopping.get(name)).then(() => {
      if (watchers.get(name) === watcher) watcher.start();
    });
    return watcher;
  }

  const generationNow = async ({ watched }: Subject): Promise<string> =>
    watched.generation === undefined
      ? 'the only one'
      : ((await watched.generation().catch(() => undefined)) ?? unknown);

  async function moveOn(watcher: Watcher, name: string, subject: Subject, generation: string): Promise<void> {
    const current = await generationNow(subject);
    if (current === unknown || current === generation || watchers.get(name) !== watcher) return;
    const next = nameOf(subject, current);
    watcher.topic.handOver((watchers.get(next) ?? begin(next, subject, current)).topic);
  }

  return {
    async watch<S>(scope: Scope, key: string, watched: Watched<S>, signal: AbortSignal) {
      const subject: Subject = { scope, key, watched };
      for (;;) {
        const generation = await generationNow(subject);
        const name = nameOf(subject, generation);
        const running = watchers.get(name);
        await running?.catchUp();
        // It may have ended, or begun, meanwhile.
        if (watchers.get(name) !== running) continue;
        if (running === undefined && (watchedBy.get(scope) ?? 0) >= mostWatched) {
          throw new RateLimited(`More than ${mostWatched} different subscriptions with this credential`);
        }
        const watcher = running ?? begin(name, subject, generation);
        return watcher.topic.read(signal) as TopicSubscription<Found<S>>;
      }
    },
    async close() {
      for (const [name, watcher] of watchers) stop(name, watcher);
      await Promise.all(stopping.values());
      parts.leases.close();
    },
  };
}

function nameOf({ scope, key }: Subject, generation: string): string {
  const hash = createHash('sha256').update(JSON.stringify([key, generation]));
  return `${scope} ${hash.digest('base64url')}`;
}

/** The scope in what `nameOf` returned. */
const scopeIn = (name: string) => name.slice(0, name.lastIndexOf(' ')) as Scope;
