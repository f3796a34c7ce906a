// Rules by which a test changes how the sandbox responds: late, with an error, or not at all.
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorCodeOf, problemBody, statusOf } from './problem.js';

/**
 * Changes how the service responds. The delay comes first. `status`, `errorCode` or `body` replace the response; without
 * them, `headers` are added to the real one.
 */
export interface Rule {
  method?: string;
  /** A string must equal the path without its query; a RegExp is searched in it. */
  path: string | RegExp;
  /** Number of requests that the rule applies to. Left out: all. */
  times?: number;
  delayMs?: number;
  /** It responds no sooner than this is settled. */
  until?: Promise<unknown>;
  status?: number;
  errorCode?: string;
  /** Sent unchanged, as JSON unless `headers` set another type. */
  body?: string;
  headers?: Record<string, string>;
  /** Destroys the socket before the response, after the headers, or after half of the body. */
  breakConnection?: 'before' | 'after-headers' | 'mid-body';
  /** Never responds. */
  hang?: true;
}

/** The active rules. Of several rules for a path, the one added first applies until its times are used up. */
export class Rules {
  #rules: { rule: Rule; left: number }[] = [];

  /** Adds a rule. Returns a function that removes it. */
  tell(rule: Rule): () => void {
    const entry = { rule, left: rule.times ?? Number.POSITIVE_INFINITY };
    this.#rules.push(entry);
    return () => {
      this.#rules = this.#rules.filter(other => other !== entry);
    };
  }

  clear(): void {
    this.#rules = [];
  }

  /** The rule for a request. Counts as one use. */
  take(method: string, path: string): Rule | undefined {
    const entry = this.#rules.find(({ rule, left }) => left > 0 && matches(rule, method, path));
    if (!entry) return undefined;
    entry.left -= 1;
    return entry.rule;
  }
}

function matches(rule: Rule, method: string, path: string): boolean {
  if (rule.method !== undefined && rule.method.toUpperCase() !== method) return false;
  return typeof rule.path === 'string' ? rule.path === path : path.search(rule.path) >= 0;
}

/** Applies a rule. Afterwards the reply is sent or hijacked, unless the rule leaves the response to the service. */
export async function applyRule(rule: Rule, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (rule.delayMs !== undefined) await sleep(rule.delayMs, undefined, { ref: false });
  await rule.until;
  if (rule.hang) {
    reply.hijack();
    return;
  }
  if (rule.breakConnection) {
    reply.hijack();
    breakConnection(rule, reply);
    return;
  }
  const { status, errorCode, body } = rule;
  if (status === undefined && errorCode === undefined && body === undefined) {
    reply.headers(rule.headers ?? {});
    return;
  }
  const code = status ?? (errorCode === undefined ? 200 : statusOf(errorCode));
  const failure = problemBody(errorCode ?? errorCodeOf(code), `${request.method} failed by a rule: ${code}`);
  reply
    .code(code)
    .header('content-type', 'application/json; charset=utf-8')
    .headers(rule.headers ?? {})
    .send(body ?? (code < 400 ? '' : JSON.stringify(failure)));
}

function breakConnection(
  { breakConnection, body = '{"meta":{"totalItems":1},"data":[]}', status, headers }: Rule,
  reply: FastifyReply,
): void {
  const { raw } = reply;
  if (breakConnection === 'before') {
    raw.destroy();
    return;
  }
  const bytes = Buffer.from(body);
  raw.writeHead(status ?? 200, { 'content-type': 'application/json', 'content-length': bytes.length, ...headers });
  raw.flushHeaders();
  if (breakConnection === 'mid-body') raw.write(bytes.subarray(0, bytes.length / 2));
  raw.socket?.destroySoon();
}
