import type { CredentialKind } from './credentials.js';

/** One request that the service received. */
export interface Call {
  method: string;
  /** With the query string. */
  path: string;
  /** Null until the answer begins, and for good where a rule broke the connection before that. */
  status: number | null;
  /** UTC ISO 8601, by the sandbox's clock. */
  at: string;
  credential: CredentialKind;
}

/** How many calls are kept at most, so that a sandbox can run for days. */
const LIMIT = 100_000;

/** What was asked of the service lately, in the order of arrival; the control paths are not in it. */
export class CallLog {
  #calls: Call[] = [];

  add(call: Call): void {
    this.#calls.push(call);
    if (this.#calls.length > LIMIT) this.#calls = this.#calls.slice(-LIMIT / 2);
  }

  /** All calls, or those on a path: a string equals the path without its query, a RegExp is searched for in path and query. */
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
