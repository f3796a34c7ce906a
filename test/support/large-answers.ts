import { request as httpRequest, type IncomingMessage } from 'node:http';
import WebSocket from 'ws';
import { reply, type StubService, startStubService } from './stub-service.js';
import { until } from './until.js';

/** About 8 MB of JSON, as the service answers for the ESG data of any market. */
const esg = Buffer.from(
  JSON.stringify({
    data: Array.from({ length: 2_000 }, (_, index) => ({
      domain: `company-${index}.example`,
      score: index / 7,
      rating: 'AAA',
      notes: `Company ${index} `.repeat(290),
    })),
  }),
);

/** A service that knows nothing but the large ESG data of each market. */
export const startLargeService = (): Promise<StubService> =>
  startStubService((request, response) => {
    if (/esg$/.test(request.url ?? '')) reply(response, 200, esg);
    else reply(response, 404, {});
  });

/** Asks for 8 MB. Each market is read apart; the same one again may be known already. */
export const esgOf = (market: number) => `query Esg${market} { market(id: ${market}) { esg } }`;

/** A client that requests a large response. */
export interface LargeClient {
  /** What came back, once it has: `whole`, `refused`, or what else it was. Nothing for who does not read. */
  readonly outcome: Promise<readonly string[]>;
  /** Goes. */
  leave(): void;
}

type Transport = (url: string, key: string, markets: readonly number[], reads: boolean) => LargeClient;

/** One request for each market, on connections of their own. */
const overRequests =
  (path: string, accept: string): Transport =>
  (url, key, markets, reads) => {
    const requests = markets.map(market => {
      const request = httpRequest(`${url}${path}`, {
        method: 'POST',
        agent: false,
        headers: { 'content-type': 'application/json', accept, 'x-api-key': key },
      });
      const outcome = new Promise<string>(resolve => {
        request.on('error', error => resolve(`gone: ${path} ${error.message}`));
        request.on('response', (response: IncomingMessage) => {
          if (reads) void outcomeOf(response).then(resolve);
          else response.on('error', () => resolve('gone'));
        });
      });
      request.end(JSON.stringify({ query: esgOf(market) }));
      return { request, outcome };
    });
    return {
      outcome: reads ? Promise.all(requests.map(each => each.outcome)) : Promise.resolve([]),
      leave() {
        for (const { request } of requests) request.destroy();
      },
    };
  };

async function outcomeOf(response: IncomingMessage): Promise<string> {
  let length = 0;
  let head = '';
  try {
    for await (const chunk of response) {
      if (length < 1_000) head += String(chunk);
      length += chunk.length;
    }
  } catch {
    return `gone after ${length} of ${response.headers['content-length']}`;
  }
  return told(response.statusCode ?? 0, head, length);
}

function told(status: number, head: string, length: number): string {
  // By what answers may take, or by what may be on its way from the service.
  if (/RATE_LIMITED|too much data at once/.test(head)) return 'refused';
  return status === 200 && length > 7_000_000 ? 'whole' : `${status} ${head.slice(0, 300)}`;
}

const overSocket: Transport = (url, key, markets, reads) => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  const outcomes: string[] = [];
  let isOver = false;
  socket.on('error', ({ message }) => outcomes.push(/response: (429|503)$/.test(message) ? 'refused' : message));
  socket.on('close', () => {
    isOver = true;
  });
  socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: { 'x-api-key': key } })));
  socket.on('message', (data: Buffer) => {
    const head = data.subarray(0, 1_000).toString();
    if (head.includes('connection_ack')) {
      for (const [index, market] of markets.entries()) {
        socket.send(JSON.stringify({ id: `${index}`, type: 'subscribe', payload: { query: esgOf(market) } }));
      }
      if (!reads) socket.pause();
    } else if (!head.includes('"complete"')) outcomes.push(told(200, head, data.length));
  });
  const answered = () => outcomes.length === markets.length || isOver;
  return {
    outcome: reads ? until(answered).then(() => outcomes) : Promise.resolve([]),
    leave: () => socket.terminate(),
  };
};

export const transports = {
  HTTP: overRequests('/graphql', 'application/json'),
  SSE: overRequests('/graphql/stream', 'text/event-stream'),
  WebSocket: overSocket,
};
