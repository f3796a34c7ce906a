import type { FastifyInstance } from 'fastify';
import { requireEventsMonitor } from '../credentials.js';
import { eventQuery } from '../event-query.js';
import { read } from '../problem.js';
import type { Service } from '../service.js';

const JSON_TEXT = 'application/json; charset=utf-8';

/** The event list and the single observation (docs/upstream-api.md: Events monitor). */
export function eventRoutes(app: FastifyInstance, service: () => Service, now: () => number): void {
  app.get('/v2/events-monitor/events', (request, reply) => {
    requireEventsMonitor(service().credentials.identify(request));
    const { events, variant } = service();
    reply.type(JSON_TEXT).send(events.pageText(read(eventQuery(now()), request.query), variant));
  });

  app.get<{ Params: { observationId: string } }>('/v2/events-monitor/observation/:observationId', (request, reply) => {
    requireEventsMonitor(service().credentials.identify(request));
    reply.type(JSON_TEXT).send(service().events.observationText(request.params.observationId));
  });
}
