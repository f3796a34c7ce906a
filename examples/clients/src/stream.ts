import { createClient } from 'graphql-sse';

const [market = '3'] = process.argv.slice(2);
const stream = createClient({
  url: 'https://gateway.example/graphql/stream',
  credentials: 'include',
  headers: { 'x-api-key': process.env.API_KEY ?? '' },
});
const query = 'subscription ($market: ID!) { jobProgress(marketId: $market, phase: PUBLISH) { finished } }';
for await (const { data } of stream.iterate({ query, variables: { market } })) console.log(data);
