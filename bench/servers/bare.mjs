// The limit of the machine: node:http and a buffer that is ready.
import { createServer } from 'node:http';
import { flagshipAnswer } from '../lib/answer.mjs';
import { eventPageOf, observationId, observationOf } from '../lib/world.mjs';
import { announce } from './listen.mjs';

const observations = new Map(
  Array.from({ length: 41 }, (_, number) => [observationId(number), observationOf(number, false)]),
);
const answer = Buffer.from(JSON.stringify(flagshipAnswer(eventPageOf(10, false), id => observations.get(id))));
const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': answer.length };

const server = createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    response.writeHead(200, headers);
    response.end(answer);
  });
});
server.listen(0, '127.0.0.1', () => announce(server.address()));
