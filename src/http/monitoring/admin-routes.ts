// What operators see and change at `ADMIN_PORT`.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config, Setting } from '../../config/config.js';
import { logLevel } from '../../config/value-types.js';
import type { Secret } from '../../config/values.js';
import type { Lifecycle } from '../../lib/lifecycle.js';
import type { Clients } from '../limits/clients.js';

export interface AdminTarget {
  /** What changes something must carry `adminToken`; undefined: nothing can be changed. */
  readonly config: Config;
  readonly log: Pick<Logger, 'warn' | 'level'>;
  readonly lifecycle: Pick<Lifecycle, 'drain' | 'unready'>;
  readonly clients: Pick<Clients, 'view' | 'restrict' | 'release'>;
}

export interface AdminRequest {
  readonly method: string | undefined;
  readonly path: string;
  readonly host: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

/** The response. Its body is JSON already, because a message to the thread would make an empty object of a secret, which prints as `[secret]`. */
export interface AdminResponse {
  readonly status: number;
  readonly body: string;
}

const methodsOf: ReadonlyMap<string, readonly string[]> = new Map([
  ['/config', ['GET']],
  ['/log-level', ['PUT']],
  ['/drain', ['POST', 'DELETE']],
  ['/clients', ['GET']],
]);
const clientsPath = '/clients/';

/** A name of a domain. A web page may have one, and let it resolve to this address, to read what is here in the browser of an operator. */
const domainName = /\.[a-z]/i;

/** Answers a request to `ADMIN_PORT` that its thread cannot answer alone. */
export async function answerAdmin(
  { config, log, lifecycle, clients }: AdminTarget,
  { method = '', path, host = '', authorization, body }: AdminRequest,
): Promise<AdminResponse> {
  const { settings, adminToken: token } = config;
  const methods = path.startsWith(clientsPath) ? ['PUT', 'DELETE'] : methodsOf.get(path);
  if (methods === undefined) return refusal(404, 'there is nothing at this address');
  if (!methods.includes(method)) return refusal(405, `use ${methods.join(' or ')}`);
  if (domainName.test(host)) return refusal(403, 'use an IP address, or a host name without a dot');
  if (path === '/config') return response(200, withLogLevel(settings, log.level));
  if (token === undefined) return refusal(403, 'ADMIN_TOKEN is not set: nothing can be changed here');
  if (!isToken(authorization, token)) return refusal(401, 'send ADMIN_TOKEN as Authorization: Bearer');
  if (path === '/clients') return response(200, clients.view());
  if (path.startsWith(clientsPath)) return answerClient(clients, path.slice(clientsPath.length), method, body);
  const wanted = path === '/drain' ? { isDraining: method === 'POST' } : levelIn(body);
  if (wanted === undefined) return refusal(400, 'send {"level": "info"}, or another level of LOG_LEVEL');
  if (lifecycle.unready === 'closing') return refusal(409, 'the gateway is closing');
  if ('logLevel' in wanted) log.level = wanted.logLevel;
  else lifecycle.drain(wanted.isDraining);
  log.warn(wanted, `${method} ${path}`);
  return response(200, wanted);
}

const response = (status: number, body: unknown): AdminResponse => ({ status, body: JSON.stringify(body) });
const refusal = (status: number, words: string) => response(status, { status: words });

/** Restricts a client, or ends its restriction. @param name as in the path. */
async function answerClient(
  clients: AdminTarget['clients'],
  name: string,
  method: string,
  body: string,
): Promise<AdminResponse> {
  try {
    const id = decodeURIComponent(name);
    if (method === 'DELETE') {
      return (await clients.release(id)) ? response(200, { id }) : refusal(404, 'this client is not restricted');
    }
    const restriction = clients.restrict(id, JSON.parse(body));
    if (restriction !== undefined) return response(200, restriction);
  } catch {
    // As below.
  }
  return refusal(400, clientWords);
}

const clientWords =
  'name a client as GET /clients does, and send {"requestsPerMinute": 0, "minutes": 30, "reason": "…"}: 0 blocks, and the reason is in the refusals';

const withLogLevel = (settings: readonly Setting[], value: string) =>
  settings.map(setting =>
    setting.name === 'LOG_LEVEL' && setting.value !== value ? { ...setting, value, source: 'admin' } : setting,
  );

function levelIn(body: string): { readonly logLevel: Config['logLevel'] } | undefined {
  try {
    return { logLevel: logLevel.parse(JSON.parse(body).level) };
  } catch {
    return undefined;
  }
}

/** In a time that does not depend on where the two differ. */
function isToken(authorization: string | undefined, token: Secret): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(authorization ?? ''), digest(`Bearer ${token.reveal()}`));
}
