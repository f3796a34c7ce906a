// Endpoints with which a person or another process controls the sandbox.
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { CallLog } from '../calls.js';
import type { EventDraft } from '../event-store.js';
import { read } from '../problem.js';
import type { Rule } from '../rules.js';
import type { Variant } from '../service.js';
import type { MarketEvent } from '../world/events.js';

/** Control paths. They are not logged as calls, and rules do not apply to them. */
export const CONTROL_PREFIX = '/_sandbox';

const ruleBody = z
  .strictObject({
    method: z.string().optional(),
    path: z.string().optional(),
    /** The source of a RegExp, which JSON cannot express. */
    pathPattern: z.string().optional(),
    times: z.int().min(1).optional(),
    delayMs: z.number().min(0).optional(),
    status: z.int().min(200).max(599).optional(),
    errorCode: z.string().optional(),
    body: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
    breakConnection: z.enum(['before', 'after-headers', 'mid-body']).optional(),
    hang: z.literal(true).optional(),
  })
  .refine(({ path, pathPattern }) => (path === undefined) !== (pathPattern === undefined), {
    message: 'needs either path or pathPattern',
  });

/** An object with any fields of an event. A known `_id` updates that event. */
const eventBody = z.record(z.string(), z.unknown());

/** Control of the sandbox for tests. */
export interface Controls {
  calls: CallLog;
  /** Adds a rule. Returns a function that removes it. */
  tell(rule: Rule): () => void;
  /** Removes every rule. */
  forget(): void;
  /** Decides what the specification leaves open in another way. */
  vary(variant: Partial<Variant>): void;
  /** Refuses a key, token or session cookie from now on. */
  revoke(credential: string): void;
  /** Adds an event that is updated now and matches the default filter, unless the draft says otherwise. */
  publishEvent(draft?: EventDraft): MarketEvent;
  /** Changes an event and sets the time of its update to now. Throws if there is no such event. */
  touchEvent(id: string, draft?: EventDraft): MarketEvent;
  /** Resets rules, variants, calls, credentials, events, markets and files to their initial state. */
  reset(): void;
}

/** What benchmarks and people control over HTTP: calls, rules and events. */
export function controlRoutes(app: FastifyInstance, sandbox: Controls, knows: (eventId: string) => boolean): void {
  app.get(`${CONTROL_PREFIX}/calls`, () => sandbox.calls.list());

  app.delete(`${CONTROL_PREFIX}/calls`, (_, reply) => {
    sandbox.calls.clear();
    return reply.code(204).send();
  });

  app.post(`${CONTROL_PREFIX}/rules`, (request, reply) => {
    const { path, pathPattern, ...rest } = read(ruleBody, request.body);
    sandbox.tell({ ...(rest as Omit<Rule, 'path'>), path: path ?? new RegExp(pathPattern ?? '') });
    return reply.code(204).send();
  });

  app.delete(`${CONTROL_PREFIX}/rules`, (_, reply) => {
    sandbox.forget();
    return reply.code(204).send();
  });

  app.post(`${CONTROL_PREFIX}/events`, (request, reply) => {
    const draft = read(eventBody, request.body ?? {}) as EventDraft;
    if (draft._id !== undefined && knows(draft._id)) return sandbox.touchEvent(draft._id, draft);
    return reply.code(201).send(sandbox.publishEvent(draft));
  });
}
