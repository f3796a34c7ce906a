import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';

// Typed and described in resuming-listener.d.mts. Plain JavaScript, because `npm run faults:streams` runs it as it is.

const query = 'subscription ($after: String) { eventUpdates(after: $after) { cursor gap event { title } } }';
const pauseMs = 200;

export const transports = ['websocket', 'sse', 'multipart'];

export function listenResuming(url, transport, key) {
  const titles = new Map();
  const stopping = new AbortController();
  const { signal } = stopping;
  let after;
  let connections = 0;
  let gaps = 0;

  const receive = ({ data, errors }) => {
    // A gateway that closes, or is overloaded: the listener connects again.
    if (data?.eventUpdates == null) throw new Error(JSON.stringify(errors));
    const { cursor, gap, event } = data.eventUpdates;
    after = cursor;
    if (gap) gaps += 1;
    if (event !== null) titles.set(event.title, (titles.get(event.title) ?? 0) + 1);
  };
  const listen = { websocket: overWebsocket, sse: overSse, multipart: overMultipart }[transport];
  void (async () => {
    while (!signal.aborted) {
      connections += 1;
      await listen({ url, key, payload: { query, variables: { after } }, receive, signal }).catch(() => {});
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  })();
  return {
    transport,
    titles,
    get connections() {
      return connections;
    },
    get gaps() {
      return gaps;
    },
    get hasCursor() {
      return after !== undefined;
    },
    stop: () => stopping.abort(),
  };
}

async function overWebsocket({ url, key, payload, receive, signal }) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  const stop = () => socket.terminate();
  signal.addEventListener('abort', stop);
  try {
    await new Promise((resolve, reject) => {
      socket.on('error', reject);
      socket.on('close', resolve);
      const send = message => socket.send(JSON.stringify(message));
      socket.on('open', () => send({ type: 'connection_init', payload: { 'x-api-key': key } }));
      socket.on('message', data => {
        const message = JSON.parse(String(data));
        try {
          if (message.type === 'connection_ack') send({ id: '1', type: 'subscribe', payload });
          if (message.type === 'next') receive(message.payload);
          if (message.type === 'error' || message.type === 'complete') socket.close();
        } catch {
          socket.close();
        }
      });
    });
  } finally {
    signal.removeEventListener('abort', stop);
    socket.terminate();
  }
}

const overSse = ({ url, ...rest }) =>
  overFetch({ ...rest, url: `${url}/graphql/stream`, accept: 'text/event-stream', end: '\n\n' }, (part, receive) => {
    const [, json] = /^event: next\ndata: (.*)$/m.exec(part) ?? [];
    if (json !== undefined) receive(JSON.parse(json));
  });

const overMultipart = ({ url, ...rest }) =>
  overFetch(
    { ...rest, url: `${url}/graphql`, accept: 'multipart/mixed;subscriptionSpec=1.0', end: '\r\n--graphql' },
    (part, receive) => {
      const { payload } = JSON.parse(part.split('\r\n\r\n')[1] ?? '{}');
      if (payload !== undefined) receive(payload ?? {});
    },
  );

async function overFetch({ url, key, payload, receive, signal, accept, end }, read) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { accept, 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify(payload),
    signal,
  });
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    const parts = (text + decoder.decode(chunk, { stream: true })).split(end);
    text = parts.pop() ?? '';
    for (const part of parts) read(part, receive);
  }
}
