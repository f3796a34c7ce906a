import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type ToolAnnotations,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import type { FastifyRequest } from 'fastify';
import type { ToolAnswer } from './answer.js';
import type { ObjectSchema } from './json-schema.js';

/** A tool as clients see it. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema;
  readonly annotations: ToolAnnotations;
}

/** A client's call of a tool. */
export interface ToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Tells the client how far the work is, 0 to 1; undefined if the client did not ask for it. */
  readonly onProgress: ((share: number, message: string) => Promise<void>) | undefined;
}

interface ToolHost {
  readonly tools: readonly Tool[];
  /** Returns undefined for an unknown tool. */
  call(call: ToolCall): Promise<ToolAnswer | undefined>;
}

const instructions =
  'Market research and event intelligence. Most tools need the identifier of a market, a whole number that the user has to know. Times are in UTC. Likelihood and ' +
  'severity are 0 to 3, the highest. `data` has the result. Each of the `errors` has a stable `extensions.code`; `retryable` says whether the same call can ' +
  'succeed later. If there is `next`, more items follow: call the tool again with the same arguments and those of `next`.';

/** The SDK would answer parameters of another form with an internal error. */
const callRequest = CallToolRequestSchema.extend({
  params: CallToolRequestSchema.shape.params.catch(() => {
    throw new McpError(ErrorCode.InvalidParams, 'The parameters must be the name of a tool and an object of arguments');
  }),
});

/** Made once, because making one takes long. It would check what servers ask of clients, and this one asks nothing. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

/**
 * Answers one message of a client, with a protocol server of its own. A call that asks for progress gets a stream of events, every other one JSON.
 * @param signal aborts when the client has gone.
 */
export async function answerMessage(request: FastifyRequest, signal: AbortSignal, host: ToolHost): Promise<Response> {
  const server = new Server(
    { name: 'market-intelligence-gateway', version: '1.0.0' },
    { capabilities: { tools: {} }, instructions, jsonSchemaValidator },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...host.tools] }));
  server.setRequestHandler(callRequest, async ({ params }, { _meta, sendNotification }) => {
    const progressToken = _meta?.progressToken;
    let reported = -1;
    const answer = await host.call({
      name: params.name,
      arguments: params.arguments ?? {},
      onProgress: progressToken === undefined ? undefined : report,
    });
    if (answer === undefined) throw new McpError(ErrorCode.InvalidParams, 'There is no tool of this name');
    return {
      content: [{ type: 'text', text: JSON.stringify(answer) }],
      structuredContent: { ...answer },
      isError: answer.errors !== undefined,
    };

    async function report(progress: number, message: string): Promise<void> {
      // The protocol demands that it grows with each notification.
      if (progressToken === undefined || progress <= reported) return;
      reported = progress;
      await sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 1, message },
      });
    }
  });
  const { accept = '*/*' } = request.headers;
  // A client that takes no events gets the answer alone.
  const isStream = accept.includes('text/event-stream') && progressTokenIn(request.body) !== undefined;
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !isStream });
  await server.connect(transport);
  signal.addEventListener('abort', () => void server.close());
  return transport.handleRequest(webRequest(request, accept), { parsedBody: request.body });
}

/** A media type under which a client takes JSON. */
const takesJson = /(?:^|,)\s*(?:\*|application)\/(?:\*|json)\s*(?:;|,|$)/i;

const progressTokenIn = (body: unknown) =>
  (body as { params?: { _meta?: { progressToken?: unknown } } } | null | undefined)?.params?._meta?.progressToken;

/** What the protocol needs of a request: no credential. The SDK demands both types, though it sends only one. */
function webRequest({ headers }: FastifyRequest, accept: string): Request {
  const passed = new Headers({ accept: takesJson.test(accept) ? 'application/json, text/event-stream' : accept });
  for (const name of ['content-type', 'mcp-protocol-version'] as const) {
    const value = headers[name];
    if (typeof value === 'string') passed.set(name, value);
  }
  return new Request('http://gateway/mcp', { method: 'POST', headers: passed });
}
