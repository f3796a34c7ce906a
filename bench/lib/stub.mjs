// The service, as a process of its own: ready bytes, a delay, a count of the calls. Talks to the bench over IPC.
//
//   /full/...        bodies with embeddings
//   /light/...       bodies without
//
// The API key `other` gets events with other identifiers and titles. A POST is answered as a request for search criteria.
//
// IPC: {delayMs} sets the delay of every answer, {reset: true} forgets the calls, {report: true} answers {calls, urls}.
import { createServer } from 'node:http';
import { eventPageOf, observationId, observationOf, otherOf, writtenIs } from './world.mjs';

const observations = 400;

/** @param {boolean} heavy */
function bodiesOf(heavy) {
  const byPath = new Map();
  for (let number = 0; number < observations; number += 1) {
    const body = Buffer.from(JSON.stringify(observationOf(number, heavy)));
    byPath.set(`/v2/events-monitor/observation/${observationId(number)}`, body);
  }
  for (const pageSize of [1, 10, 100]) byPath.set(pageSize, Buffer.from(JSON.stringify(eventPageOf(pageSize, heavy))));
  return byPath;
}

const worlds = { full: bodiesOf(true), light: bodiesOf(false) };
let delayMs = 0;
let calls = 0;
const urls = new Set();
const written = Buffer.from(JSON.stringify(writtenIs));

const server = createServer((request, response) => {
  calls += 1;
  const url = request.url ?? '';
  urls.add(url);
  const [, name = '', path = '', query = ''] = /^\/(full|light)([^?]*)\??(.*)$/.exec(url) ?? [];
  const isList = path === '/v2/events-monitor/events';
  const found = worlds[name]?.get(isList ? Number(new URLSearchParams(query).get('pageSize') ?? 10) : path);
  const own = request.headers['x-api-key'] === 'other' && found ? Buffer.from(otherOf(found.toString())) : found;
  const body = request.method === 'POST' ? written : own;
  const send = () => {
    response.writeHead(body ? 200 : 404, {
      'content-type': 'application/json',
      'content-length': body?.length ?? 0,
    });
    response.end(body);
  };
  if (delayMs === 0) send();
  else setTimeout(send, delayMs);
  if (request.method === 'POST') request.resume();
});
server.keepAliveTimeout = 0;

server.listen(0, '127.0.0.1', () => {
  process.send?.({ origin: `http://127.0.0.1:${server.address().port}` });
});

process.on('message', message => {
  if (message.delayMs !== undefined) delayMs = message.delayMs;
  if (message.reset) {
    calls = 0;
    urls.clear();
  }
  process.send?.({ calls, urls: urls.size });
});
process.once('disconnect', () => process.exit(0));
