import {
  Conflict,
  Forbidden,
  type GatewayError,
  NotFound,
  RateLimited,
  Unauthenticated,
  UpstreamBadInput,
  type UpstreamFault,
  UpstreamInvalidResponse,
  UpstreamTimeout,
  UpstreamUnavailable,
} from '../../errors.js';
import type { Reply } from './reply.js';
import type { UpstreamRequest } from './request.js';

type Asked = Pick<UpstreamRequest, 'safe' | 'argument' | 'members'>;

/**
 * The error that a reply outside 200-299 stands for: by the body's `errorCode` where it has a known one, else by the status
 * (docs/upstream-api.md: Errors). The service's own text stays inside, but for the members of the request that it names: it may hold addresses or repeat a
 * credential.
 */
export function refusalOf(reply: Reply, request: Asked): GatewayError {
  const { errorCode, message } = reply.body.read(problemIn);
  const fault: UpstreamFault = { status: reply.status, errorCode };
  const asked = { ...request, members: request.members?.filter(member => names(message, member)) ?? [] };
  return byErrorCode(fault, asked) ?? byStatus(reply.status, fault, asked);
}

/** What was asked; of its members those that the service's text names. */
type Refused = Asked & { readonly members: readonly string[] };

function byErrorCode(fault: UpstreamFault, request: Refused): GatewayError | undefined {
  switch (fault.errorCode) {
    case 'QUERY_VALIDATION_FAILED':
      return byStatus(400, fault, request);
    case 'UNAUTHORISED':
      return byStatus(401, fault, request);
    case 'FORBIDDEN':
      return byStatus(403, fault, request);
    case 'NOT_FOUND':
      return byStatus(404, fault, request);
    case 'INTERNAL_SERVER_ERROR':
      return byStatus(500, fault, request);
    default:
      return undefined;
  }
}

function byStatus(status: number, fault: UpstreamFault, { safe, argument, members }: Refused): GatewayError {
  switch (status) {
    case 400:
    case 422:
      return badInput(fault, argument, members);
    case 401:
      return new Unauthenticated('The service does not accept the credential', fault);
    case 403:
      return new Forbidden('The credential has no permission for this', fault);
    case 404:
    case 410:
      return new NotFound('The service knows no such thing, or this credential may not see it', fault);
    case 409:
      return new Conflict('The state of the thing does not admit this now', fault);
    case 429:
      return new RateLimited('The service limits how often it is asked', fault);
    case 408:
    case 504:
      return new UpstreamTimeout('The service did not answer in time', fault, safe);
    default:
      if (status >= 500) return new UpstreamUnavailable('The service failed', fault, safe);
      return new UpstreamInvalidResponse('The service answered with a status that it does not document', fault, false);
  }
}

function badInput(fault: UpstreamFault, argument: string | undefined, members: readonly string[]): GatewayError {
  const text = 'The service turned the request down as invalid';
  if (argument === undefined || members[0] === undefined) return new UpstreamBadInput(text, fault, argument);
  return new UpstreamBadInput(`${text}: ${members.join(', ')}`, fault, `${argument}.${members[0]}`);
}

/** Whether a text has the last part of a path as a word. */
const names = (text: string, path: string) => text.match(/\w+/g)?.includes(path.slice(path.lastIndexOf('.') + 1));

function problemIn(body: Buffer): { errorCode: string | null; message: string } {
  const nothing = { errorCode: null, message: '' };
  if (body.length > longestErrorBody) return nothing;
  try {
    const { errorCode, message } = JSON.parse(body.toString()) ?? {};
    return {
      errorCode: typeof errorCode === 'string' && /^[A-Z0-9_]{1,64}$/.test(errorCode) ? errorCode : null,
      message: typeof message === 'string' ? message : '',
    };
  } catch {
    return nothing;
  }
}

const longestErrorBody = 64 * 1024;
