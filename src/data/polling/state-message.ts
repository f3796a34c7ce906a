// What a poll found, in the form in which gateways tell it each other.
import { z } from 'zod';
import { Forbidden, NotFound, Unauthenticated, UpstreamBadInput } from '../../errors.js';

/** A state of what is watched, and when the service was asked for it, in milliseconds since 1970. */
export interface Snapshot<S> {
  readonly state: S;
  readonly observedAt: number;
}

/** The errors after which polling stops. */
const refusals = {
  UNAUTHENTICATED: Unauthenticated,
  FORBIDDEN: Forbidden,
  NOT_FOUND: NotFound,
  BAD_USER_INPUT: UpstreamBadInput,
} as const;

/** Such an error in a form that JSON can carry. */
const refusal = z.object({
  code: z.enum(Object.keys(refusals) as (keyof typeof refusals)[]),
  message: z.string(),
  upstream: z.object({ status: z.int().nullable(), errorCode: z.string().nullable() }).nullable(),
  argument: z.string().optional(),
});

type Refusal = Readonly<z.output<typeof refusal>>;

/** The result of one poll: a state, the last state, or a refusal. Safe as JSON, and without any credential. */
export type PollOutcome<S> =
  | ({ readonly kind: 'state' | 'final' } & Snapshot<S>)
  | ({ readonly kind: 'refused' } & Refusal);

/**
 * An outcome with its place in the order of its topic. Each message is the whole state, so losing one does no harm. Of two messages of one
 * generation, the one with the greater `order` was requested later: it is the time of the request, or one more than the newest `order` that
 * the polling gateway knew, so that no gateway's clock matters.
 */
export type StateMessage<S> = PollOutcome<S> & { readonly generation: string; readonly order: number };

/** The last moment that a Date can hold, in milliseconds since 1970. */
const lastMoment = 8.64e15;

const place = { generation: z.string(), order: z.int().min(0) };

/** Checks a message from Redis. The signature and the namespace vouch for the state in it. */
export const stateMessageSchema: z.ZodType<StateMessage<unknown>> = z.discriminatedUnion('kind', [
  z.object({
    kind: z.enum(['state', 'final']),
    ...place,
    state: z.unknown().refine(state => state != null),
    observedAt: z.int().min(0).max(lastMoment),
  }),
  z.object({ kind: z.literal('refused'), ...place, ...refusal.shape }),
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
