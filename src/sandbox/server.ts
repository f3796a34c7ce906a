// Starts the sandbox: a fake of the REST service, on a port of its own.
import cookie from '@fastify/cookie';
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify';
import { type Call, CallLog } from './calls.js';
import { credentialOf, DEMO_KEYS, DEMO_TEAM, DEMO_USERS } from './credentials.js';
import { EVENTS_SEARCH_PARAM } from './event-query.js';
import type { EventDraft } from './event-store.js';
import type { SandboxOptions } from './options.js';
import { errorCodeOf, Problem, problemBody } from './problem.js';
import { authRoutes } from './routes/auth.js';
import { CONTROL_PREFIX, controlRoutes } from './routes/control.js';
import { discoveryRoutes, KEYWORD_SUGGESTION_PATH } from './routes/discovery.js';
import { eventRoutes } from './routes/events.js';
import { devRoutes, fileRoutes, marketRoutes, marketsInterfaceRoutes } from './routes/markets.js';
import { applyRule, type Rule, Rules } from './rules.js';
import { createService, type Variant } from './service.js';
import { createWorld } from './world/world.js';

export type { Company } from './world/markets.js';

export type Sandbox = Awaited<ReturnType<typeof startSandbox>>;

/** The keys, users and markets of a sandbox, as the lines that people see at a start. @param markets stands before the number of a market: the address of its page, if there is one. */
export const contentOf = (
  { demo: { keys, users }, data }: Pick<Sandbox, 'demo' | 'data'>,
  markets = '',
): readonly string[] => [
  ...keys.map(({ key, description }) => `  key     ${key}  ${description}`),
  ...users.map(({ email, password }) => `  user    ${email}  password ${password}`),
  ...data.markets.map(({ record }) => `  market  ${markets}${record.id}  ${record.name} (${record.review_status})`),
];

/** Starts the service of the specification as a server with invented data. */
export async function startSandbox(options: SandboxOptions = {}) {
  const { host = '127.0.0.1', port = 0, discoveryMs = 20_000, publishMs = 10_000, newsEveryMs } = options;
  const now = () => options.now?.().getTime() ?? Date.now();
  const world = createWorld(now(), options.companies);
  const createState = () => createService(world, { discoveryMs, publishMs }, now);
  let service = createState();
  const rules = new Rules();
  const calls = new CallLog();
  let origin = '';
  const news = newsEveryMs === undefined ? undefined : setInterval(() => service.publishNext(), newsEveryMs).unref();

  const app = fastify({ forceCloseConnections: true });
  await app.register(cookie);
  watchCalls(app, calls, rules, now);
  answerProblems(app);
  const current = () => service;
  eventRoutes(app, current, now);
  authRoutes(app, current);
  discoveryRoutes(app, current);
  marketRoutes(app, current);
  fileRoutes(app, current);
  controlRoutes(app, calls, rules, current);
  await app.register(async api => marketsInterfaceRoutes(api, current, () => origin), { prefix: '/api' });
  await app.register(async stage => devRoutes(stage, current), { prefix: '/stage' });
  origin = await app.listen({ host, port });

  return {
    /** `http://host:port`. */
    origin,
    /** The three addresses of the specification. */
    addresses: { base: origin, api: `${origin}/api`, dev: `${origin}/stage` },
    eventsSearchParam: EVENTS_SEARCH_PARAM,
    keywordSuggestionPath: KEYWORD_SUGGESTION_PATH,
    demo: { keys: DEMO_KEYS, users: DEMO_USERS, team: DEMO_TEAM },
    /** The data of the service. `events` is live and in the order of the list; the rest is as at the start. */
    data: {
      get events() {
        return service.events.all;
      },
      observations: world.observations,
      markets: world.markets,
    },
    calls,
    /** Adds a rule. Returns a function that removes it. */
    tell: (rule: Rule) => rules.tell(rule),
    /** Removes every rule. */
    forget: () => rules.clear(),
    /** Decides what the specification leaves open in another way. */
    vary: (variant: Partial<Variant>) => void Object.assign(service.variant, variant),
    /** Refuses a key, token or session cookie from now on. */
    revoke: (credential: string) => service.credentials.revoke(credential),
    publishEvent: (draft: EventDraft = {}) => service.events.publish(draft),
    touchEvent: (id: string, draft: EventDraft = {}) => service.events.touch(id, draft),
    /** Resets rules, variants, calls, credentials, events, markets and files to their initial state. */
    reset() {
      service = createState();
      rules.clear();
      calls.clear();
    },
    /** Stops at once, even if requests are still running. */
    async close() {
      clearInterval(news);
      await app.close();
    },
  };
}

/** Logs every call and applies the rules before the service responds. */
function watchCalls(app: FastifyInstance, calls: CallLog, rules: Rules, now: () => number): void {
  const unanswered = new WeakMap<FastifyRequest, Call>();
  app.addHook('onRequest', async (request, reply) => {
    const path = request.url.split('?')[0] ?? '';
    if (path.startsWith(`${CONTROL_PREFIX}/`)) return;
    const { kind: credential } = credentialOf(request);
    const call: Call = {
      method: request.method,
      path: request.url,
      status: null,
      at: new Date(now()).toISOString(),
      credential,
    };
    calls.add(call);
    unanswered.set(request, call);
    const rule = rules.take(request.method, path);
    if (rule) await applyRule(rule, request, reply);
  });
  app.addHook('onSend', async (request, reply) => {
    const call = unanswered.get(request);
    if (call) call.status = reply.statusCode;
  });
}

/** Sends every error in the service's format, including those of the framework. */
function answerProblems(app: FastifyInstance): void {
  // A request without a body may still have the content type JSON.
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else parse(request, body, done);
  });
  app.setNotFoundHandler(request => {
    throw new Problem('NOT_FOUND', `${request.method} ${request.url.split('?')[0]} does not exist`);
  });
  app.setErrorHandler<Error & { statusCode?: number }>((error, _, reply) => {
    const status = error instanceof Problem ? error.status : (error.statusCode ?? 500);
    const code = error instanceof Problem ? error.errorCode : errorCodeOf(status);
    return reply.code(status).send(problemBody(code, status < 500 ? error.message : 'Internal server error'));
  });
}
