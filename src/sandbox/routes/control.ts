// Endpoints with which a person or another process controls the sandbox.
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { CallLog } from '../calls.js';
import type { EventDraft } from '../event-store.js';
import { read } from '../problem.js';
import type { Rule, Rules } from '../rules.js';
import type { Service } from '../service.js';

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

/** What benchmarks and people control over HTTP: calls, rules and events. */
export function controlRoutes(app: FastifyInstance, calls: CallLog, rules: Rules, service: () => Service): void {
  app.get(`${CONTROL_PREFIX}/calls`, () => calls.list());

  app.delete(`${CONTROL_PREFIX}/calls`, (_, reply) => {
    calls.clear();
    return reply.code(204).send();
  });

  app.post(`${CONTROL_PREFIX}/rules`, (request, reply) => {
    const { path, pathPattern, ...rest } = read(ruleBody, request.body);
    rules.tell({ ...(rest as Omit<Rule, 'path'>), path: path ?? new RegExp(pathPattern ?? '') });
    return reply.code(204).send();
  });

  app.delete(`${CONTROL_PREFIX}/rules`, (_, reply) => {
    rules.clear();
    return reply.code(204).send();
  });

  app.post(`${CONTROL_PREFIX}/events`, (request, reply) => {
    const draft = read(eventBody, request.body ?? {}) as EventDraft;
    const { events } = service();
    const known = events.all.find(({ _id }) => _id === draft._id);
    return known ? events.touch(known._id, draft) : reply.code(201).send(events.publish(draft));
  });
}
