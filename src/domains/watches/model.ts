import type { Credential } from '../../auth/credentials.js';
import type { JobPhase } from '../../generated/schema-types.js';

export type Subject =
  | { readonly kind: 'events'; readonly query: object }
  | { readonly kind: 'job'; readonly marketId: string; readonly phase: JobPhase };

/** A delivery as it is sent until the endpoint takes it, and where the client is that has it. */
export interface Delivery {
  readonly id: string;
  readonly cursor: string;
  readonly body: string;
}

export interface Watch {
  readonly id: string;
  /** What stands for the team of the client, and for the client, whatever the secrets of the gateways. */
  readonly team: string;
  readonly owner: string;
  readonly credential: Credential;
  /** The registration of the endpoint that it was made for, and its name. */
  readonly endpoint: string;
  readonly endpointName: string;
  readonly subject: Subject;
  /** Made at the beginning, and by each renewal. */
  readonly lease: string;
  /** In milliseconds since 1970. */
  readonly until: number;
  /** The process in which it has begun; null once it was renewed. */
  readonly begunIn: string | null;
  /** Behind which it continues. Null until the first place is known. */
  readonly cursor: string | null;
  readonly pending: Delivery | null;
  /** Which change was sent last, wherever a renewal has put the cursor since. */
  readonly latest: (Pick<Delivery, 'id'> & Pick<WatchedChange, 'key'>) | null;
  readonly lastDelivery: { readonly at: string; readonly status: number | null } | null;
}

export interface WatchedChange {
  /** What tells it from the other changes that the watch sends: the same where it is found again. */
  readonly key: string;
  /** Where the client is that has it. */
  readonly cursor: string;
  /** Whether something may be missing before it. */
  readonly gap: boolean;
  /** Undefined: it only says where the watch is. */
  readonly change: object | undefined;
}
