// Warnings of what fails outside the gateway, each at most once a minute.
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';

/** How long a warning with the same words is suppressed, in milliseconds. */
const quietMs = 60_000;
const maxCauses = 100;
/** How long nothing of a subject may fail before the log says that it recovered. */
const steadyMs = 10_000;

/** Something outside the gateway that fails. All times are in milliseconds of `performance.now()`. */
interface Subject {
  /** When each of its parts failed last. A part that worked since is not here. */
  readonly failing: Map<string, number>;
  readonly since: number;
  failures: number;
  isInLog: boolean;
  /** Undefined while something of it fails. */
  recovery: NodeJS.Timeout | undefined;
}

export type Warnings = ReturnType<typeof createWarnings>;

/**
 * Warns of what fails outside the gateway. The same is written at most once a minute, with the number of failures since the last one (`times`). When
 * nothing has failed for a while, the recovery is logged once.
 */
export function createWarnings(log: Pick<Logger, 'warn'>) {
  const subjects = new LRUCache<string, Subject>({ max: maxCauses });
  /** How often each line was not written, and when it was written last. */
  const lines = new LRUCache<string, { times: number; writtenAt: number }>({ max: maxCauses });

  return {
    /**
     * @param name what failed: the variable with its address, if it has one.
     * @param words the cause, without any secret. @param part of the subject; the others may work.
     */
    warn(name: string, words: string, part = ''): void {
      const now = performance.now();
      const started = { failing: new Map(), since: now, failures: 0, isInLog: false, recovery: undefined };
      const subject: Subject = subjects.get(name) ?? started;
      subjects.set(name, subject);
      subject.failures += 1;
      subject.failing.set(part, now);
      clearTimeout(subject.recovery);
      subject.recovery = undefined;
      const text = `${name}: ${words}`;
      const line = lines.get(text) ?? { times: 0, writtenAt: Number.NEGATIVE_INFINITY };
      lines.set(text, line);
      line.times += 1;
      if (now - line.writtenAt < quietMs) return;
      log.warn({ times: line.times }, text);
      Object.assign(line, { times: 0, writtenAt: now });
      subject.isInLog = true;
    },

    /** A part of a subject works. If it failed before, and nothing of the subject fails for `afterMs`, the log says that the subject recovered. */
    works(name: string, part = '', afterMs = steadyMs): void {
      const subject = subjects.get(name);
      if (subject === undefined || subject.recovery !== undefined) return;
      const { failing, since } = subject;
      failing.delete(part);
      // A part that is not used any more does not count forever.
      const now = performance.now();
      for (const [other, failedAt] of failing) if (now - failedAt > quietMs) failing.delete(other);
      if (failing.size > 0) return;
      subject.recovery = setTimeout(() => {
        subjects.delete(name);
        const seconds = Math.round((now - since) / 1_000);
        // A warning, too: the recovery must be in each log that has the fault.
        if (!subject.isInLog) return;
        log.warn({ times: subject.failures, seconds }, `${name}: back to normal`);
        for (const [text, line] of lines) if (text.startsWith(`${name}: `)) line.times = 0;
      }, afterMs).unref();
    },
  };
}

/** The message of ioredis where Redis took longer than `commandTimeout`. */
export const timedOut = 'Command timed out';
/** That of a node of a Cluster that did not say in time which slots it has. */
const noSlots = 'timeout';

/** The message of ioredis where a connection was closed before it could be used. */
export const closed = 'Connection is closed.';

