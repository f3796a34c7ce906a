import { createHash } from 'node:crypto';
import type { Scope } from '../credentials.js';
import type { Reading } from './topic.js';
import { type Watched, Watcher, type WatcherParts } from './watcher.js';
import type { Observed } from './word.js';

/** Watches what can only be asked for, with one poller for each scope and key in the whole fleet. */
export interface Live {
  /**
   * The state at once where anybody knows it, then each change, until it is final or the signal aborts. Where the source fails, the last
   * state comes again once it is older than three intervals, and a fresh one when there is one.
   * @param scope whose view of it: only who listens with the credential of a scope ever asks for that scope.
   * @throws Unauthenticated, Forbidden or NotFound while reading, where the source refuses.
   */
  watch<S>(scope: Scope, key: string, watched: Watched<S>, signal: AbortSignal): Reading<Observed<S>>;
  /** Ends asking, gives the leases back and lets the board go. */
  close(): Promise<void>;
}

/** @param parts with the board of the fleet, or of this process alone, and the time between two asks in milliseconds. */
export function createLive(parts: WatcherParts): Live {
  const watchers = new Map<string, Watcher>();
  /** A topic begins anew only after it has given its lease back. */
  const stopping = new Map<string, Promise<void>>();

  function stop(name: string, watcher: Watcher): void {
    if (watchers.get(name) !== watcher) return;
    watchers.delete(name);
    const stopped = watcher.stop().finally(() => {
      if (stopping.get(name) === stopped) stopping.delete(name);
    });
    stopping.set(name, stopped);
  }

  function begin(name: string, watched: Watched<unknown>): Watcher {
    const watcher: Watcher = new Watcher(name, watched, parts, () => stop(name, watcher));
    watchers.set(name, watcher);
    void Promise.resolve(stopping.get(name)).then(() => {
      if (watchers.get(name) === watcher) watcher.start();
    });
    return watcher;
  }

  return {
    watch<S>(scope: Scope, key: string, watched: Watched<S>, signal: AbortSignal) {
      const name = `${scope} ${createHash('sha256').update(key).digest('base64url')}`;
      const watcher = watchers.get(name) ?? begin(name, watched);
      return watcher.topic.read(signal) as Reading<Observed<S>>;
    },
    async close() {
      for (const [name, watcher] of watchers) stop(name, watcher);
      await Promise.all(stopping.values());
      parts.board.close();
    },
  };
}
