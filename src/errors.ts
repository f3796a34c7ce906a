// Every error of the gateway: its code, its HTTP status, and what a client sees of it.

/** The codes of the gateway's own errors in `extensions.code`, with the HTTP status if one rejects a whole request. `http/mask-error.ts` has further codes. */
const statusOf = {
  BAD_USER_INPUT: 400,
  SIGN_IN_FAILED: 401,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  RATE_LIMITED: 429,
  QUERY_TOO_COMPLEX: 400,
  NOT_QUERYABLE: 422,
  UPSTREAM_TIMEOUT: 504,
  UPSTREAM_UNAVAILABLE: 502,
  UPSTREAM_INVALID_RESPONSE: 502,
  NOT_CONFIGURED: 501,
} as const;

/** How the service answered a call that failed: the HTTP status, and the code in its body if there was one (docs/upstream-api.md: Errors). */
export interface UpstreamFault {
  readonly status: number | null;
  /** What the body says instead; the same if it says none. */
  readonly stated?: number | undefined;
  readonly errorCode: string | null;
  /** From `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;
  /** Whether the service forbids to store the refusal. */
  readonly noStore?: boolean | undefined;
}

/** An error whose message and code are meant for the client. Any other error is masked before it is sent. */
export abstract class GatewayError extends Error {
  /** Always empty: no client may see a stack, and formatting one takes as long as a small query. GraphQL would read it. */
  override readonly stack: string = '';
  abstract readonly code: keyof typeof statusOf;
  /** When the client can try again, if the service or a limit says so. */
  readonly retryAfterSeconds: number | undefined;
  readonly #details: object;

  /** @param details what the client sees in `extensions` besides the code. */
  constructor(message: string, details: object = {}, retryAfterSeconds?: number) {
    super(message);
    this.#details = details;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  override get name(): string {
    return this.constructor.name;
  }

  /** What metrics and logs say of an operation that ends with it. */
  get outcome(): string {
    return this.code;
  }

  /** The HTTP status if the error rejects a whole request. */
  get httpStatus(): number {
    return statusOf[this.code];
  }

  /** What the client sees in `extensions`. */
  get extensions(): Record<string, unknown> {
    const { code, retryAfterSeconds } = this;
    return { code, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }), ...this.#details };
  }
}

/** How long an error asks to wait, in milliseconds; 0 where it does not say. */
export const retryAfterMs = (error: unknown): number =>
  error instanceof GatewayError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;

/** The reason of a call that was aborted because no request waits for it any more. Clients never see it. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
}

/** The client sent an invalid argument. `argument` is its path within the operation's arguments: `filter.from`. */
export class BadUserInput extends GatewayError {
  readonly code = 'BAD_USER_INPUT';
  readonly argument: string;
  readonly reason: string;

  constructor(argument: string, reason: string) {
    super(`${argument}: ${reason}`, { argument });
    this.argument = argument;
    this.reason = reason;
  }
}

/** The document or its possible cost exceeds a limit. The gateway rejects it before it calls the service. */
export class QueryTooComplex extends GatewayError {
  readonly code = 'QUERY_TOO_COMPLEX';

  /** @param measure what exceeds its limit: `aliases`. */
  constructor(measure: string, value: number, limit: number) {
    super(`The query is too complex (${measure}: ${value}, limit: ${limit})`, { measure, value, limit });
  }
}

/** The interface of the service cannot express what the field needs for this object. */
export class NotQueryable extends GatewayError {
  readonly code = 'NOT_QUERYABLE';
}

/** The field needs a variable that the operator has not set. */
export class NotConfigured extends GatewayError {
  readonly code = 'NOT_CONFIGURED';

  constructor(variable: string) {
    super(`This gateway is not configured for this: ${variable} is not set`);
  }
}

/** An error of an upstream call, or one of the gateway's own that has the same meaning for the client. */
export abstract class UpstreamError extends GatewayError {
  readonly upstream: UpstreamFault | undefined;
  readonly argument: string | undefined;

  /** @param argument what was sent in it was rejected. @param retryable whether the same call can succeed later. */
  constructor(
    message: string,
    upstream?: UpstreamFault,
    argument?: string,
    retryable = false,
    retryAfterSeconds = upstream?.retryAfterSeconds,
  ) {
    const fault = upstream && { upstream: { status: upstream.status, errorCode: upstream.errorCode }, retryable };
    // An error of the gateway itself says so only where it can pass.
    const details = fault ?? (retryable ? { retryable } : {});
    super(message, { ...details, ...(argument !== undefined && { argument }) }, retryAfterSeconds);
    this.upstream = upstream;
    this.argument = argument;
  }
}

/** The request has no credential, or one that the service does not accept. */
export class Unauthenticated extends UpstreamError {
  readonly code = 'UNAUTHENTICATED';

