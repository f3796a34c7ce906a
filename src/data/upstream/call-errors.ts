// Which error a failed call is for clients, for the log, and for the breaker.
import { BrokenCircuitError } from 'cockatiel';
import {
  Abandoned,
  Conflict,
  Forbidden,
  GatewayError,
  NotFound,
  RateLimited,
  Unauthenticated,
  UpstreamBadInput,
  UpstreamError,
  UpstreamFailure,
  type UpstreamFault,
  UpstreamInvalidResponse,
  UpstreamTimeout,
  UpstreamUnavailable,
} from '../../errors.js';
import { jsonObject } from '../../lib/json.js';
import { BulkheadFull } from '../../lib/run.js';
import { httpTime } from '../../lib/time.js';
import type { CallOutcome, Telemetry } from '../../observability/telemetry.js';
import { BrokenExchange } from './exchange.js';
import { addressVariables } from './origins.js';
import { forbidsStoring, type Reply, repliedAt, type UpstreamRequest } from './request.js';

/** The error for whatever ended a call. Its message names no address. */
export function errorOfCall(error: unknown, isSafe: boolean): Error {
  if (error instanceof GatewayError || error instanceof Abandoned) return error;
  if (error instanceof BulkheadFull) return new UpstreamUnavailable('Too many calls to the service are in progress');
  if (error instanceof BrokenCircuitError) {
    return new UpstreamUnavailable('The service keeps failing; the gateway tries it again in a few seconds');
  }
  if (!(error instanceof BrokenExchange)) return new UpstreamUnavailable('The call to the service failed');
  const { sent, cause } = error;
  if (sent && !isSafe) return unknownOutcome(cause);
  if (cause instanceof GatewayError || cause instanceof Abandoned) return cause;
  if (cause instanceof BulkheadFull) return new UpstreamUnavailable('The service sends too much data at once');
  return new UpstreamUnavailable(sent ? 'The connection to the service broke' : 'The service could not be reached');
}

/** A write that may or may not have been carried out must not be repeated blindly. */
function unknownOutcome(cause: unknown): Error {
  const message = 'The request was sent, but its outcome is unknown: check the outcome before you repeat it';
  // Its size, for example, was not what the service may send.
  if (cause instanceof UpstreamInvalidResponse) return new UpstreamInvalidResponse(message);
  const ErrorClass = cause instanceof UpstreamTimeout ? UpstreamTimeout : UpstreamUnavailable;
  return new ErrorClass(message, undefined, false);
}

/** How an exchange without a reply ended, as the metrics name it. */
export function callOutcome(error: BrokenExchange): CallOutcome {
  if (error.cause instanceof Abandoned) return 'abandoned';
  return error.cause instanceof UpstreamTimeout ? 'timeout' : 'broken';
}

/** Whether an error says nothing about the service: the caller has gone, or there was no memory for the body. */
export function isOurOwn(error: unknown): boolean {
  const cause = error instanceof BrokenExchange ? error.cause : error;
  return cause instanceof Abandoned || cause instanceof BulkheadFull;
}

/** Whether an error counts against the service in its circuit breaker. Refusals do not. */
export const isFailureOfService = (error: unknown): boolean =>
  !isOurOwn(error) && (error instanceof BrokenExchange || error instanceof UpstreamFailure);

/** What a failure of the service means for clients. */
export const requestsFail = 'requests that need it fail';

/**
 * Logs what a refusal says about the service: it fails; or, where the refusal has none of the service's error codes and a status that does not blame
 * the request, another server may have answered because the address is wrong, or a limit in front of the service. After any other refusal it works.
 */
