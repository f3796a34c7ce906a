import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { demoHeaders, postJson } from './gateway.js';

/** The revisions of the protocol that the gateway offers. */
export const revisions = ['2026-07-28', '2025-11-25', '2025-06-18'] as const;
type Revision = (typeof revisions)[number];

/** A client, as far as the tests use it. It checks each answer of a tool that it has listed against the tool's schema. */
export type McpClient = Pick<Client, 'callTool' | 'listTools' | 'getInstructions' | 'close'> & {
  readonly revision: string | undefined;
};

/** Connects a client that speaks only one revision. */
export async function connectMcp(
  url: string,
  headers: Record<string, string> = demoHeaders,
  revision: Revision = revisions[0],
): Promise<McpClient> {
  const speaks =
    revision === '2026-07-28'
      ? { versionNegotiation: { mode: { pin: revision } } }
      : { supportedProtocolVersions: [revision] };
  const client = new Client({ name: 'test', version: '1' }, speaks);
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  return Object.assign(client, { revision: client.getNegotiatedProtocolVersion() });
}

/** Connects the last client before the revision 2026-07-28. */
export async function connectOldMcp(url: string, headers: Record<string, string> = demoHeaders): Promise<McpClient> {
  const client = new OldClient({ name: 'test', version: '1' });
  const transport = new OldTransport(new URL(`${url}/mcp`), { requestInit: { headers } });
  // The types of the SDK do not allow exactOptionalPropertyTypes.
  await client.connect(transport as Transport);
  const { callTool } = client;
  return Object.assign(client, {
    revision: transport.protocolVersion,
    callTool: (params: never, options: never) => callTool.call(client, params, undefined, options),
  }) as never;
}

/** Sends one message as it is. @param url of the gateway. */
export function sendMcp(url: string, body: unknown, headers: Record<string, string> = demoHeaders, search = '') {
  return postJson(`${url}/mcp${search}`, body, { accept: 'application/json, text/event-stream', ...headers });
}

/** The message that calls a tool, of the revisions before 2026-07-28. */
export const toolCall = (name: string, variables: unknown = {}, more: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: variables, ...more },
});

/** The body and the headers of a message as the revision 2026-07-28 has them. */
export function modern(
  message: { readonly method: string; readonly params?: { readonly name?: string; readonly _meta?: object } },
  version = '2026-07-28',
): { readonly body: object; readonly headers: Record<string, string> } {
  const { method, params } = message;
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    body: { ...message, params: { ...params, _meta: { ...params?._meta, ...envelope } } },
    headers: {
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(params?.name !== undefined && { 'mcp-name': params.name }),
    },
  };
}
