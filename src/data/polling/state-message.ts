import { z } from 'zod';
import { Forbidden, NotFound, Unauthenticated, UpstreamBadInput, type UpstreamFault } from '../../errors.js';

/** A state of what is watched, and when the source was asked for it, in milliseconds since 1970. */
export interface Observed<S> {
  readonly state: S;
  readonly observedAt: number;
}

/** An observation with its place among those of others. */
export interface Found<S> extends Observed<S> {
  /** The lease it was found under; undefined: this process found it by itself, while it was alone. */
  readonly fence: number | undefined;
  /** What was asked for before this time may be older: it is `observedAt`, or when who was alone had found it. */
  readonly asOf: number;
}

/** The refusals after which there is no use in asking on. */
const refusals = {
  UNAUTHENTICATED: Unauthenticated,
  FORBIDDEN: Forbidden,
  NOT_FOUND: NotFound,
  BAD_USER_INPUT: UpstreamBadInput,
} as const;

/** A refusal in a form that JSON can carry. */
export interface Refusal {
  readonly code: keyof typeof refusals;
  readonly message: string;
  readonly upstream: UpstreamFault | null;
  readonly argument?: string | undefined;
}

/** What is told: a state that others may follow, the last one, or that the source refuses. JSON-safe, and without any credential. */
export type News<S> = ({ readonly kind: 'state' | 'final' } & Observed<S>) | ({ readonly kind: 'refused' } & Refusal);

/**
 * News with its place in the order of a topic: the fencing token of the lease it was found under, and its number under that lease.
 * Each word is the whole state, so that a lost one is no loss.
 */
export type StateMessage<S> = News<S> & { readonly fence: number; readonly seq: number };

/** Whether a word comes after another in the order of their topic. */
export function isNewer(word: StateMessage<unknown>, other: StateMessage<unknown> | undefined): boolean {
  if (other === undefined) return true;
  return word.fence === other.fence ? word.seq > other.seq : word.fence > other.fence;
}

/**
 * Whether an observation of somebody else may be older than the one that a listener has: while the board is away, several ask, and do not
 * hear of one another. A clock that is off by more than `mostMs` is not believed.
 */
export function isPast(found: Found<unknown>, other: Found<unknown>, mostMs: number): boolean {
  const by = other.asOf - found.asOf;
  return found.fence !== other.fence && by > 0 && by < mostMs;
}

/** The last moment that a Date can tell, in milliseconds since 1970. */
const lastMoment = 8.64e15;

/** A time of a state, in milliseconds since 1970. */
export const moment = z.int().min(0).max(lastMoment);

const place = { fence: z.int().min(0), seq: z.int().min(0) };

const observed = { ...place, state: z.unknown(), observedAt: moment };

/** The shape of a word that came from elsewhere. What its state is like is for the schema of what is watched to say. */
export const stateMessageSchema: z.ZodType<StateMessage<unknown>> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('state'), ...observed }),
  z.object({ kind: z.literal('final'), ...observed }),
  z.object({
    kind: z.literal('refused'),
    ...place,
    code: z.enum(Object.keys(refusals) as Refusal['code'][]),
    message: z.string(),
    upstream: z.object({ status: z.int().nullable(), errorCode: z.string().nullable() }).nullable(),
    argument: z.string().optional(),
  }),
]);

/** The refusal that an error is, where it is one. */
export function refusalIn(error: unknown): Refusal | undefined {
  for (const [code, ErrorClass] of Object.entries(refusals) as [Refusal['code'], typeof UpstreamBadInput][]) {
    if (!(error instanceof ErrorClass)) continue;
    const { message, upstream = null, argument } = error;
    return { code, message, upstream, argument };
  }
  return undefined;
}

/** The error that a refusal was. */
export function errorOf({ code, message, upstream, argument }: Refusal): Error {
  return new refusals[code](message, upstream ?? undefined, argument);
}