/** Error codes of the system, TLS, undici and Redis, from the specific to the general: what each means, and what the operator can do. */
const wordsByCode: readonly (readonly [code: RegExp, words: string, advice?: string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'the name cannot be resolved', 'Check the host name and the DNS'],
  [/^ECONNREFUSED$/, 'connections are refused', 'Check host and port, and that the server runs'],
  [/^CLOSED$/, 'cannot connect', 'Check hosts, ports, and redis:// or rediss://'],
  [
    /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/,
    'the connection was closed',
    'Check the log of the server, and whether it expects TLS',
  ],
  [
    /TIMEDOUT$|TIMEOUT$/,
    'no answer in time',
    'Check the load of the server, the network, and whether the server expects TLS',
  ],
  [/^E(HOST|NET)UNREACH$/, 'there is no network route', 'Check the routes and the firewall'],
  [/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/, 'the TLS certificate is not valid now', 'Renew it, and check the clocks'],
  [/ALTNAME/, 'the TLS certificate is for another name', 'Use a host name that is in the certificate'],
  [
    /SELF_SIGNED|ISSUER|LEAF_SIGNATURE/,
    'the TLS certificate is of an unknown authority',
    'Set NODE_EXTRA_CA_CERTS to the certificate of the authority',
  ],
  [/CERT|SIGNATURE/, 'the TLS certificate is not accepted', 'Check the certificate of the server'],
  [/^(EPROTO|ERR_SSL_.*|ERR_TLS_.*)$/, 'the TLS handshake failed', 'Check that this port uses TLS'],
  [/^(HPE_|HTTPParserError$)/, 'the answer is not HTTP', 'Check host and port, and whether the server expects https'],
  [/^SELECT$/, 'there is no such database, or the user may not use it', 'Check the number at the end of the address'],
  [/^WRONGPASS$/, 'the user or the password is wrong', 'Correct them in the address'],
  [/^NOAUTH$/, 'a password is needed', 'Add it to the address'],
  [/^NOPERM$/, 'the user may not do what the gateway needs', "Extend the user's rights in Redis"],
  [/^OOM$/, 'Redis is full and can evict nothing', 'Raise maxmemory, or set maxmemory-policy'],
  [/^READONLY$/, 'this Redis is a replica and takes no writes', 'Use the address of the primary'],
  [/^MISCONF$/, 'Redis cannot save to its disk and takes no writes', 'Check the disk of Redis'],
  [/^NOREPLICAS$/, 'Redis has too few replicas and takes no writes', 'Check the replicas'],
  [/^ERR$/, 'Redis does not know a command, or refuses it', 'Allow the command, or use a server that has it'],
  [/^MAXCLIENTS$/, 'Redis has as many clients as it takes', 'Raise maxclients, or see who they are (CLIENT LIST)'],
  [/^DENIED$/, 'Redis is in protected mode', 'Give it a password'],
  [/^LOADING$/, 'Redis is still reading its data'],
  [/^MASTERDOWN$/, 'this Redis is a replica that has lost its primary', 'Check the primary'],
  [/^MOVED$/, 'this Redis is one node of a Cluster', 'List two of its nodes in REDIS_URL, or this one twice'],
  [/^CLUSTERDOWN$/, 'a part of the Cluster has no primary', 'Check the nodes of the Cluster'],
  [/^(ENOSPC|EDQUOT)$/, 'the disk is full'],
  [/^EROFS$/, 'the file system is read-only'],
  [/^(EACCES|EPERM)$/, 'access is denied'],
  [/^HTTP 40[13]$/, 'the credentials are not accepted', 'Check the headers that are configured for it'],
];

/**
 * Describes a failure with its code, its consequence, and what to do: `connections are refused (ECONNREFUSED); traces are lost. Check host and port`. It
 * never includes the message of the error, which may contain a password: Redis quotes the command that it does not understand.
 */
export function failureInWords(error: unknown, consequence: string): string {
  const code = codeOf(error);
  const [, words = 'it failed', advice] = wordsByCode.find(([pattern]) => pattern.test(code)) ?? [];
  const command = /^(NOPERM|ERR)$/.test(code) ? failedCommand(error) : undefined;
  return `${words} (${code}${command === undefined ? '' : `, ${command.toUpperCase()}`}); ${consequence}${advice === undefined ? '' : `. ${advice}`}`;
}

/**
 * The warning for a failed Redis command, or for `connect`. Undefined where the command was not sent, because the connection has a warning of its own.
 */
export function redisWarning(command: string, error: unknown): string | undefined {
  if (command === 'connect') {
    return failureInWords(error, 'until Redis is there, nothing is shared and exports are refused');
  }
  const wasSent = error instanceof Error && (error.name === 'ReplyError' || error.message === timedOut);
  if (!wasSent) return undefined;
  return failureInWords(error, 'until commands succeed again, less is shared and exports may be refused');
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
  // The errors of ioredis itself have no code.
  if ([timedOut, noSlots].includes(error.message) || error.message.startsWith('Socket timeout')) return 'TIMEOUT';
  if (error.message === closed) return 'CLOSED';
  if (error.message.startsWith('ERR max number of clients')) return 'MAXCLIENTS';
  if (failedCommand(error) === 'select') return 'SELECT';
  // The first word of Redis' reply.
  return (error.name === 'ReplyError' && /^[A-Z]+(?= )/.exec(error.message)?.[0]) || error.name;
}
