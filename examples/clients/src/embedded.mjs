import { createClient } from 'graphql-ws';

const [sessionId = ''] = process.argv.slice(2);
const query = 'subscription { jobProgress(marketId: 3, phase: PUBLISH) { finished } }';

/** A response without status 200 ends an EventSource for good. Another one then continues `eventUpdates(after: $after)` behind its last message. */
function listen(variables, onComplete) {
  let waitMs = 1_000;
  open();

  function open() {
    const parameters = new URLSearchParams({ sessionId, query, variables: JSON.stringify(variables) });
    const events = new EventSource(`https://gateway.example/graphql/stream?${parameters}`);
    events.addEventListener('open', () => {
      waitMs = 1_000;
    });
    events.addEventListener('next', ({ data, lastEventId }) => {
      console.log('EventSource', data);
      if (lastEventId) variables.after = lastEventId;
    });
    events.addEventListener('complete', () => {
      events.close();
      onComplete();
    });
    events.addEventListener('error', () => {
      // Otherwise it reconnects by itself.
      if (events.readyState !== EventSource.CLOSED) return;
      setTimeout(open, waitMs);
      waitMs = Math.min(2 * waitMs, 60_000);
    });
  }
}

await new Promise(resolve => listen({}, resolve));

const socket = createClient({ url: 'wss://gateway.example/graphql', connectionParams: () => ({ sessionId }) });
for await (const answer of socket.iterate({ query })) console.log('WebSocket', JSON.stringify(answer));
