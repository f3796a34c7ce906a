// The route of the Model Context Protocol, which executes the operations that agents call as tools.
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { RequestId, Tool } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import { hashedKey, scopedKey } from '../../data/cache/keys.js';
import { Abandoned, BadUserInput, Unauthenticated } from '../../errors.js';
import { jsonValueOf } from '../../graphql/limits/bounds.js';
import { responseMessage } from '../../graphql/response-text.js';
import { bytesOfValue, type Claim } from '../../lib/memory-budget.js';
import type { ProxyHeaders } from '../../lib/network.js';
import { parseWebUrl } from '../../lib/web-url.js';
import { type OperationInfo, operationName } from '../../observability/operation-info.js';
import type { Subscriptions } from '../../subscriptions/subscriptions.js';
import type { Authentication, Identity } from '../authentication.js';
import { type RequestState, stateOf } from '../request-state.js';
import { answerOf, answerSchema, failure, type ToolAnswer } from './answer.js';
import type { JsonSchema } from './json-schema.js';
import type { ToolOperation } from './operations.js';
import { createJobWatch, type JobState, type JobWatch, type StartedJobs } from './progress.js';
import type { ToolCall } from './protocol.js';

interface McpDeps {
  readonly tools: readonly ToolOperation[];
  readonly schema: GraphQLSchema;
  readonly authentication: Authentication;
  readonly subscriptions: Subscriptions;
  /** The issuers of the bearer tokens that the service accepts. */
  readonly authorizationServers: readonly string[];
  readonly proxyHeaders: ProxyHeaders;
}

/** Where clients find out which servers issue tokens (RFC 9728). */
const metadataPath = '/.well-known/oauth-protected-resource';

/** Loaded with the first request: few gateways have agents, and loading it takes longer than the rest of the start. */
const protocol = () => import('./protocol.js');

/**
 * The Model Context Protocol at `path` (Streamable HTTP), with a tool for each operation. No request depends on an earlier one, so that any
 * gateway of a fleet can answer it.
 */
export function registerMcp(app: FastifyInstance, path: string, deps: McpDeps): void {
  const { authentication, subscriptions, authorizationServers, proxyHeaders } = deps;
  const progress = createJobWatch(deps.schema, subscriptions);
  const tools = deps.tools.map(tool => describe(tool, progress.schemaFor(tool)));
  const callTool = createToolCalls(deps, progress);

  /** Has a listener for each running call, by the name of its key. */
  const cancelled = new EventEmitter().setMaxListeners(0);

  app.post(path, async (request, reply) => {
    const state = stateOf(request.raw);
    const leaving = new AbortController();
    state.whenClosed(() => leaving.abort(new Abandoned('The client has gone')));
    const identity = identify(request, reply);
    // One request could call a hundred tools otherwise, and count once against the rate limit.
    if (Array.isArray(request.body)) throw new BadUserInput('body', 'must be one message, not a list');
    const { answerMessage, isInitialize, sessionHeader } = await protocol();
    // Several agents may share a credential, and each numbers its calls from 0: only those of a session can be told apart.
    if (isInitialize(request.body)) reply.header(sessionHeader, randomUUID());
    const session = request.headers[sessionHeader];
    const keyOf = (id: RequestId) => hashedKey(scopedKey(identity.scope, JSON.stringify([session, id])));
    let isRefused = false;
    const answer = answerMessage(request, leaving.signal, {
      tools,
      async call(toolCall) {
        if (session) {
          const key = keyOf(toolCall.id);
          const cancel = () => leaving.abort(new Abandoned('The client has cancelled the call'));
          cancelled.on(key, cancel);
          state.whenClosed(() => cancelled.off(key, cancel));
        }
        const called = await callTool(toolCall, state, identity, leaving.signal);
        isRefused = refusesToken(identity, toolCall, called);
        return called;
      },
      cancel: id => cancelled.emit(keyOf(id)),
    });
    // A call that was cancelled gets no message of the protocol.
    const nothing = once(leaving.signal, 'abort').then(() => new Response(null, { status: 499 }));
    const response = await Promise.race([answer.then(begun), nothing]);
    if (!isRefused) return response;
    challenge(request, reply, ' error="invalid_token",');
    throw new Unauthenticated('The service does not accept the token; get another one');
  });

  const originOf = ({ raw }: FastifyRequest) =>
    parseWebUrl(`${proxyHeaders.schemeOf(raw)}://${proxyHeaders.hostOf(raw)}`)?.origin ?? '';
  if (authorizationServers.length > 0) {
    // Below the path of what it is about, too: clients that overlook the challenge look there first (RFC 9728, section 3.1).
    for (const address of [metadataPath, `${metadataPath}${path}`]) {
      app.get(address, async request => ({
        resource: originOf(request) + path,
        authorization_servers: authorizationServers,
        bearer_methods_supported: ['header'],
      }));
    }
  }

  /** Who sends a request. A refusal says where an agent gets a token. */
  function identify(request: FastifyRequest, reply: FastifyReply): Identity {
    try {
      return authentication.authenticate(authentication.handshakeOf(request));
    } catch (error) {
      if (error instanceof Unauthenticated) challenge(request, reply);
      throw error;
    }
  }

  function challenge(request: FastifyRequest, reply: FastifyReply, fault = ''): void {
    const hint =
      authorizationServers.length > 0 ? `${fault} resource_metadata="${originOf(request)}${metadataPath}"` : '';
    reply.header('www-authenticate', `Bearer${hint}`);
  }

  /** Whether the service refuses the token of an agent, which then gets another one and calls again. A mutation that was carried out must not be repeated. */
  function refusesToken({ credential }: Identity, { name }: ToolCall, called: ToolAnswer | undefined): boolean {
    if (credential.kind !== 'bearer' || authorizationServers.length === 0) return false;
    const isQuery = tools.find(tool => tool.name === name)?.annotations?.readOnlyHint === true;
    const hasDoneNothing = isQuery || Object.values(called?.data ?? {}).every(value => value === null);
    return hasDoneNothing && (called?.errors ?? []).some(({ extensions }) => extensions?.code === 'UNAUTHENTICATED');
  }
}

