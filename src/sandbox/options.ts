/** How a sandbox behaves. A file of its own, because a gateway of a real service never loads the sandbox. */
export interface SandboxOptions {
  /** Default: 127.0.0.1. */
  host?: string;
  /** Default: a free port. */
  port?: number;
  /** The clock for dates, time ranges, tokens and jobs. Default: the clock of the machine. */
  now?: () => Date;
  /** Duration of a discovery in milliseconds. Default: 20,000. */
  discoveryMs?: number;
  /** Duration of the slowest publication job in milliseconds. Default: 10,000. */
  publishMs?: number;
  /** Number of companies in the first market, at most 10,000. Default: 1,200. */
  companies?: number;
  /** Time between two new or updated events that the service has by itself, in milliseconds. Default: it has none. */
  newsEveryMs?: number;
}

/** `newsEveryMs` where people look at the sandbox. */
export const newsIntervalMs = 20_000;
