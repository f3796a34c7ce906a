import type { Credential, Scope } from '../auth/credentials.js';
import type { ResponseMetadata } from '../observability/response-metadata.js';

/** On whose behalf something is read or written, and until when. Lives as long as one request, or one event of a subscription. */
export interface RequestAuth {
  readonly credential: Credential;
  readonly scope: Scope;
  /** Its signal aborts when the client has gone or the request's deadline has passed; its reason is the error to answer with. Made when it is asked for. */
  readonly until: Pick<AbortController, 'signal'>;
  readonly receipt: ResponseMetadata;
}