export function reportRefusal(
  telemetry: Pick<Telemetry, 'warn' | 'works'>,
  { address, family }: UpstreamRequest,
  refusal: Error,
): void {
  const subject = addressVariables[address];
  const { status, errorCode } = (refusal instanceof UpstreamError && refusal.upstream) || {};
  const isUnexplained = unexplained.has(status ?? 0) && statusNamed(errorCode, documented) === undefined;
  if (refusal instanceof UpstreamFailure) {
    telemetry.warn(subject, `${refusal.message} (HTTP ${status}); ${requestsFail}`, family);
  } else if (isUnexplained) {
    const advice =
      status === 429
        ? 'Check the rate limit of the service'
        : 'If no request succeeds, check the address, and the contract with the service';
    const words = `${refusal.message} (HTTP ${status}, without a known errorCode); ${requestsFail}. ${advice}`;
    telemetry.warn(subject, words, family);
  } else {
    telemetry.works(subject, family);
  }
}

const unexplained = new Set([401, 403, 404, 410, 429]);

/** What a refusal says about the request: whether it was safe, and which of its arguments the service may reject. */
type RequestInfo = Pick<UpstreamRequest, 'safe' | 'argument' | 'members' | 'listed'>;

/**
 * The error for a reply outside 200-299: by the body's `errorCode` if that is a known one, otherwise by the status (docs/upstream-api.md:
 * Errors). Of the service's own message only the members and listed values of the request that it names are passed on: the message may hold
 * addresses or repeat a credential.
 */
export function errorOfReply(reply: Reply, request: RequestInfo): GatewayError {
  const body = reply.body.length > maxProblemBytes ? {} : jsonObject(reply.body, problemBounds);
  return errorOfProblem(body, reply, request);
}

type Problem = ReturnType<typeof jsonObject>;

/** @param problem what a body says. */
export function errorOfProblem(problem: Problem, reply: Reply, request: RequestInfo): GatewayError {
  const { errorCode: code, message } = problem;
  const errorCode = typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : null;
  // A status that says no more than that it failed leaves the rest to the code.
  const told = saysFailure(problem.status) ? { ...problem, status: null } : problem;
  const stated = (reply.status <= 299 ? statedStatus(told) : statusNamed(code, documented)) ?? reply.status;
  const [retryAfterSeconds, noStore] = [retryAfterOf(reply), forbidsStoring(reply)];
  const fault = { status: reply.status, stated, errorCode, retryAfterSeconds, noStore };
  switch (stated) {
    case 400:
    case 422:
    // What the client sent makes the request too large for the service, or for a proxy in front of it.
    case 413:
    case 414:
    case 431:
      return badInput(fault, request, typeof message === 'string' ? message : '');
    case 401:
      return new Unauthenticated('The service does not accept the credential', fault);
    case 403:
      return new Forbidden('The credential has no permission for this', fault);
    case 404:
    case 410:
      return new NotFound('The service has no such record, or hides it from this credential', fault);
    case 409:
      return new Conflict('The current state does not allow this', fault);
    case 429:
      return new RateLimited('The service limits the rate of requests', fault);
    case 408:
    case 504:
      return new UpstreamTimeout('The service did not answer in time', fault, request.safe);
    default:
      if (stated >= 500) return new UpstreamUnavailable('The service failed', fault, request.safe);
      if (stated <= 299) return new UpstreamInvalidResponse('The service says that it failed, but not why', fault);
      return new UpstreamInvalidResponse('The service answered with a status that it does not document', fault);
  }
}

/** The seconds that a reply asks to wait, at most a day; undefined if it does not say, or nothing that can be read. */
function retryAfterOf(reply: Reply): number | undefined {
  const text = String(reply.headers['retry-after'] ?? '').trim();
  // A date has letters; `-1` would be one of long ago, too.
  const date = /[a-z]/i.test(text) ? httpTime(text) : Number.NaN;
  const seconds = Math.ceil(/^\d+(?:\.\d+)?$/.test(text) ? Number(text) : (date - repliedAt(reply)) / 1_000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), 86_400);
}

/** The service's own codes (docs/upstream-api.md: Errors), and the other spelling of one. */
const documented: ReadonlyMap<string, number> = new Map([
  ['QUERY_VALIDATION_FAILED', 400],
  ['UNAUTHORISED', 401],
  ['UNAUTHORIZED', 401],
  ['FORBIDDEN', 403],
  ['NOT_FOUND', 404],
  ['INTERNAL_SERVER_ERROR', 500],
]);

