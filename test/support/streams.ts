import { createClient as createSseClient } from 'graphql-sse';
import { createClient, type SubscribePayload } from 'graphql-ws';
import WebSocket from 'ws';
import { demoHeaders, postJson } from './gateway.js';
import { until } from './until.js';

/** What a subscription's listener heard. */
export interface Heard {
  // biome-ignore lint/suspicious/noExplicitAny: an answer's body is what the test is about to find out
  readonly results: any[];
  /** Resolves when it is over: with what ended it, or undefined where it completed. */
  // biome-ignore lint/suspicious/noExplicitAny: errors of a client have many shapes
  readonly ended: Promise<any>;
  stop(): void;
}

/** Listens with graphql-ws's own client. `headers` go with the handshake, `payload` with the first message. */
export function overWebsocket(
  url: string,
  payload: SubscribePayload,
  options: { headers?: Record<string, string>; params?: Record<string, unknown>; path?: string } = {},
): Heard {
  const { headers = {}, params = demoHeaders, path = '/graphql' } = options;
  class Socket extends WebSocket {
    constructor(address: string, protocols: string) {
      super(address, protocols, { headers });
    }
  }
  const client = createClient({
    url: `${url.replace('http', 'ws')}${path}`,
    webSocketImpl: Socket,
    connectionParams: params,
    retryAttempts: 0,
    lazyCloseTimeout: 0,
    // Without it the client complains to the console.
    onNonLazyError: () => {},
  });
  return heard(sink => client.subscribe(payload, sink));
}

/** Listens with graphql-sse's own client. */
export function overSse(url: string, payload: SubscribePayload, headers: Record<string, string> = demoHeaders): Heard {
  const client = createSseClient({ url: `${url}/graphql/stream`, headers, retryAttempts: 0 });
  return heard(sink => client.subscribe(payload as Parameters<typeof client.subscribe>[0], sink));
}

interface Sink {
  next(result: unknown): void;
  error(error: unknown): void;
  complete(): void;
}

function heard(subscribe: (sink: Sink) => () => void): Heard {
  const results: unknown[] = [];
  let stop = () => {};
  const ended = new Promise<unknown>(resolve => {
    stop = subscribe({
      next: result => results.push(result),
      error: resolve,
      complete: () => resolve(undefined),
    });
  });
  return { results, ended, stop };
}

/** A bare socket of the protocol, for what no well-behaved client does. */
export function rawSocket(
  url: string,
  options: { headers?: Record<string, string>; protocol?: string | string[] } = {},
) {
  const { headers = {}, protocol = 'graphql-transport-ws' } = options;
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, protocol, { headers });
  // biome-ignore lint/suspicious/noExplicitAny: a message's content is what the test is about to find out
  const messages: any[] = [];
  socket.on('message', data => messages.push(JSON.parse(String(data))));
  let failure: Error | undefined;
  socket.on('error', error => {
    failure = error;
  });
  const closed = new Promise<{ code: number; reason: string }>(resolve =>
    socket.on('close', (code, reason) => resolve({ code, reason: String(reason) })),
  );
  // It may be closed again by the time that anybody looks.
  let hasOpened = false;
  socket.on('open', () => {
    hasOpened = true;
  });
  const opened = async () => {
    await until(() => hasOpened || failure !== undefined);
    if (!hasOpened) throw failure;
  };
  const send = (message: unknown) => socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  return {
    socket,
    messages,
    closed,
    opened,
    send,
    /** Opens, introduces itself and waits for the acknowledgement. */
    async introduce(payload: unknown = demoHeaders) {
      await opened();
      send({ type: 'connection_init', payload });
      await until(() => messages.some(({ type }) => type === 'connection_ack'));
    },
  };
}

/** A search for the start of a discovery at the service. */
export const searchCriteria = {
  userPrompt: 'Suppliers of steel',
  marketName: 'Steel',
  marketType: 'service',
  marketRole: 'serviceProvider',
  keywords: { features: [], user: [], synonyms: [], irrelevant: [] },
  seedDomains: [],
  projectKind: 'first_pass',
  locations: [],
  count: 5,
  performSearch: true,
};

/** Starts a discovery at the service itself. */
export async function startDiscovery(origin: string, marketId: string): Promise<void> {
  const response = await postJson(`${origin}/v2/discovery/${marketId}/start`, {
    searchCriteria,
    pipelineChoices: { skipDiscoveryReview: true },
  });
  if (!response.ok) throw new Error(`The discovery did not start: ${response.status} ${await response.text()}`);
}
