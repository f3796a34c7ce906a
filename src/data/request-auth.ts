import type { Credential, Scope } from '../auth/credentials.js';
import type { ResponseMetadata } from '../observability/response-metadata.js';

/** On whose behalf a request reads and writes, and until when. Lives as long as one request, or one event of a subscription. */
export interface RequestAuth {
  readonly credential: Credential;
  readonly scope: Scope;
  /**
   * Its signal aborts when the client has gone or the request's deadline has passed; the signal's reason is the error to answer with.
   * An object with a getter creates the signal on first use.
   */
  readonly until: Pick<AbortController, 'signal'>;
  /** Collects what the response is made of. */
  readonly metadata: ResponseMetadata;
}

/** What one upstream call needs of it. A sign-in has neither a credential nor a scope yet. */
export type CallAuth = Pick<RequestAuth, 'metadata'> & Partial<RequestAuth>;