/** Those, and what servers in front of it say. None is the state of a market or of a job. */
const statusByName = new Map([
  ...documented,
  ['BAD_REQUEST', 400],
  ['UNAUTHENTICATED', 401],
  ['INVALID_TOKEN', 401],
  ['INVALID_API_KEY', 401],
  ['ACCESS_DENIED', 403],
  ['PERMISSION_DENIED', 403],
  ['CONFLICT', 409],
  ['TOO_MANY_REQUESTS', 429],
  ['RATE_LIMITED', 429],
  ['RATE_LIMIT_EXCEEDED', 429],
  ['INTERNAL_ERROR', 500],
  ['BAD_GATEWAY', 502],
  ['SERVICE_UNAVAILABLE', 503],
  ['GATEWAY_TIMEOUT', 504],
]);

/** The status of an error by its name in any spelling: `NOT_FOUND`, `not-found`, `Not found`, `NotFound`. */
function statusNamed(name: unknown, statuses: ReadonlyMap<string, number> = statusByName): number | undefined {
  if (typeof name !== 'string' || name.length > maxNameLength) return undefined;
  const words = name.trim().replaceAll(/([a-z])(?=[A-Z])/g, '$1_');
  return statuses.get(words.toUpperCase().replaceAll(/[\s-]+/g, '_'));
}

const maxNameLength = 64;

/** @param text the service's own message. */
function badInput(fault: UpstreamFault, { argument, members = [], listed }: RequestInfo, text: string): GatewayError {
  const message = 'The service rejected the request as invalid';
  const values = listed === undefined ? [] : valuesIn(text, listed.values);
  if (values.length > 0) return new UpstreamBadInput(`${message}: ${values.join(', ')}`, fault, listed?.argument);
  const words: readonly string[] = text.match(/\w+/g) ?? [];
  const named = members.filter(member => words.includes(member.slice(member.lastIndexOf('.') + 1)));
  if (argument === undefined || named.length === 0) return new UpstreamBadInput(message, fault, argument);
  return new UpstreamBadInput(`${message}: ${named.join(', ')}`, fault, `${argument}.${named[0]}`);
}

const maxNamedValues = 10;

/** The first values that a text holds as words, perhaps at the end of a sentence. Case does not matter. */
function valuesIn(text: string, values: readonly string[]): readonly string[] {
  const words = text.toLowerCase().match(/[^\s"'`,;:()[\]{}<>]+/g) ?? [];
  const named = new Set(words.flatMap(word => [word, word.replace(/\.$/, '')]));
  return values.filter(value => named.has(value.toLowerCase())).slice(0, maxNamedValues);
}

const maxProblemBytes = 64 * 1024;
const problemBounds = { text: maxProblemBytes, number: 1_024, items: 1_000, members: 1_000, levels: 16 };

/**
 * The status of an error that a body has as a number or by its name, whatever that of its reply: some servers in front of a service answer everything
 * with 200.
 */
export function statedStatus({ errorCode, statusCode, status, code, error, message }: Problem): number | null {
  // As in most bodies.
  if ((errorCode ?? statusCode ?? status ?? code ?? error ?? message) == null) return null;
  const named = statusNamed(errorCode) ?? statusNamed(status) ?? statusNamed(code) ?? statusNamed(error);
  const given = statusCode ?? status ?? code;
  const stated = named ?? (typeof given === 'object' ? 0 : Number(given));
  if (stated >= 400 && stated <= 599) return stated;
  const inError = typeof error === 'object' && error !== null ? statedStatus(error as Problem) : null;
  return inError ?? statusNamed(message) ?? null;
}

/** Whether a status says in a word of its own that something failed. */
export const saysFailure = (status: unknown): boolean =>
  typeof status === 'string' && /^(?:error|fail|failed|failure|rejected|refused|denied)$/i.test(status);
