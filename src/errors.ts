/** The codes of the gateway's own errors in `extensions.code`. GraphQL and HTTP have further codes, see `http/mask-error.ts`. */
export type ErrorCode =
  | 'BAD_USER_INPUT'
  | 'SIGN_IN_FAILED'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'RATE_LIMITED'
  | 'QUERY_TOO_COMPLEX'
  | 'NOT_QUERYABLE'
  | 'NOT_REFETCHABLE'
  | 'UPSTREAM_TIMEOUT'
  | 'UPSTREAM_UNAVAILABLE'
  | 'UPSTREAM_INVALID_RESPONSE'
  | 'NOT_CONFIGURED';

/** How the service answered a call that failed: the HTTP status, and the code in its body if there was one (docs/upstream-api.md: Errors). */
export interface UpstreamFault {
  readonly status: number | null;
  readonly errorCode: string | null;
  /** From `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;
}

/** An error whose message and code are meant for the client. Any other error is masked before it is sent. */
export abstract class GatewayError extends Error {
  /** Always empty: no client may see a stack, and formatting one takes as long as a small query. GraphQL would read it. */
  override readonly stack: string = '';
  abstract readonly code: ErrorCode;
  /** The HTTP status if the error rejects a whole request. */
  abstract readonly httpStatus: number;

  override get name(): string {
    return this.constructor.name;
  }

  /** When the client can try again, if the service or a limit says so. */
  get retryAfterSeconds(): number | undefined {
    return undefined;
  }

  /** What the client sees in `extensions`. */
  get extensions(): Record<string, unknown> {
    const { code, retryAfterSeconds } = this;
    return retryAfterSeconds === undefined ? { code } : { code, retryAfterSeconds };
  }
}

/** The reason of a call that was aborted because no request waits for it any more. Clients never see it. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
}

/** The client sent an invalid argument. `argument` is its path within the operation's arguments: `filter.from`. */
export class BadUserInput extends GatewayError {
  readonly code = 'BAD_USER_INPUT';
  readonly httpStatus = 400;
  readonly argument: string;

  constructor(argument: string, message: string) {
    super(`${argument}: ${message}`);
    this.argument = argument;
  }

  override get extensions() {
    return { code: this.code, argument: this.argument };
  }
}

/** The document or its possible cost exceeds a limit. The gateway rejects it before it calls the service. */
export class QueryTooComplex extends GatewayError {
  readonly code = 'QUERY_TOO_COMPLEX';
  readonly httpStatus = 400;
  readonly measure: string;
  readonly value: number;
  readonly limit: number;

  /** @param measure what exceeds its limit: `aliases`. */
  constructor(measure: string, value: number, limit: number) {
    super(`The query is too complex (${measure}: ${value}, limit: ${limit})`);
    this.measure = measure;
    this.value = value;
    this.limit = limit;
  }

  override get extensions() {
    return { code: this.code, measure: this.measure, value: this.value, limit: this.limit };
  }
}

/** The service has no endpoint for one object of this type, so that `node` cannot read it again. */
export class NotRefetchable extends GatewayError {
  readonly code = 'NOT_REFETCHABLE';
  readonly httpStatus = 400;

  constructor(type: string) {
    super(`The service has no endpoint for a single object of type ${type}; read the list that contains it`);
  }
}

/** The interface of the service cannot express what the field needs for this object. */
export class NotQueryable extends GatewayError {
  readonly code = 'NOT_QUERYABLE';
  readonly httpStatus = 422;
}

/** The field needs a variable that the operator has not set. */
export class NotConfigured extends GatewayError {
  readonly code = 'NOT_CONFIGURED';
  readonly httpStatus = 501;

  constructor(variable: string) {
    super(`This gateway is not configured for this: ${variable} is not set`);
  }
}

/** An error of an upstream call, or one of the gateway's own that has the same meaning for the client. */
export abstract class UpstreamError extends GatewayError {
  readonly upstream: UpstreamFault | undefined;
  abstract readonly retryable: boolean;

  constructor(message: string, upstream?: UpstreamFault) {
    super(message);
    this.upstream = upstream;
  }

  override get retryAfterSeconds(): number | undefined {
    return this.upstream?.retryAfterSeconds;
  }

