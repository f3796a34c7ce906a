/** The codes of the gateway's own errors in `extensions.code`. Those of GraphQL and of HTTP are listed where errors are masked. */
export type ErrorCode =
  | 'BAD_USER_INPUT'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'RATE_LIMITED'
  | 'QUERY_TOO_COMPLEX'
  | 'UPSTREAM_TIMEOUT'
  | 'UPSTREAM_UNAVAILABLE'
  | 'UPSTREAM_INVALID_RESPONSE'
  | 'NOT_CONFIGURED';

/** What the service said when it refused: its HTTP status and, where its body had one, its own code (docs/upstream-api.md: Errors). */
export interface UpstreamFault {
  readonly status: number | null;
  readonly errorCode: string | null;
}

/** An error whose text and code are meant for the client; whatever is not one is masked at the door. */
export abstract class GatewayError extends Error {
  /** Where it was made is nobody's to see, and GraphQL, which wraps it, would have it written out at the cost of a small query. */
  override readonly stack: string = '';
  abstract readonly code: ErrorCode;
  /** The HTTP status where the error refuses a whole request. */
  abstract readonly httpStatus: number;

  override get name(): string {
    return this.constructor.name;
  }

  /** The client's view: what goes to `extensions`. */
  get extensions(): Record<string, unknown> {
    return { code: this.code };
  }
}

/** Why a call was aborted: nobody waits for its answer any more. No client ever sees it. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
}

/** The client sent something that cannot be asked. `argument` is a path from the field's argument: `filter.from`. */
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

/** The document, or what it may cost upstream, is out of bounds. It is refused before anything is asked. */
export class QueryTooComplex extends GatewayError {
  readonly code = 'QUERY_TOO_COMPLEX';
  readonly httpStatus = 400;
  readonly measure: string;
  readonly value: number;
  readonly limit: number;

  /** @param measure what is out of bounds: `aliases`. */
  constructor(measure: string, value: number, limit: number) {
    super(`The query is too complex: its ${measure} would be ${value}, and may be ${limit} at most`);
    this.measure = measure;
    this.value = value;
    this.limit = limit;
  }

  override get extensions() {
    return { code: this.code, measure: this.measure, value: this.value, limit: this.limit };
  }
}

/** What is asked for needs an address or a name that the operator has not set. */
export class NotConfigured extends GatewayError {
  readonly code = 'NOT_CONFIGURED';
  readonly httpStatus = 501;

  constructor(variable: string) {
    super(`This gateway is not configured for it: ${variable} is not set`);
  }
}

/** An error that came of an upstream call, or of the lack of one. */
export abstract class UpstreamError extends GatewayError {
  readonly upstream: UpstreamFault | undefined;
  abstract readonly retryable: boolean;

  constructor(message: string, upstream?: UpstreamFault) {
    super(message);
    this.upstream = upstream;
  }

  override get extensions() {
    return this.upstream === undefined
      ? { code: this.code }
      : { code: this.code, upstream: this.upstream, retryable: this.retryable };
  }
}

/** No credential, or one that the service does not accept. */
export class Unauthenticated extends UpstreamError {
  readonly code = 'UNAUTHENTICATED';
  readonly httpStatus = 401;
  readonly retryable = false;
}

/** A credential without the permission or the subscription (docs/upstream-api.md: Errors). */
export class Forbidden extends UpstreamError {
  readonly code = 'FORBIDDEN';
  readonly httpStatus = 403;
  readonly retryable = false;
}

/** There is no such thing, or it is hidden: at the service, or among what the gateway itself keeps. */
export class NotFound extends UpstreamError {
  readonly code = 'NOT_FOUND';
  readonly httpStatus = 404;
  readonly retryable = false;
}

/** The state of the thing does not admit the request. */
export class Conflict extends UpstreamError {
  readonly code = 'CONFLICT';
  readonly httpStatus = 409;
  readonly retryable = false;
}

/** Too many requests, by the service's count or by the gateway's. */
export class RateLimited extends UpstreamError {
  readonly code = 'RATE_LIMITED';
  readonly httpStatus = 429;
  readonly retryable = true;
}

/** This gateway has more on its hands than it can bear, and another may not. */
export class Overloaded extends GatewayError {
  readonly code = 'RATE_LIMITED';
  readonly httpStatus = 503;

  constructor(message = 'The gateway is overloaded; try again in a moment') {
    super(message);
  }

  override get extensions() {
    return { code: this.code, retryable: true };
  }
}

/** The service turned the query's values down though the gateway had let them pass. */
export class UpstreamBadInput extends UpstreamError {
  readonly code = 'BAD_USER_INPUT';
  readonly httpStatus = 400;
  readonly retryable = false;
  readonly argument: string | undefined;

  /** @param argument the one that holds the values. The service's own word for which of them it is stays inside. */
  constructor(message: string, upstream?: UpstreamFault, argument?: string) {
    super(message, upstream);
    this.argument = argument;
  }

  override get extensions() {
    return { ...super.extensions, ...(this.argument !== undefined && { argument: this.argument }) };
  }
}

/** Faults of the service itself: after these, and only these, a kept copy may serve in its grace time. */
export abstract class UpstreamFailure extends UpstreamError {
  readonly retryable: boolean;

  constructor(message: string, upstream: UpstreamFault = { status: null, errorCode: null }, retryable = true) {
    super(message, upstream);
    this.retryable = retryable;
  }
}

/** The deadline of the call or of the whole request passed. */
export class UpstreamTimeout extends UpstreamFailure {
  readonly code = 'UPSTREAM_TIMEOUT';
  readonly httpStatus = 504;
}

/** The service could not be reached, failed, or is not asked for now because it keeps failing. */
export class UpstreamUnavailable extends UpstreamFailure {
  readonly code = 'UPSTREAM_UNAVAILABLE';
  readonly httpStatus = 502;
}

/** The request succeeded, but its body is not what the specification promises. */
export class UpstreamInvalidResponse extends UpstreamFailure {
  readonly code = 'UPSTREAM_INVALID_RESPONSE';
  readonly httpStatus = 502;
}
