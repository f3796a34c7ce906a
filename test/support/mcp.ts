import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { demoHeaders } from './gateway.js';

/** Connects the client of the SDK to a gateway. It checks each answer of a tool that it has listed against the tool's schema. */
export async function connectMcp(url: string, headers: Record<string, string> = demoHeaders): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } });
  // The types of the SDK do not allow exactOptionalPropertyTypes.
  await client.connect(transport as Transport);
  return client;
}

/** Sends one message as it is. @param url of the gateway. */
export function sendMcp(url: string, body: unknown, headers: Record<string, string> = demoHeaders, search = '') {
  return fetch(`${url}/mcp${search}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(body),
  });
}

/** The message that calls a tool. */
export const toolCall = (name: string, variables: unknown = {}, more: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: variables, ...more },
});
