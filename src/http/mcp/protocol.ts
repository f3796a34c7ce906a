// Speaks the Model Context Protocol, with the package of its makers.
import {
  createMcpHandler,
  isLegacyRequest,
  isSpecType,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  type RequestId,
  Server,
  type Tool,
  UnsupportedProtocolVersionError,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { FastifyRequest } from 'fastify';
import { version } from '../../observability/metrics.js';
import { Refused } from '../web-safety.js';
import { summaryOf, type ToolAnswer } from './answer.js';

export interface ToolCall {
  readonly id: RequestId;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Tells the client how far the work is, 0 to 1; undefined if the client did not ask for it, or takes no events. */
  readonly onProgress: ((share: number, message: string) => void) | undefined;
}

interface ToolHost {
  readonly tools: readonly Tool[];
  /** Returns undefined for an unknown tool. */
  call(call: ToolCall): Promise<ToolAnswer | undefined>;
  /** Ends a running call of the same client, if it has one of this id. */
  cancel(id: RequestId): void;
}

/** The revisions of the protocol that the gateway keeps. Earlier ones have lists of messages. */
const revisions = ['2026-07-28', '2025-11-25', '2025-06-18'];

const instructions =
  'Market research and event intelligence. Most tools need the identifier of a market, a whole number that the user has to know. Times are in UTC. Likelihood and ' +
  'severity are 0 to 3, the highest. The text of a result is a summary: read its structured content. There, `data` has the result. Each of the `errors` has a `message`, a stable `extensions.code`, and in `extensions.argument` the argument ' +
  'that is wrong; `extensions.retryable` says whether the same call can succeed later. If there is `next`, more items follow: call the tool again with the same arguments ' +
  'and those of `next`. `note` says that items were left out.';

/** Tools change only when a gateway starts. What a client may see is for its credential. */
const cacheHint = { ttlMs: 300_000, cacheScope: 'private' } as const;

/** The longest time between two notifications of progress, half of what clients wait by default. */
const reportMs = 30_000;

/** Names a client of the revisions before 2026-07-28 in all its messages but the first. No gateway keeps it. */
export const sessionHeader = 'mcp-session-id';

export const isInitialize = isSpecType.InitializeRequest;

/** A message, as far as it is what it should be. */
type Message = { id?: unknown; method?: unknown; params?: Record<string, Record<string, unknown> | undefined> } | null;

/**
 * Answers one message of a client, with a protocol server of its own. A client that takes nothing else, or asks for progress, can get events, others JSON.
 * @param signal aborts when the client has gone.
 * @throws Refused if the client accepts neither.
 */
export async function answerMessage(request: FastifyRequest, signal: AbortSignal, host: ToolHost): Promise<Response> {
  const { accept = '*/*' } = request.headers;
  const takesJson = /(?:^|,)\s*(?:\*|application)\/(?:\*|json)\s*(?:;|,|$)/i.test(accept);
  const takesEvents = /text\/event-stream/i.test(accept);
  if (!takesJson && !takesEvents) throw new Refused(406, 'The client must accept application/json');
  const message = request.body as Message;
  // Many clients and models write null for what they leave out. For GraphQL, it would be a value in place of the default.
  if (message?.params === null) delete message.params;
  leaveOutNulls(message?.params);
  const meta = message?.params?._meta;
  const version = meta?.[PROTOCOL_VERSION_META_KEY] ?? request.headers['mcp-protocol-version'];
  // A client that does not know the server yet names its version in the message `initialize`.
  if (typeof version === 'string' && !revisions.includes(version) && message?.method !== 'initialize') {
    return refusal(message?.id, new UnsupportedProtocolVersionError({ supported: revisions, requested: version }));
  }
  if (parametersFit.get(message?.method)?.(message) === false) {
    return refusal(message?.id, new ProtocolError(ProtocolErrorCode.InvalidParams, 'The parameters are invalid'));
  }
  const isStream = takesEvents && (!takesJson || meta?.progressToken !== undefined);
  const server = createServer(host, isStream);
  signal.addEventListener('abort', () => void server.close());
  const asked = webRequest(request);
  if (message?.method === 'initialize') asked.headers.delete('mcp-protocol-version');
  if (await isLegacyRequest(asked, message)) {
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !isStream });
    await server.connect(transport);
    return transport.handleRequest(asked, { parsedBody: message });
  }
  const responseMode = takesJson ? 'auto' : 'sse';
  return createMcpHandler(() => server, { legacy: 'reject', responseMode }).fetch(asked, { parsedBody: message });
}

/** At any depth, but not in lists. */
function leaveOutNulls(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    if (members[name] === null && !Array.isArray(value)) delete members[name];
    else leaveOutNulls(members[name]);
  }
}

/** Of these, the package reports invalid parameters as an internal error. */
const parametersFit = new Map<unknown, (message: Message) => boolean>([
  ['initialize', isInitialize],
  ['tools/list', isSpecType.ListToolsRequest],
]);

function createServer(host: ToolHost, isStream: boolean): Server {
  const server = new Server(
    { name: 'market-intelligence-gateway', version },
    {
      capabilities: { tools: {} },
      instructions,
      supportedProtocolVersions: revisions,
      cacheHints: { 'tools/list': cacheHint, 'server/discover': cacheHint },
    },
  );
  server.setRequestHandler('tools/list', ({ params }) => {
    if (params?.cursor !== undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such cursor');
    return { tools: [...host.tools] };
  });
  server.setNotificationHandler('notifications/cancelled', ({ params: { requestId } }) => {
    if (requestId !== undefined) host.cancel(requestId);
  });
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq: { id, _meta, notify } }) => {
    const progressToken = isStream ? _meta?.progressToken : undefined;
    let reported = -1;
    let state = 'waiting';
    // The timeout of a client begins again with each notification, however long the service tells of no progress.
    const goesOn = () => report(Math.max(reported, 0) + 1e-9, state);
    const running = progressToken === undefined ? undefined : setInterval(goesOn, reportMs);
    const call = host.call({
      id,
      name: params.name,
      arguments: params.arguments ?? {},
      onProgress: progressToken === undefined ? undefined : report,
    });
    const answer = await call.finally(() => clearInterval(running));
    if (answer === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no tool of this name');
    return {
      content: [{ type: 'text', text: summaryOf(answer) }],
      structuredContent: { ...answer },
      isError: answer.errors !== undefined,
    };

    function report(progress: number, text: string): void {
      state = text;
      // The protocol demands that it grows with each notification.
      if (progressToken === undefined || progress <= reported) return;
      reported = progress;
      const params = { progressToken, progress, total: 1, message: text };
      // It fails when the client has gone, which ends the call too.
      notify({ method: 'notifications/progress', params }).catch(() => {});
    }
  });
  return server;
}

const refusal = (id: unknown, { code, message, data }: ProtocolError) =>
  Response.json({ jsonrpc: '2.0', id: id ?? null, error: { code, message, data } }, { status: 400 });

/** What the protocol needs of a request: no credential. The package demands that both types are accepted, though it sends only one. */
function webRequest({ headers }: FastifyRequest): Request {
  const passed = new Headers({ accept: 'application/json, text/event-stream' });
  for (const name of ['content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const) {
    const value = headers[name];
    if (typeof value === 'string') passed.set(name, value);
  }
  return new Request('http://gateway/mcp', { method: 'POST', headers: passed });
}