/** Executes the operations that agents call as tools. */
function createToolCalls({ tools, subscriptions }: McpDeps, progress: JobWatch) {
  const byName = new Map(tools.map(tool => [tool.operation.name, tool]));
  const { documentChecks, executor, budget, acceptedScopes } = subscriptions.deps;

  async function execute(
    tool: ToolOperation,
    sent: Readonly<Record<string, unknown>>,
    info: OperationInfo,
    identity: Identity,
    signal: AbortSignal,
  ): Promise<{ readonly answer: ToolAnswer; readonly jobs?: StartedJobs | undefined }> {
    info.name = operationName(tool.operation.name);
    info.type = tool.operation.type;
    const claim = budget.claim(identity);
    try {
      const variables = typedArguments(tool, sent, claim);
      const operation = { ...tool.operation, variables };
      const client = { ...identity, scope: acceptedScopes.turnOf(identity.scope) };
      await documentChecks.checkOperation(client, operation, info);
      const { data, errors } = await executor.single(operation, { identity, info }, signal, claim);
      const { parts } = responseMessage({ data, ...(errors && { errors }) }, claim);
      const answer = answerOf(tool, parts.join(''), variables);
      return { answer, jobs: answer.errors === undefined ? progress.startedBy(tool, variables) : undefined };
    } catch (error) {
      const { errors, outcome } = executor.failure(error, info.id);
      info.outcome = outcome;
      return { answer: failure(tool, JSON.parse(errors)) };
    } finally {
      if (signal.aborted) info.outcome = 'ABANDONED';
      info.executedAt ??= performance.now();
      claim.release();
    }
  }

  return async (
    { name, arguments: sent, onProgress }: ToolCall,
    state: RequestState,
    identity: Identity,
    signal: AbortSignal,
  ): Promise<ToolAnswer | undefined> => {
    const tool = byName.get(name);
    if (tool === undefined) return undefined;
    const { answer, jobs } = await execute(tool, sent, state.operation, identity, signal);
    if (jobs === undefined || onProgress === undefined) return answer;
    try {
      state.countAsStream?.(state);
    } catch {
      // The client has too many connections. What the call has done must not be lost for its progress.
      return answer;
    }
    // From now on it is limited as a stream.
    state.release();
    const ending = new AbortController();
    const stream = { heartbeat() {}, leave: () => ending.abort(new Abandoned('The client or the gateway leaves')) };
    signal.addEventListener('abort', stream.leave);
    subscriptions.open.add(stream);
    if (signal.aborted || subscriptions.isDraining) stream.leave();
    let last: JobState | undefined;
    await progress.follow(jobs, identity, ending.signal, job => {
      last = job;
      onProgress(job.finished ? 1 : Math.min(job.overallProgress ?? 0, maxBeforeEnd), messageOf(job));
    });
    subscriptions.open.delete(stream);
    return { ...answer, ...(last && { progress: last }) };
  };
}

/** A job can be whole before the service says that it has ended, and each notification must tell of more than the one before. */
const maxBeforeEnd = 0.999;

/** Waits for the first event of a stream: until then, the status can still say that the service refuses the token. */
async function begun(response: Response): Promise<Response> {
  if (response.headers.get('content-type') !== 'text/event-stream') return response;
  const [first, all] = (response.body as ReadableStream).tee();
  const reader = first.getReader();
  await reader.read();
  // It settles only when the other branch ends.
  void reader.cancel();
  return new Response(all, response);
}

/**
 * The arguments of a call. Many clients send a list, an object, a number or a boolean as JSON in a text: it stands for that where the tool takes no text.
 * @throws BadUserInput for an argument that the tool does not have: GraphQL would ignore it. As `jsonValueOf` and `Claim.reserve` do.
 */
function typedArguments({ input }: ToolOperation, sent: Readonly<Record<string, unknown>>, claim: Claim) {
  const known = new Map(Object.entries(input.properties as Readonly<Record<string, JsonSchema>>));
  const typed = Object.entries(sent).map(([name, value]) => {
    const schema = known.get(name);
    if (schema === undefined)
      throw new BadUserInput(name, `is not an argument; there are ${[...known.keys()].join(', ') || 'none'}`);
    if (typeof value !== 'string' || schema.type === 'string') return [name, value];
    const meant = jsonValueOf(value);
    claim.reserveMore(bytesOfValue(meant));
    return [name, isOfType[schema.type as keyof typeof isOfType](meant) ? meant : value];
  });
  return Object.fromEntries(typed) as Readonly<Record<string, unknown>>;
}

/** The types that a schema of an argument has, besides texts. */
const isOfType = {
  array: Array.isArray,
  object: (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
  integer: Number.isInteger,
  number: Number.isFinite,
  boolean: (value: unknown) => typeof value === 'boolean',
};

const messageOf = ({ jobs }: JobState) =>
  jobs.map(({ workflowName, status }) => `${workflowName ?? 'job'}: ${status ?? 'unknown'}`).join(', ');

const describe = (tool: ToolOperation, progress: JsonSchema | undefined): Tool => ({
  name: tool.operation.name,
  description: tool.description,
  inputSchema: tool.input,
  outputSchema: answerSchema(tool, progress),
  annotations: { readOnlyHint: tool.operation.type === 'query' },
});
