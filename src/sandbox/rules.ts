import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorCodeOf, problemBody, statusOf } from './problem.js';

/**
 * What the service is told to do instead of, or before, its own answer. The delay comes first. `status`, `errorCode` or
 * `body` replace the answer; without them `headers` are added to the real one.
 */
export interface Rule {
  method?: string;
  /** A string equals the path without its query, a RegExp is searched for in it. */
  path: string | RegExp;
  /** For how many requests; without it, for all. */
  times?: number;
  delayMs?: number;
  status?: number;
  errorCode?: string;
  /** Sent as it is, as JSON unless `headers` say otherwise. */
  body?: string;
  headers?: Record<string, string>;
  /** Destroys the socket: before anything is sent, after the headers, or with half of the announced body sent. */
  breakConnection?: 'before' | 'after-headers' | 'mid-body';
  /** Never answers. */
  hang?: true;
}

/** The rules in force; of several for a path the one told first applies until its times are used up. */
export class Rules {
  #rules: { rule: Rule; left: number }[] = [];

  /** Adds a rule; returns what removes it. */
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

  /** The rule for a request, which counts as used. */
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

/** Does as the rule says; the reply is sent or taken over afterwards, unless the rule leaves the answer to the service. */
export async function obey(rule: Rule, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (rule.delayMs !== undefined) await sleep(rule.delayMs, undefined, { ref: false });
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
  const failure = problemBody(errorCode ?? errorCodeOf(code), `${request.method} was told to answer ${code}`);
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