  constructor(message = 'Send an API key, a bearer token or a session id, or sign in', upstream?: UpstreamFault) {
    super(message, upstream);
  }
}

/** The service refuses to sign a user in. The error does not say whether the e-mail address or the password is wrong. */
export class SignInFailed extends GatewayError {
  readonly code = 'SIGN_IN_FAILED';

  constructor() {
    super('Wrong e-mail address or password');
  }
}

/** The credential lacks a permission or a subscription (docs/upstream-api.md: Errors). */
export class Forbidden extends UpstreamError {
  readonly code = 'FORBIDDEN';
}

/** The service or the gateway has no such object, or hides it from this client. */
export class NotFound extends UpstreamError {
  readonly code = 'NOT_FOUND';
}

/** The current state of the object does not allow the request. */
export class Conflict extends UpstreamError {
  readonly code = 'CONFLICT';
}

/** The service or the gateway has received too many requests. */
export class RateLimited extends UpstreamError {
  readonly code = 'RATE_LIMITED';

  constructor(message: string, upstream?: UpstreamFault, retryAfterSeconds?: number) {
    super(message, upstream, undefined, true, retryAfterSeconds);
  }

  override get outcome() {
    return outcomeOfError(this.extensions);
  }
}

/** The outcome of an operation by the `extensions` of its error. A rate limit of the service is no fault of the client that meets it. */
export const outcomeOfError = ({ code, upstream }: Record<string, unknown>): string =>
  code === 'RATE_LIMITED' && upstream !== undefined ? 'SERVICE_RATE_LIMITED' : String(code);

/** An operator has blocked or slowed this client: nothing that an alert needs to say of it again. */
export class Restricted extends RateLimited {
  override get outcome() {
    return 'RESTRICTED';
  }
}

/** The outcome of what the gateway refused because it has too much to do. The code is the one of a client with too many requests. */
export const overloadedOutcome = 'OVERLOADED';

/** This process is overloaded; another gateway may not be. */
export class Overloaded extends GatewayError {
  readonly code = 'RATE_LIMITED';

  constructor(message = 'The gateway is overloaded; try again in a moment') {
    super(message, { retryable: true }, 1);
  }

  override get outcome(): string {
    return overloadedOutcome;
  }

  override get httpStatus() {
    return 503;
  }
}

/** What this process has to do is mostly of this client: no failure of the gateway for others. */
export class OverShare extends Overloaded {
  constructor() {
    super('This client has too many requests at once; try again in a moment');
  }

  override get outcome() {
    return 'OVER_SHARE';
  }
}

/** This process ends; another gateway may not. */
export const gatewayCloses = () => new Overloaded('The gateway is closing; try again in a moment');

/** The service rejected values that the gateway had accepted. Its own name for the argument is not shown to clients. */
export class UpstreamBadInput extends UpstreamError {
  readonly code = 'BAD_USER_INPUT';
}

/** The service itself failed. Only after such an error, and none with a status of 300 to 499, may an expired cache entry be served. */
export abstract class UpstreamFailure extends UpstreamError {
  constructor(message: string, upstream: UpstreamFault = { status: null, errorCode: null }, retryable = true) {
    super(message, upstream, undefined, retryable);
  }
}

/** The deadline of the call or of the whole request has passed. */
export class UpstreamTimeout extends UpstreamFailure {
  readonly code = 'UPSTREAM_TIMEOUT';
}

/** The service could not be reached, failed, or is not called for now because it keeps failing. */
export class UpstreamUnavailable extends UpstreamFailure {
  readonly code = 'UPSTREAM_UNAVAILABLE';
}

/** A record of a list that the service sent in a form that cannot be served. */
export interface UnreadableRecord {
  /** The record's type: `Event`. */
  readonly record: string;
  /** Its identifier, where that could be read. */
  readonly id: string | null;
  /** Its place in the list, from 0. */
  readonly index: number;
  /** The invalid fields, by the service's names. */
  readonly fields: readonly string[];
}

/** Such a record is not in the list of the field that has this error. */
export class RecordLeftOut extends GatewayError {
  readonly code = 'UPSTREAM_INVALID_RESPONSE';

  constructor(unreadable: UnreadableRecord) {
    const { record, id, index, fields } = unreadable;
    const which = id === null ? `One ${record} (index ${index})` : `${record} ${id}`;
    const why = fields.every(field => field === '') ? '' : ` (${fields.join(', ')})`;
    const upstream = { status: null, errorCode: null };
    const message = `${which} was left out: the service sent it in a shape that it does not document${why}`;
    super(message, { ...unreadable, upstream, retryable: false });
  }
}

/** The response does not match the interface of the service. The next one would not, either, so it is not retryable. */
export class UpstreamInvalidResponse extends UpstreamFailure {
  readonly code = 'UPSTREAM_INVALID_RESPONSE';

  constructor(message: string, upstream?: UpstreamFault) {
    super(message, upstream, false);
  }
}
