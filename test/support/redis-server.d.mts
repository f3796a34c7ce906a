import type { ChildProcess } from 'node:child_process';

/** A redis-server of a test's own. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** The process that runs now: another one after `restart()`. */
  readonly process: ChildProcess;
  /** Ends it for good and removes its folder. Every test that starts a server awaits this. */
  stop(): Promise<void>;
  /** Ends it as a crash would, connections and data included. The port stays its own for `restart()`. */
  kill(): Promise<void>;
  /** Starts it again, empty, on the same port, after `kill()` where it still runs. */
  restart(): Promise<void>;
  /** Freezes it (SIGSTOP): connections stay open and nothing answers. */
  pause(): void;
  /** Lets it go on after `pause()` (SIGCONT). */
  resume(): void;
}

/**
 * Starts a redis-server of its own on a free loopback port: nothing on disk but a temporary folder, ready when this
 * resolves (about 30 ms). `args` are added to its command line. Rejects with the server's log where it does not start.
 */
export function startRedis(options?: { args?: string[] }): Promise<RedisServer>;
