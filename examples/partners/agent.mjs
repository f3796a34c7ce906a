import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const client = new Client({ name: 'my-agent', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
const requestInit = { headers: { 'x-api-key': process.env.API_KEY } };
await client.connect(new StreamableHTTPClientTransport(new URL(`${process.env.GATEWAY}/mcp`), { requestInit }));

const { tools } = await client.listTools();
console.log(tools.find(({ name }) => name === 'findCompanies').inputSchema.required);
let next = {};
do {
  const result = await client.callTool({
    name: 'findCompanies',
    arguments: { marketId: process.env.MARKET, first: 40, ...next },
  });
  if (result.isError) throw new Error(JSON.stringify(result.structuredContent.errors));
  console.log(`${result.structuredContent.data.market.companies.nodes.length} companies`);
  next = result.structuredContent.next;
} while (next !== undefined);
await client.close();
