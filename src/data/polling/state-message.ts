import { z } from 'zod';
import { Forbidden, NotFound, Unauthenticated, UpstreamBadInput, type UpstreamFault } from '../../errors.js';

/** A state of what is watched, and when the service was asked for it, in milliseconds since 1970. */
export interface Observed<S> {
  readonly state: S;
  readonly observedAt: number;
}

/** An observed state with its place in the order of those from all processes. */
export interface Snapshot<S> extends Observed<S> {
  /** The fencing token it was found under; undefined if this process polled alone while the lease store was unavailable. */
  readonly fence: number | undefined;
  /** A listener that has this snapshot ignores those of other processes with an earlier `asOf`. It is `observedAt`, or the time when this process received it while polling alone. */
  readonly asOf: number;
}

/** The errors after which polling stops. */
const refusals = {
  UNAUTHENTICATED: Unauthenticated,
  FORBIDDEN: Forbidden,
  NOT_FOUND: NotFound,
  BAD_USER_INPUT: UpstreamBadInput,
} as const;

/** Such an error in a form that JSON can carry. */
interface Refusal {
  readonly code: keyof typeof refusals;
  readonly message: string;
  readonly upstream: UpstreamFault | null;
  readonly argument?: string | undefined;
}

/** The result of one poll: a state, the last state, or a refusal. Safe as JSON, and without any credential. */
export type PollOutcome<S> =
  | ({ readonly kind: 'state' | 'final' } & Observed<S>)
  | ({ readonly kind: 'refused' } & Refusal);

/**
 * An outcome with its place in the order of its topic: the fencing token of the lease, and its number under that lease. Each message is the
 * whole state, so losing one does no harm.
 */
export type StateMessage<S> = PollOutcome<S> & { readonly fence: number; readonly seq: number };

/** Whether a message comes after another in the order of their topic. */
export function isNewer(message: StateMessage<unknown>, other: StateMessage<unknown> | undefined): boolean {
  if (other === undefined) return true;
  return message.fence === other.fence ? message.seq > other.seq : message.fence > other.fence;
}

/**
 * Whether a snapshot of another process may be older than the one that a listener has: while the lease store is unavailable, several
 * processes poll without hearing from each other. A difference of `mostMs` or more is ignored, because it means that a clock is wrong.
 */
export function isOutdated(snapshot: Snapshot<unknown>, other: Snapshot<unknown>, mostMs: number): boolean {
  const by = other.asOf - snapshot.asOf;
  return snapshot.fence !== other.fence && by > 0 && by < mostMs;
}

/** The last moment that a Date can hold, in milliseconds since 1970. */
const lastMoment = 8.64e15;

const order = { fence: z.int().min(0), seq: z.int().min(0) };

const observed = {
  ...order,
  state: z.unknown().refine(state => state != null),
  observedAt: z.int().min(0).max(lastMoment),
};

/** Checks a message from Redis. The signature and the namespace vouch for the state in it. */
export const stateMessageSchema: z.ZodType<StateMessage<unknown>> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('state'), ...observed }),
  z.object({ kind: z.literal('final'), ...observed }),
  z.object({
    kind: z.literal('refused'),
    ...order,
    code: z.enum(Object.keys(refusals) as Refusal['code'][]),
    message: z.string(),
    upstream: z.object({ status: z.int().nullable(), errorCode: z.string().nullable() }).nullable(),
    argument: z.string().optional(),
  }),
]);

/** The refusal for an error, if polling must stop after that error. */
export function refusalOf(error: unknown): Refusal | undefined {
  for (const [code, ErrorClass] of Object.entries(refusals) as [Refusal['code'], typeof UpstreamBadInput][]) {
    if (!(error instanceof ErrorClass)) continue;
    const { message, upstream = null, argument } = error;
    return { code, message, upstream, argument };
  }
  return undefined;
}

/** The error that a refusal stands for. */
export function refusalError({ code, message, upstream, argument }: Refusal): Error {
  return new refusals[code](message, upstream ?? undefined, argument);
}
