import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { CallLog } from '../calls.js';
import type { EventDraft } from '../event-store.js';
import { read } from '../problem.js';
import type { MarketEvent } from '../resources.js';
import type { Rule } from '../rules.js';

/** Paths of the control, which are neither counted as calls nor subject to rules. */
export const CONTROL_PREFIX = '/_sandbox';

const ruleBody = z
  .strictObject({
    method: z.string().optional(),
    path: z.string().optional(),
    /** Stands for a RegExp, which JSON does not have. */
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

/** An object with any field of an event; a known `_id` touches that event. */
const eventBody = z.record(z.string(), z.unknown());
const revokeBody = z.object({ credential: z.string() });

/** What tests hold in hand, in this process or over HTTP. */
export interface Controls {
  calls: CallLog;
  /** Makes the service behave differently; returns what ends it. */
  tell(rule: Rule): () => void;
  /** Removes every rule. */
  forget(): void;
  /** Refuses a key, token or session cookie from now on. */
  revoke(credential: string): void;
  /** Adds an event, last updated now, that passes the default filter but for what the draft says. */
  publishEvent(draft?: EventDraft): MarketEvent;
  /** Changes an event, last updated now. Throws where there is no such event. */
  touchEvent(id: string, draft?: EventDraft): MarketEvent;
  /** Rules, calls, credentials, events, markets and files back to the start. */
  reset(): void;
}

/** The same control over HTTP that the process of the sandbox has in hand. */
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

  app.post(`${CONTROL_PREFIX}/reset`, (_, reply) => {
    sandbox.reset();
    return reply.code(204).send();
  });

  app.post(`${CONTROL_PREFIX}/revoke`, (request, reply) => {
    sandbox.revoke(read(revokeBody, request.body).credential);
    return reply.code(204).send();
  });

  app.post(`${CONTROL_PREFIX}/events`, (request, reply) => {
    const draft = read(eventBody, request.body ?? {}) as EventDraft;
    if (draft._id !== undefined && knows(draft._id)) return sandbox.touchEvent(draft._id, draft);
    return reply.code(201).send(sandbox.publishEvent(draft));
  });
}
