import { createClient } from 'graphql-ws';

const [sessionId = ''] = process.argv.slice(2);
const query = 'subscription { jobProgress(marketId: 3, phase: PUBLISH) { finished } }';

const events = new EventSource(`https://gateway.example/graphql/stream?${new URLSearchParams({ sessionId, query })}`);
events.addEventListener('next', ({ data }) => console.log('EventSource', data));
await new Promise(resolve => events.addEventListener('complete', resolve));
events.close();

const socket = createClient({ url: 'wss://gateway.example/graphql', connectionParams: () => ({ sessionId }) });
for await (const answer of socket.iterate({ query })) console.log('WebSocket', JSON.stringify(answer));
