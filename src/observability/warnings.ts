import { LRUCache } from 'lru-cache';

/** How long a warning about the same cause is suppressed, in milliseconds. */
const quietMs = 60_000;
const mostCauses = 100;

/**
 * Writes at most one line a minute for each cause, by the monotonic clock. It remembers the hundred most recent causes.
 */
export function createWarnOncePerMinute(write: (message: string) => void): (cause: string, message: string) => void {
  const told = new LRUCache<string, true>({ max: mostCauses, ttl: quietMs, ttlResolution: 0, perf: performance });
  return (cause, message) => {
    if (told.has(cause)) return;
    told.set(cause, true);
    write(message);
  };
}

/** The message of ioredis where Redis took longer than `commandTimeout`. */
const timedOut = 'Command timed out';

/** Descriptions of the error codes of the system, TLS, undici and Redis, from the specific to the general. */
const wordsByCode: readonly (readonly [code: RegExp, words: string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'the name cannot be resolved'],
  [/^ECONNREFUSED$/, 'connections are refused'],
  [/^CLOSED$/, 'cannot connect'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'the connection was closed'],
  [/TIMEDOUT$|TIMEOUT$/, 'no answer in time'],
  [/^E(HOST|NET)UNREACH$/, 'there is no network route'],
  [/CERT|SIGNATURE|ISSUER/, 'the TLS certificate is not accepted'],
  [/^(EPROTO|ERR_SSL_.*|ERR_TLS_.*)$/, 'the TLS handshake failed'],
  [/^(HPE_|HTTPParserError$)/, 'the answer is not HTTP'],
  [/^SELECT$/, 'there is no such database, or the user may not use it'],
  [/^WRONGPASS$/, 'the user or the password is wrong'],
  [/^NOAUTH$/, 'a password is needed'],
  [/^NOPERM$/, 'the user may not do what the gateway needs'],
  [/^OOM$/, 'Redis is full and can evict nothing'],
  [/^READONLY$/, 'this Redis is a replica and takes no writes'],
  [/^MISCONF$/, 'Redis cannot save to its disk and takes no writes'],
  [/^NOREPLICAS$/, 'Redis has too few replicas and takes no writes'],
  [/^LOADING$/, 'Redis is still reading its data'],
  [/^MASTERDOWN$/, 'this Redis is a replica that has lost its primary'],
  [/^CLUSTERDOWN$/, 'a part of the Cluster has no primary'],
  [/^(ENOSPC|EDQUOT)$/, 'the disk is full'],
  [/^EROFS$/, 'the file system is read-only'],
  [/^(EACCES|EPERM)$/, 'access is denied'],
  [/^HTTP 40[13]$/, 'the credentials are not accepted'],
];

/**
 * Describes the failure of a connection with its code: `connections are refused (ECONNREFUSED)`. It never includes the message of the error, which may
 * contain a password: Redis quotes the command that it does not understand.
 */
export function failureInWords(error: unknown): string {
  const code = codeOf(error);
  const [, words] = wordsByCode.find(([pattern]) => pattern.test(code)) ?? [];
  return `${words ?? 'it failed'} (${code})`;
}

/**
 * The warning for a failed Redis command, or for `connect`. Undefined where the command was not sent, because the connection has a warning of its own.
 */
export function redisWarning(command: string, error: unknown): string | undefined {
  const words = `REDIS_URL: ${failureInWords(error)}`;
  if (command === 'connect') return `${words}; until Redis is there, nothing is shared and exports are refused`;
  const wasSent = error instanceof Error && (error.name === 'ReplyError' || error.message === timedOut);
  return wasSent ? `${words}; until commands succeed again, less is shared and exports may be refused` : undefined;
}

/** The Redis command that failed with this error, in lower case; undefined for other errors. */
export function failedCommand(error: unknown): string | undefined {
  return (error as { command?: { name?: string } }).command?.name;
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  // A Cluster whose nodes all fail has the error of the last one.
  if ('lastNodeError' in error && error.lastNodeError !== undefined) return codeOf(error.lastNodeError);
  if ('code' in error && typeof error.code === 'string') return error.code;
  // OpenTelemetry puts the status of the collector's response there.
  if ('code' in error && typeof error.code === 'number') return `HTTP ${error.code}`;
  // The two errors of ioredis itself have no code.
  if (error.message === timedOut) return 'TIMEOUT';
  if (error.message === 'Connection is closed.') return 'CLOSED';
  if (failedCommand(error) === 'select') return 'SELECT';
  // The first word of Redis' reply.
  return (error.name === 'ReplyError' && /^[A-Z]+(?= )/.exec(error.message)?.[0]) || error.name;
}
