import type { CredentialKind } from './credentials.js';

/** One request that the service received. */
export interface Call {
  method: string;
  /** With the query string. */
  path: string;
  /** Null until the response begins. Stays null if a rule breaks the connection before that. */
  status: number | null;
  /** UTC ISO 8601, according to the sandbox's clock. */
  at: string;
  credential: CredentialKind;
}

/** How many calls the log holds at most, so that a sandbox can run for days. */
const LIMIT = 100_000;

/** The latest requests to the service, in order of arrival, without those to control paths. */
export class CallLog {
  #calls: Call[] = [];

  add(call: Call): void {
    this.#calls.push(call);
    if (this.#calls.length > LIMIT) this.#calls = this.#calls.slice(-LIMIT / 2);
  }

  /** All calls, or those on a path. A string must equal the path without its query; a RegExp is searched in path and query. */
  list(pattern?: string | RegExp): Call[] {
    if (pattern === undefined) return [...this.#calls];
    return this.#calls.filter(({ path }) =>
      typeof pattern === 'string' ? path.split('?')[0] === pattern : path.search(pattern) >= 0,
    );
  }

  /** How many calls `list` would return. */
  count(pattern?: string | RegExp): number {
    return this.list(pattern).length;
  }

  clear(): void {
    this.#calls = [];
  }
}