  override get extensions(): Record<string, unknown> {
    if (this.upstream === undefined) return super.extensions;
    const { status, errorCode } = this.upstream;
    return { ...super.extensions, upstream: { status, errorCode }, retryable: this.retryable };
  }
}

/** The request has no credential, or one that the service does not accept. */
export class Unauthenticated extends UpstreamError {
  readonly code = 'UNAUTHENTICATED';
  readonly httpStatus = 401;
  readonly retryable = false;

  constructor(message = 'Send an API key, a bearer token or a session id, or sign in', upstream?: UpstreamFault) {
    super(message, upstream);
  }
}

/** The service refuses to sign a user in. The error does not say whether the e-mail address or the password is wrong. */
export class SignInFailed extends GatewayError {
  readonly code = 'SIGN_IN_FAILED';
  readonly httpStatus = 401;

  constructor() {
    super('Wrong e-mail address or password');
  }
}

/** The credential lacks a permission or a subscription (docs/upstream-api.md: Errors). */
export class Forbidden extends UpstreamError {
  readonly code = 'FORBIDDEN';
  readonly httpStatus = 403;
  readonly retryable = false;
}

/** The service or the gateway has no such object, or hides it from this client. */
export class NotFound extends UpstreamError {
  readonly code = 'NOT_FOUND';
  readonly httpStatus = 404;
  readonly retryable = false;
}

/** The current state of the object does not allow the request. */
export class Conflict extends UpstreamError {
  readonly code = 'CONFLICT';
  readonly httpStatus = 409;
  readonly retryable = false;
}

/** The service or the gateway has received too many requests. */
export class RateLimited extends UpstreamError {
  readonly code = 'RATE_LIMITED';
  readonly httpStatus = 429;
  readonly retryable = true;
  readonly #retryAfterSeconds: number | undefined;

  constructor(message: string, upstream?: UpstreamFault, retryAfterSeconds = upstream?.retryAfterSeconds) {
    super(message, upstream);
    this.#retryAfterSeconds = retryAfterSeconds;
  }

  override get retryAfterSeconds(): number | undefined {
    return this.#retryAfterSeconds;
  }
}

/** This process is overloaded; another gateway may not be. */
export class Overloaded extends GatewayError {
  readonly code = 'RATE_LIMITED';
  readonly httpStatus = 503;

  constructor(message = 'The gateway is overloaded; try again in a moment') {
    super(message);
  }

  override get retryAfterSeconds() {
    return 1;
  }

  override get extensions() {
    return { ...super.extensions, retryable: true };
  }
}

/** The service rejected values that the gateway had accepted. */
export class UpstreamBadInput extends UpstreamError {
  readonly code = 'BAD_USER_INPUT';
  readonly httpStatus = 400;
  readonly retryable = false;
  readonly argument: string | undefined;

  /** @param argument the argument with the rejected values. The service's own name for it is not shown to clients. */
  constructor(message: string, upstream?: UpstreamFault, argument?: string) {
    super(message, upstream);
    this.argument = argument;
  }

  override get extensions() {
    return { ...super.extensions, ...(this.argument !== undefined && { argument: this.argument }) };
  }
}

/** The service itself failed. Only after such an error may an expired cache entry be served. */
export abstract class UpstreamFailure extends UpstreamError {
  readonly retryable: boolean;

  constructor(message: string, upstream: UpstreamFault = { status: null, errorCode: null }, retryable = true) {
    super(message, upstream);
    this.retryable = retryable;
  }
}

/** The deadline of the call or of the whole request has passed. */
export class UpstreamTimeout extends UpstreamFailure {
  readonly code = 'UPSTREAM_TIMEOUT';
  readonly httpStatus = 504;
}

/** The service could not be reached, failed, or is not called for now because it keeps failing. */
export class UpstreamUnavailable extends UpstreamFailure {
  readonly code = 'UPSTREAM_UNAVAILABLE';
  readonly httpStatus = 502;
}

/** The call succeeded, but its body does not match the interface of the service. */
export class UpstreamInvalidResponse extends UpstreamFailure {
  readonly code = 'UPSTREAM_INVALID_RESPONSE';
  readonly httpStatus = 502;
}

/** The service has accepted a write, but its response cannot be read. */
export class AcceptedUnread extends UpstreamInvalidResponse {
  /** @param advice how the client learns what the response would have said. */
  constructor(advice = 'send it again only if it may be done twice') {
    super(
      `The request was sent and accepted, but the response of the service cannot be read: ${advice}`,
      undefined,
      false,
    );
  }
}
